// This file makes the directories that commands may write, and what their home directory begins with.

package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sandboxagent/internal/program"
)

const gitTime = 2 * time.Second

// gitKeys are settings that say who the user is and how they like it, and run nothing.
const gitKeys = `^(user\.(name|email)|init\.defaultbranch|core\.(autocrlf|eol|safecrlf|quotepath)|pull\.(rebase|ff)|merge\.conflictstyle|diff\.(algorithm|renames))$`

// Prepare makes the directories of a sandbox. What is there stays.
func (p Policy) Prepare(ctx context.Context, h Host) error {
	for _, dir := range []string{p.Home(), p.Temp(), NetworkDir(p.base())} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the directories of the sandbox: %w", err)
		}
	}
	// commands may write here: nothing that is there is followed or replaced
	f, err := os.OpenFile(filepath.Join(p.Home(), ".gitconfig"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the home directory of the sandbox: %w", err)
	}
	_, err = f.WriteString(gitConfig(ctx, h, p.Workspace))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the git configuration of the sandbox: %w", err)
	}
	return nil
}

// gitConfig returns the git configuration of the sandbox's home: the user's identity and ways. The repository's own
// configuration cannot be written, so git is told not to want to.
func gitConfig(ctx context.Context, h Host, workspace string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[branch]\n\tautoSetupMerge = false\n[safe]\n\tdirectory = %s\n", gitQuote(workspace))
	git, err := program.System("git", workspace, h.Env)
	if err != nil {
		return b.String()
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "config", "--global", "--includes", "-z", "--get-regexp", gitKeys)
	cmd.Dir = "/" // never the workspace
	cmd.Env = []string{"HOME=" + h.Home, "XDG_CONFIG_HOME=" + lookup(h.Env, "XDG_CONFIG_HOME"), "PATH=" + filepath.Dir(git)}
	out, err := cmd.Output()
	if err != nil { // nothing is set
		return b.String()
	}
	for _, entry := range bytes.Split(out, []byte{0}) {
		key, value, ok := strings.Cut(string(entry), "\n")
		section, name, dotted := strings.Cut(key, ".")
		if ok && dotted {
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, name, gitQuote(value))
		}
	}
	return b.String()
}

func gitQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Remove removes the directories of a sandbox with what its commands made unremovable. Nothing of it may run any more.
func Remove(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("remove the directories of the sandbox: %w", err)
	}
	open(root, ".")
	_ = root.Close()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the directories of the sandbox: %w", err)
	}
	return nil
}

// open gives the user back the rights on directories below dir.
func open(root *os.Root, dir string) {
	if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
		return
	}
	_ = root.Chmod(dir, 0o700)
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			open(root, filepath.Join(dir, e.Name()))
		}
	}
}
