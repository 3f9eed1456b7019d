// This file holds the commands that one update of the session's workflow answers.

package core

import (
	"context"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

// interruptTime bounds an interrupt, which waits for the turn to end, and the stop of a command.
const interruptTime = 12 * time.Second

// destroyTime bounds a destroy, which ends what runs and removes the session's sandboxes, the slow and the unreachable too.
const destroyTime = 5 * time.Minute

// change runs one update of a session and lets its events go before the answer.
func change[R any](ctx context.Context, c *Conn, what, sessionID, name, requestID string, arg any, seq func(R) int64) (R, error) {
	var result R
	if sessionID == "" {
		return result, noSession()
	}
	err := c.core.update(ctx, what, agent.WorkflowID(sessionID), name, requestID, arg, &result)
	if err != nil {
		var zero R
		return zero, err
	}
	c.settle(ctx, sessionID, seq(result))
	return result, nil
}

func (c *Conn) interrupt(ctx context.Context, p editors.InterruptParams) (editors.InterruptResult, error) {
	p.RequestID = newRequestID(p.RequestID)
	ctx = withPatience(ctx, interruptTime)
	return change(ctx, c, "interrupting the turn", p.SessionID, agent.UpdateInterrupt, p.RequestID, p,
		func(r editors.InterruptResult) int64 { return r.Seq })
}

// stop stops one command. The answer waits for its item.
func (c *Conn) stop(ctx context.Context, p editors.StopParams) (editors.StopResult, error) {
	p.RequestID = newRequestID(p.RequestID)
	if p.By == "" {
		p.By = c.name
	}
	return change(withPatience(ctx, interruptTime), c, "stopping the command", p.SessionID, agent.UpdateStop, p.RequestID, p,
		func(r editors.StopResult) int64 { return r.Seq })
}

func (c *Conn) queue(ctx context.Context, p editors.QueueParams) (editors.QueueResult, error) {
	if len(p.Text) > agent.MaxInlineText {
		return editors.QueueResult{}, editors.Errorf(editors.CodeLimit, "a waiting request can be edited to at most %d bytes; this is %d",
			agent.MaxInlineText, len(p.Text)).WithRemedy("Remove it from the queue and ask anew.")
	}
	p.RequestID = newRequestID(p.RequestID)
	in := agent.QueueInput{QueueParams: p}
	if p.Op == "edit" && p.SessionID != "" {
		added, err := c.core.enclose(ctx, p.SessionID, p.Text, nil)
		if err != nil {
			return editors.QueueResult{}, err
		}
		in.Added = inlined(added, agent.MaxInlineText)
	}
	return change(ctx, c, "changing the queue", p.SessionID, agent.UpdateQueue, p.RequestID, in,
		func(r editors.QueueResult) int64 { return r.Seq })
}

func (c *Conn) answerApproval(ctx context.Context, p editors.AnswerApprovalParams) (editors.AnswerApprovalResult, error) {
	p.RequestID = newRequestID(p.RequestID)
	if p.By == "" {
		p.By = c.name
	}
	return change(ctx, c, "answering the approval", p.SessionID, agent.UpdateAnswer, p.RequestID, p,
		func(r editors.AnswerApprovalResult) int64 { return r.Seq })
}

func (c *Conn) configure(ctx context.Context, p editors.ConfigureParams) (editors.SessionResult, error) {
	p.RequestID = newRequestID(p.RequestID)
	return change(ctx, c, "configuring the session", p.SessionID, agent.UpdateConfigure, p.RequestID, p,
		func(r editors.SessionResult) int64 { return r.Seq })
}

func (c *Conn) compact(ctx context.Context, p editors.SessionParams) (editors.Empty, error) {
	p.RequestID = newRequestID(p.RequestID)
	_, err := change(ctx, c, "compacting the conversation", p.SessionID, agent.UpdateCompact, p.RequestID, p,
		func(r agent.SeqResult) int64 { return r.Seq })
	return editors.Empty{}, err
}

func (c *Conn) pause(ctx context.Context, p editors.SessionParams) (editors.Empty, error) {
	p.RequestID = newRequestID(p.RequestID)
	_, err := change(ctx, c, "pausing the session", p.SessionID, agent.UpdatePause, p.RequestID, p,
		func(r agent.SeqResult) int64 { return r.Seq })
	return editors.Empty{}, err
}

// destroy succeeds also when the session was destroyed before; the manager then forgets what it may still list.
func (c *Conn) destroy(ctx context.Context, p editors.SessionParams) (editors.DestroyResult, error) {
	p.RequestID = newRequestID(p.RequestID)
	ctx = withPatience(ctx, destroyTime)
	ended, err := change(ctx, c, "destroying the session", p.SessionID, agent.UpdateDestroy, p.RequestID, p,
		func(r agent.DestroyOutput) int64 { return r.Seq })
	if editors.CodeOf(err) != editors.CodeNotFound {
		return editors.DestroyResult{Remains: ended.Remains}, err
	}
	never := c.core.request(ctx, "looking for the session", func(ctx context.Context, e engine) error {
		_, err := e.Describe(ctx, agent.WorkflowID(p.SessionID))
		return err
	})
	if p.SessionID == "" || never != nil && editors.CodeOf(never) != editors.CodeNotFound {
		return editors.DestroyResult{}, err
	}
	forgot := c.core.update(ctx, "forgetting the session", session.ManagerID(c.core.opts.Config.Owner), session.UpdateForget,
		p.RequestID, session.ForgetInput{SessionID: p.SessionID}, nil)
	if forgot != nil && editors.CodeOf(forgot) != editors.CodeNotFound {
		return editors.DestroyResult{}, forgot
	}
	return editors.DestroyResult{}, never
}
