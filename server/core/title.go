// This file renames sessions, which works with no worker up.

package core

import (
	"context"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

const (
	renameTime = 2 * time.Second
	renamePoll = 50 * time.Millisecond
)

// title sends a signal, which Temporal keeps until a worker takes it. When one does so soon, the answer is the session as
// it then is, with another title if one was given after this request was first made; else the session as last known with its
// title to be.
func (c *Conn) title(ctx context.Context, p editors.TitleParams) (editors.SessionResult, error) {
	p.Title = strings.TrimSpace(p.Title)
	switch {
	case p.SessionID == "":
		return editors.SessionResult{}, noSession()
	case p.Title == "":
		return editors.SessionResult{}, editors.Errorf(editors.CodeInvalidParams, "the title is empty")
	}
	if err := checkTitle(p.Title); err != nil {
		return editors.SessionResult{}, err
	}
	signal := agent.RenameSignal{RequestID: newRequestID(p.RequestID), Title: p.Title}
	err := c.core.request(ctx, "renaming the session", func(ctx context.Context, e engine) error {
		return e.Signal(ctx, agent.WorkflowID(p.SessionID), agent.SignalRename, signal)
	})
	if err != nil {
		return editors.SessionResult{}, err
	}
	result, err := c.core.renamed(ctx, p.SessionID, agent.CleanTitle(p.Title))
	if err != nil {
		return editors.SessionResult{}, err
	}
	c.settle(ctx, p.SessionID, result.Seq)
	return result, nil
}

// renamed waits a little for the title to show.
func (c *Core) renamed(ctx context.Context, id, title string) (editors.SessionResult, error) {
	wait, cancel := context.WithTimeout(ctx, renameTime)
	defer cancel()
	var seen *editors.SessionResult // by a worker, which has the signal before it answers
	var after *int64
	for {
		v, err := c.view(context.WithValue(wait, quietKey{}, quietAlways), id, after)
		if err != nil {
			break
		}
		seen = &editors.SessionResult{Session: v.Session, Seq: v.Seq}
		if v.Session.Title == title || !pause(wait, renamePoll) {
			break
		}
		after = &v.Seq
	}
	if seen != nil {
		return *seen, nil
	}
	progress(ctx, "No worker has taken the new title yet. Temporal keeps it, and it will be set when a worker runs.")
	if s := c.remembered(ctx, id); s != nil {
		s.Title, s.TitleSource = title, editors.TitleUser
		c.overlay(ctx, s)
		return editors.SessionResult{Session: *s}, nil
	}
	return editors.SessionResult{}, editors.Errorf(editors.CodeWorkerUnavailable, "the new title will show when a worker runs again").
		WithRemedy(remedyWorker)
}
