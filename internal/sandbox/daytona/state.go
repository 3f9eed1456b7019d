// This file brings sandboxes from one state to another. Daytona begins a change at once and completes it later, and refuses
// another one meanwhile.

package daytona

import (
	"context"
	"net/http"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// phase is what the state of a sandbox means to us. States that are not known are on the way to another.
type phase int

const (
	moving phase = iota
	up
	down
	broken
	gone
)

const (
	stateStarted = "started"
	stateBuilt   = "build_failed"
)

func (i info) phase() phase {
	switch i.State {
	case stateStarted:
		if i.Desired != "" && i.Desired != stateStarted {
			return moving
		}
		return up
	case "stopped", "archived", "paused":
		if i.Desired == stateStarted {
			return moving
		}
		return down
	case "error", stateBuilt:
		return broken
	case "destroyed", "destroying":
		return gone
	}
	return moving
}

// slow reports whether the change that is going on may take minutes.
func (i info) slow() bool {
	switch i.State {
	case "restoring", "archiving", "archived", "pending_build", "building_snapshot", "pulling_snapshot":
		return true
	}
	return false
}

const (
	firstLook  = 100 * time.Millisecond
	maxLook    = time.Second
	steadyTime = 5 * time.Second  // of looking at the first pace
	moveTime   = 3 * time.Minute  // of waiting for a sandbox to change its state
	slowTime   = 15 * time.Minute // while it comes from an archive, or its image is built
)

// steer looks at a sandbox, and lets act do something about its state, until act says that it is done. What fails since the
// sandbox is moving is tried again.
func (b *Backend) steer(ctx context.Context, op, id string, act func(info) (done bool, f *cloud.Failure)) *cloud.Failure {
	var waited time.Duration
	for pause := firstLook; ; {
		i, f := b.get(ctx, op, id)
		if f != nil {
			return f
		}
		done, f := act(i)
		if done || f != nil && !f.Moving {
			return f
		}
		if waited >= moveTime && !i.slow() || waited >= slowTime {
			return stuck(op, i)
		}
		if err := b.opts.sleep(ctx, pause); err != nil {
			return &cloud.Failure{Err: cloud.Canceled(op, err)}
		}
		if waited += pause; waited > steadyTime {
			pause = min(pause+pause/10, maxLook)
		}
	}
}

func stuck(op string, i info) *cloud.Failure {
	return cloud.Fail(sandbox.ClassUnavailable, op, cloud.Quote(
		"the Daytona sandbox takes too long to change its state: try again later, or look at it in Daytona's dashboard", cloud.Line(i.State)), nil)
}

// rouse starts a sandbox unless it runs, and returns it.
func (b *Backend) rouse(ctx context.Context, op, id string, tell func(string)) (awake info, f *cloud.Failure) {
	told := false
	say := func(text string) {
		if !told {
			tell(text)
		}
		told = true
	}
	f = b.steer(ctx, op, id, func(i info) (bool, *cloud.Failure) {
		if i.slow() {
			say("Daytona is preparing the sandbox, which may take minutes.")
		}
		switch i.phase() {
		case up:
			awake = i
			return true, nil
		case down:
			say("The Daytona sandbox is started again.")
			return false, b.do(ctx, op, id, "start")
		case broken:
			if i.Recoverable {
				say("The Daytona sandbox is being recovered.")
				return false, b.do(ctx, op, id, "recover")
			}
			return false, failedState(op, i)
		}
		return false, nil
	})
	return awake, f
}

// failedState judges a sandbox that Daytona could not make, start or keep.
func failedState(op string, i info) *cloud.Failure {
	said := cloud.Line(i.Reason)
	f := cloud.Fail(sandbox.ClassUnavailable, op, cloud.Quote(
		"the Daytona sandbox has failed: look at it in Daytona's dashboard, or destroy the session's sandbox", said), nil)
	if i.State == stateBuilt {
		f = cloud.Fail(sandbox.ClassInvalid, op, cloud.Quote("Daytona cannot build the image of the sandbox: "+other, said), nil)
	}
	f.Broken = true
	return f
}

// halt stops a sandbox, whose files stay. One that does not run, or is gone, is no failure.
func (b *Backend) halt(ctx context.Context, op, id string) *cloud.Failure {
	f := b.steer(ctx, op, id, func(i info) (bool, *cloud.Failure) {
		switch i.phase() {
		case up:
			return false, b.do(ctx, op, id, "stop")
		case down, broken, gone:
			return true, nil
		}
		return false, nil
	})
	return unlessGone(f)
}

// remove deletes a sandbox in whatever state and waits until it is gone.
func (b *Backend) remove(ctx context.Context, op, id string) *cloud.Failure {
	f := b.steer(ctx, op, id, func(info) (bool, *cloud.Failure) {
		_, f := b.call(ctx, op, http.MethodDelete, "/sandbox/"+id, nil, true)
		return false, f
	})
	return unlessGone(f)
}

func unlessGone(f *cloud.Failure) *cloud.Failure {
	if f.Is(sandbox.ClassNotFound) {
		return nil
	}
	return f
}
