// This file lets the tools see what the user has typed in an editor and not saved.

package tools

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

// Unsaved is a document that stood unsaved in the editor when the user asked.
type Unsaved struct {
	Text string
	// Base is patch.TextSum of the file that the editor's text is a change of; "": there was none. Once the file is another,
	// saved by the user or changed by the agent, the file counts and no longer Text.
	Base string
	// Omitted: Text was too large to come along. The file counts, and is not written.
	Omitted bool
}

// Notices of the tools that look.
const (
	unsavedNote = "unsaved in the editor"
	omittedNote = "the editor has unsaved changes of it that are too large to be shown; this is the file on disk"
)

// overlaid is a sandbox in which files are as the editor shows them.
type overlaid struct {
	sandbox.Sandbox
	files map[string]Unsaved
	env   Env  // as the call was given it
	wrote bool // the editor has made a change

	mu    sync.Mutex
	known map[string]*shownFile
}

// shownFile is a file as the editor shows it; data is nil when the file itself counts.
type shownFile struct {
	data  []byte
	entry sandbox.Entry
	disk  string // hash of the file behind it, as Edit.Before has it
}

// overlay makes what is unsaved part of the sandbox that a call sees.
func (e Env) overlay() Env {
	if len(e.Unsaved) > 0 || e.Open != nil {
		e.Sandbox = &overlaid{Sandbox: e.Sandbox, files: e.Unsaved, env: e, known: map[string]*shownFile{}}
	}
	return e
}

// note says what the editor has of a file; "" when the file is all there is.
func (e Env) note(ctx context.Context, name string) string {
	o, ok := e.Sandbox.(*overlaid)
	if !ok {
		return ""
	}
	if o.files[name].Omitted {
		return omittedNote
	}
	if s, err := o.shown(ctx, name); err == nil && s != nil {
		return unsavedNote
	}
	return ""
}

// shown returns a file as the editor shows it; nil when the file itself counts.
func (o *overlaid) shown(ctx context.Context, name string) (*shownFile, error) {
	u, ok := o.files[name]
	if !ok || u.Omitted {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, ok := o.known[name]; ok {
		return s, nil
	}
	s, err := o.look(ctx, name, u)
	if err != nil {
		return nil, err
	}
	o.known[name] = s
	return s, nil
}

func (o *overlaid) look(ctx context.Context, name string, u Unsaved) (*shownFile, error) {
	entry, err := o.Sandbox.Stat(ctx, name)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		if u.Base != "" {
			return nil, nil
		}
		data := []byte(u.Text)
		return &shownFile{data, sandbox.Entry{Path: name, Mode: 0o644, Size: int64(len(data))}, ""}, nil
	}
	if err != nil {
		return nil, err
	}
	if !entry.Mode.IsRegular() || entry.Size > patch.MaxFileBytes || u.Base == "" {
		return nil, nil
	}
	content, err := o.Sandbox.ReadFile(ctx, name, 0, patch.MaxFileBytes)
	if err != nil || content.Size > int64(len(content.Data)) || patch.TextSum(content.Data) != u.Base {
		return nil, err
	}
	data := patch.Rewrite(content.Data, u.Text)
	entry.Size = int64(len(data))
	return &shownFile{data, entry, sumOf(content.Data)}, nil
}

// Stat implements sandbox.Sandbox.
func (o *overlaid) Stat(ctx context.Context, name string) (sandbox.Entry, error) {
	if s, err := o.shown(ctx, name); s != nil || err != nil {
		if err != nil {
			return sandbox.Entry{}, err
		}
		return s.entry, nil
	}
	return o.Sandbox.Stat(ctx, name)
}

// ReadFile implements sandbox.Sandbox.
func (o *overlaid) ReadFile(ctx context.Context, name string, offset int64, n int) (sandbox.FileContent, error) {
	s, err := o.shown(ctx, name)
	if err != nil || s == nil {
		if err != nil {
			return sandbox.FileContent{}, err
		}
		return o.Sandbox.ReadFile(ctx, name, offset, n)
	}
	size := int64(len(s.data))
	start := max(0, min(offset, size))
	content := sandbox.FileContent{Data: s.data[start:min(start+int64(max(n, 0)), size)], Size: size, Mode: s.entry.Mode}
	if len(content.Data) == len(s.data) {
		content.Hash = sumOf(s.data)
	}
	return content, nil
}

// List implements sandbox.Sandbox: files that there are only in the editor are listed where their directory is.
func (o *overlaid) List(ctx context.Context, dir string, depth, limit int) (sandbox.Listing, error) {
	listing, err := o.Sandbox.List(ctx, dir, depth, limit)
	if err != nil {
		return listing, err
	}
	there := map[string]bool{dir: true}
	for _, e := range listing.Entries {
		there[e.Path] = true
	}
	for _, name := range o.paths() {
		level := strings.Count(strings.TrimPrefix(name, dir+"/"), "/") + 1
		if there[name] || !there[path.Dir(name)] || level > max(depth, 1) {
			continue
		}
		if s, err := o.shown(ctx, name); err == nil && s != nil {
			listing.Entries = append(listing.Entries, s.entry)
		}
	}
	return listing, nil
}

// Apply implements sandbox.Sandbox. What the user has not saved, when they asked or since, is never written behind the editor's
// back: the editor makes the change itself. In a copy of the folder, which no editor has open, the change is made to the text
// that the agent was shown.
func (o *overlaid) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	edits = slices.Clone(edits)
	open, held := map[string]Open{}, map[string]heldFile{}
	if o.env.Open != nil {
		open = o.env.Open()
	}
	for i, e := range edits {
		s, err := o.shown(ctx, e.Path)
		_, late := open[e.Path]
		switch {
		case err != nil:
			return err
		case o.files[e.Path].Omitted:
			return denied(e.Path, "this file has unsaved changes in the user's editor that could not be seen, so nothing was written; ask the user to save it, then try again")
		case s != nil && (o.env.InPlace || late):
			held[e.Path] = heldFile{data: s.data, text: o.files[e.Path].Text, base: o.files[e.Path].Base, sum: sumOf(s.data), open: open[e.Path]}
		case late:
			if held[e.Path], err = o.behind(ctx, e.Path, open[e.Path]); err != nil {
				return err
			}
		case s != nil && e.Before == sumOf(s.data):
			edits[i].Before = s.disk
		}
	}
	if len(held) > 0 {
		return o.intoEditor(ctx, id, edits, held)
	}
	return o.Sandbox.Apply(ctx, id, edits)
}

func (o *overlaid) paths() []string { return slices.Sorted(maps.Keys(o.files)) }

var _ sandbox.Sandbox = (*overlaid)(nil)
