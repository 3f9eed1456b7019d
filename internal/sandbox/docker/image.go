// This file gets the image that a container is made of, telling how far it is.

package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker/api/types/image"

	"sandboxagent/internal/sandbox"
)

const (
	pullTime  = 15 * time.Minute
	tellEvery = time.Second
	opPull    = "pull image"
)

// image makes sure that the engine has the image.
func (b *Backend) image(ctx context.Context, e *engine, name string, tell func(string)) error {
	look, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	_, err := e.ImageInspect(look, name)
	if !missing(err) {
		return lookFailed(name, e.failed("look for the image "+name, err))
	}
	tell("The image " + name + " is pulled; this happens once.")
	ctx, stop := context.WithTimeout(ctx, pullTime)
	defer stop()
	stream, err := e.ImagePull(ctx, name, image.PullOptions{})
	if err != nil {
		return e.pullFailed(name, err)
	}
	defer stream.Close()
	if err := follow(stream, name, tell); err != nil {
		return e.pullFailed(name, err)
	}
	return nil
}

// lookFailed says what to do about what is no name of an image.
func lookFailed(name string, err error) error {
	if sandbox.ClassOf(err) != sandbox.ClassInvalid {
		return err
	}
	return &sandbox.Error{
		Class: sandbox.ClassInvalid, Op: opPull, Err: err,
		Message: fmt.Sprintf("%q is no name of an image: choose one such as %s with --image or SANDBOX_AGENT_DOCKER_IMAGE", name, DefaultImage),
	}
}

// progress is one message about a pull.
type progress struct {
	ID     string `json:"id"` // of a layer
	Status string `json:"status"`
	Error  string `json:"error"`
	Detail struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
}

// follow reads a pull's messages to their end.
func follow(stream io.Reader, name string, tell func(string)) error {
	type layer struct{ done, total int64 }
	layers := map[string]layer{}
	last := time.Now()
	for messages := json.NewDecoder(stream); ; {
		var p progress
		if err := messages.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Error != "" {
			return errors.New(p.Error)
		}
		if p.Status == "Downloading" && p.Detail.Total > 0 {
			layers[p.ID] = layer{p.Detail.Current, p.Detail.Total}
		} else if l, known := layers[p.ID]; known {
			layers[p.ID] = layer{l.total, l.total}
		}
		if time.Since(last) < tellEvery {
			continue
		}
		last = time.Now()
		var sum layer
		for _, l := range layers {
			sum.done, sum.total = sum.done+l.done, sum.total+l.total
		}
		tell(fmt.Sprintf("The image %s is pulled: %d of %d MB.", name, sum.done/1e6, sum.total/1e6))
	}
}

// pullFailed says what to do about an image that cannot be had.
func (e *engine) pullFailed(name string, err error) error {
	failed := e.failed(opPull, err)
	class := sandbox.ClassOf(failed)
	var known *sandbox.Error
	if class == sandbox.ClassCanceled || class == sandbox.ClassLimit || !errors.As(failed, &known) || known.Err == nil {
		return failed
	}
	return &sandbox.Error{
		Class: class, Op: opPull, Err: err,
		Message: fmt.Sprintf("the image %s is not there and cannot be pulled: try docker pull %s, or choose another one with --image or SANDBOX_AGENT_DOCKER_IMAGE (%s)", name, name, brief(err)),
	}
}
