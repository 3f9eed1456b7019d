// This file follows a command's output live, until it ends or the wait is over.

package tools

import (
	"context"
	"fmt"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	waitSlice = 20 * time.Second
	askPause  = 500 * time.Millisecond // between looks at a command that waits for input
	gather    = 20 * time.Millisecond  // output that comes within this time is passed on together
	chunkSize = 256 << 10
	maxLag    = 1 << 20 // live output further behind than this is skipped
)

// follower passes a command's output on as it comes.
type follower struct {
	env   Env
	id    string
	tty   bool
	deaf  bool // nobody can give the command any input
	at    sandbox.Offsets
	carry [2][]byte // of stdout and stderr: the beginning of a character whose rest has not come yet

	leaveAsking time.Duration // how long a command may wait for input until following it ends; negative: as long as it likes
	lull        lull
}

// follow passes output on until the command ends, has waited for input for too long, the limit has passed (negative: there is
// none), or ctx ends; it returns the status at that time.
func (f *follower) follow(ctx context.Context, limit time.Duration) (sandbox.Status, error) {
	deadline := time.Now().Add(limit)
	f.lull.begin()
	for {
		slice := f.lull.slice(f.env.OnQuiet != nil)
		if limit >= 0 {
			slice = max(min(slice, time.Until(deadline)), 0)
		}
		status, err := f.env.Sandbox.Wait(ctx, f.id, f.at, slice)
		if err != nil {
			return status, err
		}
		over := status.State != sandbox.StateRunning || ctx.Err() != nil || limit >= 0 && !time.Now().Before(deadline)
		f.lull.heed(status, f.at, f.env.OnQuiet)
		over = over || f.lull.asksFor(f.leaveAsking)
		if err := f.forward(ctx, status, over); err != nil || over {
			return status, err
		}
		if status.WaitsSince.IsZero() {
			pause(ctx, gather)
		} else {
			pause(ctx, askPause)
		}
	}
}

// pause waits, but not longer than ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// forward passes on what both streams have up to status.
func (f *follower) forward(ctx context.Context, status sandbox.Status, last bool) error {
	if f.env.OnOutput == nil || ctx.Err() != nil {
		f.at = status.Total
		return nil
	}
	if err := f.forwardStream(ctx, 0, sandbox.Stdout, &f.at.Stdout, status.Total.Stdout, last); err != nil {
		return err
	}
	return f.forwardStream(ctx, 1, sandbox.Stderr, &f.at.Stderr, status.Total.Stderr, last)
}

// forwardStream passes on one stream from *at to total, but only its end if that is much.
func (f *follower) forwardStream(ctx context.Context, n int, stream sandbox.Stream, at *int64, total int64, last bool) error {
	if skip := total - chunkSize - *at; skip > maxLag {
		f.pass(n, stream, skipped(skip), true)
		*at += skip
	}
	for *at < total {
		chunk, err := f.env.Sandbox.Output(ctx, f.id, stream, *at, chunkSize)
		if err != nil {
			return err
		}
		if gap := chunk.Offset - *at; gap > 0 {
			f.pass(n, stream, skipped(gap), true)
		}
		*at = chunk.Offset + int64(len(chunk.Data))
		if len(chunk.Data) == 0 {
			break
		}
		f.pass(n, stream, chunk.Data, false)
	}
	if last {
		f.pass(n, stream, nil, true)
	}
	return nil
}

// pass hands data on, but keeps back the beginning of a character at its end unless flush is set.
func (f *follower) pass(n int, stream sandbox.Stream, data []byte, flush bool) {
	data = append(f.carry[n], data...)
	whole := len(data)
	if !flush {
		whole = wholeRunes(data)
	}
	f.carry[n] = append([]byte(nil), data[whole:]...)
	if whole > 0 {
		f.env.OnOutput(string(stream), data[:whole])
	}
}

// skipped is the note in place of output that is not there.
func skipped(n int64) []byte {
	return fmt.Appendf(nil, "\n[… %s bytes left out …]\n", thousands(n))
}
