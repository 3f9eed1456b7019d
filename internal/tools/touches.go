// This file says which files and directories a call is about.

package tools

import (
	"path"
	"strings"

	"sandboxagent/internal/patch"
)

// Dirs returns the directories that a call works in, as the model wrote them: those of the files that it reads or changes, and
// those that it names itself. It does no I/O, and of arguments that cannot be read it says nothing.
func Dirs(call Call) []string {
	switch call.Name {
	case readFile:
		if args, err := parse[readArgs](call); err == nil && args.Path != "" {
			return []string{path.Dir(args.Path)}
		}
	case execCommand:
		args, err := parse[execArgs](call)
		return named(args.Workdir, err)
	case list:
		args, err := parse[listArgs](call)
		return named(args.Path, err)
	case search:
		args, err := parse[searchArgs](call)
		return named(strings.TrimSuffix(args.Path, "/"), err)
	case applyPatch:
		return patchDirs(call)
	}
	return nil
}

func named(dir string, err error) []string {
	if err != nil || dir == "" {
		return nil
	}
	return []string{path.Clean(dir)}
}

func patchDirs(call Call) []string {
	args, err := parse[patchArgs](call)
	if err != nil {
		return nil
	}
	parsed, err := patch.Parse(args.Patch)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, f := range parsed.Files {
		dirs = append(dirs, path.Dir(f.Path))
		if f.MoveTo != "" {
			dirs = append(dirs, path.Dir(f.MoveTo))
		}
	}
	return dirs
}
