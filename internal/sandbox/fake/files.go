// This file answers questions about the files in memory and changes them.

package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"sandboxagent/internal/sandbox"
)

// Hash returns what Edit.Before must be for a file of this content.
func Hash(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// clean checks a path; the root is ".".
func clean(op, name string) (string, error) {
	cleaned := path.Clean(name)
	if path.IsAbs(name) || cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", &sandbox.Error{Class: sandbox.ClassDenied, Op: op, Path: name, Message: "the path leads outside the workspace"}
	}
	return cleaned, nil
}

func missing(op, name string) error {
	return &sandbox.Error{Class: sandbox.ClassNotFound, Op: op, Path: name, Message: "there is no such file or directory"}
}

// below returns the files below a directory, sorted; the mutex is held.
func (s *Sandbox) below(dir string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if dir == "." || strings.HasPrefix(name, dir+"/") {
			all = append(all, name)
		}
	}
	return all
}

// ReadFile implements sandbox.Sandbox.
func (s *Sandbox) ReadFile(ctx context.Context, name string, offset int64, n int) (content sandbox.FileContent, err error) {
	if err := s.enter(ctx, "ReadFile"); err != nil {
		return content, err
	}
	defer s.leave("ReadFile", &err)
	name, err = clean("read file", name)
	if err != nil {
		return content, err
	}
	file, ok := s.files[name]
	if ok && file.target != "" {
		file, ok = s.files[path.Join(path.Dir(name), file.target)]
	}
	switch {
	case !ok && len(s.below(name)) > 0:
		return content, &sandbox.Error{Class: sandbox.ClassInvalid, Op: "read file", Path: name, Message: "this is a directory"}
	case !ok:
		return content, missing("read file", name)
	}
	size := int64(len(file.data))
	start := min(offset, size)
	end := min(start+int64(n), size)
	content = sandbox.FileContent{Data: slices.Clone(file.data[start:end]), Size: size, Mode: file.mode}
	if start == 0 && end == size {
		content.Hash = Hash(string(file.data))
	}
	return content, nil
}

// Stat implements sandbox.Sandbox.
func (s *Sandbox) Stat(ctx context.Context, name string) (entry sandbox.Entry, err error) {
	if err := s.enter(ctx, "Stat"); err != nil {
		return entry, err
	}
	defer s.leave("Stat", &err)
	if name, err = clean("stat", name); err != nil {
		return entry, err
	}
	if _, ok := s.files[name]; !ok && name != "." && len(s.below(name)) == 0 {
		return entry, missing("stat", name)
	}
	return s.entry(name), nil
}

// entry describes a file, or a directory if there is no file of that name; the mutex is held.
func (s *Sandbox) entry(name string) sandbox.Entry {
	n, ok := s.files[name]
	if !ok {
		return sandbox.Entry{Path: name, Mode: fs.ModeDir | 0o755, Mtime: time.Unix(0, 0)}
	}
	return sandbox.Entry{Path: name, Mode: n.mode, Size: int64(len(n.data)), Mtime: n.mtime, Target: n.target}
}

// List implements sandbox.Sandbox.
func (s *Sandbox) List(ctx context.Context, dir string, depth, limit int) (listing sandbox.Listing, err error) {
	if err := s.enter(ctx, "List"); err != nil {
		return listing, err
	}
	defer s.leave("List", &err)
	if dir, err = clean("list", dir); err != nil {
		return listing, err
	}
	below := s.below(dir)
	if _, ok := s.files[dir]; ok {
		return listing, &sandbox.Error{Class: sandbox.ClassInvalid, Op: "list", Path: dir, Message: "this is not a directory"}
	}
	if len(below) == 0 && dir != "." {
		return listing, missing("list", dir)
	}
	names := map[string]bool{}
	for _, name := range below {
		parts := strings.Split(strings.TrimPrefix(name, dir+"/"), "/")
		for n := 1; n <= min(depth, len(parts)); n++ {
			names[path.Join(dir, strings.Join(parts[:n], "/"))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(listing.Entries) == limit {
			listing.Truncated = true
			break
		}
		listing.Entries = append(listing.Entries, s.entry(name))
	}
	return listing, nil
}

// Search implements sandbox.Sandbox.
func (s *Sandbox) Search(ctx context.Context, q sandbox.Query) (result sandbox.SearchResult, err error) {
	if err := s.enter(ctx, "Search"); err != nil {
		return result, err
	}
	defer s.leave("Search", &err)
	dir, err := clean("search", q.Path)
	if err != nil {
		return result, err
	}
	pattern := q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return result, sandbox.Errorf(sandbox.ClassInvalid, "search", "the pattern is no regular expression: %v", err)
	}
	limit := q.Limit
	if limit == 0 {
		limit = 200
	}
	names := s.below(dir)
	if _, ok := s.files[dir]; ok {
		names = []string{dir}
	}
	for _, name := range names {
		if ok, err := doublestar.Match(q.Glob, strings.TrimPrefix(name, dir+"/")); q.Glob != "" && (err != nil || !ok) {
			continue
		}
		for _, match := range matches(name, string(s.files[name].data), re, q.Pattern == "") {
			if len(result.Matches) == limit {
				result.Truncated = true
				return result, nil
			}
			result.Matches = append(result.Matches, match)
		}
	}
	return result, nil
}

// matches returns the matching lines of a file, or the file itself when only names are asked for.
func matches(name, data string, re *regexp.Regexp, namesOnly bool) []sandbox.Match {
	if namesOnly {
		return []sandbox.Match{{Path: name}}
	}
	var all []sandbox.Match
	for i, line := range strings.Split(strings.TrimSuffix(data, "\n"), "\n") {
		if re.MatchString(line) {
			all = append(all, sandbox.Match{Path: name, Line: i + 1, Text: line[:min(len(line), 500)]})
		}
	}
	return all
}

// Apply implements sandbox.Sandbox.
func (s *Sandbox) Apply(ctx context.Context, id string, edits []sandbox.Edit) (err error) {
	if err := s.enter(ctx, "Apply"); err != nil {
		return err
	}
	defer s.leave("Apply", &err)
	if outcome, ok := s.applied[id]; ok {
		return outcome
	}
	outcome := s.apply(edits)
	s.applied[id] = outcome
	return outcome
}

// apply makes all edits or none; the mutex is held.
func (s *Sandbox) apply(edits []sandbox.Edit) error {
	for _, e := range edits {
		if _, err := clean("apply", e.Path); err != nil {
			return err
		}
		n, ok := s.files[e.Path]
		now := ""
		if ok {
			now = Hash(string(n.data))
		}
		if e.Before != "*" && e.Before != now {
			return &sandbox.Error{Class: sandbox.ClassConflict, Op: "apply", Path: e.Path, Message: "the file changed meanwhile"}
		}
	}
	for _, e := range edits {
		if e.Delete {
			delete(s.files, e.Path)
			continue
		}
		mode := e.Mode
		if n, ok := s.files[e.Path]; ok {
			mode = n.mode
		}
		s.files[e.Path] = node{data: slices.Clone(e.Content), mode: mode, mtime: time.Now()}
	}
	return nil
}
