// This file tells who is attached to a session when it cannot be followed, or when its turn has no worker, and when that is
// over. What is told is a state, not a list: who was slow learns how it is now.

package core

import (
	"cmp"
	"context"
	"time"

	"sandboxagent/editors"
)

const (
	blip       = 2 * time.Second  // of not being able to read a session that are not worth telling
	standstill = 10 * time.Second // that may pass in a turn without anything of it before its worker is looked for
)

// connection is whether a session can be followed and its turn has a worker.
type connection struct {
	lost   bool
	code   editors.Code // of what is missing
	reason string
	remedy string
	since  time.Time
}

// differs tells whether who was told before is to be told again.
func (c connection) differs(before connection) bool {
	return c.lost != before.lost || c.lost && c != before
}

// event is what is told; session is how it is now.
func (c connection) event(session editors.Session) editors.Event {
	e := editors.Event{Type: editors.ConnectionChanged, Connected: !c.lost, Reason: c.reason, Remedy: c.remedy, Since: c.since}
	if !c.lost {
		e.State = &session.State
	}
	return e
}

// attempt looks once. When that takes long, those attached are told what is missing, if something is.
func (w *watcher) attempt(ctx context.Context, failing time.Time) error {
	done := make(chan error, 1)
	w.jobs.Go(func() { done <- w.catchUp(w.quietly(ctx)) })
	slow := time.NewTimer(blip - time.Since(failing))
	defer slow.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-slow.C:
		}
		e := w.obstacle(ctx)
		select {
		case err := <-done:
			return err
		default:
			w.lose(e, failing)
		}
	}
}

// obstacle says what is missing, as far as can be told.
func (w *watcher) obstacle(ctx context.Context) *editors.Error {
	session, _ := w.known()
	return w.missing(ctx, session)
}

// missed notes that looking has failed, the first time at failing.
func (w *watcher) missed(ctx context.Context, err error, failing time.Time) {
	if isNotFound(err) || ctx.Err() != nil || time.Since(failing) < blip {
		return
	}
	w.lose(w.why(ctx, err), failing)
}

// why says what an error of looking comes of.
func (w *watcher) why(ctx context.Context, err error) *editors.Error {
	e := asError("reading the session", err)
	if e.Code != editors.CodeTemporalUnavailable && e.Code != editors.CodeWorkerUnavailable {
		return e
	}
	if missing := w.obstacle(ctx); missing != nil { // it says more, such as when the worker is started again
		return missing
	}
	if e.Code == editors.CodeTemporalUnavailable { // it is so also for who waited too long for a worker
		return editors.Errorf(editors.CodeWorkerUnavailable, "the worker has not answered in time").WithRemedy(remedyDoctor)
	}
	return e
}

// reached notes that looking has succeeded. A turn of which nothing has come for long may still have no worker.
func (w *watcher) reached(ctx context.Context) {
	w.mu.Lock()
	turn, heard, now := w.turning(), w.heard, w.connection
	w.mu.Unlock()
	doubtful := turn && time.Since(heard) >= standstill && time.Since(w.checked) >= standstill
	if now.lost {
		doubtful = turn && !heard.After(now.since)
	}
	if doubtful {
		if e := w.obstacle(ctx); e != nil {
			w.lose(e, heard)
			return
		}
		w.checked = time.Now()
	}
	w.regain()
}

// lose tells those attached what is missing, unless they know.
func (w *watcher) lose(e *editors.Error, since time.Time) {
	if e == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone || w.connection.lost && w.connection.code == e.Code && w.connection.remedy == e.Remedy {
		return
	}
	if w.connection.lost {
		since = w.connection.since
	}
	w.connection = connection{lost: true, code: e.Code, reason: e.Message, remedy: e.Remedy, since: since.UTC()}
	w.wake()
}

// regain tells those attached that nothing is missing any more, if they were told that something was.
func (w *watcher) regain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.connection.lost {
		return
	}
	w.connection = connection{since: time.Now().UTC()}
	w.wake()
}

// turning tells whether somebody should be at work. The caller holds w.mu.
func (w *watcher) turning() bool { return !w.gone && atWork(w.session) }

// atWork tells whether a session stands still without a worker.
func atWork(s editors.Session) bool {
	switch s.State.Status {
	case editors.StatusRunning, editors.StatusSwitching, editors.StatusRecovering:
		return true
	}
	return false
}

// obstacle says what stands between a session and whoever follows it, nil when nothing does as far as can be told.
func (c *Core) obstacle(ctx context.Context, s editors.Session) *editors.Error {
	ctx = context.WithValue(ctx, quietKey{}, quietAlways)
	if c.embedded(ctx) && c.workerLife() == "" {
		return c.noOwnWorker(atWork(s))
	}
	err := bounded(ctx, diagnosisTime, func(ctx context.Context) error {
		e, err := c.link.engine(ctx)
		if err == nil {
			err = e.Health(ctx)
		}
		return err
	})
	switch {
	case err != nil && wasDropped(err):
		return nil
	case isSilence(err):
		return c.noTemporal(ctx, "", err)
	case err != nil:
		return asError("connecting to Temporal", err)
	}
	if reason, remedy := c.missingWorker(ctx, s); reason != "" {
		return noWorkerPolls(reason, remedy)
	}
	return nil
}

func noWorkerPolls(reason, remedy string) *editors.Error {
	return editors.Errorf(editors.CodeWorkerUnavailable, "%s", reason).WithRemedy(remedy)
}

// noOwnWorker says why the worker that owns the embedded Temporal server does not serve; needed is whether a turn waits for it,
// so that it is started again unless the user has stopped it.
func (c *Core) noOwnWorker(needed bool) *editors.Error {
	const code = editors.CodeWorkerUnavailable
	switch {
	case c.workerAlive():
		return editors.Errorf(code, "the worker of this host is starting")
	case !c.opts.Autostart || c.workerStopped():
		return editors.Errorf(code, "the worker of this host is not running").WithRemedy(remedyStart)
	case !needed:
		return editors.Errorf(code, "the worker of this host is not running").WithRemedy("The next question starts it.")
	}
	if f := c.link.unstarted(); f != nil {
		return editors.Errorf(code, "the worker of this host could not be started again: %s", f.err.Message).
			WithRemedy("It is tried once more at " + f.again().Format(time.TimeOnly) + ". " + cmp.Or(f.err.Remedy, remedyStart))
	}
	return editors.Errorf(code, "the worker of this host has ended and is started again")
}
