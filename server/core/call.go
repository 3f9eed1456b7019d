// This file sends requests to workflows and finds out who is missing when nobody answers.

package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/workerproc"
)

const (
	answerTime    = 3500 * time.Millisecond // of a request; with the diagnosis it stays under 5 s
	diagnosisTime = time.Second
	retryTime     = 10 * time.Second // of requests that come again
	retryFirst    = 20 * time.Millisecond
	retryMax      = time.Second
)

// update runs an update of a session's workflow. The request id makes repeating it harmless, here and by the client.
func (c *Core) update(ctx context.Context, what, workflowID, name, requestID string, arg, result any) error {
	u := update{workflowID: workflowID, name: name, id: name + "/" + requestID, arg: arg}
	return held(c.request(ctx, what, func(ctx context.Context, e engine) error { return e.Update(ctx, u, result) }))
}

// held says of a request that changes something and that no worker answered what becomes of it: Temporal keeps an update
// in memory until a worker takes it.
func held(err error) error {
	var e *editors.Error
	var waits unanswered
	if errors.As(err, &e) && errors.As(err, &waits) {
		e.Message += "; Temporal holds the request, and it will be carried out when a worker runs, unless Temporal itself restarts first"
	}
	return err
}

// unanswered is the error of a request that reached Temporal and no worker.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

func (c *Core) query(ctx context.Context, what, workflowID, query string, arg, result any) error {
	return c.request(ctx, what, func(ctx context.Context, e engine) error {
		return e.Query(ctx, workflowID, query, arg, result)
	})
}

type patienceKey struct{}

// withPatience lets a request take longer than usual while a worker is there.
func withPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, d)
}

type tellingKey struct{}

// telling has a request that takes long tell what say says, instead of only that it waits.
func telling(ctx context.Context, say func(context.Context, engine) string) context.Context {
	return context.WithValue(ctx, tellingKey{}, say)
}

// tell tells the caller what a request that takes long waits for.
func tell(ctx context.Context, e engine) {
	message := ""
	if say, ok := ctx.Value(tellingKey{}).(func(context.Context, engine) string); ok {
		_ = bounded(ctx, diagnosisTime, func(ctx context.Context) error { message = say(ctx, e); return nil })
	}
	progress(ctx, cmp.Or(message, "Waiting for the worker to answer."))
}

// request does what send does, again while the run it meets is being replaced, or what it needs is being started. Errors
// are *editors.Error.
func (c *Core) request(ctx context.Context, what string, send func(context.Context, engine) error) error {
	began := time.Now()
	var again time.Time // since when it was only answered to come again
	patience, _ := ctx.Value(patienceKey{}).(time.Duration)
	for wait := retryFirst; ; wait = min(2*wait, retryMax) {
		e, err := c.link.engine(ctx)
		if err != nil {
			return err
		}
		life := c.workerLife()
		err = bounded(ctx, answerTime, func(ctx context.Context) error { return send(ctx, e) })
		if !comesAgain(err) {
			again = time.Time{}
		} else if again.IsZero() {
			again = time.Now()
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return asError(what, ctx.Err())
		case comesAgain(err) && time.Since(again)+wait < retryTime:
			if !pause(ctx, wait) {
				return asError(what, ctx.Err())
			}
		case !isSilence(err):
			return asError(what, err)
		case c.link.heals(ctx, life, began):
			progress(ctx, "The worker is gone; starting it and sending the request again.")
			if !pause(ctx, wait) {
				return asError(what, ctx.Err())
			}
		default:
			silent, alive := c.silence(ctx, e, what, err)
			begins := silent.Code == editors.CodeTemporalUnavailable // says that it is healthy, and cannot do anything yet
			if !alive || time.Since(began) >= patience && (!begins && !c.workerIsNew() || time.Since(began) >= healTime) {
				return silent
			}
			if !begins {
				tell(ctx, e)
				continue
			}
			progress(ctx, waitsForTemporal)
			if !pause(ctx, wait) {
				return asError(what, ctx.Err())
			}
		}
	}
}

