// This file is one sandbox as this process has it open: a client of its helper, and how that is reached, whatever was done to
// the sandbox meanwhile.

package daytona

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const maxOwed = 32 // terminals

// box is an open sandbox, shared by all that opened it here.
type box struct {
	b       *Backend
	id      string // the session's
	daytona string // Daytona's
	epoch   int64
	offline bool
	fresh   atomic.Bool            // made just now, and never started
	gone    atomic.Bool            // destroyed
	root    atomic.Pointer[string] // the workspace, once it is known
	keeper  cloud.Keeper

	mu     sync.Mutex     // guards the fields below
	client *client.Client // nil until the sandbox was prepared
	way    *access        // found by preparing, for the first connection
	place  *cloud.Place   // nil until the sandbox was prepared
	stream *stream        // the live one, if any
	owed   []string       // terminals of former streams that could not be ended
	closed bool
}

var (
	_ cloud.Box   = (*box)(nil)
	_ cloud.Awake = (*box)(nil)
)

func newBox(b *Backend, id string, at found) *box {
	x := &box{b: b, id: id, daytona: at.ID, epoch: at.Labels.Epoch(), offline: at.Labels.Offline()}
	x.fresh.Store(at.fresh)
	x.keeper = cloud.Keeper{
		Box: x, ID: id, Holds: &b.boxes.Holds, Tick: b.opts.Timeout / 3, Unattended: b.opts.Unattended, Log: b.opts.Logger,
	}
	return x
}

// In implements cloud.Box.
func (x *box) In(op string) (*client.Client, func(), error) {
	if x.gone.Load() {
		return nil, nil, errDestroyed(op)
	}
	leave := x.keeper.Enter()
	return x.Helper(), leave, nil
}

// Ref implements cloud.Box. Its epoch is when the sandbox was made, in milliseconds since 1970.
func (x *box) Ref() sandbox.Ref {
	ref := sandbox.Ref{Kind: sandbox.KindDaytona, ID: x.id, Epoch: x.epoch, Workspace: x.b.opts.Root}
	if root := x.root.Load(); root != nil {
		ref.Workspace = *root
	}
	return ref
}

// Refuse implements cloud.Box.
func (x *box) Refuse(op string, cmd sandbox.Command) error {
	if cmd.Network && x.offline {
		return sandbox.Errorf(sandbox.ClassUnsupported, op,
			"this Daytona sandbox reaches no internet, and only new ones can be given it: change the settings of Daytona and start a new session")
	}
	return nil
}

// open makes the sandbox ready for commands.
func (x *box) open(ctx context.Context, spec sandbox.Spec) error {
	defer x.keeper.Enter()()
	c := x.Helper()
	if c == nil {
		var err error
		if c, err = x.introduce(ctx, spec); err != nil {
			return err
		}
	}
	return c.Health(ctx)
}

// Helper implements cloud.Awake.
func (x *box) Helper() *client.Client {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.client
}

// introduce prepares the sandbox, by which shows what program is to serve in it.
func (x *box) introduce(ctx context.Context, spec sandbox.Spec) (*client.Client, error) {
	var a access
	f := x.b.retry.Persist(ctx, func() (f *cloud.Failure) {
		if a, f = x.rouse(ctx, func(text string) { tell(spec, text) }); f == nil {
			_, f = x.inside(ctx, a)
		}
		return f
	})
	if f != nil {
		return nil, f.Err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.client, x.way = x.newClient(), &a
	return x.client, nil
}

// newClient makes a client that connects when it is needed.
func (x *box) newClient() *client.Client {
	return client.New(client.Options{Dial: x.dial, Build: x.place.Build})
}

// dial starts the sandbox if need be and connects to its helper.
func (x *box) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	var s *stream
	f := x.b.retry.Persist(ctx, func() (f *cloud.Failure) {
		s, f = x.reach(ctx)
		return f
	})
	if f != nil {
		return nil, f.Err
	}
	return s, nil
}

