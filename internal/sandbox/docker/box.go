// This file is one sandbox as this process has it open: a client of its helper, and how its container gets to run, whatever
// was done to it meanwhile.

package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/container"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/helper/daemon"
	"sandboxagent/internal/sandbox"
)

const (
	maxSteps  = 12 // from any state of a container to one that runs
	stepPause = 100 * time.Millisecond
	slow      = 5 * time.Second // beyond what a call should take
)

// box is an open sandbox, shared by all that opened it here.
type box struct {
	b       *Backend
	id      string
	born    string // tells this sandbox from later ones with its id
	folder  string
	program program
	client  *client.Client
	gone    atomic.Bool  // destroyed
	epoch   atomic.Int64 // of the container
	offline atomic.Bool  // the container has no network

	mu        sync.Mutex
	note      func(string) // of who opens it now; may be nil
	installed string       // id of the container in which the helper is known to be
}

func newBox(b *Backend, r record, p program) *box {
	x := &box{b: b, id: r.ID, born: r.Born, folder: r.Workspace, program: p}
	x.client = client.New(client.Options{Build: p.Build, Dial: x.dial})
	return x
}

// open makes the sandbox ready for commands, telling note what takes time or was mended.
func (x *box) open(ctx context.Context, note func(string)) error {
	x.listen(note)
	defer x.listen(nil)
	if err := x.rouse(ctx); err != nil {
		return err
	}
	return x.client.Health(ctx)
}

// rouse gets the container to run. A live connection does not show that it was paused.
func (x *box) rouse(ctx context.Context) error {
	e, err := x.b.engine()
	if err != nil {
		return err
	}
	_, _, err = x.up(ctx, e)
	return err
}

// watch looks after the container once a call takes longer than it should, again and again, for an engine may fail at that too,
// until the returned function is called.
func (x *box) watch(ctx context.Context, expected time.Duration) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		for wait := expected + slow; pause(ctx, wait) == nil; wait = slow {
			if err := x.rouse(ctx); err != nil && ctx.Err() == nil {
				x.b.opts.Logger.Warn("look after a container that does not answer", "sandbox", x.id, "error", err)
			}
		}
	}()
	return stop
}

func (x *box) listen(note func(string)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note = note
}

// has reports whether the helper is known to be in that container.
func (x *box) has(container string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.installed == container
}

func (x *box) hasNow(container string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.installed = container
}

// tell logs what a person may want to know, and passes it to who opens the sandbox.
func (x *box) tell(text string) {
	x.b.opts.Logger.Info(text, "sandbox", x.id)
	x.mu.Lock()
	note := x.note
	x.mu.Unlock()
	if note != nil {
		note(text)
	}
}

func errDestroyed(op string) error {
	return sandbox.Errorf(sandbox.ClassNotFound, op, "the sandbox does not exist any more")
}

// dial gets the container to run and connects to its helper.
func (x *box) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	e, err := x.b.engine()
	if err != nil {
		return nil, err
	}
	c, home, err := x.up(ctx, e)
	if err != nil {
		return nil, err
	}
	return x.attach(ctx, e, c, home)
}

// up returns the running container and the home directory in it. It looks and acts until there is one: others act too.
func (x *box) up(ctx context.Context, e *engine) (c container.InspectResponse, home string, err error) {
	if x.gone.Load() {
		return c, "", errDestroyed(opOpen)
	}
	lock, err := daemon.Lock(ctx, x.b.stateDir(x.id))
	if err != nil {
		return c, "", err
	}
	defer lock.Close()
	r, err := x.record()
	if err != nil {
		return c, "", err
	}
	name := x.b.names(x.id).container
	for range maxSteps {
		c, err = e.inspect(ctx, name)
		switch {
		case missing(err):
			err = x.create(ctx, e, &r)
		case err != nil:
		case !x.b.mine(c, x.id):
			return c, "", sandbox.Errorf(sandbox.ClassConflict, opOpen, "a container %s of somebody else is in the way: rename or remove it", name)
		case c.State.Running && !c.State.Paused && !c.State.Restarting:
			x.epoch.Store(r.Epoch)
			x.offline.Store(c.HostConfig != nil && c.HostConfig.NetworkMode.IsNone())
			if err = x.b.adopt(ctx, e, &r); err == nil {
				err = x.install(ctx, e, c.ID)
			}
			return c, r.Home, e.failed(opOpen, err)
		default:
			err = x.step(ctx, e, c, &r)
		}
		if err != nil {
			return c, "", e.failed(opOpen, err)
		}
	}
	return c, "", sandbox.Errorf(sandbox.ClassUnavailable, opOpen, "the container %s does not come up, or something keeps stopping it", name)
}

// record returns the record of this very sandbox.
func (x *box) record() (record, error) {
	r, err := x.b.loadRecord(x.id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && r.Born != x.born {
		x.gone.Store(true)
		return r, errDestroyed(opOpen)
	}
	return r, err
}

// step brings a container that does not run a step nearer to running.
func (x *box) step(ctx context.Context, e *engine, c container.InspectResponse, r *record) error {
	switch {
	case c.State.Paused:
		x.tell("The container was paused; it goes on.")
		return settled(e.ContainerUnpause(ctx, c.ID))
	case c.State.Dead:
		return settled(e.ContainerRemove(ctx, c.ID, removal))
	case c.State.Restarting || c.State.Status == container.StateRemoving:
		return pause(ctx, stepPause)
	case neverStarted(c):
		if err := x.fill(ctx, e, c, r); err != nil {
			return err
		}
		if _, err := e.inspect(ctx, c.ID); missing(err) { // a copy cut short was thrown away
			return nil
		}
	case c.State.ExitCode == withoutSleep:
		return errNoSleep(r.Image, nil)
	case r.Stopped:
		x.tell("The container is started again.")
	default:
		x.tell("The container had stopped and is started again; what ran in it has ended.")
	}
	err := x.start(ctx, e, c.ID, r.Image)
	if leftBehind(err, c.ID) {
		x.tell("The Docker engine was killed and left pieces of the container's last run behind, so that it cannot start.")
		return settled(e.ContainerRemove(ctx, c.ID, removal))
	}
	if err = settled(err); err != nil || !r.Stopped {
		return err
	}
	r.Stopped = false
	return x.b.writeRecord(*r)
}

// start starts the container. An image may lack what every container here needs.
func (x *box) start(ctx context.Context, e *engine, id, image string) error {
	err := e.ContainerStart(ctx, id, container.StartOptions{})
	if err != nil && lacksSleep(err) {
		return errNoSleep(image, err)
	}
	return err
}

func neverStarted(c container.InspectResponse) bool {
	at, err := time.Parse(time.RFC3339Nano, c.State.StartedAt)
	return c.State.Status == container.StateCreated && (err != nil || at.IsZero())
}

// settled forgets errors that say that the container is in another state by now: the next look tells.
func settled(err error) error {
	if missing(err) || taken(err) {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
