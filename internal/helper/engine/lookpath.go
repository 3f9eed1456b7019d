// This file finds the program of a command in the command's own environment and directory.

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sandboxagent/internal/helper/environ"
)

// lookPath returns the file to execute for name, or the exit code that a shell gives when there is none.
func lookPath(name string, env []string, dir string) (program string, code int, err error) {
	if strings.Contains(name, "/") {
		program = name
		if !filepath.IsAbs(name) {
			program = filepath.Join(dir, name)
		}
		code, err = runnable(program, name)
		return program, code, err
	}
	found := false
	for _, d := range filepath.SplitList(environ.Lookup(env, "PATH")) {
		if d == "" {
			continue
		}
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		program = filepath.Join(d, name)
		switch code, _ := runnable(program, name); code {
		case 0:
			return program, 0, nil
		case codeNotRunnable:
			found = true
		}
	}
	if found {
		return "", codeNotRunnable, fmt.Errorf("%s: it may not be executed", name)
	}
	return "", codeNotFound, fmt.Errorf("%s: there is no such program", name)
}

func runnable(program, name string) (int, error) {
	info, err := os.Stat(program)
	switch {
	case err != nil:
		return codeNotFound, fmt.Errorf("%s: there is no such program", name)
	case info.IsDir():
		return codeNotRunnable, fmt.Errorf("%s: it is a directory", name)
	case info.Mode()&0o111 == 0:
		return codeNotRunnable, fmt.Errorf("%s: it may not be executed", name)
	}
	return 0, nil
}
