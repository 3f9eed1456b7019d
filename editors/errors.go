// This file defines the errors that editors see.

package editors

import (
	"errors"
	"fmt"
	"strings"
)

// Code classifies an error for a client.
type Code string

// The error codes.
const (
	CodeInvalidParams       Code = "invalidParams"
	CodeNotFound            Code = "notFound"
	CodeConflict            Code = "conflict"
	CodeDenied              Code = "denied"
	CodeBusy                Code = "busy"
	CodeLimit               Code = "limit"
	CodeBackendUnavailable  Code = "backendUnavailable"
	CodeModelUnavailable    Code = "modelUnavailable"
	CodeTemporalUnavailable Code = "temporalUnavailable"
	CodeWorkerUnavailable   Code = "workerUnavailable"
	CodeCorruptCheckpoint   Code = "corruptCheckpoint"
	CodeUnsupported         Code = "unsupported"
	CodeCancelled           Code = "cancelled"
	CodeInternal            Code = "internal"
)

// Codes lists all error codes.
func Codes() []Code {
	return []Code{
		CodeInvalidParams, CodeNotFound, CodeConflict, CodeDenied, CodeBusy, CodeLimit, CodeBackendUnavailable,
		CodeModelUnavailable, CodeTemporalUnavailable, CodeWorkerUnavailable, CodeCorruptCheckpoint, CodeUnsupported,
		CodeCancelled, CodeInternal,
	}
}

// ErrorData is the data of a JSON-RPC error.
type ErrorData struct {
	Code      Code   `json:"code"`
	Remedy    string `json:"remedy,omitempty"`
	Retryable bool   `json:"retryable"`
	Detail    string `json:"detail,omitempty"`
}

// Error is an error with what an editor needs to know. Its message is one sentence a person can act on.
type Error struct {
	ErrorData
	Message string
	Err     error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error; the operands may include a cause by %w.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	retry := code == CodeBusy || code == CodeTemporalUnavailable || code == CodeWorkerUnavailable
	return &Error{ErrorData: ErrorData{Code: code, Retryable: retry}, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithRemedy sets what the user can do about e and returns it.
func (e *Error) WithRemedy(remedy string) *Error {
	e.Remedy = remedy
	return e
}

// Advice puts what helps behind what is the matter, which may end without a full stop: as a message does that is part of others
// too, or a state that ends with a command.
func Advice(matter, remedy string) string {
	if matter == "" || remedy == "" {
		return matter + remedy
	}
	if strings.ContainsAny(matter[len(matter)-1:], ".!?:") || strings.HasSuffix(matter, "…") {
		return matter + " " + remedy
	}
	return matter + ". " + remedy
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal for other errors, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
