// This file completes what goes with a question: it reads the files that the question's text mentions, or that the client only
// names.

package core

import (
	"cmp"
	"context"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/images"
	"sandboxagent/internal/mentions"
	"sandboxagent/internal/patch"
	"sandboxagent/internal/workspace"
)

// mentionLooks bounds how often it is looked whether what a question may mention is there.
const mentionLooks = 2000

// enclose returns what goes with a question to a session: what is given, and what its text mentions. Files are read in the
// session's folder on this host. The worker reads those of a session in another sandbox, as the agent's tools would; at a
// session of another host mentions are only text.
func (c *Core) enclose(ctx context.Context, id, text string, given []editors.Context) ([]editors.Context, error) {
	if !encloses(text, given) {
		return given, nil
	}
	s, err := c.session(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.HostID != c.HostID() {
		return c.encloseIn(ctx, enclosing{}, text, given)
	}
	dir, err := folderPath(s.WorkspaceFolder)
	if s.Backend.Kind == editors.Local {
		dir = cmp.Or(s.Backend.WorkspaceRoot, dir)
	}
	if err != nil {
		return nil, err
	}
	reads := enclosing{dir: dir}
	if isAway(s.Backend) {
		in, err := c.sandboxOf(agent.View{Session: s})
		if err != nil {
			return nil, err
		}
		reads.away, reads.there = true, c.thereIn(in)
	}
	return c.encloseIn(ctx, reads, text, given)
}

// isAway tells whether a session works on a copy of its folder; the zero Backend is of one that is not there yet.
func isAway(b editors.Backend) bool { return b.Kind != "" && b.Kind != editors.Local }

// encloses says whether there may be something to be read.
func encloses(text string, given []editors.Context) bool {
	return strings.Contains(text, "@") || slices.ContainsFunc(given, func(p editors.Context) bool {
		return p.Mentioned || p.Kind == "image" || p.Image != nil
	})
}

// encloseIn is enclose in a folder of this host, or in none.
func (c *Core) encloseIn(ctx context.Context, e enclosing, text string, given []editors.Context) ([]editors.Context, error) {
	e.parts, e.left, e.looks = slices.Clone(given), mentions.MaxTexts, mentionLooks
	if e.dir != "" {
		root, err := os.OpenRoot(e.dir)
		if err != nil {
			return nil, editors.Errorf(editors.CodeNotFound, "the session's folder cannot be read: %w", err).
				WithRemedy("Put it back, or ask in another folder.")
		}
		defer func() { _ = root.Close() }()
		e.root = root
	}
	e.lookThere(ctx, text)
	for _, m := range mentions.Find(text, e.known) {
		e.mention(m)
	}
	for i := range e.parts {
		p := &e.parts[i]
		p.Image = nil // only what is made here counts
		if i < len(given) && p.Kind == "file" && p.Mentioned && p.Text == "" && !p.Unsaved {
			e.read(p)
		}
	}
	return e.parts, c.enclosePictures(ctx, &e)
}

// inlined omits the texts that have more than n bytes together.
func inlined(parts []editors.Context, n int) []editors.Context {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		if len(p.Text) > n {
			p.Text, p.Omitted = "", true
		}
		n -= len(p.Text)
	}
	return out
}

// enclosing gathers what goes with a question.
type enclosing struct {
	dir    string                                             // "": none that can be read, the session is on another host
	away   bool                                               // the session works on a copy, in which the worker reads
	there  func(ctx context.Context, names []string) []string // which of them the copy has; nil: nobody can tell
	copied []string                                           // what only the copy has
	root   *os.Root                                           // of dir
	parts  []editors.Context
	left   int // bytes of text
	looks  int
}

// inside returns the path in the folder of a file as a text mentions it.
func (e *enclosing) inside(name string) (string, bool) {
	if filepath.IsAbs(name) {
		below := workspace.Below(e.dir, []string{name})
		if len(below) == 0 {
			return "", false
		}
		name = below[0]
	}
	name = path.Clean(name)
	return name, filepath.IsLocal(name) && name != "."
}

// known tells whether a mentioned file or directory is there, or shown by the editor only, or only in the copy.
func (e *enclosing) known(name string) bool {
	rel, ok := e.inside(name)
	if !ok || e.root == nil || e.looks == 0 {
		return false
	}
	e.looks--
	if e.unsaved(rel) != nil {
		return true
	}
	info, err := e.root.Stat(rel)
	return err == nil && (info.Mode().IsRegular() || info.IsDir()) || slices.Contains(e.copied, rel)
}

