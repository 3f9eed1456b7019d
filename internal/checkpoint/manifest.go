// This file defines the manifest, which is the checkpoint, and keeps it.

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// manifest is what a checkpoint's id is the hash of. It holds no time, so that taking the same tree again, as after a
// crash, gives the same checkpoint.
type manifest struct {
	Format  int    `json:"format"`
	Root    string `json:"root"`
	Parent  string `json:"parent,omitempty"`
	Notes   string `json:"notes,omitempty"` // object of what is not in it or not certain
	Skipped int    `json:"skipped,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Files   int    `json:"files"`
	Dirs    int    `json:"dirs"`
	Links   int    `json:"links"`
	Bytes   int64  `json:"bytes"`
}

const maxManifest = 64 << 10 // bytes

// Info describes a checkpoint.
type Info struct {
	ID      string
	Parent  string      // id of the checkpoint before it, "" when there was none
	Root    tree.Hash   // equal for equal trees
	Partial bool        // it lacks what could not be read; Notes tells
	Files   int         // links not counted
	Dirs    int         // below the root
	Links   int         // symbolic ones
	Bytes   int64       // of all files, holes counted
	Notes   []tree.Note // what is not in it, or not certain, sorted by path
	TakenAt time.Time   // of Stat: when it was first taken

	// Of Take: Reused, when nothing changed since Parent, whose Info this is then; and how many bytes the store grew by.
	Reused bool
	Grown  int64
}

func (s *Store) manifestPath(id string) string {
	return filepath.Join(s.opts.Dir, manifestsDir, id+".json")
}

const opRead = "read checkpoint"

// manifest reads and verifies a manifest.
func (s *Store) manifest(id string) (manifest, error) {
	var m manifest
	want, err := tree.ParseHash(id)
	if err != nil {
		return m, sandbox.Errorf(sandbox.ClassInvalid, opRead, "%.80q is no checkpoint id", id)
	}
	b, err := os.ReadFile(s.manifestPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return m, sandbox.Errorf(sandbox.ClassNotFound, opRead, "there is no checkpoint %s", short(id))
	}
	if err != nil {
		return m, classed(opRead, err)
	}
	if len(b) > maxManifest || tree.Sum(b) != want || json.Unmarshal(b, &m) != nil {
		return m, damaged(id, tree.ErrFormat)
	}
	if m.Format != tree.Format {
		return m, sandbox.Errorf(sandbox.ClassUnsupported, opRead, "checkpoint %s was taken by another version of this program", short(id))
	}
	if _, err := tree.ParseHash(m.Root); err != nil {
		return m, damaged(id, err)
	}
	return m, nil
}

func damaged(id string, err error) error {
	return &sandbox.Error{Class: sandbox.ClassCorrupt, Op: opRead, Err: err, Message: fmt.Sprintf(
		"checkpoint %s is damaged: use another one, or take one anew, which stores again what the folder still has", short(id))}
}

// short is how an id is told to people.
func short(id string) string { return id[:min(len(id), 12)] }

// Stat describes a checkpoint. It fails with ClassNotFound, or ClassCorrupt when its manifest is damaged.
func (s *Store) Stat(id string) (Info, error) {
	m, err := s.manifest(id)
	if err != nil {
		return Info{}, err
	}
	info, err := s.info(id, m)
	if err != nil {
		return Info{}, err
	}
	if st, err := os.Stat(s.manifestPath(id)); err == nil {
		info.TakenAt = st.ModTime()
	}
	return info, nil
}

func (s *Store) info(id string, m manifest) (Info, error) {
	info := Info{ID: id, Parent: m.Parent, Partial: m.Partial, Files: m.Files, Dirs: m.Dirs, Links: m.Links, Bytes: m.Bytes}
	var err error
	if info.Root, err = tree.ParseHash(m.Root); err != nil {
		return Info{}, damaged(id, err)
	}
	if m.Notes == "" {
		return info, nil
	}
	h, err := tree.ParseHash(m.Notes)
	if err != nil {
		return Info{}, damaged(id, err)
	}
	b, err := s.packs.Get(h)
	if err != nil {
		return Info{}, classed(opRead, err)
	}
	info.Notes, err = tree.DecodeNotes(b)
	return info, classed(opRead, err)
}

// newManifest describes a picture whose notes are in the object named by notes.
func newManifest(p worktree.Picture, parent, notes string) manifest {
	m := manifest{
		Format: tree.Format, Root: p.Root.String(), Parent: parent, Notes: notes, Files: p.Files, Dirs: p.Dirs, Links: p.Links, Bytes: p.Bytes,
	}
	for _, n := range p.Notes {
		if n.Reason.Left() {
			m.Skipped++
		}
		m.Partial = m.Partial || n.Reason.Partial()
	}
	return m
}

// writeManifest stores a manifest and returns its id. Storing it again changes nothing.
func (s *Store) writeManifest(m manifest) (string, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	id := tree.Sum(b).String()
	if _, err := s.manifest(id); err == nil {
		return id, nil
	}
	return id, s.writeFile(s.manifestPath(id), b, "manifest")
}

// ids lists all checkpoints there are, whether referred to or not.
func (s *Store) ids() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.opts.Dir, manifestsDir))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if _, err := tree.ParseHash(id); ok && err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Find returns the id that begins with prefix, of at least 4 characters.
func (s *Store) Find(prefix string) (string, error) {
	if _, err := s.manifest(prefix); err == nil {
		return prefix, nil
	}
	ids, err := s.ids()
	if err != nil {
		return "", classed(opRead, err)
	}
	found := ""
	for _, id := range ids {
		if len(prefix) < 4 || !strings.HasPrefix(id, prefix) {
			continue
		}
		if found != "" {
			return "", sandbox.Errorf(sandbox.ClassInvalid, opRead, "more than one checkpoint begins with %s", prefix)
		}
		found = id
	}
	if found == "" {
		return "", sandbox.Errorf(sandbox.ClassNotFound, opRead, "there is no checkpoint %.80s", prefix)
	}
	return found, nil
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
