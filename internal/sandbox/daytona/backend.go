// Package daytona makes sandboxes of Daytona, the cloud, over its public HTTP interfaces. A sandbox begins with an empty
// workspace; what belongs into it arrives by a checkpoint. Which sandboxes there are is kept in Daytona alone, each under a
// name that follows from its id, so that any worker with the key finds it and nobody makes a second one.
//
// The work inside is done by the helper: it is uploaded once, serves apart from who started it, and is spoken to over two
// terminals of Daytona's own daemon, one for each direction. An idle sandbox is stopped by Daytona: its files stay, its
// processes do not, and it is started again when it is used.
//
// This file is the backend: what it is told, and how sandboxes are opened.
package daytona

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// What the backend does unless told otherwise.
const (
	DefaultAPIURL     = "https://app.daytona.io/api"
	DefaultRoot       = "~/workspace"
	DefaultTimeout    = 15 * time.Minute
	DefaultUnattended = 2 * time.Hour
)

const (
	minTimeout = time.Minute
	maxTimeout = 24 * time.Hour
	maxKept    = 10 * 365 * 24 * time.Hour

	opOpen = "open sandbox"
)

// Resources are those of sandboxes made of an image. Daytona has a default for each.
type Resources struct {
	CPU    int // cores
	Memory int // GiB
	Disk   int // GiB
}

// Options configure the backend. The zero value of an optional field means the default.
type Options struct {
	// APIKey returns the key of the Daytona account, "" when there is none. It is asked before every request, so that a key
	// which is set later counts. Required.
	APIKey func() string

	APIURL string // of the control plane; default DefaultAPIURL
	Target string // the region; default the account's

	// Snapshot or Image is what sandboxes are made of: the name of a snapshot, or a reference of a container image, of which
	// Daytona builds one. Default Daytona's own snapshot.
	Snapshot, Image string
	Resources       Resources // of sandboxes made of an image
	Root            string    // the workspace in a sandbox: absolute, or below the user's home as ~/NAME; default DefaultRoot
	Offline         bool      // new sandboxes cannot reach the internet

	// Timeout is how long a sandbox runs on when nobody uses it, in whole minutes from 1 minute to 24 h; then Daytona stops
	// it. Default DefaultTimeout.
	Timeout time.Duration
	// Archive is after how long a stopped sandbox is moved to cheaper storage, from which it starts slowly, and Delete after
	// how long it is deleted, both in whole minutes. Default for Archive Daytona's, for Delete never.
	Archive, Delete time.Duration
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

// Backend is the Daytona backend.
type Backend struct {
	opts  Options
	http  *http.Client
	retry cloud.Retry
	boxes cloud.Boxes[*box]
}

var (
	_ sandbox.Backend   = (*Backend)(nil)
	_ sandbox.Lister    = (*Backend)(nil)
	_ sandbox.Stopper   = (*Backend)(nil)
	_ sandbox.Loser     = (*Backend)(nil)
	_ sandbox.Elsewhere = (*Backend)(nil)
)

// New makes the backend. Nothing is asked of Daytona before it is needed.
func New(o Options) (*Backend, error) {
	o.complete()
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Backend{
		opts: o, http: cloud.Client(o.HTTPClient),
		retry: cloud.Retry{Sleep: o.sleep, Dice: o.dice, Log: o.Logger}, boxes: cloud.Boxes[*box]{Holds: cloud.Holds{Clock: o.clock}},
	}, nil
}

// complete fills in the defaults.
func (o *Options) complete() {
	o.APIURL = strings.TrimRight(cmp.Or(o.APIURL, DefaultAPIURL), "/")
	o.Root = cmp.Or(o.Root, DefaultRoot)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Unattended = cmp.Or(o.Unattended, DefaultUnattended)
	o.ping = cmp.Or(o.ping, pingTime)
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
}

func (o *Options) check() error {
	const op = "make Daytona backend"
	_, bad := o.source("")
	switch {
	case o.APIKey == nil:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "it needs to be told where the API key is")
	case !cloud.IsAddress(o.APIURL):
		return sandbox.Errorf(sandbox.ClassInvalid, op, "DAYTONA_API_URL is no http or https address: correct or remove it")
	case bad != nil:
		return bad
	case o.Resources.CPU < 0 || o.Resources.Memory < 0 || o.Resources.Disk < 0:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the resources of a sandbox cannot be negative")
	case !strings.HasPrefix(o.Root, "/") && !strings.HasPrefix(o.Root, "~/"):
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the workspace must be an absolute path, or begin with ~/")
	case o.Timeout < minTimeout || o.Timeout > maxTimeout || o.Unattended < 0:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the time after which an idle sandbox is stopped must be between 1 minute and 24 hours")
	case o.Archive < 0 || o.Delete < 0 || o.Archive > maxKept || o.Delete > maxKept:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the times after which a stopped sandbox is archived and deleted must be between 1 minute and 10 years")
	}
	return nil
}

// Kind implements sandbox.Backend.
func (b *Backend) Kind() sandbox.Kind { return sandbox.KindDaytona }

// Capabilities implements sandbox.Backend.
func (b *Backend) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{
		TTY: true, ByteExact: true, Reattach: true, KillTree: true, Confinement: "container", Network: !b.opts.Offline, Asks: true,
	}
}

// Available implements sandbox.Backend. It asks nobody: whether Daytona takes the key shows when it is used.
func (b *Backend) Available(context.Context) error {
	_, err := b.key("look for Daytona")
	return err
}

func (b *Backend) key(op string) (string, error) {
	key := strings.TrimSpace(b.opts.APIKey())
	if key == "" {
		return "", sandbox.Errorf(sandbox.ClassDenied, op, "there is no API key of Daytona: set DAYTONA_API_KEY in the environment, or in the file .env beside config.toml, or give the key in the editor (setSecret)")
	}
	return key, nil
}

// Open implements sandbox.Backend. The sandbox runs and its helper answers when Open returns. Spec.Workspace is not heeded,
// as every sandbox begins empty. Spec.Image is a reference of an image, or snapshot:NAME.
func (b *Backend) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	return b.open(ctx, spec, b.obtain)
}

// Attach opens a sandbox that was made before and never makes one: ClassNotFound says that nothing is left of it.
func (b *Backend) Attach(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	return b.open(ctx, sandbox.Spec{ID: ref.ID}, b.find)
}

// open opens the sandbox that get brings.
func (b *Backend) open(ctx context.Context, spec sandbox.Spec, get func(context.Context, sandbox.Spec) (found, *cloud.Failure)) (sandbox.Sandbox, error) {
	x, err := b.boxes.Open(ctx, opOpen, spec.ID, func() (*box, error) {
		at, f := get(ctx, spec)
		if f != nil {
			return nil, f.Err
		}
		return newBox(b, spec.ID, at), nil
	}, func(x *box) error { return x.open(ctx, spec) })
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
