// This file answers the calls about commands that were started.

package fake

import (
	"context"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

// about carries out a call of the method op about one command; the mutex is held in work.
func (s *Sandbox) about(ctx context.Context, op, id string, work func(c *command) error) error {
	return s.do(ctx, op, func() error {
		c, ok := s.commands[id]
		if !ok {
			return sandbox.Errorf(sandbox.ClassNotFound, op, "there is no command %q", id)
		}
		return work(c)
	})
}

// Wait implements sandbox.Sandbox.
func (s *Sandbox) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (st sandbox.Status, err error) {
	timer := time.NewTimer(max(atMost, 0))
	defer timer.Stop()
	err = s.about(ctx, "Wait", id, func(c *command) error {
		over := false
		for {
			st = c.status
			if over || st.State != sandbox.StateRunning || st.Total.Stdout > after.Stdout || st.Total.Stderr > after.Stderr || !st.WaitsSince.IsZero() {
				return nil
			}
			changed := s.changed
			s.mu.Unlock()
			select {
			case <-changed:
			case <-timer.C:
				over = true
			case <-ctx.Done():
			}
			s.mu.Lock()
			if ctx.Err() != nil {
				return canceled(ctx, "Wait")
			}
		}
	})
	if err != nil {
		return sandbox.Status{}, err
	}
	return st, nil
}

// Output implements sandbox.Sandbox.
func (s *Sandbox) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (chunk sandbox.Chunk, err error) {
	if offset < 0 || n < 0 || (stream != sandbox.Stdout && stream != sandbox.Stderr) {
		return chunk, sandbox.Errorf(sandbox.ClassInvalid, "read output", "there is no such stream or range")
	}
	err = s.about(ctx, "Output", id, func(c *command) error {
		out := c.output[stream]
		data, at := out.read(offset, n)
		total := int64(len(out.data))
		chunk = sandbox.Chunk{Data: data, Offset: at, Total: total}
		chunk.EOF = c.status.State != sandbox.StateRunning && at+int64(len(data)) >= total
		return nil
	})
	return chunk, err
}

// Input implements sandbox.Sandbox.
func (s *Sandbox) Input(ctx context.Context, id string, data []byte, eof bool) error {
	return s.about(ctx, "Input", id, func(c *command) error {
		if c.stdin == nil {
			return sandbox.Errorf(sandbox.ClassInvalid, "write input", "the command takes no input: start it with stdin or a terminal")
		}
		return c.stdin.put(data, eof)
	})
}

// Resize implements sandbox.Sandbox.
func (s *Sandbox) Resize(ctx context.Context, id string, rows, cols uint16) error {
	return s.about(ctx, "Resize", id, func(c *command) error {
		const op = "resize terminal"
		switch {
		case rows == 0 || cols == 0:
			return sandbox.Errorf(sandbox.ClassInvalid, op, "a terminal has at least one row and one column")
		case c.status.State != sandbox.StateRunning:
			return nil
		case !c.tty:
			return sandbox.Errorf(sandbox.ClassInvalid, op, "the command has no terminal: start it with one")
		}
		c.rows, c.cols = rows, cols
		s.signal()
		return nil
	})
}

// Kill implements sandbox.Sandbox.
func (s *Sandbox) Kill(ctx context.Context, id string) error {
	return s.about(ctx, "Kill", id, func(*command) error {
		s.kill(id, func(st *sandbox.Status) { st.Killed = true })
		return nil
	})
}

// Commands implements sandbox.Sandbox.
func (s *Sandbox) Commands(ctx context.Context) (all []sandbox.Status, err error) {
	err = s.do(ctx, "Commands", func() error {
		all = nil
		for _, c := range s.commands {
			if c.status.State == sandbox.StateRunning {
				all = append(all, c.status)
			}
		}
		slices.SortFunc(all, func(a, b sandbox.Status) int { return strings.Compare(a.ID, b.ID) })
		return nil
	})
	return all, err
}
