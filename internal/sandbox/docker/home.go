// This file knows on which engine a sandbox lives, so that none is taken for lost, made again or forgotten because another
// engine is reached for once.

package docker

import (
	"context"
	"strings"

	"sandboxagent/internal/sandbox"
)

// identity tells an engine from every other one, whichever way leads to it. Engines of one machine may share their id, but not
// their files.
func (e *engine) identity(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	info, err := e.Info(ctx)
	if err != nil {
		return "", e.failed(opFind, err)
	}
	id := info.ID
	if strings.Contains(info.DockerRootDir, "containers/storage") { // Podman's id is another one every time
		id = info.Name
	}
	return id + " " + info.DockerRootDir, nil
}

// home reports whether the volume of the sandbox's workspace is on this engine. It fails if the sandbox lives on another one.
// What is found here lives here, which r then says, even if the engine was given another identity meanwhile.
func (b *Backend) home(ctx context.Context, e *engine, op string, r *record) (there bool, err error) {
	look, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	_, err = e.VolumeInspect(look, b.names(r.ID).workspace)
	if err != nil && !missing(err) {
		return false, e.failed(op, err)
	}
	there = err == nil
	id, err := e.identity(ctx)
	switch {
	case err != nil:
		return false, err
	case there:
		r.Engine, r.EngineAt = id, e.where
	case r.Engine != "" && r.Engine != id:
		return false, elsewhere(op, *r, e)
	}
	return there, nil
}

// adopt remembers that the sandbox lives on this engine, unless it is known where it lives.
func (b *Backend) adopt(ctx context.Context, e *engine, r *record) (err error) {
	if r.Engine != "" {
		return nil
	}
	if r.Engine, err = e.identity(ctx); err != nil {
		return err
	}
	r.EngineAt = e.where
	return b.writeRecord(*r)
}

func elsewhere(op string, r record, e *engine) error {
	return sandbox.Errorf(sandbox.ClassUnavailable, op,
		"this sandbox lives on the Docker engine that was reached %s, and what is reached %s now is another one: "+
			"set DOCKER_HOST or the Docker context back and start the worker again, or fork the session to go on from its last checkpoint", r.EngineAt, e.where)
}
