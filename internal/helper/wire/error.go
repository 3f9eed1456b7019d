// This file carries errors over the wire without trusting what arrives.

package wire

import (
	"errors"

	"sandboxagent/internal/sandbox"
)

const maxMessage = 2000 // bytes kept of a text that a sandbox sends

// Error is sandbox.Error on the wire.
type Error struct {
	Class   sandbox.Class `json:"class"`
	Op      string        `json:"op,omitempty"`
	Path    Text          `json:"path,omitempty"`
	Message string        `json:"message,omitempty"`
	Detail  string        `json:"detail,omitempty"`
}

// FromError encodes err; nil stays nil. Errors of other types become ClassInternal.
func FromError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *sandbox.Error
	if !errors.As(err, &e) {
		return &Error{Class: sandbox.ClassInternal, Detail: err.Error()}
	}
	w := &Error{Class: e.Class, Op: e.Op, Path: Text(e.Path), Message: e.Message}
	if e.Err != nil {
		w.Detail = e.Err.Error()
	}
	return w
}

// Sandbox decodes, bounding every text; an unknown class becomes ClassInternal.
func (w *Error) Sandbox() *sandbox.Error {
	e := &sandbox.Error{Class: known(w.Class), Op: cut(w.Op), Path: cut(string(w.Path)), Message: cut(w.Message)}
	if w.Detail != "" {
		e.Err = errors.New(cut(w.Detail))
	}
	return e
}

func known(c sandbox.Class) sandbox.Class {
	switch c {
	case sandbox.ClassInvalid, sandbox.ClassDenied, sandbox.ClassNotFound, sandbox.ClassConflict, sandbox.ClassLimit,
		sandbox.ClassUnavailable, sandbox.ClassUnknown, sandbox.ClassCorrupt, sandbox.ClassUnsupported, sandbox.ClassCanceled:
		return c
	}
	return sandbox.ClassInternal
}

func cut(s string) string { return s[:min(len(s), maxMessage)] }
