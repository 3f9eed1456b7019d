// This file knows which files editors on this host show with unsaved changes: they are never written under them.

package worker

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"sync"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/tools"
	"sandboxagent/internal/workspace"
)

// MethodHoldUnsaved lasts as long as the files are to be left alone; its params are agent.HoldUnsaved.
const MethodHoldUnsaved = "holdUnsaved"

const (
	unsavedReason = "it has unsaved changes in an editor"
	maxHeldFiles  = 1000 // of one editor
)

// HeldFiles are the files that editors hold. The zero value is ready.
type HeldFiles struct {
	mu      sync.Mutex
	holders map[string]*holding
}

type holding struct {
	n      int64
	files  []string
	editor string
	over   chan struct{} // closed when a later call takes its place
}

// Hold holds files until ctx ends or a later call of the same holder comes.
func (u *HeldFiles) Hold(ctx context.Context, p agent.HoldUnsaved) {
	mine := &holding{n: p.N, files: p.Files[:min(len(p.Files), maxHeldFiles)], editor: p.Editor, over: make(chan struct{})}
	if !u.replace(p.Holder, mine) {
		return
	}
	select {
	case <-ctx.Done():
	case <-mine.over:
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.holders[p.Holder] == mine {
		delete(u.holders, p.Holder)
	}
}

// replace makes mine what the holder holds, and tells whether there is anything to hold: calls can overtake each other.
func (u *HeldFiles) replace(holder string, mine *holding) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if old := u.holders[holder]; old != nil {
		if old.n >= mine.n {
			return false
		}
		close(old.over)
		delete(u.holders, holder)
	}
	if len(mine.files) == 0 {
		return false
	}
	if u.holders == nil {
		u.holders = map[string]*holding{}
	}
	u.holders[holder] = mine
	return true
}

// in returns the held files below dir, by their paths in it, with the reason, and those that were known before.
func (u *HeldFiles) in(dir string, known map[string]string) map[string]string {
	u.mu.Lock()
	var files []string
	for _, h := range u.holders {
		files = append(files, h.files...)
	}
	u.mu.Unlock()
	if dir == "" || len(files) == 0 {
		return known
	}
	held := map[string]string{}
	for _, rel := range workspace.Below(dir, files) {
		held[rel] = unsavedReason
	}
	maps.Copy(held, known)
	return held
}

// open returns the held files below dir, by their paths in it, as the editors have them. Of several editors one counts that
// takes changes.
func (u *HeldFiles) open(dir string) map[string]tools.Open {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[string]tools.Open{}
	for _, h := range u.holders {
		for _, file := range h.files {
			for _, rel := range workspace.Below(dir, []string{file}) {
				if known, ok := all[rel]; !ok || known.Editor < h.editor {
					all[rel] = tools.Open{URI: fileURI(file), Editor: h.editor}
				}
			}
		}
	}
	return all
}

func fileURI(name string) string { return (&url.URL{Scheme: "file", Path: name}).String() }

// heldIn returns the files of a sandbox that editors show with unsaved changes: only those in folders of this host are.
func (a *Activities) heldIn(sb agent.Sandbox, known map[string]string) map[string]string {
	if sb.Backend.Kind != editors.Local {
		return known
	}
	return a.HeldFiles.in(folderOf(sb), known)
}

func (r *rpc) holdUnsaved(ctx context.Context, params json.RawMessage) (any, error) {
	var p agent.HoldUnsaved
	if err := json.Unmarshal(params, &p); err != nil || p.Holder == "" {
		return nil, editors.Errorf(editors.CodeInvalidParams, "holdUnsaved takes a holder, n and files.")
	}
	r.acts.HeldFiles.Hold(ctx, p)
	return editors.Empty{}, nil
}
