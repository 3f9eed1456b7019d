// This file turns what Daytona refuses or fails at into errors that say what to do, and into whether to try again.

package daytona

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	name     = "Daytona"
	inside   = "the Daytona sandbox"
	fullDisk = "the disk of the Daytona sandbox is full: remove files in it, or give new ones a larger disk in the settings"
	other    = "choose another image or snapshot with --image or in the settings"
)

func errDestroyed(op string) error {
	return sandbox.Errorf(sandbox.ClassNotFound, op, "the Daytona sandbox does not exist any more")
}

// words returns what Daytona says of an error.
func words(a *cloud.Answer) string { return cloud.Words(a.Body, "message", "error") }

// refused judges an answer of the control plane.
func refused(op string, a *cloud.Answer) *cloud.Failure {
	f := judge(op, a, words(a))
	f.Status, f.Said = a.Status, words(a)
	return f
}

func judge(op string, a *cloud.Answer, said string) *cloud.Failure {
	quote := func(sentence string) string { return cloud.Quote(sentence, said) }
	switch {
	case a.Status == http.StatusUnauthorized:
		return cloud.Fail(sandbox.ClassDenied, op, quote("Daytona does not take the API key: give a valid one in DAYTONA_API_KEY"), nil)
	case a.Status == http.StatusForbidden:
		return cloud.Fail(sandbox.ClassDenied, op, quote("Daytona denies this to the account of the API key: look at the account and the key's permissions in Daytona's dashboard"), nil)
	case a.Status == http.StatusNotFound:
		return cloud.Fail(sandbox.ClassNotFound, op, quote("the Daytona sandbox does not exist any more"), nil)
	case a.Status == http.StatusConflict:
		f := cloud.Passing(op, quote("the Daytona sandbox is just changing its state: try again in a minute"), nil)
		f.Moving = true
		return f
	case a.Status == http.StatusTooManyRequests:
		return limited(op, said, a.Header)
	case a.Status >= http.StatusInternalServerError:
		f := cloud.Passing(op, quote("Daytona fails with status "+strconv.Itoa(a.Status)+": try again later, or look at Daytona's status page"), nil)
		f.Unclear = true
		return f
	case mentions(said, "limit exceeded", "quota"):
		return cloud.Fail(sandbox.ClassLimit, op, quote("the Daytona account has as many sandboxes, or as large ones, as it may: destroy another session, or ask Daytona for more"), nil)
	case mentions(said, "snapshot", "image"):
		return cloud.Fail(sandbox.ClassInvalid, op, quote("Daytona can make no sandbox of this: "+other), nil)
	}
	return cloud.Fail(sandbox.ClassInvalid, op, quote("Daytona refuses the request with status "+strconv.Itoa(a.Status)+": check the settings of the backend"), nil)
}

func mentions(text string, any ...string) bool {
	text = strings.ToLower(text)
	for _, part := range any {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// limited judges too many requests. How long to wait is told, if at all, for one of several kinds of limit.
func limited(op, said string, h http.Header) *cloud.Failure {
	f := cloud.Passing(op, cloud.Quote("Daytona takes no more requests of this account for the moment: try again in a minute", said), nil)
	if f.After = retryAfter(h); f.After > 0 {
		f.Err.Message = cloud.Quote("Daytona takes no more requests of this account for "+f.After.String()+": try again then", said)
	}
	return f
}

// retryAfter returns the longest time that any header asks to wait, 0 when none does.
func retryAfter(h http.Header) (after time.Duration) {
	for key, values := range h {
		if key != "Retry-After" && !strings.HasPrefix(key, "Retry-After-") {
			continue
		}
		for _, value := range values {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err == nil && n >= 0 && n < 1<<20 {
				after = max(after, time.Duration(n)*time.Second, time.Second)
			}
		}
	}
	return after
}

// blocked judges an answer of a sandbox's own daemon, or of the proxy before it. Whether the sandbox is gone, stopped or out
// of reach the control plane knows better.
func blocked(op string, a *cloud.Answer) *cloud.Failure {
	said := words(a)
	f := cloud.Passing(op, cloud.Quote("the Daytona sandbox fails with status "+strconv.Itoa(a.Status)+": try again later", said), nil)
	f.Status, f.Said = a.Status, said
	say := func(class sandbox.Class, sentence string) {
		f.Err.Class, f.Err.Message = class, cloud.Quote(sentence, said)
	}
	switch {
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden: // also of one that was deleted long ago
		f.Absent = true
		say(sandbox.ClassDenied, "the Daytona sandbox does not take the API key: look at the key's permissions in Daytona's dashboard")
	case a.Status == http.StatusNotFound, mentions(said, "no ip address found", "is the sandbox started"):
		f.Absent = true
		say(sandbox.ClassUnavailable, "the Daytona sandbox does not answer: try again in a minute")
	case a.Status == http.StatusConflict:
		f.Moving = true
		say(sandbox.ClassUnavailable, "the Daytona sandbox is just changing its state: try again in a minute")
	case a.Status == http.StatusTooManyRequests:
		f.After = max(retryAfter(a.Header), time.Second)
		say(sandbox.ClassUnavailable, "the Daytona sandbox takes no more requests for the moment: try again in a minute")
	case a.Status == http.StatusRequestTimeout:
		f.Unclear = true
		say(sandbox.ClassUnavailable, "the Daytona sandbox is too slow: try again later, or give new ones more processors in the settings")
	case a.Status == http.StatusInsufficientStorage, mentions(said, "no space left"):
		f.Passes = false
		say(sandbox.ClassLimit, fullDisk)
	case a.Status >= http.StatusInternalServerError:
		f.Unclear = true
		say(sandbox.ClassUnavailable, "the Daytona sandbox fails with status "+strconv.Itoa(a.Status)+": try again in a minute")
	default:
		f.Passes = false
		say(sandbox.ClassUnsupported, "the Daytona sandbox's daemon does not understand this program (status "+strconv.Itoa(a.Status)+"): update this program, or "+other)
	}
	return f
}
