// This file reads what branches and tags name.

package repo

import (
	"strings"
)

const (
	maxRefName = 512 // bytes

	// Brought is where the branches and tags of another copy of the repository are kept, below a name for that copy.
	Brought = "refs/sandbox-agent"
)

// Refs are the objects that names stand for; HEAD is among them where it stands for an object itself. Names and values that
// git would not take are left out, and so are remote ones and those of Brought.
type Refs map[string]string

// Add takes the content of the file of one name, which goes before what is packed.
func (r Refs) Add(name string, content []byte) {
	id := strings.TrimSpace(string(content))
	if (name == "HEAD" || kept(name)) && isObject(id) {
		r[name] = id
	}
}

// AddPacked takes the content of packed-refs.
func (r Refs) AddPacked(content []byte) {
	for line := range strings.Lines(string(content)) {
		id, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if ok && kept(name) && isObject(id) {
			r[name] = id
		}
	}
}

func isObject(id string) bool { return isHex(id, 40) || isHex(id, 64) }

// kept tells whether a name is a good one below refs that is nobody else's copy.
func kept(name string) bool {
	if len(name) > maxRefName || !strings.HasPrefix(name, "refs/") || within("refs/remotes", name) || within(Brought, name) {
		return false
	}
	if strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") || Is(part) {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' })
}
