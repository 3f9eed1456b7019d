// This file is the narrow interface between the commands and Temporal, so that tests need no server.

package core

import (
	"context"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

// engine is what this package asks of Temporal. Errors are those of the SDK; errors.go gives them their meaning.
type engine interface {
	// Create starts the owner's manager if need be and asks it to create a session.
	Create(ctx context.Context, in session.CreateInput) (session.CreateResult, error)
	// Fork asks the owner's manager, in the same way, to create a session that goes on from another one.
	Fork(ctx context.Context, in session.ForkInput) (session.CreateResult, error)
	// Update runs an update to its end and decodes its answer into result, which may be nil.
	Update(ctx context.Context, u update, result any) error
	Query(ctx context.Context, workflowID, query string, arg, result any) error
	Signal(ctx context.Context, workflowID, signal string, arg any) error
	// Describe needs no worker.
	Describe(ctx context.Context, workflowID string) (description, error)
	// List returns the running sessions of an owner as visibility knows them, without a worker.
	List(ctx context.Context, owner string) ([]editors.Session, error)
	// Follow calls ring after each change of a workflow, also when it continues as new, until ctx ends or something fails.
	Follow(ctx context.Context, workflowID string, ring func()) error
	// Pollers counts the workers that poll a task queue and says when one last did, the zero time when that is long ago.
	Pollers(ctx context.Context, queue string) (n int, last time.Time, err error)
	Health(ctx context.Context) error
	Close()
}

// update names one update of a workflow; repeating an ID repeats the answer.
type update struct {
	workflowID string
	name       string
	id         string
	arg        any
}

// description is what Temporal knows of a workflow without asking it.
type description struct {
	session *editors.Session      // as of its last change worth listing
	tails   []agent.HeartbeatTail // of what is being made
}
