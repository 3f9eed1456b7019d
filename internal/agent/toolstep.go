// This file runs the tool calls of a model's answer: reading ones side by side, others in order, each matched by its call id.

package agent

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

const (
	toolTimeout     = 2*time.Hour + 10*time.Minute // the longest a command may run, and some
	toolHeartbeat   = 6 * time.Second
	maxToolAttempts = 50 // re-attachments after a worker died
)

// toolStep runs all calls that are not done, then hands their results to the next model call.
func (s *session) toolStep(ctx workflow.Context) error {
	if err := s.awaitSandbox(ctx); err != nil {
		return err
	}
	s.askApprovals(ctx)
	wg := workflow.NewWaitGroup(ctx)
	var failed error
	for i := range s.Turn.Calls {
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := s.runCall(ctx, i); err != nil && !temporal.IsCanceledError(err) && failed == nil {
				failed = err
			}
		})
	}
	wait, cancel := workflow.NewDisconnectedContext(ctx) // calls end by themselves when the turn is cancelled
	defer cancel()
	wg.Wait(wait)
	if failed != nil || s.Turn.Interrupt || s.destroying {
		return failed
	}
	s.handOver()
	return nil
}

// handOver moves the calls' results to what the model sees next, in the order of the calls.
func (s *session) handOver() {
	for _, c := range s.Turn.Calls {
		s.Pending = append(s.Pending, Pending{Kind: "toolResult", CallID: c.CallID, Text: c.ResultText, Ref: c.ResultRef, Images: c.Images})
	}
	s.Turn.Calls = nil
}

// runCall runs call i when it may run and its predecessors allow it. Until it has begun, the permission can be taken back.
func (s *session) runCall(ctx workflow.Context, i int) error {
	c := &s.Turn.Calls[i]
	reads := policy.ReadOnly(c.judged())
	due := func() bool { return c.Done || c.Allowed && (reads || s.predecessorsDone(i)) }
	if err := workflow.Await(ctx, due); err != nil {
		return err
	}
	if !c.Done && !reads {
		s.checkpointBefore(ctx, c)
		if err := workflow.Await(ctx, due); err != nil {
			return err
		}
	}
	if c.Done || ctx.Err() != nil {
		return ctx.Err()
	}
	s.showRunning(ctx)
	return s.execute(ctx, c)
}

func (s *session) predecessorsDone(i int) bool {
	for j := range i {
		if c := s.Turn.Calls[j]; !c.Done && !policy.ReadOnly(c.judged()) {
			return false
		}
	}
	return true
}

// execute runs a call under its effect id until its outcome is known.
func (s *session) execute(ctx workflow.Context, c *Call) error {
	for {
		c.Attempt++
		res, err := s.callTool(ctx, c, false)
		if err != nil && ctx.Err() != nil {
			if c.Attempt == 1 && temporal.IsCanceledError(err) {
				c.Attempt = 0 // no worker had taken it
				return err
			}
			res, err = s.stopTool(ctx, c)
		}
		switch {
		case errors.Is(err, errLost) && c.Attempt < maxToolAttempts:
			s.setState(ctx, editors.StatusRecovering, "The worker stopped; looking for what it had begun: "+s.subject(c))
			continue
		case err != nil:
			s.endCall(ctx, c, RunToolResult{Status: editors.ItemUnknown, Error: "Its outcome is unknown: " + cause(err)},
				"The outcome of this call is unknown; it was not repeated: "+cause(err))
			return nil
		}
		s.endCall(ctx, c, res, "")
		return nil
	}
}

// stopTool ends what a worker that died has left running of a call whose turn was interrupted.
func (s *session) stopTool(ctx workflow.Context, c *Call) (RunToolResult, error) {
	dctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	return s.callTool(dctx, c, true)
}

func (s *session) callTool(ctx workflow.Context, c *Call, stop bool) (RunToolResult, error) {
	in := RunToolInput{
		Sandbox: s.sandbox(), ItemID: c.ItemID, ItemSeq: c.ItemSeq, Attempt: c.Attempt, Call: c.CallRequest, Stop: stop,
		EffectID: fmt.Sprintf("%s-%s", s.Session.ID, c.ItemID),
	}
	var res RunToolResult
	err := s.onHost(workflow.ActivityOptions{StartToCloseTimeout: toolTimeout, HeartbeatTimeout: toolHeartbeat}, ActivityRunTool, in).Do(ctx, &res)
	return res, err
}

// endCall completes a call's item and keeps what the model is to get.
func (s *session) endCall(ctx workflow.Context, c *Call, res RunToolResult, text string) {
	c.Done, c.ResultRef, c.ResultText, c.Images = true, res.ModelRef, text, res.Images
	s.endItem(ctx, c.ItemID, func(i *editors.Item) {
		i.Status, i.ExitCode, i.Cwd, i.DurationMs, i.Error = res.Status, res.ExitCode, res.Cwd, res.DurationMs, res.Error
		i.Background, i.StoppedBy = res.Running && i.Tool == execCommand, res.StoppedBy
		i.Output, i.Diff, i.DiffBytes, i.Files, i.Attempt = res.Output, res.Diff, res.DiffBytes, res.Files, c.Attempt
		for k, v := range res.Refs {
			if i.Refs == nil {
				i.Refs = map[string]string{}
			}
			i.Refs[k] = v
		}
	})
	s.track(ctx, c, res)
}

// settleCalls completes the calls of a turn that ends early, so that the conversation stays valid.
func (s *session) settleCalls(ctx workflow.Context) {
	if len(s.Turn.Calls) == 0 {
		return
	}
	why := "The turn ended"
	if s.Turn.Interrupt {
		why = "The user interrupted the turn"
	}
	for i := range s.Turn.Calls {
		if c := &s.Turn.Calls[i]; !c.Done {
			status, text := editors.ItemInterrupted, why+" before this call ran."
			if c.Attempt > 0 {
				status, text = editors.ItemUnknown, why+"; the outcome of this call is unknown."
			}
			s.endCall(ctx, c, RunToolResult{Status: status}, text)
		}
	}
	s.handOver()
}

func (s *session) subject(c *Call) string {
	if c.Subject != "" {
		return preview(c.Subject, 120)
	}
	return c.Tool
}

// showRunning sets the state to what runs, unless something else waits for an answer.
func (s *session) showRunning(ctx workflow.Context) {
	if len(s.Approvals) > 0 {
		return
	}
	for i := range s.Turn.Calls {
		if c := &s.Turn.Calls[i]; !c.Done {
			s.setState(ctx, editors.StatusRunning, "Running "+s.subject(c))
			return
		}
	}
}
