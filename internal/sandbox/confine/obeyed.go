// This file pictures what git would execute or obey in a workspace, so that a change which could not be prevented is told
// before the user runs git: hooks, settings that run something, what they point to in the workspace, and redirections.

package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// How much is looked at: the picture is made after every command. Where that is not all, the picture says so.
const (
	maxListed       = 32      // directories that are listed for others, those next to the root first
	maxLooked       = 128     // directories in which a repository is looked for
	maxEntries      = 4096    // entries of one directory that are read, whatever they are
	maxObeyedFiles  = 256     // of those, how many that count
	maxRepositories = 256     // git directories
	maxObeyed       = 512     // things in a picture
	maxRead         = 8 << 20 // bytes
	maxLabel        = 256     // bytes of a name
)

// tooMuchIn begins what a picture has to say of what is not in it.
const tooMuchIn = "too much to look at in "

// Obeyed is what git executes or obeys: by a name for people, relative to the workspace, what identifies its content. Where
// there is more than is looked at, or something cannot be read, an entry says that.
type Obeyed map[string]string

// ObeyedIn pictures a workspace. Only what lies in it counts, as commands can change nothing else. Repositories below the
// root are found within the first levels. What ordinary work does to a repository (init, clone, commit, branches, remotes,
// submodules, work trees) is in no picture.
func ObeyedIn(workspace string) Obeyed {
	p := picture{found: Obeyed{}, files: map[string]bool{}, repositories: map[string]*gitRepository{}}
	workspace, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return p.found
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return p.found
	}
	defer root.Close()
	p.root, p.workspace = root, workspace
	p.search()
	return p.found
}

// Since lists, sorted, what is new or different since the earlier picture.
func (o Obeyed) Since(earlier Obeyed) (names []string) {
	for name, content := range o {
		if earlier[name] != content {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type picture struct {
	root         *os.Root
	workspace    string
	found        Obeyed
	files        map[string]bool           // that were looked at as a whole
	repositories map[string]*gitRepository // by git directory
	walked       int                       // directories between those of submodules
	read         int64                     // bytes
}

// add puts something into the picture; what is said of it earlier counts too.
func (p *picture) add(name, content string) {
	name = label(name)
	if earlier, there := p.found[name]; there || len(p.found) < maxObeyed {
		p.found[name] = digest(earlier + content)
	} else {
		p.tooMuch("this folder", name+content)
	}
}

// tooMuch says that not all was looked at in a place. A change of what tells the rest apart is told again.
func (p *picture) tooMuch(place, rest string) {
	place = tooMuchIn + label(place)
	p.found[place] = digest(p.found[place] + rest)
}

// label makes a name that commands chose fit to stand in a sentence.
func label(name string) string {
	name = name[:min(len(name), maxLabel)]
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// search looks at the root and the directories below it, level by level. It goes by plain paths, which is quicker: a link that
// leads it astray shows it names, and everything that counts is then read below the root.
func (p *picture) search() {
	dirs := []string{"."}
	all := true
	for n := 0; n < len(dirs); n++ {
		p.look(dirs[n])
		if n >= maxListed {
			all = false
			continue
		}
		subdirs, more := p.subdirectories(dirs[n])
		fit := min(len(subdirs), maxLooked-len(dirs))
		all = all && !more && fit == len(subdirs)
		dirs = append(dirs, subdirs[:fit]...)
	}
	if !all { // said once, not whenever a directory comes to many
		p.tooMuch(fmt.Sprintf("folders deeper than the first %d", maxListed), "")
	}
}

func (p *picture) subdirectories(dir string) (out []string, more bool) {
	f, err := os.OpenFile(filepath.Join(p.workspace, dir), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist)
	}
	entries, more := list(f, maxLooked, func(e fs.DirEntry) bool { return e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules" })
	for _, e := range entries {
		out = append(out, path.Join(dir, e.Name()))
	}
	return out, more
}

// look looks whether git takes a directory for a work tree, or for a repository itself.
func (p *picture) look(dir string) {
	plain := filepath.Join(p.workspace, dir)
	if thereAll(plain, ".git") {
		p.link(dir)
	}
	if thereAll(plain, "HEAD") && (thereAll(plain, "objects", "refs") || thereAll(plain, "commondir")) {
		p.repository(dir, dir)
	}
}

func thereAll(dir string, names ...string) bool {
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Lstat(dir+"/"+name, &st); err != nil {
			return false
		}
	}
	return true
}

// list lists at most most entries that count of an open directory, sorted, tells whether there are more, and closes it.
func list(f *os.File, most int, counts func(fs.DirEntry) bool) (out []fs.DirEntry, more bool) {
	defer f.Close()
	for read := 0; ; {
		entries, err := f.ReadDir(maxObeyedFiles)
		for _, e := range entries {
			if counts(e) {
				out = append(out, e)
			}
		}
		if read += len(entries); err != nil {
			break
		}
		if more = read >= maxEntries || len(out) > most; more {
			break
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out[:min(len(out), most)], more
}

// list lists what counts in a directory below the root. Where that is not all, it says so.
func (p *picture) list(dir string, counts func(fs.DirEntry) bool) []fs.DirEntry {
	f, err := p.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) { // git can use by name what it cannot list
		p.tooMuch(dir, p.stamp(dir))
	}
	if err != nil {
		return nil
	}
	entries, more := list(f, maxObeyedFiles, counts)
	if more {
		p.tooMuch(dir, p.stamp(dir))
	}
	return entries
}

// text reads a file of at most limit bytes, as long as not too much was read.
func (p *picture) text(name string, limit int64) (string, error) {
	text, err := readIn(p.root, name, min(limit, maxRead-p.read))
	p.read += int64(len(text))
	return text, err
}

// file adds a file that is executed or read, if it is there.
func (p *picture) file(name string) {
	info, err := p.root.Lstat(name)
	if err != nil || info.IsDir() || p.files[name] {
		return
	}
	p.files[name] = true
	text, err := p.text(name, maxGitConfig)
	if err != nil { // a link to elsewhere, or too much: told from others by what can be known
		target, _ := p.root.Readlink(name)
		text = target + p.stamp(name)
	}
	p.add(name, info.Mode().String()+text)
}

// stamp tells apart what cannot be read. No command can set the time of the last change of a file as it likes.
func (p *picture) stamp(name string) string {
	plain := filepath.Join(p.workspace, name)
	stamp := identity(plain)
	if _, err := p.root.Stat(name); errors.Is(err, fs.ErrPermission) || err == nil {
		var st unix.Stat_t
		if unix.Stat(plain, &st) == nil {
			stamp += fmt.Sprint(" ", st.Size, st.Mtim, st.Ctim)
		}
	}
	return stamp
}

// inside returns an absolute path relative to the workspace, "" when it is not in it.
func (p *picture) inside(abs string) string {
	if abs == "" || !within(p.workspace, abs) {
		return ""
	}
	rel, err := filepath.Rel(p.workspace, abs)
	if err != nil {
		return ""
	}
	return rel
}

// resolve returns a path relative to the workspace; what leads out of it leads to nothing there.
func (p *picture) resolve(name, base string) string {
	if path.IsAbs(name) {
		return p.inside(path.Clean(name))
	}
	return path.Join(base, name)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
