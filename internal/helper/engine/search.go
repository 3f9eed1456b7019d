// This file searches the workspace for lines or file names, bounded in everything, without following links to directories.

package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"sandboxagent/internal/sandbox"
)

const (
	opSearch      = "search"
	defaultFound  = 200
	maxFound      = 10000
	maxSearchFile = 4 << 20 // bytes; larger files are passed over
	maxLine       = 500     // bytes of a line in the answer
	sniff         = 8 << 10 // bytes looked at to tell a binary file
)

// Search implements the method of sandbox.Sandbox. Files come in the order of their names, directory by directory.
func (e *Engine) Search(ctx context.Context, q sandbox.Query) (sandbox.SearchResult, error) {
	s, rel, err := e.newSearch(ctx, q)
	if err != nil {
		return sandbox.SearchResult{}, err
	}
	if s.root, err = e.openRoot(opSearch); err != nil {
		return sandbox.SearchResult{}, err
	}
	defer s.root.Close()
	err = s.begin(rel)
	switch {
	case errors.Is(err, errEnough):
		s.out.Truncated = true
	case ctx.Err() != nil:
		return sandbox.SearchResult{}, canceled(ctx, opSearch)
	case err != nil:
		return sandbox.SearchResult{}, fileError(opSearch, rel, err)
	}
	return s.out, nil
}

type searcher struct {
	ctx   context.Context
	root  *os.Root
	base  string // what globs are relative to
	query sandbox.Query
	re    *regexp.Regexp // nil: by name only
	limit int
	bytes int
	buf   []byte
	out   sandbox.SearchResult
}

func (e *Engine) newSearch(ctx context.Context, q sandbox.Query) (*searcher, string, error) {
	rel, err := e.rel(opSearch, q.Path)
	if err != nil {
		return nil, "", err
	}
	s := &searcher{ctx: ctx, base: rel, query: q, limit: q.Limit}
	if s.limit <= 0 {
		s.limit = defaultFound
	}
	s.limit = min(s.limit, maxFound)
	if q.Glob != "" && !doublestar.ValidatePattern(q.Glob) {
		return nil, "", sandbox.Errorf(sandbox.ClassInvalid, opSearch, "the glob %q is malformed", q.Glob)
	}
	if q.Pattern == "" {
		return s, rel, nil
	}
	pattern := q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if s.re, err = regexp.Compile(pattern); err != nil {
		return nil, "", &sandbox.Error{Class: sandbox.ClassInvalid, Op: opSearch, Message: "the pattern is malformed", Err: err}
	}
	return s, rel, nil
}

func (s *searcher) begin(rel string) error {
	info, err := s.root.Stat(rel)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		s.base = path.Dir(rel)
		return s.file(rel)
	}
	var ig ignores
	if !s.query.Hidden {
		ig = ig.read(s.root, ".git/info/exclude", ".")
		if rel != "." {
			ig = ig.above(s.root, rel)
		}
	}
	return s.dir(rel, ig, 0)
}

func (s *searcher) dir(rel string, ig ignores, depth int) error {
	entries, err := readDir(s.root, rel)
	if err != nil {
		return err
	}
	if !s.query.Hidden {
		ig = ig.with(s.root, rel)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.entry(path.Join(rel, entry.Name()), entry, ig, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *searcher) entry(p string, entry fs.DirEntry, ig ignores, depth int) error {
	hiddenDir := entry.IsDir() && strings.HasPrefix(entry.Name(), ".")
	if !s.query.Hidden && (hiddenDir || ig.Match(p, entry.IsDir())) {
		return nil
	}
	if !entry.IsDir() {
		return s.file(p)
	}
	if depth >= maxDepth {
		return nil
	}
	err := s.dir(p, ig, depth+1)
	if err == nil || errors.Is(err, errEnough) || s.ctx.Err() != nil {
		return err
	}
	s.out.Skipped++ // unreadable or gone meanwhile
	return nil
}

func (s *searcher) file(p string) error {
	if s.query.Glob != "" {
		name := p
		if s.base != "." {
			name = strings.TrimPrefix(p, s.base+"/")
		}
		if ok, err := doublestar.Match(s.query.Glob, name); err != nil || !ok {
			return nil
		}
	}
	if s.re == nil {
		return s.found(sandbox.Match{Path: p})
	}
	content, err := s.content(p)
	if err != nil {
		s.out.Skipped++
		return nil
	}
	return s.lines(p, content)
}

var errSkip = errors.New("not searched")

// content reads a text file; it is valid until the next call.
func (s *searcher) content(p string) ([]byte, error) {
	f, info, err := openRegular(s.root, opSearch, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxSearchFile {
		return nil, errSkip
	}
	if s.buf == nil {
		s.buf = make([]byte, maxSearchFile+1)
	}
	n, err := io.ReadFull(f, s.buf)
	if err == nil { // it grew beyond the limit
		return nil, errSkip
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if bytes.IndexByte(s.buf[:min(n, sniff)], 0) >= 0 {
		return nil, errSkip
	}
	return s.buf[:n], nil
}

func (s *searcher) lines(p string, content []byte) error {
	if !s.re.Match(content) && !anchored(s.query) { // most files: no line can match
		return nil
	}
	for n := 1; len(content) > 0; n++ {
		line, rest, _ := bytes.Cut(content, []byte("\n"))
		content = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if !s.re.Match(line) {
			continue
		}
		if err := s.found(sandbox.Match{Path: p, Line: n, Text: cutLine(line)}); err != nil {
			return err
		}
	}
	return s.ctx.Err()
}

// anchored reports whether a pattern might match a line though it does not match the file as a whole.
func anchored(q sandbox.Query) bool {
	return !q.Literal && strings.ContainsAny(q.Pattern, `^$\(`)
}

// cutLine bounds a line without splitting a character.
func cutLine(line []byte) string {
	if len(line) <= maxLine {
		return string(line)
	}
	n := maxLine
	for n > maxLine-utf8.UTFMax && !utf8.RuneStart(line[n]) {
		n--
	}
	return string(line[:n])
}

func (s *searcher) found(m sandbox.Match) error {
	if len(s.out.Matches) >= s.limit || s.bytes > maxAnswer {
		return errEnough
	}
	s.bytes += entryBytes + len(m.Path) + len(m.Text)
	s.out.Matches = append(s.out.Matches, m)
	return nil
}
