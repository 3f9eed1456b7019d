// This file keeps what a tool must remember so that an effect happens once though its worker may die at any instant.

package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Plans remembers a small record for an effect: what is about to be done, and then that it was done. A sandbox tells
// whether an effect happened, but a worker that died between the effect and its report would otherwise have forgotten what
// the effect was: a patch that is in the files no longer applies to them. It must outlive the worker and be shared by all
// workers that may run the session's calls; it belongs to the session and goes with it.
type Plans interface {
	// Save stores data under key, durably and atomically, in place of what was there.
	Save(ctx context.Context, key string, data []byte) error
	// Load returns what was saved under key; ok is false when there is nothing.
	Load(ctx context.Context, key string) (data []byte, ok bool, err error)
}

// DirPlans is Plans in a directory of one host, one file a key. The directory is made when needed, with mode 0700; removing
// it forgets everything.
type DirPlans struct{ Dir string }

// Save implements Plans.
func (p DirPlans) Save(_ context.Context, key string, data []byte) (err error) {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("making the plans directory: %w", err)
	}
	f, err := os.CreateTemp(p.Dir, ".new-*")
	if err != nil {
		return fmt.Errorf("making a plan file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // best effort: the error that matters is being returned
		}
	}()
	if err := writeAndSync(f, data); err != nil {
		return fmt.Errorf("writing a plan file: %w", err)
	}
	if err := os.Rename(f.Name(), p.file(key)); err != nil {
		return fmt.Errorf("putting a plan file in place: %w", err)
	}
	return syncDir(p.Dir)
}

// Load implements Plans.
func (p DirPlans) Load(_ context.Context, key string) ([]byte, bool, error) {
	data, err := os.ReadFile(p.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading a plan: %w", err)
	}
	return data, true, nil
}

// file names the file of a key, whatever bytes the key is made of.
func (p DirPlans) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(p.Dir, hex.EncodeToString(sum[:16]))
}

// writeAndSync writes data and closes the file, durably.
func writeAndSync(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes renames in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening the plans directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
