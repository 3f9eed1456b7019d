// This file tells what a session's model would be told next.

package agent

import "sandboxagent/editors"

// QueryTold is the query that tells what the model would be told: nothing → Told.
const QueryTold = "told"

// Told is what a model call would be made of now.
type Told struct {
	Sandbox
	Head    string    `json:"head,omitempty"`    // the conversation
	Pending []Pending `json:"pending,omitempty"` // what the model has not seen yet
	Model   string    `json:"model"`
	Tokens  int64     `json:"tokens,omitempty"`  // about what Head holds, with everything that is told every time
	TooLong int64     `json:"tooLong,omitempty"` // as in ModelStepInput
}

// PreviewInput asks the worker of a session's host what the model would be told if the user asked Question.
type PreviewInput struct {
	Told
	Question *Pending `json:"question,omitempty"`
}

// PreviewResult lists it.
type PreviewResult struct {
	Window int64                 `json:"window"`
	Parts  []editors.ContextPart `json:"parts"`
}

// toldNext answers QueryTold. It reads only.
func (s *session) toldNext() (Told, error) {
	t := Told{Sandbox: s.sandbox(), Head: s.Head, Pending: s.Pending, Model: s.Session.Model, Tokens: s.Tokens, TooLong: s.tooLong()}
	if s.Turn != nil {
		t.Pending = append(t.Pending[:len(t.Pending):len(t.Pending)], s.Turn.Steers...)
	}
	return t, nil
}
