// This file holds what all tools share: heartbeats, clean-up time, decoding of arguments and sentences for errors.

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	beatEvery   = time.Second
	cleanUpTime = 10 * time.Second
)

// startBeat calls beat once a second until the returned function is called, which waits for a call that is under way.
func startBeat(beat func()) (stop func()) {
	if beat == nil {
		return func() {}
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				beat()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		group.Wait()
	}
}

// cleanUp returns a context for what must be finished even though ctx has ended, for a bounded time.
func cleanUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
}

// decode reads a call's arguments into args, which points to a struct.
func decode(call Call, args any) error {
	text := call.Arguments
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(args)
	if err == nil && decoder.More() {
		err = errors.New("there is more than one JSON value")
	}
	if err == nil {
		return nil
	}
	return sandbox.Errorf(sandbox.ClassInvalid, "read arguments",
		"the arguments of %s were not understood (%s); it takes an object with: %s", call.Name, explain(err), parameters(call.Name))
}

// explain puts a JSON error into words.
func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Sprintf("%s cannot be a %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return "they are a " + wrong.Value
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON text ends early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// sentence says what went wrong in words for the model: no detail that belongs into the log.
func sentence(err error) string {
	var e *sandbox.Error
	if !errors.As(err, &e) || e.Message == "" {
		return err.Error()
	}
	if e.Path == "" || strings.HasPrefix(e.Message, e.Path) {
		return e.Message
	}
	return e.Path + ": " + e.Message
}
