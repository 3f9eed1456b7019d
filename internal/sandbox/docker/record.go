// This file remembers on this host which sandboxes were made, so that one whose files are gone is not taken for a new one.

package docker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sandboxagent/internal/helper/daemon"
	"sandboxagent/internal/sandbox"
)

const recordFile = "sandbox.json"

// record is what is known of a sandbox.
type record struct {
	ID        string `json:"id"`
	Born      string `json:"born"` // random
	Owner     string `json:"owner,omitempty"`
	Realm     string `json:"realm,omitempty"`
	Workspace string `json:"workspace,omitempty"` // the folder of this host that it began as a copy of
	Empty     bool   `json:"empty,omitempty"`     // it begins empty instead
	Image     string `json:"image"`
	Home      string `json:"home,omitempty"` // in the container, of the user that commands run as
	Epoch     int64  `json:"epoch,omitempty"`
	Complete  bool   `json:"complete,omitempty"` // its workspace was made
	Stopped   bool   `json:"stopped,omitempty"`  // by us
	Engine    string `json:"engine,omitempty"`   // identity of the one it lives on; "": nothing was made yet, or by an older version
	EngineAt  string `json:"engineAt,omitempty"` // how that was reached, for people
}

// begin returns the record of the sandbox, made for a new one.
func (b *Backend) begin(ctx context.Context, spec sandbox.Spec) (record, error) {
	lock, err := b.lock(ctx, spec.ID)
	if err != nil {
		return record{}, err
	}
	defer lock.Close()
	folder := spec.Workspace
	if folder != "" {
		folder = filepath.Clean(folder)
	}
	r, err := b.loadRecord(spec.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r = record{ID: spec.ID, Born: rand.Text(), Owner: spec.Owner, Realm: spec.Realm, Workspace: folder, Empty: spec.Empty, Image: spec.Image}
		if r.Image == "" {
			r.Image = b.opts.Image
		}
		if !r.Empty {
			if err := b.checkFolder(folder); err != nil {
				return r, err
			}
		}
		return r, b.writeRecord(r)
	case err != nil:
		return r, err
	case r.Workspace != folder:
		return r, sandbox.Errorf(sandbox.ClassConflict, opOpen, "sandbox %q was made of another folder", spec.ID)
	}
	return r, nil
}

// lock keeps everybody else from making, stopping or destroying the sandbox. Its directory is made if needed.
func (b *Backend) lock(ctx context.Context, id string) (*os.File, error) {
	dir := b.stateDir(id)
	for {
		err := os.MkdirAll(dir, 0o700)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // who destroyed the last sandbox removed the parent, too
		}
		if err != nil {
			return nil, &sandbox.Error{
				Class: sandbox.ClassUnavailable, Op: opOpen, Err: err,
				Message: "the state directory cannot be made; check the permissions of its parent",
			}
		}
		lock, err := daemon.Lock(ctx, dir)
		if sandbox.ClassOf(err) != sandbox.ClassNotFound { // destroyed meanwhile
			return lock, err
		}
	}
}

// records returns those that can be read.
func (b *Backend) records() []record {
	dirs, err := os.ReadDir(b.opts.StateDir)
	if err != nil {
		return nil
	}
	var all []record
	for _, dir := range dirs {
		var r record
		text, err := os.ReadFile(filepath.Join(b.opts.StateDir, dir.Name(), recordFile))
		if err == nil && json.Unmarshal(text, &r) == nil && r.ID != "" {
			all = append(all, r)
		}
	}
	return all
}

// loadRecord returns fs.ErrNotExist for a sandbox that was never made here, or destroyed.
func (b *Backend) loadRecord(id string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(b.stateDir(id), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.ID != id {
		return r, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: opOpen, Message: "the record of the sandbox is damaged; destroy the session", Err: err}
	}
	return r, nil
}

func (b *Backend) writeRecord(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of the sandbox: %w", err)
	}
	path := filepath.Join(b.stateDir(r.ID), recordFile)
	if err = os.WriteFile(path+".tmp", text, 0o600); err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the record of the sandbox cannot be written", Err: err}
	}
	return nil
}
