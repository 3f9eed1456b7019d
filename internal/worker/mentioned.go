// This file reads what a question mentions in a sandbox that works on a copy of the user's folder: the agent is to be shown
// what its tools see.

package worker

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/mentions"
	"sandboxagent/internal/tools"
)

const maxPictures = 10 // of one question, those of the user's editor included

// MethodThere tells which files there are in a sandbox that runs.
const MethodThere = "there" // agent.OnSandbox of []string → []string

const thereTime = 1500 * time.Millisecond // less than those wait who ask

// there answers MethodThere with what it finds in time.
func (a *Activities) there(ctx context.Context, params json.RawMessage) (any, error) {
	var call agent.OnSandbox[[]string]
	if err := json.Unmarshal(params, &call); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "The call is malformed.")
	}
	defer a.working()()
	found := []string{}
	ctx, cancel := context.WithTimeout(ctx, thereTime)
	defer cancel()
	if !a.opened.ready(ctx, call.Sandbox, false) {
		return found, nil
	}
	if gone, err := a.gone(ctx, call.Sandbox); gone || err != nil {
		return found, nil //nolint:nilerr // whoever makes it again tells of that
	}
	env, done, err := a.commandEnv(ctx, call.Sandbox)
	if err != nil {
		return found, nil //nolint:nilerr // nothing is known of it
	}
	defer done()
	for _, name := range call.Params {
		if tools.There(ctx, env, name) {
			found = append(found, name)
		}
	}
	return found, nil
}

// unread tells whether a part of a question was left for the worker to read.
func unread(c editors.Context) bool {
	return c.Kind == "file" && c.Mentioned && c.Omitted && !c.Unsaved
}

// readMentioned fills in what was left to be read. With wait, somebody is about to make the sandbox. What cannot be read, now or
// at all, stays as it is: the model is told to look for itself.
func (a *Activities) readMentioned(ctx context.Context, in agent.Sandbox, folder string, contexts []editors.Context, wait bool) []editors.Context {
	if in.Backend.Kind == "" || in.Backend.Kind == editors.Local || !slices.ContainsFunc(contexts, unread) || !a.opened.ready(ctx, in, wait) {
		return contexts
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if gone, err := a.gone(ctx, in); gone || err != nil { // whoever makes it again tells of that
		return contexts
	}
	env, done, err := a.commandEnv(ctx, in)
	if err != nil {
		return contexts
	}
	defer done()
	left, shown := mentions.MaxTexts, len(pictures(contexts))
	out := slices.Clone(contexts)
	for i, c := range out {
		name, inside := inFolder(folder, c.URI)
		if !inside || !unread(c) {
			continue
		}
		read, err := tools.Mentioned(ctx, env, name, c, left)
		if err != nil || read.Image != nil && shown >= maxPictures {
			continue
		}
		if read.Image != nil {
			shown++
		}
		left -= len(read.Text)
		out[i] = read
	}
	return out
}
