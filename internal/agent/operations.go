// This file carries out what a session is asked to do between two turns: operations, in their order of arrival among the
// requests that wait.

package agent

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const (
	maxOps         = 8        // that wait
	maxOpBytes     = 24 << 10 // of what is asked for
	carryTimeout   = time.Hour
	carryHeartbeat = 15 * time.Second
)

// Op is an operation. One of Switch, Restore and Adopt is set.
type Op struct {
	ID    int    `json:"id"`
	Key   string `json:"key"`            // under which its outcome is remembered
	After int    `json:"after"`          // the newest turn that was asked for before it
	Told  bool   `json:"told,omitempty"` // who asked has been answered that it waits

	Switch  *SwitchInput  `json:"switch,omitempty"`
	Restore *RestoreInput `json:"restore,omitempty"`
	Adopt   *AdoptInput   `json:"adopt,omitempty"`
}

// outcome is how an operation ended.
type outcome[R any] struct {
	Result  R        `json:"result"`
	Seq     int64    `json:"seq"`
	Failure *Failure `json:"failure,omitempty"`
}

// opKey is the name under which the answer to a request for an operation is remembered.
func opKey(kind, requestID string) string {
	if requestID == "" {
		return ""
	}
	return kind + "/" + requestID
}

// known tells whether an operation was asked for before.
func (s *session) known(key string) bool {
	return key != "" && (s.answered(key) || slices.ContainsFunc(s.Ops, func(op Op) bool { return op.Key == key }))
}

// admitOp refuses an operation that cannot wait.
func (s *session) admitOp(requestID string, in any) error {
	switch {
	case len(requestID) > editors.MaxRequestID:
		return refuse(ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	case size(in) > maxOpBytes:
		return refuse(ErrTypeLimit, "The request has more than %d bytes; name fewer paths.", maxOpBytes)
	case len(s.Ops) >= maxOps:
		return refuse(ErrTypeBusy, "%d operations wait already; let them end.", len(s.Ops))
	}
	return nil
}

// busy refuses what needs the workspace for itself while a turn runs or waits.
func (s *session) busy() error {
	switch {
	case s.Turn != nil:
		return Failure{
			Code: editors.CodeBusy, Message: fmt.Sprintf("Turn %d is running.", s.Turn.ID), Remedy: "Wait for its end, or interrupt it.",
		}.Refusal()
	case len(s.Queue) > 0:
		return Failure{
			Code: editors.CodeBusy, Message: fmt.Sprintf("Turn %d is about to run.", s.Queue[0].TurnID), Remedy: "Wait for its end, or remove it from the queue.",
		}.Refusal()
	}
	return nil
}

// addOp puts an operation behind all that was asked for before. Who asked it before does not ask twice.
func (s *session) addOp(op Op) Op {
	if s.known(op.Key) {
		return op
	}
	op.ID, op.After = s.NextOp, s.NextTurn-1
	s.NextOp++
	if op.Key == "" {
		op.Key = fmt.Sprintf("#%d", op.ID)
	}
	s.Ops = append(s.Ops, op)
	return op
}

// perform has an operation carried out and waits for its outcome. When the run has to end first, who asks again finds it.
func perform[R any](ctx workflow.Context, s *session, op Op) (outcome[R], error) {
	op = s.addOp(op)
	var out outcome[R]
	if err := workflow.Await(ctx, func() bool { return s.answered(op.Key) || s.draining || s.gone }); err != nil {
		return out, err
	}
	switch {
	case !s.recall(op.Key, &out):
		return out, s.open()
	case out.Failure != nil:
		return out, out.Failure.Refusal()
	}
	return out, nil
}

// opDue tells whether an operation waits longer than any request.
func (s *session) opDue() bool {
	return len(s.Ops) > 0 && (len(s.Queue) == 0 || s.Ops[0].After < s.Queue[0].TurnID)
}

// runOp carries out the operation that waits longest.
func (s *session) runOp(ctx workflow.Context) error {
	if !s.opDue() {
		s.nextQueued(ctx)
		return nil
	}
	op := s.Ops[0]
	octx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	s.cancelWork = cancel
	defer func() { s.cancelWork = nil }()
	out := outcome[any]{}
	if s.picturing > 0 {
		s.setState(ctx, editors.StatusRunning, "Waiting for a checkpoint that is being taken.")
	}
	if err := workflow.Await(octx, func() bool { return s.picturing == 0 }); err == nil {
		out.Result, out.Failure = s.operate(octx, op)
	}
	if s.destroying {
		out.Failure = &Failure{Code: editors.CodeNotFound, Message: "This session has been destroyed."}
	}
	s.Ops = append([]Op(nil), s.Ops[1:]...)
	s.goOn(ctx)
	if out.Seq = s.Seq; !op.Told {
		s.remember(op.Key, out)
	}
	if !s.destroying {
		s.seal(ctx)
	}
	return nil
}

func (s *session) operate(ctx workflow.Context, op Op) (any, *Failure) {
	switch {
	case op.Switch != nil:
		return s.moveTo(ctx, op)
	case op.Restore != nil:
		return s.goBack(ctx, op)
	default:
		return s.take(ctx, op)
	}
}

// goOn begins the turn that waits longest, unless an operation comes first, or rests when nothing waits.
func (s *session) goOn(ctx workflow.Context) {
	switch {
	case s.destroying, s.opDue():
	case len(s.Queue) > 0:
		s.nextQueued(ctx)
	default:
		s.rest(ctx)
	}
}

// effect is the effect id of a step of an operation.
func (s *session) effect(op Op, step string) string {
	id := fmt.Sprintf("%s-op%d", s.Session.ID, op.ID)
	if step != "" {
		id += "-" + step
	}
	return id
}

// carry runs one of the activities that bring files somewhere.
func (s *session) carry(ctx workflow.Context, what, name string, in any) (CarryOutput, *Failure) {
	var out CarryOutput
	if f := s.onHost(workflow.ActivityOptions{StartToCloseTimeout: carryTimeout, HeartbeatTimeout: carryHeartbeat}, name, in).Repeat(ctx, what, &out); f != nil {
		return out, f
	}
	return out, out.Failure
}
