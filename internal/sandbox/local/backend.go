// Package local makes sandboxes of the folders of this host, in place: commands and edits work on the user's own files.
// The work is done by one helper process per sandbox, which outlives the worker.
//
// This file is the backend.
package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/helper/daemon"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

const (
	opOpen    = "open sandbox"
	opDestroy = "destroy sandbox"
	opReach   = "reach helper"
	specFile  = "sandbox.json" // in the state directory of a sandbox: what it was opened with
	openTries = 5              // against a Destroy at the same time
)

// Options configure the backend.
type Options struct {
	// StateDir is where the helpers keep what belongs to sandboxes: one private directory each. Required, absolute.
	StateDir string
	// HelperBinary is the helper program. Default: see helper.Here.
	HelperBinary string
	// HostID goes into every Ref.
	HostID string
	// Logger defaults to none.
	Logger *slog.Logger
	// Idle is how long a helper stays unused; default daemon.DefaultIdle.
	Idle time.Duration
	// Confinement is what commands are kept to; default confine.DefaultLevel. Where it cannot be enforced, no sandbox is made.
	Confinement confine.Level
	// Methods are the ways to enforce it, best first; default what the system offers.
	Methods []confine.Method
	// Private are directories of this installation that commands must not read; StateDir is one anyway.
	Private []string
}

// Backend is the local backend.
type Backend struct {
	opts Options

	mu      sync.Mutex
	build   build
	groups  map[string]*os.File // control groups of sandboxes, by state directory
	probing chan struct{}       // holds one token while nobody probes
	probed  *probed
}

var _ sandbox.Backend = (*Backend)(nil)

// New makes the backend. Nothing is started or written before the first Open.
func New(o Options) (*Backend, error) {
	if !filepath.IsAbs(o.StateDir) {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, "make local backend", "the state directory must be absolute")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Confinement == "" {
		o.Confinement = confine.DefaultLevel
	}
	b := &Backend{opts: o, groups: map[string]*os.File{}, probing: make(chan struct{}, 1)}
	b.probing <- struct{}{}
	return b, nil
}

// Kind implements sandbox.Backend.
func (b *Backend) Kind() sandbox.Kind { return sandbox.KindLocal }

// Capabilities implements sandbox.Backend.
func (b *Backend) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{
		TTY: true, ByteExact: true, Reattach: true, KillTree: true, Asks: runtime.GOOS == "linux",
		Confinement: string(b.opts.Confinement), Network: b.opts.Confinement.Network(),
	}
}

// Available implements sandbox.Backend.
func (b *Backend) Available(ctx context.Context) error {
	_, err := b.Confinement(ctx)
	return err
}

func (b *Backend) makeStateDir() error {
	if err := os.MkdirAll(b.opts.StateDir, 0o700); err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the state directory cannot be made; check the permissions of its parent", Err: err}
	}
	return nil
}

func (b *Backend) stateDir(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(b.opts.StateDir, hex.EncodeToString(sum[:12]))
}

// Open implements sandbox.Backend. The helper runs when Open returns.
func (b *Backend) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := sandbox.CheckID(opOpen, spec.ID); err != nil {
		return nil, err
	}
	if err := b.checkWorkspace(spec.Workspace); err != nil {
		return nil, err
	}
	if err := b.makeStateDir(); err != nil {
		return nil, err
	}
	identity, err := b.buildID()
	if err != nil {
		return nil, err
	}
	report, err := b.Confinement(ctx)
	if err != nil {
		return nil, err
	}
	want := recorded{ID: spec.ID, Owner: spec.Owner, Realm: spec.Realm, Workspace: filepath.Clean(spec.Workspace), Confinement: confinement{report.Level, report.Method}}
	want.Guards = b.guards(want)
	state := b.stateDir(spec.ID)
	for try := 1; ; try++ {
		want.Heir, err = b.prepare(ctx, state, want)
		if err == nil {
			c := b.box(want, state, identity, spec.Env)
			if err = c.Health(ctx); err == nil {
				return c, nil
			}
			_ = c.Close()
		}
		if sandbox.ClassOf(err) != sandbox.ClassNotFound || try >= openTries {
			return nil, err
		}
	}
}

