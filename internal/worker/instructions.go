// This file tells the model what the workspace says to agents, once, and again what has changed of it.

package worker

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/instructions"
	"sandboxagent/internal/model"
	"sandboxagent/internal/tools"
)

const (
	lookTime    = 5 * time.Second  // for looking at the workspace before a model call
	openingTime = 15 * time.Second // for the sandbox of a session's first model call to be there
	lookBack    = 64               // entries of the conversation whose calls say where the agent works
)

// withInstructions adds what the model has yet to be told of the workspace's AGENTS.md files and skills. It goes before the
// user's words: what is in front of the conversation stays as it is, which providers keep in their caches. A sandbox that does
// not answer is no reason to keep the model waiting: what it lacks is told with a later call.
func (a *Activities) withInstructions(ctx context.Context, in agent.ModelStepInput, before, added []model.Entry) []model.Entry {
	told := toldIn(before)
	if !a.opened.ready(ctx, in.Sandbox, len(before) == 0) {
		return added
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	set, err := a.findInstructions(ctx, in.Sandbox, append(told.Dirs(), workDirs(in, before)...))
	if err != nil {
		return added
	}
	message, ok := set.Message(told)
	if !ok {
		return added
	}
	at := 0
	for at < len(added) && added[at].Kind == model.KindToolResult { // these must follow their calls
		at++
	}
	out := append([]model.Entry(nil), added[:at]...)
	out = append(out, model.Entry{Kind: model.KindUser, Text: message, Provider: conversation.Program})
	return append(out, added[at:]...)
}

var errGone = errors.New("the sandbox is gone")

func (a *Activities) findInstructions(ctx context.Context, in agent.Sandbox, dirs []string) (instructions.Set, error) {
	if gone, err := a.gone(ctx, in); gone || err != nil { // whoever makes it again tells of that
		return instructions.Set{}, errors.Join(err, errGone)
	}
	sb, err := a.open(ctx, in, func(string) {})
	if err != nil {
		return instructions.Set{}, err
	}
	defer sb.Close()
	root := strings.TrimSuffix(sb.Ref().Workspace, "/") + "/"
	for i, dir := range dirs {
		if rest, ok := strings.CutPrefix(dir+"/", root); ok {
			dirs[i] = path.Clean("./" + rest)
		}
	}
	return a.instructed.Find(ctx, in.ID(), sb, instructions.Dirs(dirs))
}

// toldIn returns what the model has been told in a conversation.
func toldIn(entries []model.Entry) instructions.Told {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Kind != model.KindUser {
			continue
		}
		if told, ok := instructions.ToldBy(entries[i].Text); ok {
			return told
		}
	}
	return nil
}

// workDirs returns where the agent worked lately, and where the files are that the user's editor sent along.
func workDirs(in agent.ModelStepInput, entries []model.Entry) []string {
	var dirs []string
	for _, e := range entries[max(0, len(entries)-lookBack):] {
		if e.Kind == model.KindToolCall {
			dirs = append(dirs, tools.Dirs(tools.Call{Name: e.Name, Arguments: e.Arguments})...)
		}
	}
	for _, p := range in.Pending {
		for _, c := range p.Context {
			if name, ok := inFolder(in.Folder, c.URI); ok {
				dirs = append(dirs, path.Dir(name))
			}
		}
	}
	return dirs
}

// readiness knows which sandboxes somebody has opened here, or tried to. Its zero value is empty.
type readiness struct {
	mu    sync.Mutex
	known map[string]chan struct{} // closed when there is an answer
	good  map[string]bool
}

const maxReady = 1024

// note remembers how an attempt to open a sandbox went.
func (r *readiness) note(id string, good bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := r.answer(id)
	select {
	case <-answer:
	default:
		close(answer)
	}
	r.good[id] = good
}

// answer returns the channel of a sandbox; the caller holds the lock.
func (r *readiness) answer(id string) chan struct{} {
	if len(r.known) >= maxReady {
		r.known = nil
	}
	if r.known == nil {
		r.known, r.good = map[string]chan struct{}{}, map[string]bool{}
	}
	if r.known[id] == nil {
		r.known[id] = make(chan struct{})
	}
	return r.known[id]
}

// ready tells whether a sandbox may be looked into without making it: whoever makes sandboxes decides first whether one is
// lost. The user's own folder needs no making. With wait, somebody is about to make it.
func (r *readiness) ready(ctx context.Context, in agent.Sandbox, wait bool) bool {
	if in.Backend.Kind == editors.Local && in.Backend.WorkspaceRoot == "" {
		return true
	}
	r.mu.Lock()
	answer := r.answer(in.ID())
	r.mu.Unlock()
	if wait {
		ctx, cancel := context.WithTimeout(ctx, openingTime)
		defer cancel()
		select {
		case <-answer:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.good[in.ID()]
}