// rouse starts the sandbox, unless that was just done. The control plane knows whether it is gone.
func (x *box) rouse(ctx context.Context, tell func(string)) (access, *cloud.Failure) {
	if x.gone.Load() {
		return access{}, cloud.Failed(opOpen, errDestroyed(opOpen))
	}
	x.mu.Lock()
	way := x.way
	x.way = nil
	x.mu.Unlock()
	if way != nil {
		return *way, nil
	}
	i, f := x.b.rouse(ctx, opOpen, x.daytona, tell)
	switch {
	case f == nil:
		x.fresh.Store(false)
		x.keeper.Extended()
		return x.b.access(ctx, opOpen, i)
	case f.Is(sandbox.ClassNotFound):
		x.gone.Store(true)
	case f.Broken && (x.fresh.Load() || f.Is(sandbox.ClassInvalid)):
		x.discard(ctx)
	}
	return access{}, f
}

// discard removes a sandbox that Daytona made for us and could not start, or of whose image nothing came: there is no work in
// it.
func (x *box) discard(ctx context.Context) {
	x.gone.Store(true)
	if f := x.b.remove(ctx, opOpen, x.daytona); f != nil {
		x.b.opts.Logger.Warn("a Daytona sandbox that never started is left", "sandbox", x.daytona, "error", f.Err)
	}
}

// reach tries to connect once.
func (x *box) reach(ctx context.Context) (*stream, *cloud.Failure) {
	a, f := x.rouse(ctx, func(string) {})
	if f != nil {
		return nil, f
	}
	at, f := x.inside(ctx, a)
	if f != nil {
		return nil, f
	}
	s, f := x.bridge(ctx, a, at)
	if f != nil {
		return nil, f
	}
	x.mu.Lock()
	x.stream = s
	owed := x.owed
	x.owed = nil
	x.mu.Unlock()
	if len(owed) > 0 {
		go x.part(a, owed)
	}
	return s, nil
}

// inside returns what the sandbox is like, prepared once.
func (x *box) inside(ctx context.Context, a access) (cloud.Place, *cloud.Failure) {
	x.mu.Lock()
	known := x.place
	x.mu.Unlock()
	if known != nil && known.Helpers != nil {
		return *known, nil
	}
	p, f := x.prepare(ctx, a)
	if f != nil {
		return p, f
	}
	p.Helpers = []string{p.Program}
	x.root.Store(&p.Root)
	x.mu.Lock()
	x.place = &p
	x.mu.Unlock()
	return p, nil
}

// forget makes the sandbox be prepared again.
func (x *box) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.place != nil {
		p := *x.place
		p.Helpers = nil
		x.place = &p
	}
}

func (x *box) lostStream(s *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == s {
		x.stream = nil
	}
}

// Connected implements cloud.Awake.
func (x *box) Connected() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stream != nil
}

// Extend implements cloud.Awake.
func (x *box) Extend(ctx context.Context) error {
	return x.b.do(ctx, "keep sandbox", x.daytona, "last-activity").Fault()
}

// Rest implements cloud.Awake: a connection would keep the sandbox awake. Whoever comes next gets another client, so that no
// call meets a connection that is just being dropped.
func (x *box) Rest() {
	x.mu.Lock()
	old := x.client
	if old != nil && !x.closed {
		x.client = x.newClient()
	}
	x.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// owes remembers terminals that could not be ended.
func (x *box) owes(ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.owed) < maxOwed && !x.gone.Load() {
		x.owed = append(x.owed, ids...)
	}
}

// Gone implements cloud.Opened.
func (x *box) Gone() bool { return x.gone.Load() }

// Wake implements cloud.Opened.
func (x *box) Wake() { x.keeper.Wake() }

// Forsake ends what this process has of the sandbox.
func (x *box) Forsake() {
	x.keeper.Stop()
	x.mu.Lock()
	x.closed = true
	s := x.stream
	x.mu.Unlock()
	if s != nil && !x.gone.Load() {
		s.leave()
	}
	if c := x.Helper(); c != nil {
		_ = c.Close()
	}
}
