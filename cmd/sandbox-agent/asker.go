// This file has a person at the terminal answer approvals: y, n, a, or e to edit what a allows.

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
	editing bool               // … for the pattern of what is allowed from now on
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
	k.editing = false
	if err := f.print.approval(k.waiting[0]); err != nil {
		return err
	}
	k.again()
	return nil
}

func (k *asker) again() {
	always := ""
	switch {
	case k.editing:
		fmt.Fprintf(k.out, "  what to allow from now on, e.g. %s (nothing: back): ", line(k.waiting[0].Pattern))
		return
	case k.canEdit():
		always = ", a always, e always something else"
	case k.offers(editors.DecisionAllowAlways):
		always = ", a always"
	}
	fmt.Fprintf(k.out, "  y yes, n no%s, ? ask again, or say what to do instead: ", always)
}

func (k *asker) offers(d editors.Decision) bool {
	options := k.waiting[0].Options
	return len(options) == 0 || slices.Contains(options, string(d))
}

// canEdit says whether there is a pattern to be allowed that can be another.
func (k *asker) canEdit() bool {
	return k.offers(editors.DecisionAllowAlways) && k.waiting[0].Pattern != ""
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
	text := strings.TrimSpace(line.text)
	params, answered := k.understand(text)
	switch {
	case answered:
		params.SessionID, params.ApprovalID = f.session, asked.ID
		return k.send(ctx, f, params)
	case text == "?", strings.EqualFold(text, "help"):
		return k.prompt(f)
	}
	k.again()
	return nil
}

// understand returns the answer that a typed text is; else something is to be asked again.
func (k *asker) understand(text string) (params editors.AnswerApprovalParams, answered bool) {
	word := strings.ToLower(text)
	switch {
	case k.editing && text == "":
		k.editing = false
		return params, false
	case k.editing:
		return editors.AnswerApprovalParams{Decision: editors.DecisionAllowAlways, Pattern: text}, true
	case text == "", word == "?", word == "help":
		return params, false
	case word == "y", word == "yes":
		return editors.AnswerApprovalParams{Decision: editors.DecisionAllow}, true
	case word == "n", word == "no":
		return editors.AnswerApprovalParams{Decision: editors.DecisionDeny}, true
	case word == "a", word == "always":
		params = editors.AnswerApprovalParams{Decision: editors.DecisionAllowAlways, Pattern: k.waiting[0].Pattern}
		return params, k.offers(editors.DecisionAllowAlways)
	case word == "e", word == "edit":
		k.editing = k.canEdit()
		return params, false
	}
	return editors.AnswerApprovalParams{Decision: editors.DecisionDeny, Feedback: text}, true
}

// send answers what is being asked. A pattern that is refused can be typed again.
func (k *asker) send(ctx context.Context, f *follower, params editors.AnswerApprovalParams) error {
	_, err := call(ctx, f.conn, editors.AnswerApproval, params)
	if err != nil {
		f.a.notice("The approval was not answered: " + err.Error())
	}
	if err != nil && k.editing && editors.CodeOf(err) == editors.CodeInvalidParams {
		k.again()
		return nil
	}
	k.waiting = k.waiting[1:]
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
	f.a.notice("Answered by " + line(a.DecidedBy) + ": " + string(a.Decision))
	if i == 0 {
		k.editing = false
	}
	if i == 0 && len(k.waiting) > 0 {
		_ = k.prompt(f) // an error of printing comes again with the next event
	}
}
