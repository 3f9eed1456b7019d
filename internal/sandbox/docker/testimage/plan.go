// This file decides what is in the image and writes it.

package testimage

import (
	"archive/tar"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// programs are put into the image as far as this host has them.
var programs = strings.Fields(`bash sh cat ls cp mv rm mkdir rmdir ln chmod chown touch head tail wc sort uniq cut tr tee
	env id whoami uname date sleep timeout setsid nohup kill true false echo printf test pwd stat du df dd seq basename dirname
	readlink realpath mktemp sha256sum md5sum od xargs find grep sed awk tar gzip diff cmp ps pgrep pkill git python3 which
	nproc sync stty tty nice mkfifo split paste comm expr yes hostname truncate mknod getent`)

var (
	programDirs = []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}
	libraryDirs = []string{
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/lib64", "/usr/lib64", "/lib", "/usr/lib",
	}
	// links is the usual layout: everything below /usr, and links to it.
	links = []string{"bin", "lib", "lib64", "sbin"}
	dirs  = strings.Fields("dev etc home proc root run sys usr usr/bin usr/lib usr/lib64 usr/sbin usr/share var")
	// unwanted are parts of Python's library that tests do without.
	unwanted = strings.Fields("test __pycache__ idlelib lib2to3 site-packages dist-packages tkinter ensurepip pydoc_data turtledemo distutils")
)

const users = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"

// entry is a directory, a link, a text, or a file of this host.
type entry struct {
	name   string // without a leading slash
	mode   fs.FileMode
	source string // path on this host
	text   string // of a file without source; the target of a link
}

// planner gathers entries; the first of a name counts.
type planner struct{ entries map[string]entry }

func plan() ([]entry, error) {
	p := planner{entries: map[string]entry{}}
	for _, d := range dirs {
		p.add(entry{name: d, mode: fs.ModeDir | 0o755})
	}
	for _, d := range []string{"tmp", "var/tmp"} {
		p.add(entry{name: d, mode: fs.ModeDir | fs.ModeSticky | 0o777})
	}
	for _, l := range links {
		p.add(entry{name: l, mode: fs.ModeSymlink, text: "usr/" + l})
	}
	p.add(entry{name: "etc/passwd", mode: 0o644, text: users})
	p.add(entry{name: "etc/group", mode: 0o644, text: "root:x:0:\nnogroup:x:65534:\n"})
	p.add(entry{name: "etc/nsswitch.conf", mode: 0o644, text: "passwd: files\ngroup: files\nhosts: files dns\n"})
	for _, name := range programs {
		if err := p.program(name); err != nil {
			return nil, err
		}
	}
	sorted := make([]entry, 0, len(p.entries))
	for _, e := range p.entries {
		sorted = append(sorted, e)
	}
	slices.SortFunc(sorted, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return sorted, nil
}

func (p planner) add(e entry) {
	e.name = strings.TrimPrefix(e.name, "/")
	if _, known := p.entries[e.name]; !known {
		p.entries[e.name] = e
	}
}

func (p planner) program(name string) error {
	path := first(programDirs, name)
	if path == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	p.add(entry{name: "usr/bin/" + name, mode: 0o755, source: real})
	switch name {
	case "python3":
		p.add(entry{name: "usr/bin/" + filepath.Base(real), mode: 0o755, source: real})
		err = p.tree("/usr/lib/" + filepath.Base(real))
	case "git":
		err = p.tree("/usr/share/git-core/templates")
	}
	return errors.Join(err, p.libraries(real))
}

// first returns the path of name in the first directory that has it.
func first(dirs []string, name string) string {
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// libraries adds what a program or library is linked to. Scripts need nothing.
func (p planner) libraries(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			loader, err := io.ReadAll(part.Open())
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			name := strings.TrimRight(string(loader), "\x00")
			p.add(entry{name: belowUsr(name), mode: 0o755, source: name})
		}
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for _, name := range needed {
		if err := p.library(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (p planner) library(name string) error {
	found := first(libraryDirs, name)
	if found == "" {
		return fmt.Errorf("library %s was not found", name)
	}
	target := belowUsr(found)
	if _, known := p.entries[strings.TrimPrefix(target, "/")]; known {
		return nil
	}
	p.add(entry{name: target, mode: 0o755, source: found})
	return p.libraries(found)
}

func belowUsr(path string) string {
	for _, dir := range links {
		if strings.HasPrefix(path, "/"+dir+"/") {
			return "/usr" + path
		}
	}
	return path
}

// tree adds a directory with what is below it.
func (p planner) tree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(unwanted, d.Name()) || strings.HasPrefix(d.Name(), "config-")) {
			return fs.SkipDir
		}
		if d.IsDir() {
			p.add(entry{name: path, mode: fs.ModeDir | 0o755})
			return nil
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil // a link to what is not installed
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		p.add(entry{name: path, mode: info.Mode().Perm(), source: real})
		if strings.HasSuffix(path, ".so") {
			return p.libraries(real)
		}
		return nil
	})
}

// digest identifies the content without reading it.
func digest(entries []entry) string {
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%q %q %o %q", e.name, e.source, e.mode, e.text)
		if info, err := os.Stat(e.source); err == nil {
			fmt.Fprintf(h, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func write(w io.Writer, entries []entry) error {
	tw := tar.NewWriter(w)
	for _, e := range entries {
		if err := e.write(tw); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	return tw.Close()
}

func (e entry) write(tw *tar.Writer) error {
	h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	text := []byte(e.text)
	switch {
	case e.mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
		return tw.WriteHeader(h)
	case e.mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.text
		return tw.WriteHeader(h)
	case e.source != "":
		var err error
		if text, err = os.ReadFile(e.source); err != nil {
			return err
		}
	}
	h.Size = int64(len(text))
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(text)
	return err
}