func bounded(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// silence says who did not answer, and whether they may still do so: a worker that is there, or the Temporal server that it
// starts again.
func (c *Core) silence(ctx context.Context, e engine, what string, cause error) (silent *editors.Error, alive bool) {
	here, remedy := c.workerAlive(), remedyWorker
	if c.embedded(ctx) {
		if remedy = remedyStart; !here {
			return noWorkerRuns(what, time.Time{}, remedy, cause), false
		}
	}
	c.link.lost()
	var pollers int
	var last time.Time
	err := bounded(ctx, diagnosisTime, func(ctx context.Context) (err error) {
		pollers, last, err = e.Pollers(ctx, agent.AgentQueue)
		return err
	})
	switch {
	case err != nil:
		return c.noTemporal(ctx, what, err), here && c.embedded(ctx)
	case pollers == 0:
		return noWorkerRuns(what, last, remedy, cause), false
	case here:
		silent = editors.Errorf(editors.CodeWorkerUnavailable, "%s: the worker has not answered in time", what).
			WithRemedy("Try again. If it stays so, read the worker's log: " + c.workerLog())
	default:
		silent = editors.Errorf(editors.CodeWorkerUnavailable, "%s: no worker has answered in time%s, and none is running on this host", what, lastSeen(last)).
			WithRemedy(remedy)
	}
	silent.Err = unanswered{cause}
	return silent, true
}

// noWorkerRuns says that a request has to wait for a worker.
func noWorkerRuns(what string, last time.Time, remedy string, cause error) *editors.Error {
	e := editors.Errorf(editors.CodeWorkerUnavailable, "no worker is running%s, so %s has to wait", lastSeen(last), what).WithRemedy(remedy)
	e.Err = unanswered{cause}
	return e
}

// lastSeen says in brackets when a worker was last seen, if that is known.
func lastSeen(last time.Time) string {
	if last.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (last seen %v ago)", max(time.Since(last), 0).Round(time.Second))
}

func (c *Core) noTemporal(ctx context.Context, what string, cause error) *editors.Error {
	p, err := c.resolve(ctx)
	if err != nil {
		return asError(what, err)
	}
	if what != "" {
		what += ": "
	}
	e := editors.Errorf(editors.CodeTemporalUnavailable, "%sTemporal does not answer at %s", what, p)
	e.Err, e.Detail = cause, cause.Error()
	if p.Embedded {
		return e.WithRemedy("Try again in a moment: the worker starts it again. " + remedyDoctor)
	}
	return e.WithRemedy("Start that Temporal server, or correct its address. " + remedyDoctor)
}

// overlay replaces a running session's state by what it really waits for when no worker carries it on, and tells whether it did.
func (c *Core) overlay(ctx context.Context, s *editors.Session) bool {
	if s.State.Status != editors.StatusRunning && s.State.Status != editors.StatusSwitching {
		return false
	}
	reason, remedy := c.missingWorker(ctx, *s)
	if reason == "" {
		return false
	}
	s.State = editors.State{Status: editors.StatusRecovering, Reason: reason, Remedy: remedy, Since: s.State.Since}
	return true
}

// missingWorker says which worker the session's turn waits for, "" when none is missing as far as can be told.
func (c *Core) missingWorker(ctx context.Context, s editors.Session) (reason, remedy string) {
	embedded := c.embedded(ctx)
	onHost := s.Backend.Kind == editors.Local || s.Backend.Kind == editors.Docker
	if s.HostID == c.HostID() && (embedded || onHost) {
		alive, err := workerproc.Alive(c.opts.Paths.WorkerLock)
		switch {
		case err == nil && !alive && embedded:
			return "no worker is polling: the worker of this host is not running", remedyStart
		case err == nil && !alive:
			return "no worker is polling: the worker of this host is not running", remedyWorker
		case embedded:
			return "", ""
		}
	}
	e, err := c.link.engine(context.WithValue(ctx, quietKey{}, quietAlways))
	if err != nil {
		return "", ""
	}
	queues := []string{agent.AgentQueue}
	if onHost {
		queues = append(queues, agent.HostQueue(s.HostID))
	}
	for _, queue := range queues {
		var n int
		var last time.Time
		err := bounded(ctx, diagnosisTime, func(ctx context.Context) (err error) {
			n, last, err = e.Pollers(ctx, queue)
			return err
		})
		if err == nil && n == 0 {
			return fmt.Sprintf("no worker is polling the task queue %s%s", queue, lastSeen(last)), remedyWorker
		}
	}
	return "", ""
}

// newRequestID returns asked, or a random id for a request that the client does not name.
func newRequestID(asked string) string {
	if asked != "" {
		return asked
	}
	return uuid.NewString()
}

// asEditorsError lets an error out of the package only as *editors.Error.
func asEditorsError(what string, err error) error {
	var known *editors.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return asError(what, err)
}
