// This file removes what nothing refers to any more.

package pack

import (
	"context"
	"fmt"
	"os"
	"strings"

	"sandboxagent/internal/checkpoint/tree"
)

const (
	smallPack = 4 << 20 // bytes on disk
	manySmall = 16      // small packs before they are joined
)

// Swept tells what Sweep did.
type Swept struct {
	Before, After int64 // bytes on disk
	Removed       int   // packs
	Rewritten     int   // packs whose objects went into new ones
}

// Sweep removes objects that are not live: packs without a live object go, those that are less than half live are
// rewritten, and so are small ones when there are many. It must be alone: no Writer may be at work, in any process.
// Wherever it ends, all live objects are there.
func (s *Store) Sweep(ctx context.Context, live func(tree.Hash) bool) (Swept, error) {
	if err := s.Refresh(); err != nil {
		return Swept{}, err
	}
	s.RemoveRubbish()
	var out Swept
	out.Before, _ = s.Size()
	rewrite, drop, objects := s.choose(live)
	s.Sort(objects)
	if len(rewrite) > 0 {
		if err := s.rewrite(ctx, objects); err != nil {
			return out, err
		}
	}
	for _, f := range append(rewrite, drop...) {
		if err := s.remove(f); err != nil {
			return out, err
		}
	}
	out.Rewritten, out.Removed = len(rewrite), len(drop)
	out.After, _ = s.Size()
	return out, s.Refresh()
}

// choose returns the packs to be rewritten, with their live objects, and those to go.
func (s *Store) choose(live func(tree.Hash) bool) (rewrite, drop []*file, objects []tree.Hash) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	alive := map[*file]int64{}
	for h, l := range s.index {
		if live(h) {
			alive[l.in] += l.stored()
		}
	}
	var small []*file
	for _, f := range s.packs {
		switch n := alive[f]; {
		case s.broken[f.name] != nil: // it may be mended
		case n == 0:
			drop = append(drop, f)
		case n < f.size/2:
			rewrite = append(rewrite, f)
		case f.size < smallPack:
			small = append(small, f)
		}
	}
	if len(small) >= manySmall {
		rewrite = append(rewrite, small...)
	}
	chosen := map[*file]bool{}
	for _, f := range rewrite {
		chosen[f] = true
	}
	for h, l := range s.index {
		if chosen[l.in] && live(h) {
			objects = append(objects, h)
		}
	}
	return rewrite, drop, objects
}

func (l location) compare(o location) int {
	switch {
	case l.in == nil || o.in == nil:
		return 0
	case l.in != o.in:
		return strings.Compare(l.in.name, o.in.name)
	case l.at != o.at:
		return int(min(max(l.at-o.at, -1), 1))
	}
	return int(l.offset) - int(o.offset)
}

func (s *Store) rewrite(ctx context.Context, objects []tree.Hash) error {
	w, err := s.NewWriter()
	if err != nil {
		return err
	}
	defer w.Abort()
	w.copy = true
	for _, h := range objects {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := s.get(h)
		if err != nil {
			return err
		}
		if err := w.Add(h, b); err != nil {
			return err
		}
	}
	return w.Commit()
}

// remove removes a pack, its index first: what is left after a crash is rubbish.
func (s *Store) remove(f *file) error {
	if err := s.fault("index-remove"); err != nil {
		return err
	}
	if err := os.Remove(s.path(f.name, indexSuffix)); err != nil {
		return fmt.Errorf("remove index: %w", err)
	}
	if err := s.fault("pack-remove"); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.packs, f.name)
	for h, l := range s.index {
		if l.in == f {
			delete(s.index, h)
		}
	}
	s.mu.Unlock()
	if err := os.Remove(s.path(f.name, packSuffix)); err != nil {
		return fmt.Errorf("remove pack: %w", err)
	}
	return nil
}

// RemoveRubbish removes what writers that died have left: temporary files, and packs without an index. It must be alone.
func (s *Store) RemoveRubbish() {
	names, err := os.ReadDir(s.opts.Dir)
	if err != nil {
		return
	}
	indexed := map[string]bool{}
	for _, n := range names {
		if name, ok := strings.CutSuffix(n.Name(), indexSuffix); ok {
			indexed[name] = true
		}
	}
	for _, n := range names {
		name, isPack := strings.CutSuffix(n.Name(), packSuffix)
		if strings.HasPrefix(n.Name(), tempPrefix) || (isPack && !indexed[name]) {
			os.Remove(s.path(n.Name(), ""))
		}
	}
}
