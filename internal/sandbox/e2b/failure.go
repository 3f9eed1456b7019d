// This file turns what E2B refuses or fails at into errors that say what to do, and into whether to try again.

package e2b

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	name     = "E2B"
	inside   = "the E2B sandbox"
	fullDisk = "the disk of the E2B sandbox is full: remove files in it, or choose a template with a larger disk"
)

func errDestroyed(op string) error {
	return sandbox.Errorf(sandbox.ClassNotFound, op, "the E2B sandbox does not exist any more")
}

// said is what E2B says of an error.
type said struct {
	Message   string `json:"message"`
	SandboxID string `json:"sandboxId"` // the proxy's
	Port      *int   `json:"port"`
}

func parseSaid(body []byte) said {
	var s said
	_ = json.Unmarshal(body, &s) // what is no JSON may be text
	s.Message = cloud.Words(body, "message")
	return s
}

// in puts E2B's words into a sentence.
func (s said) in(sentence string) string {
	return cloud.Quote(sentence, s.Message)
}

// refused judges an answer of the control plane.
func refused(op string, a *cloud.Answer) *cloud.Failure {
	s := parseSaid(a.Body)
	switch {
	case a.Status == http.StatusUnauthorized:
		return cloud.Fail(sandbox.ClassDenied, op, s.in("E2B does not take the API key: give a valid one in E2B_API_KEY"), nil)
	case a.Status == http.StatusForbidden:
		return cloud.Fail(sandbox.ClassDenied, op, s.in("E2B denies this to the account of the API key: look at the account in E2B's dashboard"), nil)
	case a.Status == http.StatusNotFound && strings.Contains(strings.ToLower(s.Message), "template"):
		return cloud.Fail(sandbox.ClassInvalid, op, s.in("E2B has no such template for this account: choose another one with --image or in the settings"), nil)
	case a.Status == http.StatusNotFound:
		return cloud.Fail(sandbox.ClassNotFound, op, s.in("the E2B sandbox does not exist any more"), nil)
	case a.Status == http.StatusConflict:
		f := cloud.Passing(op, s.in("the E2B sandbox is just changing its state: try again in a minute"), nil)
		f.Moving = true
		return f
	case a.Status == http.StatusTooManyRequests:
		return limited(op, s, a.Header)
	case a.Status >= http.StatusInternalServerError:
		f := cloud.Passing(op, s.in("E2B fails with status "+strconv.Itoa(a.Status)+": try again later, or look at E2B's status page"), nil)
		f.Unclear = true
		return f
	}
	return cloud.Fail(sandbox.ClassInvalid, op, s.in("E2B refuses the request with status "+strconv.Itoa(a.Status)+": check the settings of the backend"), nil)
}

// limited judges the two kinds of 429: too many requests, which passes soon, and too many sandboxes, which does not.
func limited(op string, s said, h http.Header) *cloud.Failure {
	after := retryAfter(h)
	if after == 0 {
		return cloud.Fail(sandbox.ClassLimit, op, s.in("the E2B account has as many sandboxes running as it may: pause or destroy another session, or ask E2B for more"), nil)
	}
	f := cloud.Passing(op, s.in("E2B takes no more requests of this account for "+after.String()+": try again then"), nil)
	f.After = after
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
func blocked(op string, a *cloud.Answer) *cloud.Failure {
	s := parseSaid(a.Body)
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return cloud.Fail(sandbox.ClassDenied, op, s.in("the E2B sandbox does not take its own access token: destroy the session's sandbox, or look at the account in E2B's dashboard"), nil)
	case http.StatusConflict:
		f := cloud.Passing(op, s.in("the E2B sandbox is just changing its state: try again in a minute"), nil)
		f.Moving = true
		return f
	case http.StatusTooManyRequests:
		f := cloud.Passing(op, s.in("the E2B sandbox takes no more connections for the moment: try again in a minute"), nil)
		f.After = max(retryAfter(a.Header), time.Second)
		return f
	case http.StatusInsufficientStorage:
		return cloud.Fail(sandbox.ClassLimit, op, s.in(fullDisk), nil)
	case http.StatusBadGateway:
		f := cloud.Passing(op, s.in("the E2B sandbox does not answer: try again in a minute"), nil)
		f.Absent, f.Moving = s.SandboxID != "" && s.Port == nil, s.Port != nil
		return f
	}
	f := cloud.Fail(sandbox.ClassUnavailable, op, s.in("the E2B sandbox fails with status "+strconv.Itoa(a.Status)+": try again later"), nil)
	f.Passes = a.Status >= http.StatusInternalServerError
	f.Unclear = f.Passes
	if !f.Passes {
		f.Err.Class = sandbox.ClassUnsupported
		f.Err.Message = s.in("the E2B sandbox's daemon does not understand this program (status " + strconv.Itoa(a.Status) + "): choose a newer template")
	}
	return f
}
