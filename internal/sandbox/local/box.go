// This file is one sandbox: a helper, beside it, once a command was allowed the network, a second one that has it, and those
// that were there before them.

package local

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/helper/engine"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// box passes everything on to one helper but what concerns commands and edits of others.
type box struct {
	*client.Client                // begins commands
	network        *client.Client // begins those that are allowed the network: the same where all are
	all            []place        // the one that begins commands first
	watch          *watch         // nil where commands are not confined
}

// place is a helper and where its records are.
type place struct {
	*client.Client
	state string
}

var _ sandbox.Sandbox = (*box)(nil)

func (b *Backend) box(r recorded, session, identity string, env []string) *box {
	x := &box{}
	if r.Confinement.Method != confine.Nothing {
		x.watch = &watch{workspace: r.Workspace, state: session, notes: map[string]*note{}}
	}
	begins := stateOf(session, r.Heir)
	former := slices.DeleteFunc(states(session), func(state string) bool { return state == begins })
	for _, state := range append([]string{begins}, former...) {
		x.all = append(x.all, place{b.attach(r, session, state, identity, env), state})
		if !r.Confinement.Level.Network() {
			state = confine.NetworkDir(state)
			x.all = append(x.all, place{b.attach(r, session, state, identity, env), state})
		}
	}
	x.Client, x.network = x.all[0].Client, x.all[0].Client
	if !r.Confinement.Level.Network() {
		x.network = x.all[1].Client
	}
	return x
}

// holder returns the helper that has a record of a command or of edits, nil if there is none.
func (x *box) holder(id string) *client.Client {
	for _, p := range x.all {
		if engine.Knows(p.state, id) {
			return p.Client
		}
	}
	return nil
}

// of returns the helper to ask about a command or edits.
func (x *box) of(id string) *client.Client { return cmp.Or(x.holder(id), x.Client) }

// Start implements sandbox.Sandbox. An id that one helper knows is not given to another.
func (x *box) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	if x.watch != nil {
		x.watch.begin()
	}
	to := x.holder(id)
	switch {
	case to != nil:
	case cmd.Network:
		to = x.network
	default:
		to = x.Client
	}
	return to.Start(ctx, id, cmd)
}

// Apply implements sandbox.Sandbox.
func (x *box) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	return x.of(id).Apply(ctx, id, edits)
}

// Wait implements sandbox.Sandbox.
func (x *box) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (sandbox.Status, error) {
	c, n := x.of(id), x.note(id)
	st, err := c.Wait(ctx, id, n.innerOffsets(after), atMost)
	if err == nil && st.State != sandbox.StateRunning && x.watch != nil {
		n = x.watch.ended(ctx, c, st)
	}
	return n.status(st), err
}

// note returns what was added to the output of a command, nil for nothing.
func (x *box) note(id string) *note {
	if x.watch == nil {
		return nil
	}
	return x.watch.known(id)
}

// Output implements sandbox.Sandbox.
func (x *box) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (sandbox.Chunk, error) {
	if added := x.note(id); added != nil && added.Stream == stream {
		return added.output(ctx, x.of(id), id, offset, n)
	}
	return x.of(id).Output(ctx, id, stream, offset, n)
}

// Input implements sandbox.Sandbox.
func (x *box) Input(ctx context.Context, id string, data []byte, eof bool) error {
	return x.of(id).Input(ctx, id, data, eof)
}

// Resize implements sandbox.Sandbox.
func (x *box) Resize(ctx context.Context, id string, rows, cols uint16) error {
	return x.of(id).Resize(ctx, id, rows, cols)
}

// Kill implements sandbox.Sandbox.
func (x *box) Kill(ctx context.Context, id string) error { return x.of(id).Kill(ctx, id) }

// Commands implements sandbox.Sandbox. No helper is started for it but the first: where none serves, nothing runs.
func (x *box) Commands(ctx context.Context) ([]sandbox.Status, error) {
	all, err := x.Client.Commands(ctx)
	for _, p := range x.all[1:] {
		if err != nil {
			return nil, err
		}
		c := reach(p.state)
		more, failed := c.Commands(ctx)
		_ = c.Close()
		if sandbox.ClassOf(failed) != sandbox.ClassNotFound {
			all, err = append(all, more...), failed
		}
	}
	for i, st := range all {
		all[i] = x.note(st.ID).status(st)
	}
	return all, err
}

// Close implements sandbox.Sandbox.
func (x *box) Close() error {
	var failed error
	for _, p := range x.all {
		failed = errors.Join(failed, p.Client.Close())
	}
	return failed
}
