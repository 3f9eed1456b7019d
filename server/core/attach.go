// This file attaches a connection to a session.

package core

import (
	"context"
	"time"

	"sandboxagent/editors"
)

// attach answers with a snapshot or with what was missed; from there on events flow, without a gap or a repeat. The live
// plane is subscribed to before the view is read, so that nothing falls between the two.
func (c *Conn) attach(ctx context.Context, p editors.AttachParams) (editors.AttachResult, error) {
	if p.SessionID == "" {
		return editors.AttachResult{}, noSession()
	}
	w := c.core.watch(p.SessionID)
	c.drop(ctx, p.SessionID)
	a := newAttachment(w, c.wake)
	result, err := c.core.attachResult(ctx, w, p)
	if err != nil {
		c.core.release(p.SessionID)
		return editors.AttachResult{}, err
	}
	if !c.adopt(p.SessionID, a, result) {
		c.core.release(p.SessionID)
		return editors.AttachResult{}, editors.Errorf(editors.CodeCancelled, "the connection is closed")
	}
	afterReply(ctx, a.begin)
	return result, nil
}

func (c *Core) attachResult(ctx context.Context, w *watcher, p editors.AttachParams) (editors.AttachResult, error) {
	if err := w.prime(ctx); err != nil {
		return editors.AttachResult{}, err
	}
	v, err := c.page(ctx, p.SessionID, p.AfterSeq)
	if err != nil {
		return editors.AttachResult{}, err
	}
	before := ""
	if v.Snapshot {
		v.Items, before = snapshotPage(p.SessionID, v)
	}
	if c.overlay(ctx, &v.Session) { // it is to be told when that is over
		w.lose(noWorkerPolls(v.Session.State.Reason, v.Session.State.Remedy), time.Now())
	}
	c.fillView(ctx, v)
	result := editors.AttachResult{
		Session: v.Session, State: v.Session.State, Seq: v.Seq, Before: before, PendingApprovals: v.Approvals, Queued: v.Queued,
		Background: append([]editors.BackgroundCommand{}, v.Background...),
	}
	if v.Snapshot { // the one that counts is never absent
		result.Items = append([]editors.Item{}, v.Items...)
	} else {
		result.Events = append([]editors.EventMessage{}, v.Events...)
	}
	return result, nil
}

// adopt takes the place of an attachment that a second attach made meanwhile.
func (c *Conn) adopt(id string, a *attachment, result editors.AttachResult) bool {
	a.join(result.Seq, result.PendingApprovals)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		a.end()
		return false
	}
	former := c.attached[id]
	c.attached[id] = a
	c.mu.Unlock()
	if former != nil {
		former.end()
		c.core.release(id)
	}
	return true
}

// drop ends the attachment to a session, if there is one. Nothing of it reaches the sink afterwards, unless the sink takes
// very long.
func (c *Conn) drop(ctx context.Context, id string) {
	c.mu.Lock()
	a := c.attached[id]
	delete(c.attached, id)
	c.mu.Unlock()
	if a == nil {
		return
	}
	a.end()
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	a.awaitIdle(ctx)
	c.core.release(id)
}

func (c *Conn) detach(ctx context.Context, p editors.SessionParams) (editors.Empty, error) {
	c.drop(ctx, p.SessionID)
	return editors.Empty{}, nil
}

func noSession() error {
	return editors.Errorf(editors.CodeInvalidParams, "sessionId is empty").WithRemedy(remedyNewSession)
}
