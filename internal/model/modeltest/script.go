// Package modeltest is a scripted, OpenAI-compatible model server for tests: it speaks the Responses API and Chat Completions,
// streamed or not, answers by rules from a JSON file, checks requests as strictly as the real API, and fails on demand.
//
// A test starts one with Start, hands its URL to whatever it tests as OPENAI_BASE_URL, and may look at Requests afterwards.
// Rules see the conversation in the request, so that answers do not depend on what the server has seen before; only "nth" and
// "fault.times" count.
package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Script says how a Server behaves.
type Script struct {
	// Models is what GET /models lists; "scripted" when empty. Other models are unknown (404) if Strict is set.
	Models []string `json:"models,omitempty"`
	Strict bool     `json:"strict,omitempty"`
	// Wires are the APIs there are: "responses", "chat"; both when empty. Any other answers 404.
	Wires []string `json:"wires,omitempty"`
	// Key, when set, is the only key that is not refused with 401.
	Key    string `json:"key,omitempty"`
	Quirks Quirks `json:"quirks,omitzero"`
	// Compacts: POST /responses/compact answers with the user's messages and a compaction; else 404.
	Compacts bool `json:"compacts,omitempty"`
	// Rules are tried in order; the first that matches answers. A request that none matches gets 400.
	Rules []Rule `json:"rules"`
}

// Quirks are the habits of compatible servers.
type Quirks struct {
	Refuse         []string `json:"refuse,omitempty"`         // top-level or dotted parameters answered with 400
	Vague          bool     `json:"vague,omitempty"`          // … without saying which
	NoImages       bool     `json:"noImages,omitempty"`       // images are answered with 500, as llama.cpp does
	NoIDs          bool     `json:"noIds,omitempty"`          // chat: tool calls without ids
	SameIDs        bool     `json:"sameIds,omitempty"`        // the first tool call of every answer is call_0
	NoIndex        bool     `json:"noIndex,omitempty"`        // chat: tool calls without index
	NoUsage        bool     `json:"noUsage,omitempty"`        // chat: never any usage
	NoDone         bool     `json:"noDone,omitempty"`         // chat: no [DONE] at the end
	NoStream       bool     `json:"noStream,omitempty"`       // answers in one piece although a stream was asked for
	WholeArguments bool     `json:"wholeArguments,omitempty"` // arguments come in one piece
	ObjectArgs     bool     `json:"objectArguments,omitempty"`
	ReasoningField string   `json:"reasoningField,omitempty"` // chat: "reasoning_content" (default) or "reasoning"
}

// Rule answers the requests it matches.
type Rule struct {
	Name     string   `json:"name,omitempty"`
	Match    Match    `json:"match,omitzero"`
	Respond  Answer   `json:"respond,omitzero"`
	Chunking Chunking `json:"chunking,omitzero"`
	Fault    *Fault   `json:"fault,omitempty"`
}

// Match is a conjunction; what is not set matches anything.
type Match struct {
	Wire           string `json:"wire,omitempty"`
	Model          string `json:"model,omitempty"`
	LastUser       string `json:"lastUser,omitempty"`       // part of the last user message
	LastToolResult string `json:"lastToolResult,omitempty"` // part of the last tool result since the last user message
	LastTool       string `json:"lastTool,omitempty"`       // the tool whose result that is
	Contains       string `json:"contains,omitempty"`       // part of any message or result
	Instructions   string `json:"instructions,omitempty"`   // part of the instructions; requests for titles and summaries match only with it
	Turn           *int   `json:"turn,omitempty"`           // user messages so far, from 1
	Step           *int   `json:"step,omitempty"`           // rounds of tool results since the last user message, from 0
	Nth            *int   `json:"nth,omitempty"`            // calls of this server so far, from 1
}

// Answer is what the model says. Texts and argument strings may hold {{lastUser}}, {{lastToolResult}}, {{turn}}, {{step}}.
type Answer struct {
	Reasoning  string     `json:"reasoning,omitempty"`
	Text       string     `json:"text,omitempty"`
	Refusal    string     `json:"refusal,omitempty"`
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`
	Incomplete string     `json:"incomplete,omitempty"` // "max_output_tokens" or "content_filter"
	// HugeTextBytes appends that many bytes to the text, HugeArgumentBytes to the arguments of the first call.
	HugeTextBytes     int `json:"hugeTextBytes,omitempty"`
	HugeArgumentBytes int `json:"hugeArgumentBytes,omitempty"`
}

// ToolCall is a call the model makes. Arguments are an object, or a string that is passed on as it is (also malformed).
type ToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	CallID    string          `json:"callId,omitempty"`
}

// Usage counts tokens; a plausible one is made up where a rule has none.
type Usage struct {
	Input     int64 `json:"input"`
	Cached    int64 `json:"cached,omitempty"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning,omitempty"`
}

// Chunking says how a stream is cut: bytes per delta (16 when 0) and the pause before each.
type Chunking struct {
	Bytes   int `json:"bytes,omitempty"`
	DelayMS int `json:"delayMs,omitempty"`
}

// Fault is how an answer goes wrong. With Times, only the first so many requests that match fail; then the rule answers.
type Fault struct {
	Times int `json:"times,omitempty"`
	// Status answers with an error. Code and Message make its body unless Body is given.
	Status       int             `json:"status,omitempty"`
	RetryAfter   string          `json:"retryAfter,omitempty"` // the header as it is
	RetryAfterMS int             `json:"retryAfterMs,omitempty"`
	Code         string          `json:"code,omitempty"`
	Message      string          `json:"message,omitempty"`
	Body         json.RawMessage `json:"body,omitempty"`
	// The rest happens in a stream, after so many deltas.
	CutAfterChunks   *int   `json:"cutAfterChunks,omitempty"`   // closes the connection
	EndAfterChunks   *int   `json:"endAfterChunks,omitempty"`   // ends the stream properly, without a last event
	StallAfterChunks *int   `json:"stallAfterChunks,omitempty"` // sends nothing more; -1: not even headers
	ErrorAfterChunks *int   `json:"errorAfterChunks,omitempty"` // an error event with Code and Message
	Failed           bool   `json:"failed,omitempty"`           // ends with response.failed (chat: an error chunk)
	Malformed        string `json:"malformed,omitempty"`        // before the first delta: "json", "unknown", "empty", "comment", "longLine"
}

// Load reads a script from a JSON file. Unknown fields are errors.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, err
	}
	return Parse(data)
}

// Parse reads a script from JSON. Unknown fields are errors.
func Parse(data []byte) (Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("script: %w", err)
	}
	return s, s.check()
}

func (s Script) check() error {
	if len(s.Rules) == 0 {
		return errors.New("script: it has no rules")
	}
	kinds := []string{"", "json", "unknown", "empty", "comment", "longLine"}
	for i, r := range s.Rules {
		if r.Fault != nil && !slices.Contains(kinds, r.Fault.Malformed) {
			return fmt.Errorf("script: rule %d: malformed is none of %q", i, kinds[1:])
		}
		for _, t := range r.Respond.ToolCalls {
			if t.Name == "" || !json.Valid(t.Arguments) {
				return fmt.Errorf("script: rule %d: a tool call needs a name and arguments", i)
			}
		}
	}
	return nil
}
