// This file answers questions about the files in memory.

package fake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"sandboxagent/internal/sandbox"
)

const (
	maxRead      = 8 << 20 // bytes of one ReadFile
	maxListed    = 20_000
	maxSearched  = 4 << 20 // bytes of a file that is searched
	maxLine      = 500     // bytes of a line in an answer
	defaultFound = 200
)

// Hash returns what Edit.Before must be for a file of this content.
func Hash(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// ReadFile implements sandbox.Sandbox.
func (s *Sandbox) ReadFile(ctx context.Context, name string, offset int64, n int) (content sandbox.FileContent, err error) {
	err = s.do(ctx, "ReadFile", func() error {
		content, err = s.read(name, offset, n)
		return err
	})
	return content, err
}

func (p *place) read(name string, offset int64, n int) (none sandbox.FileContent, err error) {
	const op = "read file"
	if offset < 0 || n < 0 {
		return none, invalid(op, name, "offset and length must not be negative")
	}
	at, err := p.find(op, name, true)
	switch {
	case err != nil:
		return none, err
	case at.node == nil:
		return none, missing(op, name)
	case at.node.children != nil:
		return none, invalid(op, name, "it is a directory")
	}
	size := int64(len(at.node.data))
	start := min(offset, size)
	end := min(start+int64(min(n, maxRead)), size)
	content := sandbox.FileContent{Data: slices.Clone(at.node.data[start:end]), Size: size, Mode: at.node.mode}
	if offset == 0 && end == size {
		content.Hash = Hash(string(at.node.data))
	}
	return content, nil
}

// Stat implements sandbox.Sandbox.
func (s *Sandbox) Stat(ctx context.Context, name string) (entry sandbox.Entry, err error) {
	err = s.do(ctx, "Stat", func() error {
		at, err := s.find("stat", name, false)
		if err == nil && at.node == nil {
			err = missing("stat", name)
		}
		if err == nil {
			entry = at.node.entry(at.path)
		}
		return err
	})
	return entry, err
}

func (n *node) entry(path string) sandbox.Entry {
	size := len(n.data)
	if n.target != "" {
		size = len(n.target)
	}
	return sandbox.Entry{Path: path, Mode: n.mode, Size: int64(size), Mtime: n.mtime, Target: n.target}
}

// List implements sandbox.Sandbox.
func (s *Sandbox) List(ctx context.Context, dir string, depth, limit int) (listing sandbox.Listing, err error) {
	err = s.do(ctx, "List", func() error {
		const op = "list"
		at, err := s.find(op, dir, true)
		if err != nil {
			return err
		}
		if at.node == nil || at.node.children == nil {
			return missing(op, dir)
		}
		listing = at.node.list(asked(at, dir), depth, limit)
		return nil
	})
	return listing, err
}

// asked is the path of a directory as it was asked for: what is below it is named by that.
func asked(at found, name string) string {
	if rel, err := clean("", name); err == nil {
		return rel
	}
	return at.path
}

func (n *node) list(dir string, depth, limit int) (l sandbox.Listing) {
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	above := strings.Count(path.Join(dir, "x"), "/")
	n.walk(dir, func(p string, n *node) {
		if strings.Count(p, "/")-above >= max(depth, 1) || strings.Contains(strings.TrimPrefix(p, dir), "/.git/") {
			return
		}
		if len(l.Entries) == limit {
			l.Truncated = true
			return
		}
		l.Entries = append(l.Entries, n.entry(p))
	})
	return l
}

// Search implements sandbox.Sandbox.
func (s *Sandbox) Search(ctx context.Context, q sandbox.Query) (result sandbox.SearchResult, err error) {
	err = s.do(ctx, "Search", func() error {
		result, err = s.search(q)
		return err
	})
	return result, err
}

var errEnough = errors.New("enough")

type searcher struct {
	place *place
	query sandbox.Query
	base  string // what globs are relative to
	re    *regexp.Regexp
	limit int
	out   sandbox.SearchResult
}

func (p *place) search(q sandbox.Query) (sandbox.SearchResult, error) {
	const op = "search"
	pattern := q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return sandbox.SearchResult{}, sandbox.Errorf(sandbox.ClassInvalid, op, "the pattern is no regular expression: %v", err)
	}
	if !doublestar.ValidatePattern(q.Glob) {
		return sandbox.SearchResult{}, sandbox.Errorf(sandbox.ClassInvalid, op, "the glob %q is malformed", q.Glob)
	}
	at, err := p.find(op, q.Path, true)
	if err == nil && at.node == nil {
		err = missing(op, q.Path)
	}
	if err != nil {
		return sandbox.SearchResult{}, err
	}
	s := &searcher{place: p, query: q, re: re, limit: q.Limit, base: asked(at, q.Path)}
	if s.limit <= 0 {
		s.limit = defaultFound
	}
	if at.node.children == nil {
		name := s.base
		s.base = path.Dir(name)
		err = s.file(name)
	} else {
		err = s.dir(s.base, at.node)
	}
	s.out.Truncated = errors.Is(err, errEnough)
	return s.out, nil
}

func (s *searcher) dir(dir string, n *node) error {
	for _, name := range n.names() {
		child, p := n.children[name], path.Join(dir, name)
		var err error
		switch {
		case child.children == nil:
			err = s.file(p)
		case s.query.Hidden || !strings.HasPrefix(name, "."):
			err = s.dir(p, child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *searcher) file(p string) error {
	name := p
	if s.base != "." {
		name = strings.TrimPrefix(p, s.base+"/")
	}
	if ok, err := doublestar.Match(s.query.Glob, name); s.query.Glob != "" && (err != nil || !ok) {
		return nil
	}
	if s.query.Pattern == "" {
		return s.add(sandbox.Match{Path: p})
	}
	at, err := s.place.find("search", p, true)
	if err != nil || at.node == nil || at.node.children != nil || len(at.node.data) > maxSearched || bytes.IndexByte(at.node.data, 0) >= 0 {
		s.out.Skipped++
		return nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(at.node.data), "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !s.re.MatchString(line) {
			continue
		}
		if err := s.add(sandbox.Match{Path: p, Line: i + 1, Text: cutLine(line)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *searcher) add(m sandbox.Match) error {
	if len(s.out.Matches) == s.limit {
		return errEnough
	}
	s.out.Matches = append(s.out.Matches, m)
	return nil
}

// cutLine bounds a line without splitting a character.
func cutLine(line string) string {
	if len(line) <= maxLine {
		return line
	}
	n := maxLine
	for n > maxLine-utf8.UTFMax && !utf8.RuneStart(line[n]) {
		n--
	}
	return line[:n]
}
