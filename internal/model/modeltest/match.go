// This file finds the rule for a request and fills in what its answer takes from the request.

package modeltest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// beside tells whether a request is one that a session makes beside its turns, for a title or a summary. Only rules that ask
// for instructions answer it, so that scripts of turns need not know of them.
func (r *request) beside() bool {
	return strings.HasPrefix(r.instructions, "You name conversations ") || strings.HasPrefix(r.instructions, "You summarise the work ")
}

func (m Match) matches(r *request, nth int) bool {
	if r.beside() && m.Instructions == "" {
		return false
	}
	result, tool := r.lastResult()
	return same(m.Wire, r.wire) && same(m.Model, r.model) && same(m.LastTool, tool) &&
		strings.Contains(r.lastUser(), m.LastUser) && strings.Contains(result, m.LastToolResult) &&
		strings.Contains(r.instructions, m.Instructions) && m.inAny(r) &&
		equal(m.Turn, r.turn()) && equal(m.Step, r.step()) && equal(m.Nth, nth)
}

func same(want, got string) bool { return want == "" || want == got }

func equal(want *int, got int) bool { return want == nil || *want == got }

func (m Match) inAny(r *request) bool {
	if m.Contains == "" {
		return true
	}
	for _, i := range r.items {
		if strings.Contains(i.text, m.Contains) {
			return true
		}
	}
	return false
}

// filled is an answer ready to be sent.
type filled struct {
	Answer
	calls []filledCall
	id    string // unique per turn and step of a conversation
}

type filledCall struct{ id, name, arguments string }

// fill replaces the templates of an answer by what the request says.
func fill(a Answer, r *request, q Quirks) filled {
	result, _ := r.lastResult()
	values := strings.NewReplacer(
		"{{lastUser}}", r.lastUser(), "{{lastToolResult}}", result,
		"{{turn}}", strconv.Itoa(r.turn()), "{{step}}", strconv.Itoa(r.step()),
	)
	f := filled{Answer: a, id: fmt.Sprintf("%d_%d", r.turn(), r.step())}
	f.Text = values.Replace(a.Text) + strings.Repeat("x", a.HugeTextBytes)
	f.Reasoning = values.Replace(a.Reasoning)
	for i, t := range a.ToolCalls {
		c := filledCall{id: t.CallID, name: t.Name, arguments: arguments(t.Arguments, values)}
		if c.id == "" {
			c.id = fmt.Sprintf("call_%s_%d", f.id, i)
		}
		if q.SameIDs {
			c.id = fmt.Sprintf("call_%d", i)
		}
		if i == 0 {
			c.arguments += strings.Repeat("x", a.HugeArgumentBytes)
		}
		f.calls = append(f.calls, c)
	}
	if f.Usage == nil {
		f.Usage = madeUpUsage(f, r)
	}
	return f
}

// arguments fills templates within the strings of an object, or passes a string on as it is.
func arguments(raw json.RawMessage, values *strings.Replacer) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	if text, ok := v.(string); ok {
		return values.Replace(text)
	}
	data, err := json.Marshal(fillStrings(v, values))
	if err != nil {
		return string(raw)
	}
	return string(data)
}

func fillStrings(v any, values *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return values.Replace(v)
	case []any:
		for i := range v {
			v[i] = fillStrings(v[i], values)
		}
	case map[string]any:
		for k := range v {
			v[k] = fillStrings(v[k], values)
		}
	}
	return v
}

func madeUpUsage(f filled, r *request) *Usage {
	in := len(r.instructions)
	for _, i := range r.items {
		in += len(i.text)
	}
	return &Usage{Input: int64(in/4) + 1, Output: int64(len(f.Text)/4) + 1}
}
