// Package program finds the programs that are run outside of every sandbox, with all the rights of the user: those of the
// system, and those that belong to this product.
//
// This file finds those of the system.
package program

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// systemDirs are where systems keep their programs.
var systemDirs = []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/run/current-system/profile/bin", "/opt/homebrew/bin"}

// maxLinks is how many links one path may lead through.
const maxLinks = 40

// System returns where a program of the system lies, links resolved. It never is one that a command may have written:
// PATH often begins with a directory of the workspace, so a program is only taken if root owns it and every step of the way
// to it, and never out of the workspace ("" for none). To root's commands that says nothing: for root, PATH does not count.
// It must be asked anew before each use. The error says that there is none.
func System(name, workspace string, env []string) (string, error) {
	dirs := systemDirs
	if os.Getuid() != 0 {
		dirs = append(slices.Clone(dirs), filepath.SplitList(lookup(env, "PATH"))...)
	}
	return programIn(dirs, name, workspace)
}

func programIn(dirs []string, name, workspace string) (string, error) {
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		program, ok := onlyRoots(filepath.Join(dir, name))
		if !ok || workspace != "" && within(workspace, program) {
			continue
		}
		if info, err := os.Lstat(program); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return program, nil
		}
	}
	return "", fmt.Errorf("%s is not installed where only root can write; install it with the system's package manager", name)
}

// onlyRoots follows the links of an absolute path one by one, and returns where it leads if only root can change any step.
func onlyRoots(path string) (real string, ok bool) {
	real = "/"
	rest := strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		next := filepath.Join(real, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil || !belongsToRoot(info) {
			return "", false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return real, true
}

func belongsToRoot(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0 && (info.Mode()&fs.ModeSymlink != 0 || info.Mode()&0o022 == 0)
}

// within reports whether path is dir or lies in it; both are clean.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v
		}
	}
	return ""
}
