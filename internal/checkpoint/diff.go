// This file tells people what differs between two checkpoints.

package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/patch"
)

// Kind says how a path differs.
type Kind string

// The kinds of difference.
const (
	Added   Kind = "added"
	Changed Kind = "changed"
	Removed Kind = "removed"
	Renamed Kind = "renamed" // with the same content
	Mode    Kind = "mode"    // nothing but permissions
	Joined  Kind = "merged"  // of a merge: the changes of both sides are in it
	Type    Kind = "type"    // file, directory and link for each other
)

// FileDiff is one path that differs. The name of a directory ends with "/"; directories are told only when they are
// empty or their permissions differ.
type FileDiff struct {
	Path    string
	Kind    Kind
	OldPath string // of Renamed
	Binary  bool
	Added   int    // lines, of text
	Removed int    // lines, of text
	Patch   string // unified, in git's form; "" where it would be too large
}

// Diff is the answer of Store.Diff.
type Diff struct {
	Files     []FileDiff
	Truncated bool // more differs, or patches were left out
}

// Bounds of a diff, in bytes.
const (
	DefaultDiffFiles = 2000
	DefaultDiffBytes = 512 << 10 // of all patches
	maxText          = 1 << 20   // of a file that is compared by lines
	maxPatch         = 64 << 10  // of one patch
)

// DiffOptions bound a diff.
type DiffOptions struct {
	Paths    []string // only these and what is below them
	Patches  bool
	MaxFiles int // default DefaultDiffFiles
	MaxBytes int // default DefaultDiffBytes
}

const opDiff = "compare checkpoints"

// Diff compares two checkpoints; "" is an empty folder.
func (s *Store) Diff(ctx context.Context, from, to string, o DiffOptions) (Diff, error) {
	a, err := s.root(from)
	if err != nil {
		return Diff{}, err
	}
	b, err := s.root(to)
	if err != nil {
		return Diff{}, err
	}
	all, err := s.differences(ctx, a, b)
	if err != nil {
		return Diff{}, s.Blame(ctx, classed(opDiff, err), from, to)
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = DefaultDiffFiles
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultDiffBytes
	}
	d := differ{ctx: ctx, s: s, opts: o, left: o.MaxBytes, sources: renames(all)}
	for i := range all {
		if err := d.add(&all[i]); err != nil {
			return Diff{}, s.Blame(ctx, classed(opDiff, err), from, to)
		}
	}
	return d.out, nil
}

func (s *Store) root(id string) (tree.Hash, error) {
	if id == "" {
		return tree.Empty, nil
	}
	m, err := s.manifest(id)
	if err != nil {
		return tree.Hash{}, err
	}
	return tree.ParseHash(m.Root)
}

// renames finds files that went from one path to another: the content of exactly one removed and one added file.
func renames(all []difference) map[string]string {
	type pair struct{ removed, added []string }
	pairs := map[tree.Hash]*pair{}
	for _, d := range all {
		e := d.before
		if e == nil {
			e = d.after
		}
		if (d.before == nil) == (d.after == nil) || e.Kind != tree.File || e.Size == 0 {
			continue
		}
		p := pairs[e.Hash]
		if p == nil {
			p = &pair{}
			pairs[e.Hash] = p
		}
		if d.before != nil {
			p.removed = append(p.removed, d.path)
		} else {
			p.added = append(p.added, d.path)
		}
	}
	out := map[string]string{}
	for _, p := range pairs {
		if len(p.removed) == 1 && len(p.added) == 1 {
			out[p.added[0]], out[p.removed[0]] = p.removed[0], ""
		}
	}
	return out
}

type differ struct {
	ctx     context.Context
	s       *Store
	opts    DiffOptions
	left    int               // bytes of patches
	sources map[string]string // by the new path of a renamed file its old one, by the old one ""
	out     Diff
}

