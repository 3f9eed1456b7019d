// Package repo knows what is what in a git repository's directory: what of it git runs or follows and must never come from
// somebody who is not trusted, and what of it a user's work is in. It is pure and does no I/O.
//
// This file parts the paths of a repository.
package repo

import (
	"slices"
	"strings"
)

// Part is what a path of a repository is for.
type Part int

// The parts. Only Foreign may make git run something, or look elsewhere.
const (
	Foreign Part = iota // settings, hooks, other work trees, other repositories, and whatever is not known
	Object              // named by its content: never changed, only added
	Cache               // made again by git from the objects when it is missing
	Trace               // what fetching and the like leave behind: nobody's work is in it alone
	State               // what committing and checking out changes
)

// Is tells whether git takes a directory of this name for a repository's, on some file system: there are those that do
// not tell upper from lower case, pass over marks, spaces and dots, or have short names.
func Is(name string) bool {
	name, _, _ = strings.Cut(strings.Map(heeded, name), ":")
	name = strings.TrimRight(name, " .")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// heeded drops what HFS+ passes over in names.
func heeded(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// Of returns the repository's directory that a path is in, or is: the outermost one.
func Of(path string) (git string, ok bool) {
	for at := 0; ; {
		name, rest, more := strings.Cut(path[at:], "/")
		end := at + len(name)
		if Is(name) {
			return path[:end], true
		}
		if !more {
			return "", false
		}
		at = len(path) - len(rest)
	}
}

// PartOf tells what a path below a repository's directory is for. Links are Foreign; the caller knows them.
func PartOf(path string, dir bool) Part {
	if slices.ContainsFunc(strings.Split(path, "/"), Is) {
		return Foreign
	}
	first, rest, below := strings.Cut(path, "/")
	switch first {
	case "objects":
		return objectPart(rest, below, dir)
	case "refs", "logs":
		return refPart(path, below || dir)
	case "info":
		if dir && !below || rest == "exclude" && !dir {
			return State
		}
		return Foreign
	}
	if dir || below {
		return Foreign
	}
	return filePart(first)
}

func filePart(name string) Part {
	switch name {
	case "HEAD", "index", "packed-refs", "shallow", "description",
		"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD":
		return State
	case "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG":
		return Trace
	}
	return Foreign
}

func refPart(path string, ok bool) Part {
	switch {
	case !ok:
		return Foreign
	case within("refs/remotes", path), within("logs/refs/remotes", path):
		return Trace
	}
	return State
}

func within(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// objectPart tells apart what lies in objects. What it does not know may redirect git, as alternates do.
func objectPart(path string, below, dir bool) Part {
	if !below {
		return when(dir, Object)
	}
	first, rest, deeper := strings.Cut(path, "/")
	switch {
	case !deeper:
		return when(dir && (first == "pack" || first == "info" || isHex(first, 2)), Object)
	case isHex(first, 2):
		return when(!dir && (isHex(rest, 38) || isHex(rest, 62)), Object)
	case first == "pack" && strings.HasPrefix(rest, "multi-pack-index"):
		return when(!dir && !strings.Contains(rest, "/"), Cache)
	case first == "pack":
		return when(!dir && !strings.Contains(rest, "/"), Object)
	case first == "info":
		return when(!dir && (rest == "packs" || rest == "commit-graph") || within("commit-graphs", rest), Cache)
	}
	return Foreign
}

func when(ok bool, p Part) Part {
	if ok {
		return p
	}
	return Foreign
}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}
