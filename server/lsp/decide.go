// This file asks the user for an approval by window/showMessageRequest.

package lsp

import (
	"context"
	"slices"

	"go.lsp.dev/protocol"

	"sandboxagent/editors"
)

// choices are what the user can pick, in the order shown.
var choices = []struct {
	title    string
	decision editors.Decision
}{
	{"Allow", editors.DecisionAllow},
	{"Always", editors.DecisionAllowAlways},
	{"Deny", editors.DecisionDeny},
}

// decide asks for an approval of the followed turn, once, and hands the answer on. An approval that somebody else
// answers first is withdrawn; one that the user closes stays pending.
func (f *follower) decide(ctx context.Context, a editors.Approval) {
	if a.TurnID != f.asked.TurnID || f.pending[a.ID] != nil {
		return
	}
	ctx, f.pending[a.ID] = context.WithCancel(ctx)
	f.progress.report("Waiting for an approval: " + clip(a.Subject, 120))
	asks := question(a, f.proposals[a.ItemID])
	f.c.background(func() {
		decision := f.c.choose(ctx, a, asks)
		if decision == "" {
			return
		}
		answer := editors.AnswerApprovalParams{SessionID: f.asked.SessionID, ApprovalID: a.ID, Decision: decision, Pattern: pattern(a, decision)}
		if err := f.dispatch(ctx, editors.AnswerApproval.Name, answer); err != nil && ctx.Err() == nil {
			f.c.show(protocol.MessageTypeError, "The approval could not be answered: "+err.Error())
		}
	})
}

func pattern(a editors.Approval, d editors.Decision) string {
	if d == editors.DecisionAllowAlways {
		return a.Pattern
	}
	return ""
}

// choose asks the user; "" means that there is no decision.
func (c *client) choose(ctx context.Context, a editors.Approval, asks string) editors.Decision {
	ask := protocol.ShowMessageRequestParams{Type: protocol.MessageTypeWarning, Message: asks}
	for _, choice := range choices {
		if len(a.Options) == 0 || slices.Contains(a.Options, string(choice.decision)) {
			ask.Actions = append(ask.Actions, protocol.MessageActionItem{Title: choice.title})
		}
	}
	var picked *protocol.MessageActionItem
	if err := c.ask(ctx, protocol.MethodWindowShowMessageRequest, ask, &picked); err != nil {
		if ctx.Err() == nil {
			c.log.Warn("the client did not ask for an approval", "error", err)
			c.show(protocol.MessageTypeWarning, stillWaiting(a))
		}
		return ""
	}
	for _, choice := range choices {
		if picked != nil && picked.Title == choice.title {
			return choice.decision
		}
	}
	c.show(protocol.MessageTypeInfo, stillWaiting(a))
	return ""
}

// question is what the user is asked, with what the call would change in files.
func question(a editors.Approval, proposal string) string {
	text := "The agent asks to run " + a.Tool + ": " + clip(a.Subject, 2000)
	if proposal != "" {
		text += "\n" + clip(proposal, 4000)
	}
	if a.Reason != "" {
		text += "\n" + clip(a.Reason, 500)
	}
	if a.Pattern != "" {
		text += "\nAlways allows in this session: " + clip(a.Pattern, 500)
	}
	return text
}

func stillWaiting(a editors.Approval) string {
	return "The agent still waits for an answer; run the command " + editors.CommandPrefix + editors.AnswerApproval.Name +
		" with approvalId " + a.ID + " to give it."
}
