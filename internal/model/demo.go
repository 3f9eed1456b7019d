// This file is the demo model: a small agent of rules that shows the product at work without a key or a network.

package model

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const demoProvider = "demo"

// demo answers from the request alone, so the same request always gets the same answer, also after a restart.
type demo struct {
	delay time.Duration // between two words
}

func newDemo(delay time.Duration) Model { return &demo{delay: max(delay, 0)} }

// Respond implements Model. It fails only when ctx ends.
func (d *demo) Respond(ctx context.Context, req Request, onDelta func(Delta)) (Response, error) {
	a := newAnswer(req, demoProvider, "", onDelta)
	a.model = DemoModel
	req.Input = pictured(req.Input, false)
	turn := newDemoTurn(req)
	text := turn.play()
	a.usage = Usage{InputTokens: demoTokens(req), OutputTokens: int64(len(strings.Fields(text)))}

	s := demoSpeaker{ctx: ctx, delay: d.delay, answer: a}
	if len(turn.results) == 0 {
		s.say(slot{KindReasoning, 0}, turn.thought())
	}
	s.say(slot{KindAssistant, 1}, text)
	if turn.want != nil {
		s.call(turn.want, turn.callID())
	}
	if ctx.Err() != nil {
		return a.response(), &Error{Kind: ErrCanceled, Message: "The demo model was stopped.", Err: ctx.Err()}
	}
	return a.response(), nil
}

// demoTokens is a rough count, so that usage has something to show.
func demoTokens(req Request) int64 {
	bytes := len(req.Instructions)
	for _, e := range req.Input {
		bytes += len(e.Text) + len(e.Arguments)
	}
	return int64(bytes / 4)
}

// demoSpeaker streams an answer piece by piece until its context ends.
type demoSpeaker struct {
	ctx    context.Context
	delay  time.Duration
	answer *answer
}

func (s *demoSpeaker) say(to slot, text string) {
	for _, piece := range demoPieces(text) {
		if !s.pause() {
			return
		}
		_ = s.answer.add(to, piece) // far below the limits
	}
}

// demoPieces cuts prose into words and quotations into lines.
func demoPieces(text string) []string {
	var pieces []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced {
			pieces = append(pieces, line)
		} else {
			pieces = append(pieces, strings.SplitAfter(line, " ")...)
		}
	}
	return pieces
}

func (s *demoSpeaker) call(want *demoCall, id string) {
	if !s.pause() {
		return
	}
	arguments, err := json.Marshal(want.arguments)
	if err != nil {
		return
	}
	_ = s.answer.call(2, id, want.tool)
	_ = s.answer.arguments(2, string(arguments))
	s.answer.finishCall(2)
}

// pause waits for the time of one word; false when the context has ended.
func (s *demoSpeaker) pause() bool {
	if s.delay == 0 {
		return s.ctx.Err() == nil
	}
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// demoCall is a tool call the demo model wants to make.
type demoCall struct {
	tool      string
	arguments map[string]string
	saying    string
}

// demoTurn replays a turn: the rules run from the start at every request, take the results that are there, and stop at the
// first call that has none yet.
type demoTurn struct {
	request string
	offered map[string]bool
	results []string // of this turn's calls, in order
	calls   int      // made in the whole conversation
	next    int      // the result to take next
	want    *demoCall
	lacking string // a tool that was needed and is not offered
}

func newDemoTurn(req Request) *demoTurn {
	t := &demoTurn{offered: map[string]bool{}}
	for _, tool := range req.Tools {
		t.offered[tool.Name] = true
	}
	for _, e := range repair(req.Input, demoProvider) {
		switch e.Kind {
		case KindUser:
			if !isNote(e.Text) {
				t.request, t.results = e.Text, nil
			}
		case KindToolCall:
			t.calls++
		case KindToolResult:
			t.results = append(t.results, e.Text)
		}
	}
	return t
}

// isNote says whether a message is from the program and not from the user.
func isNote(text string) bool {
	return strings.HasPrefix(text, "<environment>") || strings.HasPrefix(text, "<workspace-instructions ")
}

// callID is unique within the conversation.
func (t *demoTurn) callID() string { return fmt.Sprintf("demo_call_%d", t.calls+1) }

// play returns what to say now: the final answer, or the sentence before the call it wants.
func (t *demoTurn) play() string {
	var parts []string
	for _, task := range demoTasks(t.request) {
		if part := task(t); part != "" {
			parts = append(parts, part)
		}
		if t.want != nil {
			return t.want.saying
		}
		if t.lacking != "" {
			parts = append(parts, fmt.Sprintf("I need the tool `%s` for this, and it is not offered here.", t.lacking))
			break
		}
	}
	return "I am the demo model: a few rules, no intelligence. " + strings.Join(parts, "\n\n")
}

// use returns the result of a call; not ok when it has to be made first, or cannot.
func (t *demoTurn) use(tool, saying string, arguments map[string]string) (result string, ok bool) {
	if t.next < len(t.results) {
		t.next++
		return t.results[t.next-1], true
	}
	if !t.offered[tool] {
		t.lacking = tool
		return "", false
	}
	t.want = &demoCall{tool: tool, arguments: arguments, saying: saying}
	return "", false
}

func (t *demoTurn) thought() string {
	if t.want == nil {
		return "There is nothing to do with a tool here."
	}
	return fmt.Sprintf("The request matches one of my rules. I begin with the tool %s.", t.want.tool)
}
