// This file finds the files that an editor speaks of in a session's folder.

package worker

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// inFolder returns the path of a file URI relative to a folder of this host, by whichever links the editor reaches it.
func inFolder(folder, uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || folder == "" {
		return "", false
	}
	file := path.Clean(u.Path)
	if name, ok := below(folder, file); ok {
		return name, true
	}
	realFolder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", false
	}
	realDir, err := filepath.EvalSymlinks(path.Dir(file))
	if err != nil {
		return "", false
	}
	return below(realFolder, path.Join(realDir, path.Base(file)))
}

func below(folder, file string) (string, bool) {
	name, ok := strings.CutPrefix(file, strings.TrimSuffix(path.Clean(folder), "/")+"/")
	if !ok || name == "" {
		return "", false
	}
	return name, true
}
