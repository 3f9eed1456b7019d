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
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			head, after, closed := cutSection(rest)
			if !closed {
				out = append(out, gitSetting{line, ""})
				continue
			}
			section, line = strings.ToLower(head), strings.TrimSpace(after) // a setting may follow
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		out = append(out, gitSetting{section + "." + strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(value), `"`)})
	}
	return out
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

// readAt is readIn for an absolute path.
func readAt(path string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer root.Close()
	return readIn(root, filepath.Base(path))
}

// readIn reads a regular file below root of at most maxGitConfig bytes, without waiting for what may be there instead.
func readIn(root *os.Root, path string) (string, error) {
	f, err := root.OpenFile(filepath.Clean(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxGitConfig {
		return "", errors.New("not a regular file of the usual size")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	return string(b), err
}
