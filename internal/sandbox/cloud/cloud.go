// Package cloud is what the backends of clouds have in common: how failures of their interfaces are judged and tried again,
// how a sandbox is kept awake while it is needed, and a sandbox as one caller has it, whose work the helper inside does.
//
// This file is a failed request, and what that means for the next.
package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const maxSaid = 300 // bytes of a cloud's own words in a message

// Failure is why a request failed, and what that means for the next.
type Failure struct {
	Err     *sandbox.Error
	Status  int           // of the answer; 0 when there was none
	Said    string        // the cloud's own words
	Passes  bool          // another try may succeed
	After   time.Duration // but not before
	Moving  bool          // the sandbox is just changing its state
	Unclear bool          // what was asked for may have happened
	Absent  bool          // the sandbox does not run: the control plane knows more
	Broken  bool          // the cloud could not make or start the sandbox, and says so
}

// Fault returns f as an error, nil for nil.
func (f *Failure) Fault() error {
	if f == nil {
		return nil
	}
	return f.Err
}

// Is reports whether f is a failure of a class.
func (f *Failure) Is(class sandbox.Class) bool { return f != nil && f.Err.Class == class }

// Fail makes a failure that another try does not mend.
func Fail(class sandbox.Class, op, message string, err error) *Failure {
	return &Failure{Err: &sandbox.Error{Class: class, Op: op, Message: message, Err: err}}
}

// Passing makes a failure that another try may mend.
func Passing(op, message string, err error) *Failure {
	f := Fail(sandbox.ClassUnavailable, op, message, err)
	f.Passes = true
	return f
}

// Canceled makes the error of a call that its caller gave up.
func Canceled(op string, err error) *sandbox.Error {
	return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: err}
}

// Failed makes a failure of an error that says all there is to say.
func Failed(op string, err error) *Failure {
	var known *sandbox.Error
	if errors.As(err, &known) {
		return &Failure{Err: known}
	}
	return Fail(sandbox.ClassInternal, op, "", err)
}

// Unreachable judges a request to a cloud, or to something in it, that got no answer, made on behalf of ctx.
func Unreachable(ctx context.Context, op, cloud, where string, err error) *Failure {
	if ctx.Err() != nil {
		return &Failure{Err: Canceled(op, context.Cause(ctx)), Unclear: true}
	}
	var known *sandbox.Error
	if errors.As(err, &known) {
		return Failed(op, err)
	}
	f := Passing(op, where+" cannot be reached: check the network connection, and "+cloud+"'s status page", err)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Err.Message = where + " does not answer in time: try again later, or look at " + cloud + "'s status page"
	}
	var broken *net.OpError
	f.Unclear = !(errors.As(err, &broken) && broken.Op == "dial")
	return f
}

// Words returns what a cloud says of an error: the text under one of the names in a JSON object, else the whole body; one
// line of bounded length.
func Words(body []byte, names ...string) string {
	text := string(body)
	var fields map[string]any
	if json.Unmarshal(body, &fields) == nil {
		for _, name := range names {
			if s, ok := fields[name].(string); ok && s != "" {
				text = s
				break
			}
		}
	}
	return Line(text)
}

// Line makes one line of bounded length of a text.
func Line(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	return strings.ToValidUTF8(text[:min(len(text), maxSaid)], "?")
}

// Quote puts a cloud's words, if there are any, behind a sentence.
func Quote(sentence, words string) string {
	if words == "" {
		return sentence
	}
	return sentence + " (" + words + ")"
}
