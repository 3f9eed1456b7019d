// This file holds the two request formats and the rules the real API has for tool calls, results and reasoning in them.

package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// sealed begins every encrypted reasoning that this server gives out, and that it takes back.
const sealed = "sealed:"

type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	ID        string          `json:"id"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

func parseResponses(body []byte) (*request, *apiError) {
	var b struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Stream       bool            `json:"stream"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Type       string          `json:"type"`
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, invalid("", "Invalid type in the request: %v", err)
	}
	r := &request{model: b.Model, instructions: b.Instructions, stream: b.Stream}
	for _, t := range b.Tools {
		if t.Type != "function" || len(t.Parameters) == 0 {
			return nil, invalid("tools", "Missing required parameter: 'tools[0].parameters'.")
		}
		r.tools = append(r.tools, t.Name)
	}
	var text string
	if json.Unmarshal(b.Input, &text) == nil && text != "" {
		r.items = []turnItem{{role: "user", text: text}}
		return r, nil
	}
	var items []responsesItem
	if json.Unmarshal(b.Input, &items) != nil || len(items) == 0 {
		return nil, invalid("input", "Missing required parameter: 'input'.")
	}
	return r, r.takeItems(items)
}

func (r *request) takeItems(items []responsesItem) *apiError {
	for at, i := range items {
		switch {
		case i.Role == "user" && (i.Type == "" || i.Type == "message"):
			r.items = append(r.items, turnItem{role: "user", text: content(i.Content)})
		case i.Role == "assistant" && (i.Type == "" || i.Type == "message"):
			r.items = append(r.items, turnItem{role: "assistant", text: content(i.Content)})
		case i.Role == "system" || i.Role == "developer":
			r.instructions += content(i.Content)
		case i.Type == "reasoning":
			if e := checkReasoning(i, items[at+1:]); e != nil {
				return e
			}
		case i.Type == "compaction":
			if !strings.HasPrefix(i.Encrypted, sealed) {
				return invalid("input", "The encrypted content of a compaction could not be verified.")
			}
			r.items = append(r.items, turnItem{role: "compaction"})
		case i.Type == "function_call":
			if i.CallID == "" || i.Name == "" || i.Arguments == nil {
				return invalid("input", "Missing required parameter of function_call %d.", at)
			}
			r.items = append(r.items, turnItem{role: "call", tool: i.Name, callID: i.CallID, text: *i.Arguments})
		case i.Type == "function_call_output":
			r.items = append(r.items, turnItem{role: "result", callID: i.CallID, text: content(i.Output)})
		default:
			return invalid("input", "Invalid value: '%s' at input[%d].", i.Type, at)
		}
	}
	return r.checkCalls()
}

func checkReasoning(i responsesItem, after []responsesItem) *apiError {
	switch {
	case i.ID == "" || len(i.Summary) == 0:
		return invalid("input", "Missing required parameter: 'input.id' or 'input.summary' of reasoning.")
	case i.Encrypted == "":
		return &apiError{status: http.StatusNotFound, param: "input", message: "Item with id '" + i.ID +
			"' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."}
	case !strings.HasPrefix(i.Encrypted, sealed):
		e := invalid("input", "The encrypted content %s... could not be verified.", i.Encrypted[:min(4, len(i.Encrypted))])
		e.code = "invalid_encrypted_content"
		return e
	}
	for _, next := range after {
		if next.Type == "reasoning" {
			continue
		}
		if next.Role == "assistant" || next.Type == "function_call" {
			return nil
		}
		break
	}
	return invalid("input", "Item '%s' of type 'reasoning' was provided without its required following item.", i.ID)
}

// checkCalls insists on exactly one result after every call.
func (r *request) checkCalls() *apiError {
	open, seen := map[string]bool{}, map[string]bool{}
	for _, i := range r.items {
		switch i.role {
		case "call":
			if seen[i.callID] {
				return invalid("input", "Duplicate function call with call_id %s.", i.callID)
			}
			open[i.callID], seen[i.callID] = true, true
		case "result":
			if !open[i.callID] {
				return invalid("input", "No tool call found for function call output with call_id %s.", i.callID)
			}
			delete(open, i.callID)
		}
	}
	for id := range open {
		return invalid("input", "No tool output found for function call %s.", id)
	}
	return nil
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func parseChat(body []byte) (*request, *apiError) {
	var b struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Messages []chatMessage `json:"messages"`
		Options  *struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, invalid("", "Invalid type in the request: %v", err)
	}
	r := &request{model: b.Model, stream: b.Stream, usage: b.Options != nil && b.Options.Usage}
	for _, t := range b.Tools {
		r.tools = append(r.tools, t.Function.Name)
	}
	if b.Options != nil && !b.Stream {
		return nil, invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if len(b.Messages) == 0 {
		return nil, invalid("messages", "Invalid 'messages': empty array.")
	}
	return r, r.takeMessages(b.Messages)
}

func (r *request) takeMessages(messages []chatMessage) *apiError {
	open := map[string]bool{}
	for at, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			return unanswered(open)
		}
		switch m.Role {
		case "system", "developer":
			r.instructions += content(m.Content)
		case "user":
			r.items = append(r.items, turnItem{role: "user", text: content(m.Content)})
		case "assistant":
			if e := r.takeAssistant(m, open); e != nil {
				return e
			}
		case "tool":
			if !open[m.ToolCallID] {
				return invalid("messages", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.") //nolint:misspell // so does the real API
			}
			delete(open, m.ToolCallID)
			r.items = append(r.items, turnItem{role: "result", callID: m.ToolCallID, text: content(m.Content)})
		default:
			return invalid("messages", "Invalid value: '%s' at messages[%d].role.", m.Role, at)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func (r *request) takeAssistant(m chatMessage, open map[string]bool) *apiError {
	text := content(m.Content)
	if text == "" && len(m.ToolCalls) == 0 {
		return invalid("messages", "Invalid value for 'content': expected a string, got null.")
	}
	if text != "" {
		r.items = append(r.items, turnItem{role: "assistant", text: text})
	}
	for _, t := range m.ToolCalls {
		if t.ID == "" || t.Function.Name == "" || t.Function.Arguments == nil || !json.Valid([]byte(*t.Function.Arguments)) {
			return invalid("messages", "Missing or invalid parameter of a tool call.")
		}
		open[t.ID] = true
		r.items = append(r.items, turnItem{role: "call", tool: t.Function.Name, callID: t.ID, text: *t.Function.Arguments})
	}
	return nil
}

func unanswered(open map[string]bool) *apiError {
	for id := range open {
		return invalid("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", id)
	}
	return nil
}
