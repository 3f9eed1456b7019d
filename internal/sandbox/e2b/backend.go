// Package e2b makes sandboxes of E2B, the cloud, over its public HTTP interfaces. A sandbox begins with an empty workspace;
// what belongs into it arrives by a checkpoint. Which sandboxes there are is kept in E2B alone, as metadata of each, so that
// any worker with the key finds them.
//
// The work inside is done by the helper: it is uploaded once, serves apart from who started it, and is spoken to over the
// standard streams of a process that E2B's own daemon starts for each connection. An idle sandbox is paused by E2B, its
// processes included, and goes on where it was when it is used again.
//
// This file is the backend: what it is told, and how sandboxes are opened.
package e2b

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// What the backend does unless told otherwise.
const (
	DefaultDomain     = "e2b.app"
	DefaultTemplate   = "base"
	DefaultRoot       = "/workspace"
	DefaultTimeout    = 10 * time.Minute
	DefaultUnattended = 2 * time.Hour
)

const (
	minTimeout = 15 * time.Second
	maxTimeout = 24 * time.Hour

	opOpen = "open sandbox"
)

// Options configure the backend. The zero value of an optional field means the default.
type Options struct {
	// APIKey returns the key of the E2B account, "" when there is none. It is asked before every request, so that a key
	// which is set later counts. Required.
	APIKey func() string

	APIURL     string // of the control plane; default https://api.DOMAIN
	Domain     string // default DefaultDomain
	SandboxURL string // reaches every sandbox; default a host name of each below the domain
	Template   string // what sandboxes are made of: id, name or name:tag; default DefaultTemplate
	Root       string // the workspace in a sandbox: absolute, or below the user's home as ~/NAME; default DefaultRoot
	Offline    bool   // new sandboxes cannot reach the internet

	// Timeout is how long a sandbox runs on when nobody uses it, 15 s to 24 h; then E2B pauses it. Default DefaultTimeout.
	Timeout time.Duration
	// Unattended is how long running commands and Keep hold a sandbox awake without any call. Default DefaultUnattended.
	Unattended time.Duration
	Idle       time.Duration // how long a helper stays unused; default daemon.DefaultIdle

	// HelperBinary is the helper program for Linux. Default: see helper.ForLinux.
	HelperBinary string
	// HTTPClient must set no time limit, since connections to sandboxes last. Default: one of our own.
	HTTPClient *http.Client
	// Logger defaults to none.
	Logger *slog.Logger

	clock cloud.Clock    // default the machine's
	ping  time.Duration  // between signs of life on a connection
	sleep cloud.Sleeper  // between tries
	dice  func() float64 // in [0,1)
}

// Backend is the E2B backend.
type Backend struct {
	opts   Options
	http   *http.Client
	retry  cloud.Retry
	boxes  cloud.Boxes[*box]
	legacy atomic.Bool // the control plane knows only the first version of its interface

	mu sync.Mutex // guards doubts
	// doubts are the sandboxes of which more may appear: the making of one had an unclear end.
	doubts map[string]bool
}

var (
	_ sandbox.Backend   = (*Backend)(nil)
	_ sandbox.Lister    = (*Backend)(nil)
	_ sandbox.Stopper   = (*Backend)(nil)
	_ sandbox.Loser     = (*Backend)(nil)
	_ sandbox.Elsewhere = (*Backend)(nil)
)

// New makes the backend. Nothing is asked of E2B before it is needed.
func New(o Options) (*Backend, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Backend{
		opts: o, http: cloud.Client(o.HTTPClient), doubts: map[string]bool{},
		retry: cloud.Retry{Sleep: o.sleep, Dice: o.dice, Log: o.Logger}, boxes: cloud.Boxes[*box]{Holds: cloud.Holds{Clock: o.clock}},
	}, nil
}

