// This file has a person at the terminal answer approvals: y, n or a.

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"sandboxagent/editors"
)

// asker asks one approval after the other. A nil asker asks nobody.
type asker struct {
	in      io.Reader
	out     io.Writer
	lines   chan typed
	waiting []editors.Approval // the first is being asked
}

// typed is a line from the terminal, or the end of the input.
type typed struct {
	text string
	end  bool
}

// newAsker returns nil when there is nobody to ask.
func newAsker(a *app) *asker {
	if !a.term.input || a.json {
		return nil
	}
	return &asker{in: a.stdin, out: a.stderr}
}

// answers returns the channel of typed lines.
func (k *asker) answers() <-chan typed {
	if k == nil {
		return nil
	}
	return k.lines
}

func (k *asker) ask(f *follower, a editors.Approval) error {
	if slices.ContainsFunc(k.waiting, func(w editors.Approval) bool { return w.ID == a.ID }) {
		return nil
	}
	k.waiting = append(k.waiting, a)
	if len(k.waiting) > 1 {
		return nil
	}
	return k.prompt(f)
}

// prompt asks the first approval that waits.
func (k *asker) prompt(f *follower) error {
	if len(k.waiting) == 0 {
		return nil
	}
	k.read()
	if err := f.print.approval(k.waiting[0]); err != nil {
		return err
	}
	k.again()
	return nil
}

func (k *asker) again() {
	always := ""
	if k.offers(editors.DecisionAllowAlways) {
		always = ", a always"
	}
	fmt.Fprintf(k.out, "  y yes, n no%s, ? ask again, or say what to do instead: ", always)
}

func (k *asker) offers(d editors.Decision) bool {
	options := k.waiting[0].Options
	return len(options) == 0 || slices.Contains(options, string(d))
}

// read begins to read lines, once.
func (k *asker) read() {
	if k.lines != nil {
		return
	}
	k.lines = make(chan typed)
	go func() {
		scanner := bufio.NewScanner(k.in)
		for scanner.Scan() {
			k.lines <- typed{text: scanner.Text()}
		}
		k.lines <- typed{end: true}
	}()
}

// answer takes a typed line as the answer to what is being asked. At the end of the input nobody answers any more.
func (k *asker) answer(ctx context.Context, f *follower, line typed) error {
	if line.end {
		f.asker = nil
	}
	if len(k.waiting) == 0 {
		return nil
	}
	asked := k.waiting[0]
	if line.end {
		return f.ask(asked)
	}
	params := editors.AnswerApprovalParams{SessionID: f.session, ApprovalID: asked.ID}
	switch text := strings.TrimSpace(line.text); strings.ToLower(text) {
	case "y", "yes":
		params.Decision = editors.DecisionAllow
	case "n", "no":
		params.Decision = editors.DecisionDeny
	case "a", "always":
		if !k.offers(editors.DecisionAllowAlways) {
			k.again()
			return nil
		}
		params.Decision, params.Pattern = editors.DecisionAllowAlways, asked.Pattern
	case "":
		k.again()
		return nil
	case "?", "help":
		if err := f.print.approval(asked); err != nil {
			return err
		}
		k.again()
		return nil
	default:
		params.Decision, params.Feedback = editors.DecisionDeny, text
	}
	k.waiting = k.waiting[1:]
	if _, err := call(ctx, f.conn, editors.AnswerApproval, params); err != nil {
		f.a.notice("The approval was not answered: " + err.Error())
	}
	return k.prompt(f)
}

// resolved withdraws what somebody else has answered.
func (k *asker) resolved(f *follower, a editors.Approval) {
	if k == nil {
		return
	}
	i := slices.IndexFunc(k.waiting, func(w editors.Approval) bool { return w.ID == a.ID })
	if i < 0 {
		return
	}
	k.waiting = slices.Delete(k.waiting, i, i+1)
	fmt.Fprintf(k.out, "\n")
	f.a.notice("Answered by " + a.DecidedBy + ": " + string(a.Decision))
	if i == 0 && len(k.waiting) > 0 {
		_ = k.prompt(f) // an error of printing comes again with the next event
	}
}