// prepare makes the state directory, records, or compares, what the sandbox was opened with, and returns which helper is to
// begin commands.
func (b *Backend) prepare(ctx context.Context, state string, want recorded) (heir int, err error) {
	if err := os.Mkdir(state, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return 0, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the state directory cannot be made", Err: err}
	}
	lock, err := daemon.Lock(ctx, state)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	have, err := readRecorded(state)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return 0, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: opOpen, Message: "the record of the sandbox is damaged; destroy it and open it again", Err: err}
	case have.ID != want.ID || have.Workspace != want.Workspace:
		return 0, sandbox.Errorf(sandbox.ClassConflict, opOpen, "sandbox %q is open on another folder", want.ID)
	case have.Confinement.Level != want.Confinement.Level:
		// what was begun when it was confined otherwise ends with that: nothing may go on more freely than is set
		if err := b.stop(ctx, state); err != nil {
			return 0, err
		}
	case have.Confinement != want.Confinement, have.Guards != want.Guards:
		// nothing new may begin where it is not shut off from all that it must not reach
		if want.Heir, err = b.rest(ctx, state, nobody); err != nil {
			return 0, err
		}
	default:
		_, err := b.rest(ctx, state, have.Heir)
		return have.Heir, err
	}
	return want.Heir, want.write(state)
}

// attach returns a client of the helper that serves the state directory, one of the sandbox's.
func (b *Backend) attach(r recorded, session, state, identity string, env []string) *client.Client {
	return client.New(client.Options{
		Ref:   sandbox.Ref{Kind: sandbox.KindLocal, ID: r.ID, HostID: b.opts.HostID, Workspace: r.Workspace},
		Build: identity,
		Env:   env,
		Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return daemon.Dial(ctx, state, func() (*exec.Cmd, error) { return b.command(ctx, r, session, state) })
		},
	})
}

// Destroy implements sandbox.Backend.
func (b *Backend) Destroy(ctx context.Context, ref sandbox.Ref) error {
	state := b.stateDir(ref.ID)
	if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// a helper that died may have left processes, unless they were its own to the system too: the one that is started here
	// finds and kills them
	if have, err := readRecorded(state); err == nil && !have.Confinement.Method.Strong() {
		for _, each := range states(state) {
			b.shutdown(ctx, b.attach(have, state, each, "", nil))
		}
	}
	lock, err := daemon.Lock(ctx, state)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := b.stop(ctx, state); err != nil {
		return err
	}
	for _, each := range slices.Backward(states(state)) { // the first one's last: its lock is held
		if err := confine.Remove(each); err != nil {
			return &sandbox.Error{Class: sandbox.ClassInternal, Op: opDestroy, Message: "the state of the sandbox cannot be removed", Err: err}
		}
	}
	b.leaveGroup(state)
	return nil
}

// stop ends the helpers of a sandbox and all they run.
func (b *Backend) stop(ctx context.Context, session string) error {
	for _, state := range states(session) {
		if err := b.stopOne(ctx, state); err != nil {
			return err
		}
	}
	return nil
}

// stopOne ends the helper of a state directory, and the one beside it that has the network.
func (b *Backend) stopOne(ctx context.Context, state string) error {
	for _, state := range []string{confine.NetworkDir(state), state} {
		if _, err := os.Stat(state); err != nil {
			continue
		}
		b.shutdown(ctx, reach(state))
		if err := daemon.AwaitEnd(ctx, state); err != nil {
			return err
		}
		daemon.RemoveSocket(state)
	}
	return nil
}

// reach returns a client of the helper that serves the state directory, and never starts one: ClassNotFound means that none
// serves, which is known only where there is no socket or nobody listens at it.
func reach(state string) *client.Client {
	return client.New(client.Options{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		conn, err := daemon.Connect(state)
		switch {
		case err == nil:
			return conn, nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
			return nil, &sandbox.Error{Class: sandbox.ClassNotFound, Op: opReach, Message: "no helper serves", Err: err}
		}
		return nil, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opReach, Message: "the helper cannot be reached", Err: err}
	}})
}

func (b *Backend) shutdown(ctx context.Context, c *client.Client) {
	defer c.Close()
	if err := c.Shutdown(ctx); err != nil {
		b.opts.Logger.Debug("shut helper down", "sandbox", c.Ref().ID, "error", err)
	}
}

// recorded is what a sandbox was opened with.
type recorded struct {
	ID        string `json:"id"`
	Owner     string `json:"owner,omitempty"`
	Realm     string `json:"realm,omitempty"`
	Workspace string `json:"workspace"`

	Confinement confinement `json:"confinement,omitzero"`
	// Guards identifies the workspace and what helpers are shut off from; see confine.Guards.
	Guards string `json:"guards,omitempty"`
	// Heir is which helper begins commands; see states.
	Heir int `json:"heir,omitempty"`
}

// confinement is how the helpers of a sandbox are started.
type confinement struct {
	Level  confine.Level  `json:"level"`
	Method confine.Method `json:"method"`
}

func readRecorded(state string) (recorded, error) {
	var r recorded
	b, err := os.ReadFile(filepath.Join(state, specFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

func (r recorded) write(state string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record of the sandbox: %w", err)
	}
	path := filepath.Join(state, specFile)
	if err = os.WriteFile(path+".tmp", b, 0o600); err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return fmt.Errorf("write record of the sandbox: %w", err)
	}
	return nil
}
