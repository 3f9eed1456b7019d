// This file reads the conversation out of a request of either wire, as strictly as the real API.

package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	wireResponses = "responses"
	wireChat      = "chat"
)

// turnItem is one entry of a conversation: a user or assistant message, a tool call, or a tool result.
type turnItem struct {
	role   string // user, assistant, call, result
	text   string
	tool   string
	callID string
}

// request is what both wires ask for.
type request struct {
	wire         string
	model        string
	instructions string
	stream       bool
	usage        bool // chat: usage was asked for
	items        []turnItem
	tools        []string
}

// apiError is an error as the real API words it.
type apiError struct {
	status               int
	code, param, message string
}

func invalid(param, format string, args ...any) *apiError {
	return &apiError{status: 400, param: param, message: fmt.Sprintf(format, args...)}
}

// parseRequest reads and checks a body.
func parseRequest(wire string, body []byte) (*request, *apiError) {
	if !utf8.Valid(body) || strings.Contains(string(body), `\u0000`) {
		return nil, invalid("", "We could not parse the JSON body of your request.")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return nil, invalid("", "We could not parse the JSON body of your request.")
	}
	if e := checkParameters(wire, fields); e != nil {
		return nil, e
	}
	parse := parseChat
	if wire == wireResponses {
		parse = parseResponses
	}
	r, e := parse(body)
	if e != nil {
		return nil, e
	}
	if r.model == "" {
		return nil, invalid("model", "you must provide a model parameter")
	}
	r.wire = wire
	return r, checkTools(r.tools)
}

const commonParameters = " model stream stream_options tools tool_choice parallel_tool_calls store metadata temperature top_p user " +
	"prompt_cache_key safety_identifier service_tier top_logprobs "

var parameters = map[string]string{
	wireResponses: commonParameters + "input instructions include reasoning max_output_tokens max_tool_calls previous_response_id " +
		"text truncation background ",
	wireChat: commonParameters + "messages reasoning_effort max_tokens max_completion_tokens n stop seed response_format logprobs " +
		"verbosity ",
}

func checkParameters(wire string, fields map[string]json.RawMessage) *apiError {
	for name := range fields {
		if !strings.Contains(parameters[wire], " "+name+" ") {
			e := invalid(name, "Unknown parameter: '%s'.", name)
			e.code = "unknown_parameter"
			return e
		}
	}
	var key string
	_ = json.Unmarshal(fields["prompt_cache_key"], &key)
	if len(key) > 64 {
		return invalid("prompt_cache_key", "Invalid 'prompt_cache_key': string too long.")
	}
	return nil
}

func checkTools(names []string) *apiError {
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return invalid("tools", "Invalid tool name '%s'.", name)
		}
		if seen[name] {
			return invalid("tools", "Tool names must be unique: '%s'.", name)
		}
		seen[name] = true
	}
	return nil
}

// since returns the items after the last user message.
func (r *request) since() []turnItem {
	for i := len(r.items) - 1; i >= 0; i-- {
		if r.items[i].role == "user" {
			return r.items[i+1:]
		}
	}
	return r.items
}

func (r *request) lastUser() string {
	for i := len(r.items) - 1; i >= 0; i-- {
		if r.items[i].role == "user" {
			return r.items[i].text
		}
	}
	return ""
}

// lastResult is the last tool result since the last user message.
func (r *request) lastResult() (text, tool string) {
	for _, i := range r.since() {
		if i.role == "result" {
			text, tool = i.text, r.toolOf(i.callID)
		}
	}
	return text, tool
}

func (r *request) toolOf(callID string) string {
	for _, i := range r.items {
		if i.role == "call" && i.callID == callID {
			return i.tool
		}
	}
	return ""
}

func (r *request) turn() int {
	n := 0
	for _, i := range r.items {
		if i.role == "user" {
			n++
		}
	}
	return n
}

// step counts the rounds of tool results since the last user message.
func (r *request) step() int {
	n, before := 0, ""
	for _, i := range r.since() {
		if i.role == "result" && before != "result" {
			n++
		}
		before = i.role
	}
	return n
}

// content reads a text, or a list of parts with texts.
func content(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}
