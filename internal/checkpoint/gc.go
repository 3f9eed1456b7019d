// This file removes checkpoints that nothing refers to, and the objects that only they used.

package checkpoint

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

const opCollect = "collect checkpoints"

// GCOptions say what may go. What a ref names never goes.
type GCOptions struct {
	// All drops every checkpoint without a ref. Otherwise they stay as long as the store is within its quota, and the
	// oldest go first.
	All bool
	// Grace keeps checkpoints that are younger; default none.
	Grace time.Duration
}

// Collected tells what GC did.
type Collected struct {
	Dropped       int   // checkpoints
	Left          int   // checkpoints
	Before, After int64 // bytes on disk
}

// GC waits until no checkpoint is being taken, in any process, and then collects. Killed at any point, it leaves every
// checkpoint that is still there whole.
func (s *Store) GC(ctx context.Context, o GCOptions) (Collected, error) {
	lock := flock.New(s.lockPath())
	defer lock.Close()
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		return Collected{}, classed(opCollect, err)
	}
	s.removeRubbish()
	out, err := s.collect(ctx, o)
	return out, classed(opCollect, err)
}

func (s *Store) collect(ctx context.Context, o GCOptions) (Collected, error) {
	if err := s.packs.Refresh(); err != nil {
		return Collected{}, err
	}
	if err := s.packs.Damaged(); err != nil {
		return Collected{}, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: opCollect, Message: "an index is damaged; nothing is collected", Err: err}
	}
	referred, loose, err := s.sort()
	if err != nil {
		return Collected{}, err
	}
	m := &marker{ctx: ctx, s: s, live: map[tree.Hash]bool{}}
	for _, id := range referred {
		if err := s.mark(m, id); err != nil {
			return Collected{}, err
		}
	}
	dropped, err := s.choose(m, loose, o)
	if err != nil {
		return Collected{}, err
	}
	if err := s.drop(dropped); err != nil {
		return Collected{}, err
	}
	swept, err := s.packs.Sweep(ctx, func(h tree.Hash) bool { return m.live[h] })
	return Collected{
		Dropped: len(dropped), Left: len(referred) + len(loose) - len(dropped), Before: swept.Before, After: swept.After,
	}, err
}

// looseID is a checkpoint without a ref.
type looseID struct {
	id string
	at time.Time
}

// sort parts the checkpoints into those with a ref and the others, the newest first.
func (s *Store) sort() (referred []string, loose []looseID, err error) {
	refs, err := s.allRefs()
	if err != nil {
		return nil, nil, err
	}
	pinned := map[string]bool{}
	for _, r := range refs {
		pinned[r.Checkpoint] = true
		pinned[r.After] = true
		pinned[r.Lacks] = true
	}
	ids, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if pinned[id] {
			referred = append(referred, id)
			continue
		}
		if info, err := os.Stat(s.manifestPath(id)); err == nil {
			loose = append(loose, looseID{id, info.ModTime()})
		}
	}
	slices.SortFunc(loose, func(a, b looseID) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.id, b.id)) })
	return referred, loose, nil
}

// mark collects the objects of a checkpoint. What is damaged is marked as far as it goes: it may be mended.
func (s *Store) mark(m *marker, id string) error {
	man, err := s.manifest(id)
	if err != nil {
		return err
	}
	for _, text := range []string{man.Notes, man.Root} {
		if text == "" {
			continue
		}
		h, err := tree.ParseHash(text)
		if err != nil {
			return damaged(id, err)
		}
		if text == man.Notes {
			m.add(h)
		} else if err := m.tree(h); err != nil {
			return err
		}
	}
	return nil
}

// choose marks the checkpoints without a ref that stay and returns the others.
func (s *Store) choose(m *marker, loose []looseID, o GCOptions) (dropped []looseID, err error) {
	for i, l := range loose {
		young := o.Grace > 0 && time.Since(l.at) < o.Grace
		if !young && (o.All || m.bytes > s.opts.Quota) {
			return loose[i:], nil
		}
		before := m.bytes
		if err := s.mark(m, l.id); err != nil {
			if m.ctx.Err() != nil {
				return nil, err
			}
			dropped = append(dropped, l) // damaged, and nobody's
			continue
		}
		if !young && m.bytes > s.opts.Quota && m.bytes > before {
			return append(dropped, loose[i:]...), nil
		}
	}
	return dropped, nil
}

// drop removes manifests, durably, before any object of theirs goes.
func (s *Store) drop(ids []looseID) error {
	for _, l := range ids {
		if err := s.fault("manifest-remove"); err != nil {
			return err
		}
		if err := os.Remove(s.manifestPath(l.id)); err != nil {
			return err
		}
	}
	if err := s.fault("manifests-removed"); err != nil {
		return err
	}
	return syncDir(filepath.Join(s.opts.Dir, manifestsDir))
}

// removeRubbish removes temporary files. The lock is held alone.
func (s *Store) removeRubbish() {
	s.packs.RemoveRubbish()
	_ = filepath.WalkDir(s.opts.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == filepath.Join(s.opts.Dir, packsDir) || path == filepath.Join(s.opts.Dir, foldersDir) {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && strings.HasPrefix(d.Name(), tempPrefix) {
			os.Remove(path)
		}
		return nil
	})
}
