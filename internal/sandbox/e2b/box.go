// This file is one sandbox as this process has it open: a client of its helper, and how that is reached, whatever was done to
// the sandbox meanwhile.

package e2b

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"sync/atomic"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// box is an open sandbox, shared by all that opened it here.
type box struct {
	b       *Backend
	id      string // the session's
	e2b     string // E2B's
	epoch   int64
	offline bool
	tag     string                 // begins the names of the processes that carry streams of this box
	gone    atomic.Bool            // destroyed
	root    atomic.Pointer[string] // the workspace, once it is known
	keeper  cloud.Keeper

	mu     sync.Mutex     // guards the fields below
	client *client.Client // nil until the sandbox was prepared
	way    *access        // found by preparing, for the first connection
	place  *cloud.Place   // nil until the sandbox was prepared
	stream *stream        // the live one, if any
	calls  int            // streams that were tried
}

var (
	_ cloud.Box   = (*box)(nil)
	_ cloud.Awake = (*box)(nil)
)

func newBox(b *Backend, id string, l listed) *box {
	x := &box{b: b, tag: cloud.OwnDir + "-" + rand.Text() + "-", id: id, e2b: l.SandboxID, epoch: l.Metadata.Epoch(), offline: l.Metadata.Offline()}
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
	return x.Helper(), x.keeper.Enter(), nil
}

// Ref implements cloud.Box. Its epoch is when the sandbox was made, in milliseconds since 1970.
func (x *box) Ref() sandbox.Ref {
	ref := sandbox.Ref{Kind: sandbox.KindE2B, ID: x.id, Epoch: x.epoch, Workspace: x.b.opts.Root}
	if root := x.root.Load(); root != nil {
		ref.Workspace = *root
	}
	return ref
}

// Refuse implements cloud.Box.
func (x *box) Refuse(op string, cmd sandbox.Command) error {
	if cmd.Network && x.offline {
		return sandbox.Errorf(sandbox.ClassUnsupported, op,
			"this E2B sandbox reaches no internet, and only new ones can be given it: change the settings of E2B and start a new session")
	}
	return nil
}

// open makes the sandbox ready for commands.
func (x *box) open(ctx context.Context) error {
	defer x.keeper.Enter()()
	c := x.Helper()
	if c == nil {
		var err error
		if c, err = x.introduce(ctx); err != nil {
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
func (x *box) introduce(ctx context.Context) (*client.Client, error) {
	var a access
	var at cloud.Place
	f := x.b.retry.Persist(ctx, func() (f *cloud.Failure) {
		if a, f = x.rouse(ctx); f == nil {
			at, f = x.inside(ctx, a)
		}
		return f
	})
	if f != nil {
		return nil, f.Err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.client = client.New(client.Options{Dial: x.dial, Build: at.Build})
	x.way = &a
	return x.client, nil
}

// dial wakes the sandbox if need be and connects to its helper.
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

// rouse wakes the sandbox, unless that was just done. The control plane knows whether it is gone.
func (x *box) rouse(ctx context.Context) (access, *cloud.Failure) {
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
	a, f := x.b.connect(ctx, opOpen, x.e2b)
	switch {
	case f == nil:
		x.keeper.Extended()
	case f.Is(sandbox.ClassNotFound):
		x.gone.Store(true)
	}
	return a, f
}

// reach tries to connect once.
func (x *box) reach(ctx context.Context) (*stream, *cloud.Failure) {
	a, f := x.rouse(ctx)
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
	x.mu.Unlock()
	return s, nil
}

// inside returns what the sandbox is like, prepared once.
func (x *box) inside(ctx context.Context, a access) (cloud.Place, *cloud.Failure) {
	x.mu.Lock()
	known := x.place
	x.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	p, f := x.prepare(ctx, a)
	if f != nil {
		return p, f
	}
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
	x.place = nil
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
func (x *box) Extend(ctx context.Context) error { return x.b.extend(ctx, x.e2b).Fault() }

// Rest implements cloud.Awake. There is nothing to drop: E2B pauses a sandbox when its time is over, connected or not.
func (x *box) Rest() {}

// disconnect drops the connection until the sandbox is used again.
func (x *box) disconnect() {
	x.mu.Lock()
	s := x.stream
	x.mu.Unlock()
	if s != nil {
		s.leave()
	}
}

// Gone implements cloud.Opened.
func (x *box) Gone() bool { return x.gone.Load() }

// Wake implements cloud.Opened.
func (x *box) Wake() { x.keeper.Wake() }

// Forsake ends what this process has of the sandbox.
func (x *box) Forsake() {
	x.keeper.Stop()
	if !x.gone.Load() {
		x.disconnect()
	}
	if c := x.Helper(); c != nil {
		_ = c.Close()
	}
}
