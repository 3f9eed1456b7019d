// This file reads the chunks of Chat Completions, and forgives what servers leave out of them.

package model

import (
	"encoding/json"
	"strings"
)

type chatChunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index   int       `json:"index"`
		Delta   chatDelta `json:"delta"`
		Message chatDelta `json:"message"` // where the answer is not streamed
		Finish  string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input        int64 `json:"prompt_tokens"`
		Output       int64 `json:"completion_tokens"`
		InputDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
}

type chatDelta struct {
	Content          looseText      `json:"content"`
	Refusal          looseText      `json:"refusal"`
	ReasoningContent looseText      `json:"reasoning_content"`
	Reasoning        looseText      `json:"reasoning"`
	ToolCalls        []chatToolCall `json:"tool_calls"`
}

type chatToolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments looseJSON `json:"arguments"`
	} `json:"function"`
}

// looseText is a text, null, or a list of parts with texts; anything else is no text.
type looseText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *looseText) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*t = looseText(text)
		return nil
	}
	var parts []contentPart
	if json.Unmarshal(data, &parts) == nil {
		for _, p := range parts {
			*t += looseText(p.Text)
		}
	}
	return nil
}

// looseJSON is arguments as text, as they should be, or as the object itself.
type looseJSON string

// UnmarshalJSON implements json.Unmarshaler.
func (t *looseJSON) UnmarshalJSON(data []byte) error {
	var text string
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &text) == nil:
		*t = looseJSON(text)
	default:
		*t = looseJSON(data)
	}
	return nil
}

func (w *chatWire) event(c *call, a *answer, _ string, data []byte) (bool, error) {
	if strings.HasPrefix(string(data), "[DONE]") {
		return true, w.end(a)
	}
	var chunk chatChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return false, err
	}
	if p, ok := parseInner(chunk.Error); ok {
		return true, c.problemError(0, p)
	}
	return false, w.take(a, chunk)
}

func (w *chatWire) whole(_ *call, a *answer, data []byte) error {
	var chunk chatChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return err
	}
	if err := w.take(a, chunk); err != nil {
		return err
	}
	return w.end(a)
}

func (w *chatWire) take(a *answer, chunk chatChunk) error {
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	if u := chunk.Usage; u != nil {
		a.usage = Usage{
			InputTokens: u.Input, CachedTokens: u.InputDetails.Cached, OutputTokens: u.Output, ReasoningTokens: u.OutputDetails.Reasoning,
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := w.delta(a, choice.Delta); err != nil {
			return err
		}
		if err := w.delta(a, choice.Message); err != nil {
			return err
		}
		w.finish(a, choice.Finish)
	}
	return nil
}

func (w *chatWire) finish(a *answer, reason string) {
	switch reason {
	case "":
		return
	case "length":
		a.stopped = "max_output_tokens"
	case "content_filter":
		a.stopped = "content_filter"
	}
	w.finished = true
}

func (w *chatWire) delta(a *answer, d chatDelta) error {
	thought, field := d.ReasoningContent, "reasoning_content"
	if thought == "" {
		thought, field = d.Reasoning, "reasoning"
	}
	if thought != "" && w.reasoningField == "" {
		w.reasoningField = field
	}
	if err := a.add(slot{KindReasoning, 0}, string(thought)); err != nil {
		return err
	}
	if err := a.add(slot{KindAssistant, 0}, string(d.Content+d.Refusal)); err != nil {
		return err
	}
	for _, t := range d.ToolCalls {
		index := w.index(t)
		if err := a.call(index, t.ID, t.Function.Name); err != nil {
			return err
		}
		if err := a.arguments(index, string(t.Function.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// noIndex stands for the index of servers that give none.
const noIndex = -1

// index says which tool call a piece belongs to. A new id means a new call, even where a server gives every call the same
// index; a piece with neither index nor id belongs to a new call if it has a name, else to the last.
func (w *chatWire) index(t chatToolCall) int {
	key := noIndex
	if t.Index != nil {
		key = *t.Index
	}
	at, known := w.current[key]
	otherID := known && t.ID != "" && w.ids[at] != "" && w.ids[at] != t.ID
	named := known && key == noIndex && t.ID == "" && t.Function.Name != ""
	if known && !otherID && !named {
		return at
	}
	if w.current == nil {
		w.current = map[int]int{}
	}
	at = len(w.ids)
	w.current[key] = at
	w.ids = append(w.ids, t.ID)
	return at
}

// end marks as whole the calls whose arguments are, and remembers how this server names reasoning.
func (w *chatWire) end(a *answer) error {
	for s, at := range a.slots {
		text := strings.TrimSpace(a.parts[at].text.String())
		if s.kind == KindToolCall && (a.stopped == "" || json.Valid([]byte(text))) {
			a.parts[at].whole = true
		}
	}
	if _, ok := a.slots[slot{KindReasoning, 0}]; ok {
		a.attach(slot{KindReasoning, 0}, keptChatReasoning{Field: w.reasoningField})
	}
	return nil
}

// eof accepts a stream that ends after the finish reason, without [DONE].
func (w *chatWire) eof(a *answer) bool {
	if w.finished {
		_ = w.end(a)
	}
	return w.finished
}
