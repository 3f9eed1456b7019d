// This file follows a session's events: it prints them, has approvals answered, and knows when there is nothing more to
// wait for. What the connection misses it asks for again.

package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

const (
	lull    = time.Second     // how long nothing may come before what is waited for is told
	silence = 5 * time.Second // how long nothing may come before the session is asked what was missed
)

// errWaiting says that an approval is waited for that nobody here can give.
var errWaiting = errors.New("waiting for an approval")

// follower follows one session.
type follower struct {
	a       *app
	conn    lsp.Conn
	probe   lsp.Conn // asks what was missed without disturbing conn
	print   printer
	session string
	turn    int    // ends with this turn; 0: see untilIdle
	item    string // the question, while it may be queued
	asker   *asker // nil: nobody answers approvals here

	untilIdle bool // ends when no turn runs
	observing bool // approvals that nobody here can give are no reason to end

	events  chan editors.EventMessage
	ended   chan interruption
	last    int64 // seq of the last durable event taken
	past    bool  // the events taken are from before: what they ask for may be answered
	running int   // the turn that runs, as far as is known
	begun   bool  // the turn to end with has begun
	busy    bool  // a turn runs or waits

	approvals bool // some were pending at first
	stopped   bool // the user has asked for the end once

	done   bool
	status int
}

// connect makes the connection whose events the follower takes.
func (f *follower) connect(p product) {
	f.events = make(chan editors.EventMessage, 1024)
	f.ended = make(chan interruption, 1) // there is at most one
	f.conn = p.Connect(clientName, func(e editors.EventMessage) { f.events <- e })
	f.probe = p.Connect(clientName, func(editors.EventMessage) {})
}

func (f *follower) close() {
	f.conn.Close()
	f.probe.Close()
}

// attach begins to follow, after a seq or with what is there now.
func (f *follower) attach(ctx context.Context, after *int64) (editors.AttachResult, error) {
	result, err := call(ctx, f.conn, editors.Attach, editors.AttachParams{SessionID: f.session, AfterSeq: after})
	if err == nil {
		f.running, f.busy = result.Session.TurnID, busy(result.State.Status)
		f.approvals = len(result.PendingApprovals) > 0
	}
	return result, err
}

func busy(s editors.Status) bool {
	return s != editors.StatusIdle && s != editors.StatusPaused && s != editors.StatusDestroyed
}

// run follows until the end and returns the exit status.
func (f *follower) run(ctx context.Context) (int, error) {
	quiet, silent := time.NewTimer(lull), time.NewTimer(silence)
	defer quiet.Stop()
	defer silent.Stop()
	for !f.done {
		var err error
		select {
		case <-ctx.Done():
			return statusFailed, ctx.Err()
		case e := <-f.events:
			err = f.take(ctx, e)
			quiet.Reset(lull)
			silent.Reset(silence)
		case s := <-f.a.signals:
			f.signal(ctx, s)
		case i := <-f.ended:
			f.interrupted(i)
		case line := <-f.asker.answers():
			err = f.asker.answer(ctx, f, line)
		case <-quiet.C:
			err = f.print.lull()
		case <-silent.C:
			err = f.resync(ctx)
			silent.Reset(silence)
		}
		if err != nil {
			return statusFailed, err
		}
	}
	return f.status, nil
}

// take prints an event and acts on it. Durable events that were taken before are left out.
func (f *follower) take(ctx context.Context, e editors.EventMessage) error {
	if e.SessionID != f.session {
		return nil
	}
	if !e.Event.Type.Durable() {
		return f.print.event(e)
	}
	if e.Seq <= f.last {
		return nil
	}
	f.last = e.Seq
	if err := f.print.event(e); err != nil {
		return err
	}
	return f.act(ctx, e.Event)
}

func (f *follower) act(ctx context.Context, e editors.Event) error {
	switch e.Type {
	case editors.TurnStarted:
		f.running, f.busy = e.TurnID, true
		f.begun = f.begun || e.TurnID == f.turn
	case editors.ApprovalRequested:
		if e.Approval != nil && !f.past {
			return f.ask(*e.Approval)
		}
	case editors.ApprovalResolved:
		if e.Approval != nil {
			f.asker.resolved(f, *e.Approval)
		}
	case editors.TurnEnded:
		if e.TurnID == f.turn {
			f.end(e.Status)
		}
	case editors.StateChanged:
		if e.State != nil && !f.past {
			f.state(*e.State)
		}
	}
	return nil
}

