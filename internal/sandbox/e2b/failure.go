// This file turns what E2B refuses or fails at into errors that say what to do, and into whether to try again.

package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	name     = "E2B"
	maxSaid  = 300 // bytes of E2B's own words in a message
	fullDisk = "the disk of the E2B sandbox is full: remove files in it, or choose a template with a larger disk"
)

// failure is why a request failed, and what that means for the next.
type failure struct {
	err     *sandbox.Error
	passes  bool          // another try may succeed
	after   time.Duration // but not before
	moving  bool          // the sandbox is just being started, paused or resumed
	unclear bool          // what was asked for may have happened
	absent  bool          // the sandbox does not run: the control plane knows more
}

// fault returns f as an error, nil for nil.
func (f *failure) fault() error {
	if f == nil {
		return nil
	}
	return f.err
}

func fail(class sandbox.Class, op, message string, err error) *failure {
	return &failure{err: &sandbox.Error{Class: class, Op: op, Message: message, Err: err}}
}

func canceled(op string, err error) *sandbox.Error {
	return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: err}
}

func errDestroyed(op string) error {
	return sandbox.Errorf(sandbox.ClassNotFound, op, "the E2B sandbox does not exist any more")
}

// failed makes a failure of an error that says all there is to say.
func failed(op string, err error) *failure {
	var known *sandbox.Error
	if errors.As(err, &known) {
		return &failure{err: known}
	}
	return fail(sandbox.ClassInternal, op, "", err)
}

// unreachable judges a request that got no answer, made on behalf of ctx.
func unreachable(ctx context.Context, op, where string, err error) *failure {
	if ctx.Err() != nil {
		return &failure{err: canceled(op, context.Cause(ctx)), unclear: true}
	}
	var known *sandbox.Error
	if errors.As(err, &known) {
		return failed(op, err)
	}
	f := fail(sandbox.ClassUnavailable, op, where+" cannot be reached: check the network connection, and E2B's status page", err)
	if errors.Is(err, context.DeadlineExceeded) {
		f.err.Message = where + " does not answer in time: try again later, or look at E2B's status page"
	}
	var broken *net.OpError
	f.passes, f.unclear = true, !(errors.As(err, &broken) && broken.Op == "dial")
	return f
}

// said is what E2B says of an error.
type said struct {
	Message   string `json:"message"`
	SandboxID string `json:"sandboxId"` // the proxy's
	Port      *int   `json:"port"`
}

func parseSaid(body []byte) said {
	var s said
	if json.Unmarshal(body, &s) != nil || s.Message == "" {
		s.Message = strings.TrimSpace(string(body))
	}
	s.Message = strings.ToValidUTF8(strings.Join(strings.Fields(s.Message), " "), "?")
	s.Message = s.Message[:min(len(s.Message), maxSaid)]
	return s
}

// in puts E2B's words into a sentence.
func (s said) in(sentence string) string {
	if s.Message == "" {
		return sentence
	}
	return sentence + " (" + s.Message + ")"
}

// refused judges an answer of the control plane.
func refused(op string, a *answer) *failure {
	s := parseSaid(a.body)
	switch {
	case a.status == http.StatusUnauthorized:
		return fail(sandbox.ClassDenied, op, s.in("E2B does not take the API key: give a valid one in E2B_API_KEY"), nil)
	case a.status == http.StatusForbidden:
		return fail(sandbox.ClassDenied, op, s.in("E2B denies this to the account of the API key: look at the account in E2B's dashboard"), nil)
	case a.status == http.StatusNotFound && strings.Contains(strings.ToLower(s.Message), "template"):
		return fail(sandbox.ClassInvalid, op, s.in("E2B has no such template for this account: choose another one with --image or in the settings"), nil)
	case a.status == http.StatusNotFound:
		return fail(sandbox.ClassNotFound, op, s.in("the E2B sandbox does not exist any more"), nil)
	case a.status == http.StatusConflict:
		f := fail(sandbox.ClassUnavailable, op, s.in("the E2B sandbox is just changing its state: try again in a minute"), nil)
		f.passes, f.moving = true, true
		return f
	case a.status == http.StatusTooManyRequests:
		return limited(op, s, a.header)
	case a.status >= http.StatusInternalServerError:
		f := fail(sandbox.ClassUnavailable, op, s.in("E2B fails with status "+strconv.Itoa(a.status)+": try again later, or look at E2B's status page"), nil)
		f.passes, f.unclear = true, true
		return f
	}
	return fail(sandbox.ClassInvalid, op, s.in("E2B refuses the request with status "+strconv.Itoa(a.status)+": check the settings of the backend"), nil)
}

// limited judges the two kinds of 429: too many requests, which passes soon, and too many sandboxes, which does not.
func limited(op string, s said, h http.Header) *failure {
	after := retryAfter(h)
	if after == 0 {
		return fail(sandbox.ClassLimit, op, s.in("the E2B account has as many sandboxes running as it may: pause or destroy another session, or ask E2B for more"), nil)
	}
	f := fail(sandbox.ClassUnavailable, op, s.in("E2B takes no more requests of this account for "+after.String()+": try again then"), nil)
	f.passes, f.after = true, after
	return f
}

func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return max(time.Duration(n)*time.Second, time.Second)
}

// blocked judges an answer of a sandbox's own daemon, or of the proxy before it.
func blocked(op string, a *answer) *failure {
	s := parseSaid(a.body)
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fail(sandbox.ClassDenied, op, s.in("the E2B sandbox does not take its own access token: destroy the session's sandbox, or look at the account in E2B's dashboard"), nil)
	case http.StatusConflict:
		f := fail(sandbox.ClassUnavailable, op, s.in("the E2B sandbox is just changing its state: try again in a minute"), nil)
		f.passes, f.moving = true, true
		return f
	case http.StatusTooManyRequests:
		f := fail(sandbox.ClassUnavailable, op, s.in("the E2B sandbox takes no more connections for the moment: try again in a minute"), nil)
		f.passes, f.after = true, max(retryAfter(a.header), time.Second)
		return f
	case http.StatusInsufficientStorage:
		return fail(sandbox.ClassLimit, op, s.in(fullDisk), nil)
	case http.StatusBadGateway:
		f := fail(sandbox.ClassUnavailable, op, s.in("the E2B sandbox does not answer: try again in a minute"), nil)
		f.passes, f.absent, f.moving = true, s.SandboxID != "" && s.Port == nil, s.Port != nil
		return f
	}
	f := fail(sandbox.ClassUnavailable, op, s.in("the E2B sandbox fails with status "+strconv.Itoa(a.status)+": try again later"), nil)
	f.passes = a.status >= http.StatusInternalServerError
	f.unclear = f.passes
	if !f.passes {
		f.err.Class = sandbox.ClassUnsupported
		f.err.Message = s.in("the E2B sandbox's daemon does not understand this program (status " + strconv.Itoa(a.status) + "): choose a newer template")
	}
	return f
}
