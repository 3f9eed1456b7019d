// This file reads the events of the Responses API. Events and fields it does not know are ignored.

package model

import (
	"encoding/json"
	"strings"
)

// contentPart is a piece of a message, of a reasoning summary or of raw reasoning.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal,omitempty"`
}

// outputItem is one item of an answer.
type outputItem struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	Status    string        `json:"status"`
	Name      string        `json:"name"`
	CallID    string        `json:"call_id"`
	Arguments string        `json:"arguments"`
	Phase     string        `json:"phase"`
	Encrypted string        `json:"encrypted_content"`
	Summary   []contentPart `json:"summary"`
	Content   []contentPart `json:"content"`
}

func (i outputItem) text() string {
	var b strings.Builder
	for _, p := range i.Content {
		b.WriteString(p.Text + p.Refusal)
	}
	return b.String()
}

// thoughts is the summary, or, for open models, the reasoning itself.
func (i outputItem) thoughts() string {
	parts := i.Summary
	if len(parts) == 0 {
		parts = i.Content
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

type responseObject struct {
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Output     []outputItem    `json:"output"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage responseUsage `json:"usage"`
}

type responseUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	InputDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u responseUsage) counted() Usage {
	return Usage{
		InputTokens: u.Input, CachedTokens: u.InputDetails.Cached, CacheWriteTokens: u.InputDetails.CacheWrite,
		OutputTokens: u.Output, ReasoningTokens: u.OutputDetails.Reasoning,
	}
}

type deltaEvent struct {
	Output  int    `json:"output_index"`
	Summary int    `json:"summary_index"`
	Delta   string `json:"delta"`
}

type itemEvent struct {
	Output int        `json:"output_index"`
	Item   outputItem `json:"item"`
}

type responseEvent struct {
	Response responseObject `json:"response"`
}

func (w *responsesWire) event(c *call, a *answer, name string, data []byte) (bool, error) {
	if string(data) == "[DONE]" {
		return w.eof(a), nil
	}
	if name == "" {
		var typed struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(data, &typed); err != nil {
			return false, err
		}
		name = typed.Type
	}
	switch name {
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta", "response.reasoning_text.delta",
		"response.reasoning_summary_part.added", "response.function_call_arguments.delta":
		return false, w.delta(a, name, data)
	case "response.output_item.added", "response.output_item.done":
		var e itemEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return false, err
		}
		return false, w.item(a, e.Output, e.Item, name == "response.output_item.done")
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		var e responseEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return false, err
		}
		return true, w.end(c, a, e.Response)
	case "error":
		return true, c.problemError(0, parseProblem(data))
	}
	var ignored json.RawMessage
	return false, json.Unmarshal(data, &ignored)
}

func (*responsesWire) delta(a *answer, name string, data []byte) error {
	var e deltaEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	switch name {
	case "response.output_text.delta", "response.refusal.delta":
		return a.add(slot{KindAssistant, e.Output}, e.Delta)
	case "response.function_call_arguments.delta":
		if err := a.call(e.Output, "", ""); err != nil {
			return err
		}
		return a.arguments(e.Output, e.Delta)
	case "response.reasoning_summary_part.added":
		if e.Summary > 0 {
			return a.add(slot{KindReasoning, e.Output}, "\n\n")
		}
		return nil
	}
	return a.add(slot{KindReasoning, e.Output}, e.Delta)
}

// item takes an item at its begin, or at its end, where it is authoritative.
func (*responsesWire) item(a *answer, index int, i outputItem, done bool) error {
	switch i.Type {
	case "function_call":
		if err := a.call(index, i.CallID, i.Name); err != nil {
			return err
		}
		if !done || i.Status == "incomplete" {
			return nil
		}
		a.finishCall(index)
		return a.settle(slot{KindToolCall, index}, i.Arguments)
	case "message":
		if !done {
			return nil
		}
		s := slot{KindAssistant, index}
		if err := a.settle(s, i.text()); err != nil {
			return err
		}
		if i.Phase != "" && i.text() != "" {
			a.attach(s, keptMessage{Phase: i.Phase})
		}
	case "reasoning":
		if !done {
			return nil
		}
		return reasoningDone(a, slot{KindReasoning, index}, i)
	}
	return nil
}

func reasoningDone(a *answer, s slot, i outputItem) error {
	if err := a.settle(s, i.thoughts()); err != nil {
		return err
	}
	if i.Encrypted == "" && len(i.Content) == 0 {
		return nil // nothing that could be sent back
	}
	if i.Summary == nil {
		i.Summary = []contentPart{}
	}
	a.attach(s, keptReasoning{Type: "reasoning", ID: i.ID, Summary: i.Summary, Content: i.Content, Encrypted: i.Encrypted})
	return nil
}

// end takes the last event. It repeats all items, so what was not streamed comes from there.
func (w *responsesWire) end(c *call, a *answer, r responseObject) error {
	a.model = r.Model
	a.usage = r.Usage.counted()
	for index, i := range r.Output {
		if err := w.item(a, index, i, true); err != nil {
			return err
		}
	}
	switch r.Status {
	case "failed", "cancelled":
		p, _ := parseInner(r.Error)
		return c.problemError(0, p)
	case "incomplete":
		if a.stopped = r.Incomplete.Reason; a.stopped == "" {
			a.stopped = "unknown"
		}
	}
	return nil
}

func (w *responsesWire) whole(c *call, a *answer, data []byte) error {
	var r responseObject
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	return w.end(c, a, r)
}

// eof is never the end of an answer: it has a last event.
func (*responsesWire) eof(*answer) bool { return false }
