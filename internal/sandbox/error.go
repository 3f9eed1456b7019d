// This file defines the one error type of the sandbox layer; its class alone decides whether a caller may retry.

package sandbox

import (
	"errors"
	"fmt"
)

// Class says what kind of failure an Error is. Only ClassUnavailable may be retried.
type Class string

// The classes of failure. A command that exits non-zero or times out is a result, never an Error.
const (
	ClassInvalid     Class = "invalid"     // the caller's fault; never retry
	ClassDenied      Class = "denied"      // policy or file permissions
	ClassNotFound    Class = "notFound"    // no such file, command or sandbox
	ClassConflict    Class = "conflict"    // changed meanwhile, already exists, ambiguous
	ClassLimit       Class = "limit"       // size, time, memory or quota
	ClassUnavailable Class = "unavailable" // may be retried with back-off, a bounded number of times
	ClassUnknown     Class = "unknown"     // the effect may have happened: re-attach, then ask
	ClassCorrupt     Class = "corrupt"     // stored data does not verify
	ClassUnsupported Class = "unsupported" // this backend cannot do it
	ClassCanceled    Class = "canceled"
	ClassInternal    Class = "internal"
)

// Error is the one error type of the sandbox layer.
type Error struct {
	Class   Class
	Op      string // what was being done, e.g. "read file"
	Path    string // the workspace-relative path concerned, if any
	Message string // one sentence for the model and the user; never a secret or a path outside the workspace
	Err     error  // detail for the log; may be nil
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a formatted message.
func Errorf(class Class, op, format string, args ...any) *Error {
	return &Error{Class: class, Op: op, Message: fmt.Sprintf(format, args...)}
}

// ClassOf returns the class of the first Error in err's chain, ClassInternal for any other error, and "" for nil.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassInternal
}
