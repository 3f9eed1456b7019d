// This file keeps objects in a directory of one host, shared by several processes.

package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	staleAfter  = time.Hour   // a temporary file of that age belongs to a writer that died
	syncedAfter = time.Minute // an object of that age has surely been made durable by the process that wrote it
)

// Dir is a Store in a private directory: objects/<2 hex digits>/<62 hex digits>, written to tmp/, synced and renamed
// into place. Several processes may use one directory at once; a crash at any instant leaves complete objects only.
type Dir struct {
	objects string
	tmp     string
}

// OpenDir opens the store in the directory path, making it (mode 0700) if need be and removing what writers that died
// left behind more than an hour ago.
func OpenDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving the blob directory: %w", err)
	}
	d := &Dir{objects: filepath.Join(abs, "objects"), tmp: filepath.Join(abs, "tmp")}
	for _, dir := range []string{abs, d.objects, d.tmp} {
		if err := privateDir(dir); err != nil {
			return nil, fmt.Errorf("preparing the blob directory: %w", err)
		}
	}
	if err := d.removeStale(time.Now().Add(-staleAfter)); err != nil {
		return nil, fmt.Errorf("removing stale files of the blob directory: %w", err)
	}
	return d, nil
}

func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

func (d *Dir) removeStale(before time.Time) error {
	entries, err := os.ReadDir(d.tmp)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue // gone meanwhile, or not ours to remove
		}
		if err := os.Remove(filepath.Join(d.tmp, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d *Dir) path(ref Ref) (string, error) {
	digits, err := ref.digest()
	if err != nil {
		return "", err
	}
	return filepath.Join(d.objects, digits[:2], digits[2:]), nil
}

// Put implements Store. An object that is there but damaged is written anew.
func (d *Dir) Put(ctx context.Context, data []byte) (Ref, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := checkSize(data); err != nil {
		return "", err
	}
	ref := Sum(data)
	path, err := d.path(ref)
	if err != nil {
		return "", err
	}
	if stored, modified, err := readObject(path); err == nil && bytes.Equal(stored, data) {
		if time.Since(modified) > syncedAfter {
			return ref, nil
		}
		return ref, syncDir(filepath.Dir(path)) // its writer may not have come that far
	}
	if err := d.write(path, data); err != nil {
		return "", fmt.Errorf("storing %s: %w", ref, err)
	}
	return ref, nil
}

func (d *Dir) write(path string, data []byte) (err error) {
	object, err := encodeObject(data)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(d.tmp, "put-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := writeSynced(f, object); err != nil {
		return err
	}
	if err := d.makeShard(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// makeShard makes the directory of an object, durably.
func (d *Dir) makeShard(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(d.objects)
}

func writeSynced(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Get implements Store.
func (d *Dir) Get(ctx context.Context, ref Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := d.path(ref)
	if err != nil {
		return nil, err
	}
	data, _, err := readObject(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, ref)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	if err := verify(ref, data); err != nil {
		return nil, err
	}
	return data, nil
}

// readObject returns the content of an object, whose hash it does not check, and when the object was written.
func readObject(path string) ([]byte, time.Time, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > headerSize+MaxObject {
		return nil, time.Time{}, fmt.Errorf("%w: a %v of %d bytes", ErrCorrupt, info.Mode(), info.Size())
	}
	object := make([]byte, info.Size())
	if _, err := io.ReadFull(f, object); err != nil {
		return nil, time.Time{}, err
	}
	data, err := decodeObject(object)
	return data, info.ModTime(), err
}

// Has implements Store.
func (d *Dir) Has(ctx context.Context, ref Ref) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	path, err := d.path(ref)
	if err != nil {
		return false, err
	}
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", ref, err)
	}
	return true, nil
}
