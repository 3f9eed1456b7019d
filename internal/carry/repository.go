// This file gives a copy of a folder whose .git is a file a repository of its own. Such a file, of a linked work tree or a
// submodule, names a git directory elsewhere: two folders that share one would share what is checked out and staged.

package carry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/tree"
)

const (
	gitName       = ".git"
	gitUnfinished = ".git.sandbox-agent" // while it is being made
	linkedTrees   = "worktrees"          // in a git directory

	reasonWorktree = "it names the repository of the folder that this one comes from"
	reasonLinked   = "linked work trees are those of the folder that this one comes from"
)

// leaveGit lets behind what of git's own makes sense in its folder only: a .git file that leads out of it, noting what it
// names, and the list of a repository's linked work trees, whose branches could else not be checked out.
func (c *Carrier) leaveGit(o *Opening, t *travelling, set *Set, source checkpoint.Info) error {
	if o.To.local() && filepath.Clean(o.To.Spec.Workspace) == filepath.Clean(o.From.Folder) {
		return nil
	}
	git, err := c.entry(source.Root, gitName)
	if err != nil || git == nil {
		return err
	}
	if git.Kind == tree.Dir {
		list, err := c.entry(git.Hash, linkedTrees)
		if err == nil && list != nil {
			set.leave(gitName+"/"+linkedTrees, reasonLinked)
		}
		return err
	}
	if !o.To.local() {
		return nil // it comes back
	}
	if t.repository, err = c.namedOutside(o, git); t.repository != "" {
		set.leave(gitName, reasonWorktree)
	}
	return err
}

// namedOutside returns the git directory outside of the folder that a .git file names, "" for none. What a container says of
// it does not count.
func (c *Carrier) namedOutside(o *Opening, git *tree.Entry) (string, error) {
	if !o.From.Local {
		if o.Base == "" {
			return "", nil
		}
		base, err := c.Store.Stat(o.Base)
		if err == nil {
			git, err = c.entry(base.Root, gitName)
		}
		if err != nil {
			return "", err
		}
	}
	if git == nil || git.Kind != tree.File {
		return "", nil
	}
	text, err := c.Store.ReadFile(git, maxGitFile)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.From.Folder, dir)
	}
	if rel, err := filepath.Rel(o.From.Folder, dir); err == nil && filepath.IsLocal(rel) {
		return "", nil // it comes along
	}
	return filepath.Clean(dir), nil
}

// entry returns an entry of a directory, nil when there is none.
func (c *Carrier) entry(dir tree.Hash, name string) (*tree.Entry, error) {
	entries, err := c.Store.ReadDir(dir)
	return find(entries, name), err
}

// ownRepository makes the repository. Without one the files are there all the same.
func (t *travelling) ownRepository(o *Opening) error {
	if t.repository == "" {
		return nil
	}
	made, err := makeRepository(o.To.Spec.Workspace, t.repository)
	if t.madeRepository = made; err != nil {
		t.out.Notes = append(t.out.Notes, "The new folder is no git repository: "+err.Error()+".")
		return nil
	}
	t.out.Notes = append(t.out.Notes, "The new folder has a git repository of its own, which reads older objects from "+t.repository+"; that must stay where it is.")
	return nil
}

// makeRepository makes folder/.git unless there is one, with what the git directory has checked out and staged, and all its branches and tags.
func makeRepository(folder, from string) (made bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false, fmt.Errorf("the folder cannot be opened: %w", err)
	}
	defer root.Close()
	r := &repository{root: root, from: from, common: from}
	if b, err := os.ReadFile(filepath.Join(from, "commondir")); err == nil {
		if r.common = strings.TrimSpace(string(b)); !filepath.IsAbs(r.common) {
			r.common = filepath.Join(from, r.common)
		}
	}
	if _, err := root.Lstat(gitName); err == nil {
		return false, nil // another try has made it, or somebody else, whose it is
	}
	if err := root.RemoveAll(gitUnfinished); err != nil {
		return false, fmt.Errorf("what is left of another try cannot be removed: %w", err)
	}
	if err = r.make(); err == nil {
		err = root.Rename(gitUnfinished, gitName)
	}
	if err != nil {
		_ = root.RemoveAll(gitUnfinished)
		return false, err
	}
	return true, nil
}

type repository struct {
	root         *os.Root
	from, common string // git directories: of the work tree, and of all that share one
}

func (r *repository) make() error {
	objects := filepath.Join(r.common, "objects")
	if info, err := os.Stat(objects); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no git directory", r.common)
	}
	if strings.ContainsAny(objects, "\n\"") {
		return fmt.Errorf("git cannot refer to %q", objects)
	}
	config, err := os.ReadFile(filepath.Join(r.common, "config"))
	if err != nil {
		return errors.New("its settings cannot be read")
	}
	if bytes.Contains(bytes.ToLower(config), []byte("refstorage")) {
		return errors.New("its branches are kept in a way that this program does not know")
	}
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := r.root.MkdirAll(filepath.Join(gitUnfinished, dir), 0o755); err != nil {
			return err
		}
	}
	if err := r.write("config", ownConfig(config)); err != nil {
		return err
	}
	if err := r.write("objects/info/alternates", []byte(objects+"\n")); err != nil {
		return err
	}
	return r.copyState()
}

func (r *repository) write(name string, b []byte) error {
	return r.root.WriteFile(filepath.Join(gitUnfinished, name), b, 0o644)
}

// copyState copies what committing and checking out change. HEAD must be there.
func (r *repository) copyState() error {
	if err := r.copy(r.from, "HEAD"); err != nil {
		return err
	}
	shared, err := filepath.Glob(filepath.Join(r.from, "sharedindex.*")) // of an index that is split
	if err != nil {
		return err
	}
	own := []string{"index", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD"}
	for _, path := range shared {
		own = append(own, filepath.Base(path))
	}
	for _, name := range own {
		if err := r.copy(r.from, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range []string{"packed-refs", "shallow", "info/exclude"} {
		if err := r.copy(r.common, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return filepath.WalkDir(filepath.Join(r.common, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(r.common, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return r.root.MkdirAll(filepath.Join(gitUnfinished, rel), 0o755)
		case d.Type().IsRegular():
			return r.copy(r.common, rel)
		}
		return nil
	})
}

func (r *repository) copy(dir, name string) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return r.write(name, b)
}

var (
	section   = regexp.MustCompile(`^\s*\[\s*([A-Za-z0-9.-]+)`)
	elsewhere = regexp.MustCompile(`(?i)^\s*(worktree|bare|worktreeconfig)\s*(=|$)`)
)

// ownConfig returns settings without those that tell where the files are.
func ownConfig(config []byte) []byte {
	var out []byte
	in := ""
	for line := range bytes.Lines(config) {
		if m := section.FindSubmatch(line); m != nil {
			in = strings.ToLower(string(m[1]))
		}
		if slices.Contains([]string{"core", "extensions"}, in) && elsewhere.Match(line) {
			continue
		}
		out = append(out, line...)
	}
	return out
}
