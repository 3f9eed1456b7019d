// This file pauses, finds and destroys sandboxes.

package docker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"sandboxagent/internal/sandbox"
)

const (
	opStop      = "stop sandbox"
	opDestroy   = "destroy sandbox"
	partingTime = 5 * time.Second // for a helper to end its commands in order
	removeTries = 20
)

// removal takes a container with its volumes without a name; those with one stay.
var removal = container.RemoveOptions{Force: true, RemoveVolumes: true}

// Stop implements sandbox.Stopper: the sandbox takes no memory and no processor time until it is opened or used again. Its
// files stay, in the workspace and elsewhere.
func (b *Backend) Stop(ctx context.Context, ref sandbox.Ref) error {
	r, err := b.loadRecord(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b.part(ctx, ref.ID)
	lock, err := b.lock(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer lock.Close()
	e, err := b.engine()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	err = e.ContainerStop(ctx, b.names(ref.ID).container, container.StopOptions{})
	if missing(err) {
		_, err = b.home(ctx, e, opStop, &r)
	}
	if err != nil {
		return e.failed(opStop, err)
	}
	r.Stopped = true
	return b.writeRecord(r)
}

// part lets the helper of a sandbox that is open here end its commands, so that they are not reported lost.
func (b *Backend) part(ctx context.Context, id string) {
	b.mu.Lock()
	x := b.boxes[id]
	b.mu.Unlock()
	if x == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, partingTime)
	defer cancel()
	if err := x.client.Shutdown(ctx); err != nil {
		b.opts.Logger.Debug("shut helper down", "sandbox", id, "error", err)
	}
}

// Destroy implements sandbox.Backend. It removes the container, the volumes and what this host knows of them.
func (b *Backend) Destroy(ctx context.Context, ref sandbox.Ref) error {
	if err := sandbox.CheckID(opDestroy, ref.ID); err != nil {
		return err
	}
	dir := b.stateDir(ref.ID)
	_, err := os.Stat(dir)
	unknown := errors.Is(err, fs.ErrNotExist)
	e, err := b.engine()
	if err == nil {
		err = b.destroy(ctx, e, ref.ID, unknown)
	}
	if class := sandbox.ClassOf(err); unknown && (class == sandbox.ClassUnavailable || class == sandbox.ClassDenied) {
		return nil // nothing was made here, and nobody can be asked
	}
	return err
}

func (b *Backend) destroy(ctx context.Context, e *engine, id string, unknown bool) error {
	if !unknown {
		lock, err := b.lock(ctx, id)
		if err != nil {
			return err
		}
		defer lock.Close()
		if err := b.checkHome(ctx, e, id); err != nil {
			return err
		}
	}
	b.mu.Lock()
	if x := b.boxes[id]; x != nil {
		x.gone.Store(true)
	}
	b.mu.Unlock()
	if err := b.discard(ctx, e, id); err != nil {
		return e.failed(opDestroy, err)
	}
	b.mu.Lock()
	delete(b.boxes, id)
	b.mu.Unlock()
	if err := os.RemoveAll(b.stateDir(id)); err != nil {
		return &sandbox.Error{Class: sandbox.ClassInternal, Op: opDestroy, Message: "the record of the sandbox cannot be removed", Err: err}
	}
	_ = os.Remove(b.opts.StateDir) // succeeds with the last one
	return nil
}

// checkHome fails if the sandbox lives on another engine. A record that cannot be read tells nothing.
func (b *Backend) checkHome(ctx context.Context, e *engine, id string) error {
	r, err := b.loadRecord(id)
	if err != nil {
		return nil //nolint:nilerr // what there is of it here is removed
	}
	_, err = b.home(ctx, e, opDestroy, &r)
	return err
}

// discard removes every container and volume of a sandbox.
func (b *Backend) discard(ctx context.Context, e *engine, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*engineTime)
	defer cancel()
	containers, err := e.ContainerList(ctx, container.ListOptions{All: true, Filters: b.ours(id)})
	if err != nil {
		return err
	}
	for _, c := range containers {
		err := retried(ctx, func() error {
			return e.ContainerRemove(ctx, c.ID, removal)
		})
		if err != nil {
			return err
		}
	}
	volumes, err := e.VolumeList(ctx, volume.ListOptions{Filters: b.ours(id)})
	if err != nil {
		return err
	}
	for _, v := range volumes.Volumes {
		if err := retried(ctx, func() error { return e.VolumeRemove(ctx, v.Name, true) }); err != nil {
			return err
		}
	}
	return nil
}

// retried removes something, waiting while the engine is still busy with it. What is gone is removed.
func retried(ctx context.Context, remove func() error) error {
	for try := 1; ; try++ {
		err := remove()
		if err == nil || missing(err) {
			return nil
		}
		if !taken(err) || try == removeTries {
			return err
		}
		if err := pause(ctx, stepPause); err != nil {
			return err
		}
	}
}
