// This file is one sandbox: a helper, and beside it, once a command was allowed the network, a second one that has it.

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// box passes everything on to the first helper but what concerns commands of the second.
type box struct {
	*client.Client
	network *client.Client // nil where all commands have the network
	state   string         // directory of the second helper
	watch   *watch         // nil where commands are not confined

	mu    sync.Mutex
	where map[string]*client.Client // commands whose helper is known
}

var _ sandbox.Sandbox = (*box)(nil)

func (b *Backend) box(r recorded, session, identity string, env []string) *box {
	x := &box{Client: b.attach(r, session, session, identity, env), where: map[string]*client.Client{}}
	if r.Confinement.Method != confine.Nothing {
		x.watch = &watch{workspace: r.Workspace, state: session, notes: map[string]*note{}}
	}
	if !r.Confinement.Level.Network() {
		x.state = confine.NetworkDir(session)
		x.network = b.attach(r, session, x.state, identity, env)
	}
	return x
}

// Start implements sandbox.Sandbox. An id that one helper knows is not given to the other.
func (x *box) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	if x.watch != nil {
		x.watch.begin()
	}
	if x.network == nil {
		return x.Client.Start(ctx, id, cmd)
	}
	to, other := x.Client, x.network
	if cmd.Network {
		to, other = other, to
	}
	if other == x.Client || x.used() {
		if _, err := other.Wait(ctx, id, sandbox.Offsets{}, 0); err == nil {
			x.remember(id, other)
			return nil
		} else if sandbox.ClassOf(err) != sandbox.ClassNotFound && sandbox.ClassOf(err) != sandbox.ClassInvalid {
			return err
		}
	}
	if err := to.Start(ctx, id, cmd); err != nil {
		return err
	}
	x.remember(id, to)
	return nil
}

// used reports whether the second helper was ever started.
func (x *box) used() bool {
	if x.network == nil {
		return false
	}
	_, err := os.Stat(filepath.Join(x.state, "commands"))
	return err == nil
}

func (x *box) remember(id string, c *client.Client) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.where[id] = c
}

// of runs f with the helper of a command: the one known, else the first, else the second.
func (x *box) of(id string, f func(*client.Client) error) error {
	x.mu.Lock()
	c := x.where[id]
	x.mu.Unlock()
	if c != nil {
		return f(c)
	}
	err := f(x.Client)
	if sandbox.ClassOf(err) != sandbox.ClassNotFound || !x.used() {
		return err
	}
	if err = f(x.network); err == nil {
		x.remember(id, x.network)
	}
	return err
}

// Wait implements sandbox.Sandbox.
func (x *box) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (st sandbox.Status, err error) {
	err = x.of(id, func(c *client.Client) error {
		n := x.note(id)
		st, err = c.Wait(ctx, id, n.innerOffsets(after), atMost)
		if err == nil && st.State != sandbox.StateRunning && x.watch != nil {
			n = x.watch.ended(ctx, c, st)
		}
		st = n.status(st)
		return err
	})
	return st, err
}

// note returns what was added to the output of a command, nil for nothing.
func (x *box) note(id string) *note {
	if x.watch == nil {
		return nil
	}
	return x.watch.known(id)
}

// Output implements sandbox.Sandbox.
func (x *box) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (chunk sandbox.Chunk, err error) {
	err = x.of(id, func(c *client.Client) error {
		if added := x.note(id); added != nil && added.Stream == stream {
			chunk, err = added.output(ctx, c, id, offset, n)
		} else {
			chunk, err = c.Output(ctx, id, stream, offset, n)
		}
		return err
	})
	return chunk, err
}

// Input implements sandbox.Sandbox.
func (x *box) Input(ctx context.Context, id string, data []byte, eof bool) error {
	return x.of(id, func(c *client.Client) error { return c.Input(ctx, id, data, eof) })
}

// Resize implements sandbox.Sandbox.
func (x *box) Resize(ctx context.Context, id string, rows, cols uint16) error {
	return x.of(id, func(c *client.Client) error { return c.Resize(ctx, id, rows, cols) })
}

// Kill implements sandbox.Sandbox.
func (x *box) Kill(ctx context.Context, id string) error {
	return x.of(id, func(c *client.Client) error { return c.Kill(ctx, id) })
}

// Commands implements sandbox.Sandbox.
func (x *box) Commands(ctx context.Context) ([]sandbox.Status, error) {
	all, err := x.Client.Commands(ctx)
	if err == nil && x.used() {
		var more []sandbox.Status
		more, err = x.network.Commands(ctx)
		all = append(all, more...)
	}
	for i, st := range all {
		all[i] = x.note(st.ID).status(st)
	}
	return all, err
}

// Close implements sandbox.Sandbox.
func (x *box) Close() error {
	err := x.Client.Close()
	if x.network != nil {
		err = errors.Join(err, x.network.Close())
	}
	return err
}
