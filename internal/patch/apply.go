// This file computes what a patch makes of the files it names, one section after the other.

package patch

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Apply computes the changes that p makes, in the order in which it first names their paths. read returns a file or an error
// that wraps fs.ErrNotExist; it is called at most once for a path. Nothing is written, and paths whose content stays the same
// are left out. Errors are of type *Error, or come from read.
func Apply(p Patch, read func(path string) (File, error)) ([]Change, error) {
	if len(p.Files) > MaxFiles {
		return nil, fail(Limit, "", 0, "the patch changes more than %d files; split it", MaxFiles)
	}
	t := tree{read: read, overwrite: p.Overwrite, entries: map[string]*entry{}}
	for _, f := range p.Files {
		if err := t.apply(f); err != nil {
			return nil, err
		}
		if t.total > MaxTotalBytes {
			return nil, fail(Limit, f.Path, f.Line, "the files of the patch are larger than %d MiB together; split it", MaxTotalBytes>>20)
		}
	}
	return t.changes(), nil
}

// tree is the files that a patch touches, as far as it was applied.
type tree struct {
	read      func(string) (File, error)
	overwrite bool
	entries   map[string]*entry
	order     []*entry
	total     int
}

// entry is one path of the tree.
type entry struct {
	path        string
	before, now *File
	from, to    string // of moves
}

func (t *tree) apply(f FilePatch) error {
	e, err := t.entry(f.Path, f.Line)
	if err != nil {
		return err
	}
	if f.Kind == Add {
		return t.add(e, f)
	}
	if e.now == nil {
		return fail(NotFound, e.path, f.Line, `there is no such file; list the directory, or add the file by "*** Add File:"`)
	}
	if f.Kind == Delete {
		return t.remove(e, f)
	}
	return t.update(e, f)
}

// entry returns the entry of a path, reading the file when it is named for the first time.
func (t *tree) entry(name string, line int) (*entry, error) {
	if err := checkPath(name, line); err != nil {
		return nil, err
	}
	e, err := t.load(path.Clean(name))
	if err != nil || e.now != nil || !strings.Contains(name, `\`) {
		return e, err
	}
	return t.entry(strings.ReplaceAll(name, `\`, "/"), line) // written as on Windows
}

func (t *tree) load(name string) (*entry, error) {
	if e, ok := t.entries[name]; ok {
		return e, nil
	}
	e := &entry{path: name}
	file, err := t.read(name)
	switch {
	case err == nil:
		if err := t.count(name, file.Data); err != nil {
			return nil, err
		}
		e.before, e.now = &file, &file
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	t.entries[name] = e
	t.order = append(t.order, e)
	return e, nil
}

// count adds a file to the total and refuses one that is too large.
func (t *tree) count(name string, data []byte) error {
	if len(data) > MaxFileBytes {
		return fail(Limit, name, 0, "the file is larger than %d MiB; change it by a command instead", MaxFileBytes>>20)
	}
	t.total += len(data)
	return nil
}

// checkPath refuses paths that are not inside.
func checkPath(name string, line int) error {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	switch {
	case name == "" || clean == "." || strings.ContainsRune(name, 0):
		return fail(Invalid, name, line, "line %d of the patch names no file", line)
	case path.IsAbs(clean), len(clean) > 1 && clean[1] == ':' && strings.Contains(name, `\`):
		return fail(Invalid, name, line, "this path is absolute; name files relative to the workspace")
	case clean == "..", strings.HasPrefix(clean, "../"):
		return fail(Invalid, name, line, "this path leads outside the workspace")
	}
	return nil
}

func (t *tree) add(e *entry, f FilePatch) error {
	if e.now != nil && !t.overwrite {
		return fail(Exists, e.path, f.Line, `the file exists already; change it by "*** Update File:", or delete it first`)
	}
	mode := f.Mode
	switch {
	case e.now != nil:
		mode = e.now.Mode
	case mode == 0:
		mode = 0o644
	}
	return t.put(e, File{Data: newContent(f), Mode: mode})
}

// newContent returns the content of an added file. Every line has an end unless the patch denies it to the last.
func newContent(f FilePatch) []byte {
	var out bytes.Buffer
	for _, h := range f.Hunks {
		for _, line := range h.Lines {
			out.WriteString(line.Text)
			switch {
			case line.NoEOL:
			case line.CR:
				out.WriteString("\r\n")
			default:
				out.WriteString("\n")
			}
		}
	}
	return out.Bytes()
}

// put sets the content of an entry.
func (t *tree) put(e *entry, file File) error {
	if err := t.count(e.path, file.Data); err != nil {
		return err
	}
	e.now = &file
	return nil
}

// remove deletes a file; if the patch says what it consists of, it must.
func (t *tree) remove(e *entry, f FilePatch) error {
	if len(f.Hunks) == 0 && e.now.Exact {
		return fail(Conflict, e.path, f.Line, "read it again before you delete it")
	}
	if len(f.Hunks) > 0 {
		rest, err := applyHunks(e.path, *e.now, f.Hunks)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return fail(Conflict, e.path, f.Line, "the file has more than the patch deletes; read it again")
		}
	}
	e.now = nil
	return nil
}

func (t *tree) update(e *entry, f FilePatch) error {
	data, mode, strict := e.now.Data, e.now.Mode, e.now.Exact
	if len(f.Hunks) > 0 {
		var err error
		if data, err = applyHunks(e.path, *e.now, f.Hunks); err != nil {
			return err
		}
	}
	if f.MoveTo == "" {
		return t.put(e, File{data, mode, strict})
	}
	target, err := t.entry(f.MoveTo, f.Line)
	if err != nil {
		return err
	}
	if target == e {
		return t.put(e, File{data, mode, strict})
	}
	if target.now != nil && !t.overwrite {
		return fail(Exists, target.path, f.Line, "the file exists already; choose another name to move %s to, or delete it first", e.path)
	}
	e.now, e.to, target.from = nil, target.path, e.path
	return t.put(target, File{data, mode, strict})
}

// changes lists what became different.
func (t *tree) changes() []Change {
	var all []Change
	for _, e := range t.order {
		if same(e.before, e.now) {
			continue
		}
		c := Change{Path: e.path, Before: e.before, After: e.now}
		if e.now == nil {
			c.MovedTo = e.to
		} else {
			c.From = e.from
		}
		all = append(all, c)
	}
	return all
}

func same(a, b *File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Mode == b.Mode && bytes.Equal(a.Data, b.Data)
}
