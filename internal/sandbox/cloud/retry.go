// This file is time: whether another try makes sense, how long is waited before it, and by whose clock.

package cloud

import (
	"context"
	"log/slog"
	"time"
)

// Clock tells the time, so that tests can make it pass.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// WallClock is the machine's clock.
type WallClock struct{}

// Now implements Clock.
func (WallClock) Now() time.Time { return time.Now() }

// After implements Clock.
func (WallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Sleeper waits, unless ctx ends first.
type Sleeper func(ctx context.Context, d time.Duration) error

// SleepBy makes a Sleeper that goes by a clock.
func SleepBy(c Clock) Sleeper {
	return func(ctx context.Context, d time.Duration) error {
		select {
		case <-c.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// The bounds of trying again.
const (
	Tries = 5 // 4 to 8 seconds of waiting

	moveTries  = 10 // while a sandbox is changing its state: 25 to 50 seconds
	firstPause = 500 * time.Millisecond
	maxPause   = 8 * time.Second
	maxAsked   = time.Minute // longer waits are for the caller to decide on
)

// Retry says how to try again.
type Retry struct {
	Sleep Sleeper
	Dice  func() float64 // in [0,1)
	Log   *slog.Logger
}

// Wait waits before another try. It returns false when that makes no sense after so many, and with it the failure to report.
func (r Retry) Wait(ctx context.Context, f *Failure, try int) (*Failure, bool) {
	wait, again := r.pause(f, try)
	if !again {
		return f, false
	}
	r.Log.Info("a cloud is asked again", "op", f.Err.Op, "wait", wait, "error", f.Err)
	if err := r.Sleep(ctx, wait); err != nil {
		return &Failure{Err: Canceled(f.Err.Op, err)}, false
	}
	return nil, true
}

// pause returns how long to wait before another try makes sense, if it does after so many.
func (r Retry) pause(f *Failure, try int) (time.Duration, bool) {
	most := Tries
	if f.Moving {
		most = moveTries
	}
	if !f.Passes || try >= most || f.After > maxAsked {
		return 0, false
	}
	if f.After > 0 {
		return f.After + time.Duration(r.Dice()*float64(firstPause)), true
	}
	d := min(firstPause<<(try-1), maxPause)
	return d/2 + time.Duration(r.Dice()*float64(d/2)), true
}

// Persist tries what may be repeated for as long as that makes sense.
func (r Retry) Persist(ctx context.Context, what func() *Failure) *Failure {
	for try := 1; ; try++ {
		f := what()
		if f == nil {
			return nil
		}
		if f, again := r.Wait(ctx, f, try); !again {
			return f
		}
	}
}
