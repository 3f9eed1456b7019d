// This file is time: how long is waited before another try, and by whose clock.

package e2b

import (
	"context"
	"time"
)

// clock tells the time, so that tests can make it pass.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// sleeper waits, unless ctx ends first.
type sleeper func(ctx context.Context, d time.Duration) error

func sleepBy(c clock) sleeper {
	return func(ctx context.Context, d time.Duration) error {
		select {
		case <-c.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const (
	firstPause = 500 * time.Millisecond
	maxPause   = 8 * time.Second
	maxAsked   = time.Minute // longer waits are for the caller to decide on
	tries      = 5           // 4 to 8 seconds of waiting
	moveTries  = 10          // while a sandbox is being started, paused or resumed: 25 to 50 seconds
)

// again returns how long to wait before another try makes sense, if it does after so many.
func (f *failure) again(try int, dice float64) (time.Duration, bool) {
	most := tries
	if f.moving {
		most = moveTries
	}
	if !f.passes || try >= most || f.after > maxAsked {
		return 0, false
	}
	if f.after > 0 {
		return f.after + time.Duration(dice*float64(firstPause)), true
	}
	d := min(firstPause<<(try-1), maxPause)
	return d/2 + time.Duration(dice*float64(d/2)), true
}
