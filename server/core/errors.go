// This file gives every failure its code, its sentence and its remedy; nothing else in the package maps errors.

package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	embedded "sandboxagent/internal/temporal"
)

const (
	remedyNewSession = "List the sessions, or create a new one."
	remedyDoctor     = "Run: sandbox-agent doctor"
	remedyStart      = "Run: sandbox-agent worker start"
	remedyWorker     = "Start sandbox-worker with the same Temporal settings."
)

// The types of an update's failure that the server itself makes when a run ends under it.
const (
	errTypeRunEnded    = "AcceptedUpdateCompletedWorkflow"
	errTypeUnprocessed = "UnprocessedUpdate"
)

// codes maps the types of application errors.
var codes = map[string]editors.Code{
	agent.ErrTypeConflict:           editors.CodeConflict,
	agent.ErrTypeNotFound:           editors.CodeNotFound,
	agent.ErrTypeInvalid:            editors.CodeInvalidParams,
	agent.ErrTypeBusy:               editors.CodeBusy,
	agent.ErrTypeLimit:              editors.CodeLimit,
	agent.ErrTypeDraining:           editors.CodeBusy,
	agent.ErrTypeDestroyed:          editors.CodeNotFound,
	errTypeRunEnded:                 editors.CodeBusy,
	errTypeUnprocessed:              editors.CodeUnsupported,
	embedded.ErrTypePayloadTooLarge: editors.CodeLimit,
}

// asError returns err as the error an editor gets; what says what was being done, as in "asking the agent".
func asError(what string, err error) *editors.Error {
	var known *editors.Error
	if errors.As(err, &known) {
		return known
	}
	if e := fromUpdate(err); e != nil {
		return e
	}
	if e := fromService(what, err); e != nil {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return editors.Errorf(editors.CodeCancelled, "%s was cancelled: %w", what, err)
	case embedded.IsUnavailable(err):
		return unreachable(what, err)
	case errors.Is(err, blob.ErrNotFound):
		return editors.Errorf(editors.CodeNotFound, "%s: the content is not in the store of this host: %w", what, err)
	case errors.Is(err, blob.ErrCorrupt):
		return editors.Errorf(editors.CodeCorruptCheckpoint, "%s: the stored content is damaged: %w", what, err)
	}
	return editors.Errorf(editors.CodeInternal, "%s failed: %w", what, err).WithRemedy(remedyDoctor)
}

// fromUpdate maps what a workflow answered.
func fromUpdate(err error) *editors.Error {
	var large *embedded.PayloadTooLargeError
	if errors.As(err, &large) {
		return editors.Errorf(editors.CodeLimit, "%w", large)
	}
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return nil
	}
	e := &editors.Error{Message: app.Message(), Err: err}
	e.Code = codeOfType(app.Type())
	e.Retryable = e.Code == editors.CodeBusy
	var failure agent.Failure
	if app.HasDetails() && app.Details(&failure) == nil {
		e.Remedy, e.Detail = failure.Remedy, failure.Detail
	}
	if app.Type() == agent.ErrTypeDestroyed {
		e.Remedy = remedyNewSession
	}
	return e
}

// codeOfType returns the code of an application error's type, which may be a code itself.
func codeOfType(kind string) editors.Code {
	if code, known := codes[kind]; known {
		return code
	}
	if code := editors.Code(kind); slices.Contains(editors.Codes(), code) {
		return code
	}
	return editors.CodeInternal
}

// fromService maps what Temporal itself answered.
func fromService(what string, err error) *editors.Error {
	var (
		namespace *serviceerror.NamespaceNotFound
		notFound  *serviceerror.NotFound
		denied    *serviceerror.PermissionDenied
		busy      *serviceerror.ResourceExhausted
		stuck     *serviceerror.WorkflowNotReady
		query     *serviceerror.QueryFailed
		invalid   *serviceerror.InvalidArgument
	)
	switch {
	case errors.As(err, &namespace):
		return lasting(editors.Errorf(editors.CodeTemporalUnavailable, "Temporal has no namespace %q", namespace.Namespace).
			WithRemedy("Create the namespace, or set TEMPORAL_NAMESPACE."))
	case errors.As(err, &denied), strings.Contains(err.Error(), "Unauthenticated"):
		return lasting(editors.Errorf(editors.CodeTemporalUnavailable, "Temporal refused the credentials: %w", err).
			WithRemedy("Check TEMPORAL_API_KEY or the certificates of the Temporal profile."))
	case errors.As(err, &notFound), errors.Is(err, errWorkflowEnded):
		return editors.Errorf(editors.CodeNotFound, "there is no such session, or it has ended").WithRemedy(remedyNewSession)
	case errors.As(err, &busy):
		return editors.Errorf(editors.CodeBusy, "Temporal is busy: %w", err)
	case errors.As(err, &stuck):
		return editors.Errorf(editors.CodeWorkerUnavailable, "the worker cannot carry this session on: %w", err).
			WithRemedy("Read the worker's log; a worker of another version may be running.")
	case errors.As(err, &query):
		return editors.Errorf(editors.CodeInternal, "%s failed: %w", what, err).WithRemedy(remedyDoctor)
	case errors.As(err, &invalid):
		return editors.Errorf(editors.CodeInternal, "%s: Temporal did not understand the request: %w", what, err).WithRemedy(remedyDoctor)
	}
	return nil
}

func lasting(e *editors.Error) *editors.Error {
	e.Retryable = false
	return e
}

// unreachable says where Temporal was looked for.
func unreachable(what string, err error) *editors.Error {
	e := editors.Errorf(editors.CodeTemporalUnavailable, "%s: no Temporal server answers: %w", what, err)
	var tried *embedded.UnavailableError
	if errors.As(err, &tried) && tried.Address != "" {
		e.Message = fmt.Sprintf("no Temporal server answers at %s (%s)", tried.Address, tried.Source)
	}
	if tried != nil && tried.Foreign {
		e.Message = fmt.Sprintf("what answers at %s (%s) is no Temporal server, or expects another kind of TLS", tried.Address, tried.Source)
		return lasting(e.WithRemedy("Check the address: it must be that of Temporal's gRPC service, whose port is usually 7233. Check the TLS settings too."))
	}
	e.Detail = err.Error()
	return e.WithRemedy("Start the Temporal server, or correct its address. " + remedyDoctor)
}

// isNotFound tells whether err says that the workflow does not exist or has ended.
func isNotFound(err error) bool { return editors.CodeOf(asError("", err)) == editors.CodeNotFound }

// isSilence tells whether nobody answered: Temporal, or the worker for which it keeps the request.
func isSilence(err error) bool {
	var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &timeout) || embedded.IsUnavailable(err) || hasNoPoller(err) || wasDropped(err)
}

// wasDropped tells whether the connection was closed under a request, because another one replaces it. Who asks has not
// given up: callers look at their own context first.
func wasDropped(err error) bool {
	var canceled *serviceerror.Canceled
	return errors.As(err, &canceled) || errors.Is(err, context.Canceled)
}

// hasNoPoller tells whether Temporal answered a query with its own guess that no worker is there, as it does at once after
// it was started.
func hasNoPoller(err error) bool {
	var failed *serviceerror.FailedPrecondition
	return errors.As(err, &failed) && strings.Contains(failed.Error(), "no poller seen")
}

// comesAgain tells whether repeating the same request soon can succeed: the run it met is just being replaced.
func comesAgain(err error) bool {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type() == agent.ErrTypeDraining || app.Type() == errTypeRunEnded
	}
	var aborted *serviceerror.Aborted
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &aborted) || errors.As(err, &busy)
}
