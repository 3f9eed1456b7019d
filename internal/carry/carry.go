// Package carry brings a workspace from one sandbox into another by its checkpoint: into a fresh one, which is opened,
// filled, compared with what was sent and tried before anybody relies on it, or onto files that are somebody's own, by a
// merge. Whatever fails, everything is as it was. What does not travel is told, never silently left behind.
//
// This file holds the rules of what travels.
package carry

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Leaves tells whether what is in a sandbox of that kind has left this machine.
func Leaves(kind sandbox.Kind) bool { return kind == sandbox.KindE2B || kind == sandbox.KindDaytona }

// Rules say what of a workspace travels. Patterns are doublestar ones on the path; one without "/" matches a name anywhere.
type Rules struct {
	Exclude []string // stays, wherever the rest goes
	Include []string // travels though one of the rules for what leaves the machine would keep it
	Leaves  bool     // the rest leaves this machine: what git ignores and what looks like a secret stays
}

// Set is what of one tree does not travel.
type Set struct {
	Left  []checkpoint.Left // sorted by path
	Notes []string          // what the rules could not find out, in one sentence each

	reasons map[string]string
}

// leave adds a path that does not travel.
func (s *Set) leave(path, reason string) {
	s.Left = append(s.Left, checkpoint.Left{Path: path, Reason: reason})
	s.reasons[path] = reason
}

// Drop returns why an entry does not travel, "" when it does. Entries below one that does not are not asked for.
func (s *Set) Drop(path string, _ *tree.Entry) string { return s.reasons[path] }

// patterns are matched as those of what a checkpoint leaves out.
type patterns []string

// match tells whether the path, whose last element is name, is meant.
func (p patterns) match(path, name string) bool {
	for _, pattern := range p {
		pattern = strings.TrimSuffix(pattern, "/")
		what := path
		if !strings.Contains(pattern, "/") {
			what = name
		}
		if ok, err := doublestar.Match(strings.TrimPrefix(pattern, "/"), what); ok && err == nil {
			return true
		}
	}
	return false
}
