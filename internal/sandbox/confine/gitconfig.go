// This file reads git's configuration files as far as is needed to tell what in them can run something.

package confine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const maxGitConfig = 256 << 10 // bytes of a configuration file, or a hook, that are looked at

// gitSetting is one line of a configuration.
type gitSetting struct {
	key   string // section.name in small letters, without the subsection
	value string
}

// harmlessGit are the settings that git itself and ordinary work write, and that run nothing. All others can: editors, pagers,
// filters, drivers, helpers, aliases, included files.
var harmlessGit = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.logallrefupdates": true,
	"core.ignorecase": true, "core.precomposeunicode": true, "core.symlinks": true, "core.sharedrepository": true,
	"core.autocrlf": true, "core.eol": true, "core.sparsecheckout": true, "core.sparsecheckoutcone": true, "index.sparse": true,
	"extensions.objectformat": true, "extensions.partialclone": true, "extensions.refstorage": true, "extensions.worktreeconfig": true,
	"remote.url": true, "remote.fetch": true, "remote.pushurl": true, "remote.promisor": true, "remote.partialclonefilter": true,
	"remote.tagopt": true, "branch.remote": true, "branch.merge": true, "branch.rebase": true, "branch.description": true,
	"branch.vscode-merge-base": true, "submodule.url": true, "submodule.active": true, "submodule.branch": true,
	"user.name": true, "user.email": true, "pull.rebase": true, "pull.ff": true, "init.defaultbranch": true, "gc.auto": true,
}

// ownPerTree reports whether the setting makes git read config.worktree.
func (s gitSetting) ownPerTree() bool {
	return s.key == "extensions.worktreeconfig" && strings.ToLower(s.value) != "false"
}

// parseGitConfig returns the settings of a configuration. A line it does not understand is a setting of that name, so that it
// is noticed.
func parseGitConfig(text string) (out []gitSetting) {
	section, text := "", strings.ReplaceAll(text, "\r\n", "\n")
	for text = strings.TrimLeft(text, gitSpace); text != ""; text = strings.TrimLeft(text, gitSpace) {
		line, after, _ := strings.Cut(text, "\n")
		switch text[0] {
		case '#', ';':
			text = after
			continue
		case '[':
			head, rest, closed := cutSection(line[1:])
			if closed { // a setting may follow
				section, text = strings.ToLower(head), text[len(line)-len(rest):]
			} else {
				out, text = append(out, gitSetting{strings.TrimSpace(line), ""}), after
			}
			continue
		}
		name, _, assigned := strings.Cut(line, "=")
		s := gitSetting{key: section + "." + strings.ToLower(strings.TrimSpace(name))}
		if assigned {
			s.value, after = cutValue(text[len(name)+1:])
		}
		out, text = append(out, s), after
	}
	return out
}

// gitSpace may stand before a setting.
const gitSpace = " \t\r\n\v\f\ufeff"

// gitEscapes are what a character after a backslash means.
var gitEscapes = map[byte]string{'\n': "", 't': "\t", 'b': "\b", 'n': "\n"}

// cutValue parts what follows "=" into the value, as git understands it, and what stands after its line, or lines.
func cutValue(text string) (value, rest string) {
	var b strings.Builder
	quoted, kept := false, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return b.String()[:kept], text[i+1:]
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String()[:kept], rest
		case !quoted && strings.IndexByte(" \t\r\v\f", c) >= 0:
			if kept > 0 { // it counts once something follows
				b.WriteByte(c)
			}
			continue
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			if meaning, known := gitEscapes[text[i]]; known {
				b.WriteString(meaning)
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
		kept = b.Len()
	}
	return b.String()[:kept], ""
}

// cutSection parts what follows "[" into the section's name, without its subsection, and what stands after "]".
func cutSection(text string) (name, after string, closed bool) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ']' && !quoted:
			name, _, _ = strings.Cut(text[:i], " ")
			name, _, _ = strings.Cut(name, ".")
			return strings.TrimSpace(name), text[i+1:], true
		}
	}
	return "", "", false
}

// readAt is readIn for an absolute path and at most maxGitConfig bytes.
func readAt(path string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer root.Close()
	return readIn(root, filepath.Base(path), maxGitConfig)
}

// readIn reads a regular file below root of at most limit bytes, without waiting for what may be there instead.
func readIn(root *os.Root, path string, limit int64) (string, error) {
	f, err := root.OpenFile(filepath.Clean(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return "", errors.New("not a regular file of the usual size")
	}
	b, err := io.ReadAll(io.LimitReader(f, limit))
	return string(b), err
}