// complete fills in the defaults and checks the rest.
func (o *Options) complete() error {
	const op = "make E2B backend"
	if o.APIKey == nil {
		return sandbox.Errorf(sandbox.ClassInvalid, op, "it needs to be told where the API key is")
	}
	orElse(&o.Domain, DefaultDomain)
	orElse(&o.APIURL, "https://api."+o.Domain)
	orElse(&o.Template, DefaultTemplate)
	orElse(&o.Root, DefaultRoot)
	orElse(&o.Timeout, DefaultTimeout)
	orElse(&o.Unattended, DefaultUnattended)
	orElse(&o.ping, pingTime)
	for name, text := range map[string]*string{"E2B_API_URL": &o.APIURL, "E2B_SANDBOX_URL": &o.SandboxURL} {
		*text = strings.TrimRight(*text, "/")
		if *text != "" && !cloud.IsAddress(*text) {
			return sandbox.Errorf(sandbox.ClassInvalid, op, "%s is no http or https address: correct or remove it", name)
		}
	}
	switch {
	case !domains.MatchString(o.Domain):
		return sandbox.Errorf(sandbox.ClassInvalid, op, "E2B_DOMAIN is no domain name: correct or remove it")
	case !strings.HasPrefix(o.Root, "/") && !strings.HasPrefix(o.Root, "~/"):
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the workspace must be an absolute path, or begin with ~/")
	case o.Timeout < minTimeout || o.Timeout > maxTimeout || o.Unattended < 0:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the time after which an idle sandbox is paused must be between 15 seconds and 24 hours")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.clock == nil {
		o.clock = cloud.WallClock{}
	}
	if o.sleep == nil {
		o.sleep = cloud.SleepBy(o.clock)
	}
	if o.dice == nil {
		o.dice = rand.Float64
	}
	return nil
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Kind implements sandbox.Backend.
func (b *Backend) Kind() sandbox.Kind { return sandbox.KindE2B }

// Capabilities implements sandbox.Backend.
func (b *Backend) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{
		TTY: true, ByteExact: true, Reattach: true, KillTree: true, Confinement: "container", Network: !b.opts.Offline, Asks: true,
	}
}

// Available implements sandbox.Backend. It asks nobody: whether E2B takes the key shows when it is used.
func (b *Backend) Available(context.Context) error {
	_, err := b.key("look for E2B")
	return err
}

func (b *Backend) key(op string) (string, error) {
	key := strings.TrimSpace(b.opts.APIKey())
	if key == "" {
		return "", sandbox.Errorf(sandbox.ClassDenied, op, "there is no API key of E2B: set E2B_API_KEY in the environment, or in the file .env beside config.toml, or give the key in the editor (setSecret)")
	}
	return key, nil
}

// Open implements sandbox.Backend. The sandbox runs and its helper answers when Open returns. Spec.Workspace is not heeded,
// as every sandbox begins empty.
func (b *Backend) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	return b.open(ctx, spec, b.obtain)
}

// Attach opens a sandbox that was made before and never makes one: ClassNotFound says that nothing is left of it.
func (b *Backend) Attach(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	return b.open(ctx, sandbox.Spec{ID: ref.ID}, b.find)
}

// open opens the sandbox that get brings.
func (b *Backend) open(ctx context.Context, spec sandbox.Spec, get func(context.Context, sandbox.Spec) (listed, error)) (sandbox.Sandbox, error) {
	x, err := b.boxes.Open(ctx, opOpen, spec.ID, func() (*box, error) {
		l, err := get(ctx, spec)
		if err != nil {
			return nil, err
		}
		return newBox(b, spec.ID, l), nil
	}, func(x *box) error { return x.open(ctx) })
	if err != nil {
		return nil, err
	}
	return cloud.NewHandle(x, spec.Env), nil
}

// Keep keeps a sandbox awake though nobody calls it, as during a turn in which the model thinks, until release is called. It
// ends by itself after Options.Unattended without a call. It never makes or wakes a sandbox.
func (b *Backend) Keep(ref sandbox.Ref) (release func()) { return b.boxes.Keep(ref.ID) }

// Root implements sandbox.Elsewhere: it knows the workspaces of sandboxes that are open here, and those that can be nowhere
// else.
func (b *Backend) Root(ref sandbox.Ref) string { return b.boxes.Root(ref.ID, b.opts.Root) }

// Close ends the connections to all sandboxes. Sandboxes and commands live on.
func (b *Backend) Close() error {
	b.boxes.Close()
	b.http.CloseIdleConnections()
	return nil
}
