// This file decides about paths that both sides changed.

package checkpoint

import (
	"path"

	"sandboxagent/internal/checkpoint/merge"
	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/tree"
)

// both decides about a path that is not the same anywhere.
func (p *planner) both(path string, b, o, t *tree.Entry) error {
	switch {
	case t == nil:
		p.removedThere(path, b, o)
		return nil
	case o == nil:
		p.removedHere(path, b, t)
		return nil
	case o.Kind == tree.Dir && t.Kind == tree.Dir:
		p.keep(path, "its permissions are not the same there")
		return nil
	case o.Kind == tree.File && t.Kind == tree.File && b != nil && b.Kind == tree.File:
		return p.bothFiles(path, b, o, t)
	case b == nil:
		p.clash(path, o, t, "both sides made it, and not the same")
	default:
		p.clash(path, o, t, "both sides changed it")
	}
	return nil
}

func (p *planner) removedThere(path string, b, o *tree.Entry) {
	switch {
	case isDir(b) != isDir(o): // what they removed is gone here too, and this is something new
	case isDir(o):
		p.keep(path, "its permissions were changed here")
	default:
		p.clash(path, o, nil, "it was changed here and removed there")
	}
}

func (p *planner) removedHere(path string, b, t *tree.Entry) {
	switch {
	case isDir(b) != isDir(t): // what was removed here is gone there too, and this is something new
		p.next[path] = &decision{after: t}
	case isDir(t): // no more than its permissions were changed
	default:
		p.clash(path, nil, t, "it was removed here and changed there")
	}
}

func isDir(e *tree.Entry) bool { return e != nil && e.Kind == tree.Dir }

// clash is a conflict that either side may win.
func (p *planner) clash(path string, o, t *tree.Entry, reason string) {
	if p.opts.OnConflict == Theirs {
		p.next[path] = &decision{ours: o, after: t, over: true}
		return
	}
	p.conflict(path, reason)
}

// bothFiles joins contents, and permissions for themselves.
func (p *planner) bothFiles(path string, b, o, t *tree.Entry) error {
	after := *o
	after.Group = mergeGroup(b, o, t)
	switch {
	case o.Mode == b.Mode:
		after.Mode = t.Mode
	case t.Mode != b.Mode && t.Mode != o.Mode:
		p.clash(path, o, t, "both sides changed its permissions")
		return nil
	}
	d := &decision{ours: o, after: &after}
	switch {
	case o.SameContent(t), t.SameContent(b):
	case o.SameContent(b):
		after.Hash, after.Size, after.Chunked = t.Hash, t.Size, t.Chunked
	default:
		reason, err := p.join(&after, b, o, t)
		if err != nil {
			return err
		}
		if reason != "" {
			p.clash(path, o, t, reason)
			return nil
		}
		d.joined = !after.SameContent(t)
	}
	if !after.Same(o) || after.Group != o.Group { // else theirs is in it already
		p.next[path] = d
	}
	return nil
}

// join gives after the content that has the changes of both sides in it, or returns why there is none.
func (p *planner) join(after, b, o, t *tree.Entry) (reason string, err error) {
	var texts [3][]byte
	for i, e := range []*tree.Entry{b, o, t} {
		if e.Chunked {
			return "both sides changed it, and it is too large to be merged", nil
		}
		if texts[i], err = p.s.whole(e); err != nil {
			return "", err
		}
	}
	text, ok := merge.Texts(texts[0], texts[1], texts[2])
	if !ok || len(text) > tree.MaxWhole {
		return "both sides changed the same part of it", nil
	}
	e, err := p.texts.add(text)
	after.Hash, after.Size, after.Chunked = e.Hash, e.Size, false
	return "", err
}

// mergeGroup tells which hard links a file shall be one of.
func mergeGroup(b, o, t *tree.Entry) uint64 {
	before, ours, theirs := group(b), group(o), group(t)
	switch {
	case ours == before, ours != 0 && theirs != 0: // groups are named by their first path, which may just have gone
		return theirs
	}
	return ours
}

func group(e *tree.Entry) uint64 {
	if e == nil {
		return 0
	}
	return e.Group
}

func inGroup(e *tree.Entry, group uint64) *tree.Entry {
	if e == nil || e.Kind != tree.File || e.Group == group {
		return e
	}
	c := *e
	c.Group = group
	return &c
}

// texts are files that a merge makes; they become objects of the store when it is carried out.
type texts struct {
	s      *Store
	dry    bool
	writer *pack.Writer
}

func (x *texts) add(text []byte) (tree.Entry, error) {
	e := tree.Entry{Kind: tree.File, Mode: 0o644, Size: int64(len(text)), Hash: tree.Sum(text)}
	if x.dry {
		return e, nil
	}
	if x.writer == nil {
		w, err := x.s.packs.NewWriter()
		if err != nil {
			return e, err
		}
		x.writer = w
	}
	return e, x.writer.Add(e.Hash, text)
}

func (x *texts) commit() error {
	if x.writer == nil {
		return nil
	}
	return x.writer.Commit()
}

func (x *texts) abort() {
	if x.writer != nil {
		x.writer.Abort()
	}
}

// named is an entry of the name that a path has.
func named(e tree.Entry, at string) *tree.Entry {
	e.Name = path.Base(at)
	return &e
}
