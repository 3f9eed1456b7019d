// This file finds the files that an editor speaks of in a session's folder, and heals the folder.

package worker

import (
	"context"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// heal completes or undoes a restore of the folder that was made without a session and died, before a session works in it.
// What cannot be healed is told by the next who pictures or changes the folder.
func (a *Activities) heal(ctx context.Context, in agent.Sandbox) {
	if in.Backend.Kind != editors.Local || a.Checkpoints == nil {
		return
	}
	store, err := a.Checkpoints()
	if err != nil {
		return
	}
	if w, err := store.Folder(folderOf(in)); err == nil {
		_ = w.Recover(ctx)
	}
}

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
