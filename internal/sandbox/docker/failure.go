// This file turns what an engine refuses or fails at into errors that say what to do.

package docker

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"sandboxagent/internal/sandbox"
)

const dialTime = 2 * time.Second

// failed classifies an error of the engine's client. What a caller knows better it must look at before.
func (e *engine) failed(op string, err error) error {
	var known *sandbox.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: op, Message: "the Docker engine " + e.where + " does not answer in time", Err: err}
	case client.IsErrConnectionFailed(err):
		return e.unreachable(op, err, e.tryDial())
	case strings.Contains(err.Error(), "no space left on device"):
		return &sandbox.Error{Class: sandbox.ClassLimit, Op: op, Message: "the disk of the Docker engine is full: free some space, for instance with docker system prune", Err: err}
	}
	return &sandbox.Error{Class: class(err), Op: op, Message: "the Docker engine " + e.where + " refused (" + brief(err) + ")", Err: err}
}

func class(err error) sandbox.Class {
	switch {
	case cerrdefs.IsNotFound(err):
		return sandbox.ClassNotFound
	case cerrdefs.IsConflict(err), cerrdefs.IsAlreadyExists(err):
		return sandbox.ClassConflict
	case cerrdefs.IsInvalidArgument(err):
		return sandbox.ClassInvalid
	case cerrdefs.IsPermissionDenied(err), cerrdefs.IsUnauthorized(err):
		return sandbox.ClassDenied
	case cerrdefs.IsNotImplemented(err):
		return sandbox.ClassUnsupported
	}
	return sandbox.ClassUnavailable // an engine's own failures pass more often than not
}

// unreachable says why the engine cannot be reached. Its client hides a refused permission, so the socket was tried, too.
func (e *engine) unreachable(op string, err, dialled error) error {
	if errors.Is(dialled, syscall.EACCES) {
		return &sandbox.Error{
			Class: sandbox.ClassDenied, Op: op, Err: err,
			Message: "this user may not use the Docker engine " + e.where + ": add the user to the group docker and log in again, or use a rootless engine",
		}
	}
	return &sandbox.Error{
		Class: sandbox.ClassUnavailable, Op: op, Err: err,
		Message: "no Docker engine answers " + e.where + ": start Docker, or set DOCKER_HOST to where it runs",
	}
}

// tryDial dials the engine's socket, if it has one, and returns why that fails.
func (e *engine) tryDial() error {
	path, isSocket := strings.CutPrefix(e.host, unixScheme)
	if !isSocket {
		return nil
	}
	conn, err := net.DialTimeout("unix", path, dialTime)
	if err != nil {
		return err
	}
	return conn.Close()
}

// brief is the engine's own message without what the client puts before it.
func brief(err error) string {
	const most = 300
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// missing reports whether the engine does not have what was asked for.
func missing(err error) bool { return cerrdefs.IsNotFound(err) }

// taken reports whether the name was in use, or the thing in a state that does not allow it.
func taken(err error) bool { return cerrdefs.IsConflict(err) || cerrdefs.IsAlreadyExists(err) }