// unsaved returns the text that the editor sent of a file; nil when it sent none.
func (e *enclosing) unsaved(rel string) *editors.Context {
	for i := range e.parts {
		p := &e.parts[i]
		if p.Kind != "file" || !p.Unsaved || p.Range != nil {
			continue
		}
		if file, err := folderPath(p.URI); err == nil && slices.Equal(workspace.Below(e.dir, []string{file}), []string{rel}) {
			return p
		}
	}
	return nil
}

// mention takes up what a text mentions.
func (e *enclosing) mention(m mentions.Mention) {
	if m.Kind != mentions.File {
		e.mentionEditors(string(m.Kind))
		return
	}
	rel, ok := e.inside(m.Path)
	if !ok {
		return
	}
	shown := e.unsaved(rel)
	p := editors.Context{Kind: "file", URI: (&url.URL{Scheme: "file", Path: filepath.Join(e.dir, rel)}).String(), Mentioned: true}
	switch {
	case shown != nil && (m.First == 0 || shown.Omitted):
		shown.Mentioned = true
		return
	case shown != nil:
		e.cut(&p, shown.Text, m.First, m.Last)
	case m.First > 0:
		p.Range = &editors.Range{Start: editors.Position{Line: m.First - 1}, End: editors.Position{Line: m.Last - 1}}
	}
	if m.First == 0 && !e.away && e.isPicture(rel) {
		p.Kind = "image"
	}
	if p.Kind == "file" && shown == nil {
		e.read(&p)
	}
	e.parts = append(e.parts, p)
}

// mentionEditors marks what the editor sent along; where it sent nothing, the agent is to know that.
func (e *enclosing) mentionEditors(kind string) {
	sent := false
	for i := range e.parts {
		if e.parts[i].Kind == kind {
			e.parts[i].Mentioned, sent = true, true
		}
	}
	if !sent {
		e.parts = append(e.parts, editors.Context{Kind: kind, Mentioned: true, Omitted: true})
	}
}

func (e *enclosing) isPicture(rel string) bool {
	f, err := openFile(e.root, rel)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 512)
	n, _ := f.Read(head) // of an empty or unreadable file nothing is known
	return images.Type(head[:n]) != ""
}

// read fills in the text of a file, or of the lines that are meant, or the names in a directory. What cannot be shown is
// omitted: the agent is told, and can look for itself.
func (e *enclosing) read(p *editors.Context) {
	p.Omitted = true
	if e.root == nil || e.away {
		return
	}
	file, err := folderPath(p.URI)
	if err != nil {
		return
	}
	rel, ok := e.inside(file)
	if !ok {
		return
	}
	if info, err := e.root.Stat(rel); err == nil && info.IsDir() {
		e.names(p, rel)
		return
	}
	data, err := readFile(e.root, rel, patch.MaxFileBytes)
	if err != nil || slices.Contains(data[:min(len(data), 8<<10)], 0) {
		return
	}
	first, last := 0, 0
	if p.Range != nil {
		first, last = p.Range.Start.Line+1, p.Range.End.Line+1
	}
	e.cut(p, patch.Text(data), first, last)
}

// cut takes lines of a text, from 1; 0: all. What is long loses its middle.
func (e *enclosing) cut(p *editors.Context, text string, first, last int) {
	p.Range = nil
	if first > 0 {
		lines, where := mentions.Lines(text, first, last)
		text, p.Range = lines, &where
	}
	text = conversation.Cut(text, mentions.MaxText)
	if p.Omitted = len(text) > e.left; p.Omitted {
		return
	}
	e.left -= len(text)
	p.Text = text
}

// names lists a directory.
func (e *enclosing) names(p *editors.Context, rel string) {
	dir, err := e.root.Open(rel)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(mentions.MaxNames + 1)
	if err != nil && len(entries) == 0 {
		entries = nil // it is empty, or cannot be read: the agent finds out which
	}
	var names []string
	for _, entry := range entries[:min(len(entries), mentions.MaxNames)] {
		names = append(names, entry.Name()+suffix(entry))
	}
	slices.Sort(names)
	if len(entries) > mentions.MaxNames {
		names = append(names, "…")
	}
	p.URI = strings.TrimSuffix(p.URI, "/") + "/"
	e.cut(p, strings.ToValidUTF8(strings.Join(names, "\n"), "\uFFFD"), 0, 0)
}

func suffix(entry fs.DirEntry) string {
	if entry.IsDir() {
		return "/"
	}
	return ""
}
