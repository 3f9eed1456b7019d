// This file sends requests to workflows and finds out who is missing when nobody answers.

package core

import (
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
	return c.request(ctx, what, func(ctx context.Context, e engine) error { return e.Update(ctx, u, result) })
}

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

// request does what send does, again while the run it meets is being replaced. Errors are *editors.Error.
func (c *Core) request(ctx context.Context, what string, send func(context.Context, engine) error) error {
	began := time.Now()
	patience, _ := ctx.Value(patienceKey{}).(time.Duration)
	for wait := retryFirst; ; wait = min(2*wait, retryMax) {
		e, err := c.link.engine(ctx)
		if err != nil {
			return err
		}
		err = bounded(ctx, answerTime, func(ctx context.Context) error { return send(ctx, e) })
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return asError(what, ctx.Err())
		case comesAgain(err) && time.Since(began)+wait < retryTime:
			if !pause(ctx, wait) {
				return asError(what, ctx.Err())
			}
		case isSilence(err):
			silent, alive := c.silence(ctx, e, what, err)
			if !alive || time.Since(began) >= patience {
				return silent
			}
		default:
			return asError(what, err)
		}
	}
}

func bounded(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// silence says who did not answer, and whether there is a worker that may still do so.
func (c *Core) silence(ctx context.Context, e engine, what string, cause error) (silent *editors.Error, alive bool) {
	c.link.lost()
	var pollers int
	err := bounded(ctx, diagnosisTime, func(ctx context.Context) (err error) {
		pollers, err = e.Pollers(ctx, agent.AgentQueue)
		return err
	})
	if err != nil {
		return c.noTemporal(ctx, what, err), false
	}
	remedy := remedyWorker
	if c.embedded(ctx) {
		remedy = remedyStart
		if !c.workerAlive() {
			pollers = 0
		}
	}
	if pollers == 0 {
		silent = editors.Errorf(editors.CodeWorkerUnavailable, "no worker is running, so %s has to wait", what).WithRemedy(remedy)
		silent.Err = cause
		return silent, false
	}
	silent = editors.Errorf(editors.CodeWorkerUnavailable, "%s: the worker has not answered in time", what).
		WithRemedy("Try again. If it stays so, read the worker's log: " + c.workerLog())
	silent.Err = cause
	return silent, true
}

func (c *Core) noTemporal(ctx context.Context, what string, cause error) *editors.Error {
	p, err := c.resolve(ctx)
	if err != nil {
		return asError(what, err)
	}
	e := editors.Errorf(editors.CodeTemporalUnavailable, "%s: Temporal does not answer at %s", what, p)
	e.Err, e.Detail = cause, cause.Error()
	if p.Embedded {
		return e.WithRemedy("Try again in a moment: the worker starts it again. " + remedyDoctor)
	}
	return e.WithRemedy("Start that Temporal server, or correct its address. " + remedyDoctor)
}

// overlay replaces a running session's state by what it really waits for when no worker carries it on.
func (c *Core) overlay(ctx context.Context, s *editors.Session) {
	if s.State.Status != editors.StatusRunning {
		return
	}
	missing, remedy := c.missingWorker(ctx, *s)
	if missing == "" {
		return
	}
	s.State = editors.State{Status: editors.StatusRecovering, Reason: missing, Remedy: remedy, Since: s.State.Since}
}

// missingWorker says which worker the session's turn waits for, "" when none is missing as far as can be told.
func (c *Core) missingWorker(ctx context.Context, s editors.Session) (reason, remedy string) {
	if s.HostID == c.HostID() && c.embedded(ctx) {
		if alive, err := workerproc.Alive(c.opts.Paths.WorkerLock); err == nil && !alive {
			return "no worker is polling: the worker of this host is not running", remedyStart
		}
		return "", ""
	}
	e, err := c.link.engine(context.WithValue(ctx, quietKey{}, quietAlways))
	if err != nil {
		return "", ""
	}
	queues := []string{agent.AgentQueue}
	if s.Backend.Kind == editors.Local || s.Backend.Kind == editors.Docker {
		queues = append(queues, agent.HostQueue(s.HostID))
	}
	for _, queue := range queues {
		var n int
		err := bounded(ctx, diagnosisTime, func(ctx context.Context) (err error) {
			n, err = e.Pollers(ctx, queue)
			return err
		})
		if err == nil && n == 0 {
			return fmt.Sprintf("no worker is polling the task queue %s", queue), remedyWorker
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