func (d *differ) add(x *difference) error {
	source, renamed := d.sources[x.path]
	if !selected(d.opts.Paths, x.path) || (renamed && source == "") {
		return nil
	}
	f, shown := describe(x)
	if !shown {
		return nil
	}
	if len(d.out.Files) >= d.opts.MaxFiles {
		d.out.Truncated = true
		return nil
	}
	if renamed {
		f.Kind, f.OldPath = Renamed, source
	} else if err := d.patch(x, &f); err != nil {
		return err
	}
	d.out.Files = append(d.out.Files, f)
	return nil
}

// selected tells whether a path is one of paths or below one; none select all.
func selected(paths []string, path string) bool {
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if p == "." || path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return len(paths) == 0
}

// describe tells how a path differs, and whether that is worth telling.
func describe(x *difference) (FileDiff, bool) {
	a, b := x.before, x.after
	f := FileDiff{Path: x.path, Kind: Changed}
	dir := false
	for _, e := range []*tree.Entry{a, b} {
		if e != nil && e.Kind == tree.Dir {
			dir = true
		}
	}
	switch {
	case a == nil || b == nil:
		f.Kind = Added
		e := b
		if b == nil {
			f.Kind, e = Removed, a
		}
		if dir {
			f.Path += "/"
			return f, e.Hash == tree.Empty
		}
	case a.Kind != b.Kind:
		f.Kind = Type
	case a.SameContent(b):
		f.Kind = Mode
		if dir {
			f.Path += "/"
		}
		return f, a.Mode != b.Mode && a.Kind != tree.Link
	}
	return f, true
}

// patch compares what two entries hold, if that is text of a reasonable size.
func (d *differ) patch(x *difference, f *FileDiff) error {
	if strings.HasSuffix(f.Path, "/") || d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	for _, e := range []*tree.Entry{x.before, x.after} {
		if e != nil && e.Kind == tree.File && e.Size > maxText {
			d.out.Truncated = true
			return nil
		}
	}
	before, err := d.file(x.before)
	if err != nil {
		return err
	}
	after, err := d.file(x.after)
	if err != nil {
		return err
	}
	if f.Binary = binary(before) || binary(after); f.Binary {
		return nil
	}
	text := modes(x, patch.Unified(x.path, before, after))
	f.Added, f.Removed = count(text)
	switch {
	case !d.opts.Patches:
	case len(text) > maxPatch || len(text) > d.left || !utf8.ValidString(text):
		d.out.Truncated = true
	default:
		f.Patch = text
		d.left -= len(text)
	}
	return nil
}

// file returns what an entry holds, nil for nothing and directories.
func (d *differ) file(e *tree.Entry) (*patch.File, error) {
	switch {
	case e == nil || e.Kind == tree.Dir:
		return nil, nil
	case e.Kind == tree.Link:
		return &patch.File{Data: []byte(e.Target), Mode: fs.FileMode(e.Mode)}, nil
	}
	b, err := d.s.packs.Get(e.Hash)
	return &patch.File{Data: b, Mode: fs.FileMode(e.Mode)}, err
}

// binary tells whether a file is no text that can be shown.
func binary(f *patch.File) bool {
	return f != nil && (bytes.IndexByte(f.Data, 0) >= 0 || !utf8.Valid(f.Data))
}

// modes adds to a patch that the permissions changed.
func modes(x *difference, text string) string {
	a, b := x.before, x.after
	if a == nil || b == nil || a.Kind != tree.File || b.Kind != tree.File || a.Mode == b.Mode {
		return text
	}
	lines := fmt.Sprintf("old mode %o\nnew mode %o\n", 0o100000|int(a.Mode), 0o100000|int(b.Mode))
	first, rest, ok := strings.Cut(text, "\n")
	if !ok {
		return fmt.Sprintf("diff --git a/%s b/%s\n%s", x.path, x.path, lines)
	}
	return first + "\n" + lines + rest
}

// count counts the lines that a patch adds and removes.
func count(text string) (added, removed int) {
	hunks := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			hunks = true
		case hunks && line[0] == '+':
			added++
		case hunks && line[0] == '-':
			removed++
		}
	}
	return added, removed
}
