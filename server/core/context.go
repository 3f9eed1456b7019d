// This file tells what the agent would see.

package core

import (
	"cmp"
	"context"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/model"
)

// CallContext lists what a model would be told: agent.PreviewInput → agent.PreviewResult.
const CallContext = "context"

const contextTime = 20 * time.Second // of the worker, which may have to look into a sandbox

// showContext tells what the model would be told if the params were asked. It makes no session.
func (c *Conn) showContext(ctx context.Context, p editors.ContextParams) (editors.ContextResult, error) {
	if len(p.Text) > editors.MaxTextBytes {
		return editors.ContextResult{}, editors.Errorf(editors.CodeLimit, "the text has %d bytes; at most %d are allowed", len(p.Text), editors.MaxTextBytes)
	}
	told, err := c.toldNow(ctx, p)
	if err != nil {
		return editors.ContextResult{}, err
	}
	in := agent.PreviewInput{Told: told}
	reads := enclosing{dir: cmp.Or(onDisk(told.Sandbox), told.Folder), away: isAway(told.Sandbox.Backend)}
	if reads.away {
		reads.there = c.core.thereIn(told.Sandbox)
	}
	parts, err := c.core.encloseIn(ctx, reads, p.Text, p.Context)
	if err != nil {
		return editors.ContextResult{}, err
	}
	if p.Text != "" || len(parts) > 0 {
		if in.Question, err = c.core.wouldAsk(ctx, p.Text, parts); err != nil {
			return editors.ContextResult{}, err
		}
	}
	if _, err := c.core.link.engine(ctx); err != nil { // starts the worker
		return editors.ContextResult{}, err
	}
	var out agent.PreviewResult
	err = bounded(ctx, contextTime, func(ctx context.Context) error { return c.core.live.await(ctx, CallContext, in, &out) })
	if err != nil {
		return editors.ContextResult{}, asEditorsError("looking at what the agent would see", err)
	}
	result := editors.ContextResult{SessionID: told.SessionID, Model: told.Model, Window: out.Window, Parts: out.Parts}
	for _, part := range out.Parts {
		result.Tokens += part.Tokens
	}
	return result, nil
}

// wouldAsk is a question as a session would keep it: a call of the worker takes no long texts either.
func (c *Core) wouldAsk(ctx context.Context, text string, parts []editors.Context) (*agent.Pending, error) {
	more := 0
	for _, part := range parts {
		more += len(part.Text)
	}
	in, err := c.storeInput(ctx, agent.AskInput{Text: text, Context: parts}, more)
	return &agent.Pending{Kind: string(model.KindUser), Text: in.Text, Ref: in.TextRef, Context: in.Context, ContextRef: in.ContextRef}, err
}

// toldNow returns what the model of the session that would be asked was told so far.
func (c *Conn) toldNow(ctx context.Context, p editors.ContextParams) (agent.Told, error) {
	id := p.SessionID
	folder := ""
	if id == "" {
		var err error
		if folder, err = c.folder(p.WorkspaceFolder); err != nil {
			return agent.Told{}, err
		}
		if !p.New {
			if id, err = c.core.latest(ctx, folder, ""); err != nil {
				return agent.Told{}, err
			}
		}
	}
	if id == "" {
		return c.core.toldAnew(folder, p.Model)
	}
	v, err := c.core.here(ctx, id)
	if err != nil {
		return agent.Told{}, err
	}
	var told agent.Told
	err = c.core.query(ctx, "asking what the agent was told", agent.WorkflowID(v.Session.ID), agent.QueryTold, nil, &told)
	told.Model = cmp.Or(p.Model, told.Model)
	return told, err
}

// toldAnew is what a new session of a folder would have been told: nothing yet.
func (c *Core) toldAnew(folder, model string) (agent.Told, error) {
	dir, err := folderPath(folder)
	if err != nil {
		return agent.Told{}, err
	}
	if err := c.checkFolder(dir); err != nil {
		return agent.Told{}, err
	}
	return agent.Told{
		Sandbox: agent.Sandbox{Owner: c.opts.Config.Owner, HostID: c.HostID(), Folder: dir, Backend: editors.Backend{Kind: editors.Local}},
		Model:   cmp.Or(model, c.opts.Config.Model),
	}, nil
}