func (f *follower) state(s editors.State) {
	f.busy = busy(s.Status)
	if s.Status == editors.StatusDestroyed {
		f.a.notice("The session is destroyed.")
		f.done = true
		if f.turn != 0 {
			f.status = statusFailed
		}
	}
	if f.untilIdle && !f.busy {
		f.done = true
	}
}

func (f *follower) end(s editors.TurnStatus) {
	f.done = true
	if s != editors.TurnCompleted {
		f.status = statusFailed
	}
}

// ask has an approval answered, or ends when nobody here can.
func (f *follower) ask(a editors.Approval) error {
	if f.asker != nil {
		return f.asker.ask(f, a)
	}
	if f.observing {
		return nil
	}
	f.a.notice("Waiting for an approval: " + a.Tool + ": " + oneLine(a.Subject, subjectRunes))
	f.a.notice("Answer it with: sandbox-agent approve " + f.session + " " + a.ID)
	return errWaiting
}

// resync asks for what the connection may have missed. Why nobody answers is told by events.
func (f *follower) resync(ctx context.Context) error {
	params := editors.AttachParams{SessionID: f.session, AfterSeq: &f.last}
	result, err := call(ctx, f.probe, editors.Attach, params)
	if err == nil {
		_, err = call(ctx, f.probe, editors.Detach, editors.SessionParams{SessionID: f.session})
	}
	switch {
	case err != nil && asKnown(err).Code == editors.CodeNotFound:
		return err
	case err != nil:
		return nil
	}
	f.busy = busy(result.State.Status)
	if result.Items != nil {
		err = f.skipped(result)
	} else {
		err = f.takePast(ctx, result)
	}
	if !f.done && err == nil {
		f.state(result.State)
	}
	return err
}

// takePast takes events that may be old, then what is asked for now.
func (f *follower) takePast(ctx context.Context, r editors.AttachResult) error {
	f.past = true
	defer func() { f.past = false }()
	for _, e := range r.Events {
		if err := f.take(ctx, e); err != nil {
			return err
		}
	}
	for _, approval := range r.PendingApprovals {
		if err := f.ask(approval); err != nil {
			return err
		}
	}
	return nil
}

// skipped takes a snapshot for the events that are not to be had any more.
func (f *follower) skipped(r editors.AttachResult) error {
	f.last = r.Seq
	for _, item := range r.Items {
		if f.turn != 0 && item.TurnID < f.turn {
			continue
		}
		e := editors.Event{Type: editors.ItemEnded, Item: &item}
		if err := f.print.event(editors.EventMessage{SessionID: f.session, Seq: item.Seq, At: item.At, Event: e}); err != nil {
			return err
		}
	}
	if f.turn != 0 && (r.Session.TurnID > f.turn || r.Session.TurnID == f.turn && !f.busy) {
		f.done = true
	}
	return nil
}

// signal interrupts the turn at first and ends following after that.
func (f *follower) signal(ctx context.Context, s os.Signal) {
	if s == syscall.SIGTERM || f.stopped || !f.interruptible() {
		f.detach()
		return
	}
	f.stopped = true
	f.a.notice("Interrupting; press Ctrl-C again to leave it running.")
	turn, item := f.turn, ""
	if turn == 0 {
		turn = f.running
	} else if !f.begun {
		item = f.item
	}
	go func() { f.ended <- interruption{takenBack: item != "", err: f.interrupt(ctx, turn, item)} }()
}

// interruption is what came of an interrupt.
type interruption struct {
	takenBack bool // the question still waited and does no more
	err       error
}

func (f *follower) interruptible() bool { return f.turn != 0 || f.busy }

// interrupt ends the turn, or takes the question item out of the queue.
func (f *follower) interrupt(ctx context.Context, turn int, item string) (err error) {
	if item != "" {
		_, err = call(ctx, f.conn, editors.Queue, editors.QueueParams{SessionID: f.session, Op: "remove", ItemID: item})
		return err
	}
	_, err = call(ctx, f.conn, editors.Interrupt, editors.InterruptParams{SessionID: f.session, TurnID: turn})
	return err
}

func (f *follower) interrupted(i interruption) {
	switch {
	case i.err != nil:
		f.a.notice("Not interrupted: " + i.err.Error())
		f.stopped = false
	case i.takenBack:
		f.a.notice("The question is taken back.")
		f.done, f.status = true, statusFailed
	}
}

// detach stops following; the session goes on.
func (f *follower) detach() {
	f.done = true
	if f.turn != 0 {
		f.status = statusFailed
		f.a.notice("Detached; the session goes on. See: sandbox-agent attach " + f.session)
	}
}
