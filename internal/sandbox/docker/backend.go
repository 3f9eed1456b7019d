// Package docker makes sandboxes of containers of a Docker engine. A session has one container, which may be stopped, lost
// and made again, and one named volume with its workspace, which stays until the session is destroyed. The work inside is
// done by the helper, over one "docker exec" for each session and worker; the helper outlives both.
//
// The workspace begins as a copy of the session's folder. What is changed in the container stays there.
//
// Nothing outside this package knows the engine's client library. A foreign image without a shell, without the program
// sleep, or of another system than Linux is unsupported: there is no weaker way to run commands in it.
//
// This file is the backend: what it is told, and how sandboxes are opened.
package docker

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

// DefaultImage is what sandboxes are made of unless told otherwise: Debian, slim, with Python.
const DefaultImage = "python:3-slim"

// The networks of sandboxes.
const (
	NetworkNone   = "none"   // only the container's own loopback
	NetworkBridge = "bridge" // the engine's default network, which usually reaches the internet
)

const (
	defaultPids   = 512
	defaultMemory = 4 << 30

	opOpen     = "open sandbox"
	openTries  = 5                      // against a Destroy at the same time
	askTime    = 150 * time.Millisecond // for what a person waits for
	engineTime = time.Minute            // for what an engine usually does in less than a second
)

// Options configure the backend. The zero value of an optional field means the default.
type Options struct {
	StateDir string // where it remembers which sandboxes it has made. Required, absolute.
	HostID   string // goes into every Ref and label. Required.

	Image   string        // default DefaultImage
	Network string        // NetworkNone, the default, or NetworkBridge
	Memory  int64         // bytes of one sandbox, swap included; default 4 GiB
	CPUs    float64       // of one sandbox; default all of the engine's
	Pids    int64         // processes and threads of one sandbox; default 512
	Idle    time.Duration // how long a helper stays unused; default daemon.DefaultIdle

	// HelperBinary is the helper program for Linux. Default: see helper.ForLinux.
	HelperBinary string
	// Env looks up the environment by which the engine is found. Default os.LookupEnv.
	Env func(name string) (string, bool)
	// Logger defaults to none.
	Logger *slog.Logger
}

// Backend is the Docker backend.
type Backend struct {
	opts Options

	mu     sync.Mutex // guards the fields below
	client *engine
	boxes  map[string]*box // by sandbox id: those that are open here
}

var _ sandbox.Backend = (*Backend)(nil)

// New makes the backend. No engine is looked for before it is needed.
func New(o Options) (*Backend, error) {
	const op = "make docker backend"
	if !filepath.IsAbs(o.StateDir) || o.HostID == "" {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, op, "the state directory must be absolute, and the host needs an id")
	}
	switch o.Network {
	case "":
		o.Network = NetworkNone
	case NetworkNone, NetworkBridge:
	default:
		return nil, sandbox.Errorf(sandbox.ClassInvalid, op, "the network must be %s or %s", NetworkNone, NetworkBridge)
	}
	if o.Memory < 0 || o.CPUs < 0 || o.Pids < 0 {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, op, "limits must not be negative")
	}
	if o.Image == "" {
		o.Image = DefaultImage
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Pids == 0 {
		o.Pids = defaultPids
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Backend{opts: o, boxes: map[string]*box{}}, nil
}

// Root implements sandbox.Elsewhere.
func (b *Backend) Root(sandbox.Ref) string { return Root }

// Kind implements sandbox.Backend.
func (b *Backend) Kind() sandbox.Kind { return sandbox.KindDocker }

// Capabilities implements sandbox.Backend.
func (b *Backend) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{
		TTY: true, ByteExact: true, Reattach: true, KillTree: true, Confinement: "container", Network: b.opts.Network == NetworkBridge, Asks: true,
	}
}

// Available implements sandbox.Backend. It answers at once; an engine that does not is not available.
func (b *Backend) Available(ctx context.Context) error {
	e, err := b.engine()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	ping, err := e.Ping(ctx)
	if err != nil {
		return e.failed("ask the Docker engine", err)
	}
	if ping.OSType == "windows" {
		return sandbox.Errorf(sandbox.ClassUnsupported, opOpen, "the Docker engine %s runs Windows containers; switch it to Linux containers", e.where)
	}
	return nil
}

// Open implements sandbox.Backend. The container runs and its helper answers when Open returns.
func (b *Backend) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := sandbox.CheckID(opOpen, spec.ID); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		r, err := b.begin(ctx, spec)
		if err != nil {
			return nil, err
		}
		x, err := b.box(ctx, r)
		if err != nil {
			return nil, err
		}
		if err = x.open(ctx, spec.Notify); err == nil {
			return &handle{box: x, env: spec.Env}, nil
		}
		if !x.gone.Load() || try == openTries {
			return nil, err
		}
	}
}

// box returns the box of the sandbox, the same as long as it is open here.
func (b *Backend) box(ctx context.Context, r record) (*box, error) {
	if x := b.current(r); x != nil {
		return x, nil
	}
	e, err := b.engine()
	if err != nil {
		return nil, err
	}
	arch, err := e.arch(ctx)
	if err != nil {
		return nil, err
	}
	p, err := b.findProgram(arch)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.boxes[r.ID]; x != nil && x.born == r.Born {
		return x, nil
	}
	x := newBox(b, r, p)
	b.boxes[r.ID] = x
	return x, nil
}

func (b *Backend) current(r record) *box {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.boxes[r.ID]; x != nil && x.born == r.Born {
		return x
	}
	return nil
}

// find returns the box of a sandbox that was made before.
func (b *Backend) find(ctx context.Context, ref sandbox.Ref) (*box, error) {
	r, err := b.loadRecord(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errDestroyed("find sandbox")
	}
	if err != nil {
		return nil, err
	}
	return b.box(ctx, r)
}

// Close ends the connections to all sandboxes and to the engine. Sandboxes and commands live on.
func (b *Backend) Close() error {
	b.mu.Lock()
	boxes, client := b.boxes, b.client
	b.boxes, b.client = map[string]*box{}, nil
	b.mu.Unlock()
	for _, x := range boxes {
		_ = x.client.Close()
	}
	if client != nil {
		return client.Close()
	}
	return nil
}
