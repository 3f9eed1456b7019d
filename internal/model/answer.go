// This file assembles an answer from the pieces of a stream, within bounds, whatever wire they come by.

package model

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
)

// What one answer may hold; more is an ErrMalformed.
const (
	maxText      = 8 << 20 // bytes of text and reasoning
	maxArguments = 4 << 20 // bytes of arguments of all tool calls
	maxEntries   = 1024
)

// slot is one entry that is being assembled. It is named by its kind and the provider's index.
type slot struct {
	kind  Kind
	index int
}

type part struct {
	entry Entry
	text  strings.Builder
	whole bool // a tool call whose arguments are all there
}

// answer collects the entries of one response and reports every piece as it comes.
type answer struct {
	provider string
	key      string
	onDelta  func(Delta)
	taken    map[string]bool // call ids that are in use in this conversation
	slots    map[slot]int
	parts    []*part
	text     int
	args     int
	usage    Usage
	model    string
	stopped  string // why it is incomplete
	started  bool   // something was reported
}

func newAnswer(req Request, provider, key string, onDelta func(Delta)) *answer {
	a := &answer{provider: provider, key: key, onDelta: onDelta, taken: map[string]bool{}, slots: map[slot]int{}}
	for _, e := range req.Input {
		if e.Kind == KindToolCall {
			a.taken[e.CallID] = true
		}
	}
	return a
}

func (a *answer) report(at int, data string) {
	a.started = true
	if a.onDelta == nil {
		return
	}
	e := &a.parts[at].entry
	a.onDelta(Delta{Entry: at, Kind: e.Kind, CallID: e.CallID, Name: e.Name, Data: data})
}

// at returns the place of a slot, made when it is new.
func (a *answer) at(s slot) (int, error) {
	if at, ok := a.slots[s]; ok {
		return at, nil
	}
	at := len(a.parts)
	if at == maxEntries {
		return 0, tooBig("entries", maxEntries)
	}
	a.slots[s] = at
	a.parts = append(a.parts, &part{entry: Entry{Kind: s.kind}})
	return at, nil
}

// add appends a piece of text, or of reasoning, to a slot.
func (a *answer) add(s slot, data string) error {
	if data == "" {
		return nil
	}
	if a.text += len(data); a.text > maxText {
		return tooBig("text", maxText)
	}
	at, err := a.at(s)
	if err != nil {
		return err
	}
	a.parts[at].text.WriteString(data)
	a.report(at, data)
	return nil
}

// call makes sure that a tool call stands in its slot and has a name and an id that is unique in the conversation; servers
// that give none, or the same one again, get one from us.
func (a *answer) call(index int, id, name string) error {
	s := slot{KindToolCall, index}
	if _, known := a.slots[s]; known {
		if e := &a.parts[a.slots[s]].entry; e.Name == "" {
			e.Name = cleanText(name)
		}
		return nil
	}
	if id = cleanText(id); id == "" || a.taken[id] {
		id = "call_" + rand.Text()
	}
	a.taken[id] = true
	at, err := a.at(s)
	if err != nil {
		return err
	}
	a.parts[at].entry.CallID, a.parts[at].entry.Name = id, cleanText(name)
	a.report(at, "")
	return nil
}

// arguments appends to the arguments of a call.
func (a *answer) arguments(index int, data string) error {
	if data == "" {
		return nil
	}
	if a.args += len(data); a.args > maxArguments {
		return tooBig("arguments", maxArguments)
	}
	at, err := a.at(slot{KindToolCall, index})
	if err != nil {
		return err
	}
	a.parts[at].text.WriteString(data)
	a.report(at, data)
	return nil
}

// settle makes the text of a slot what the provider says it is in the end, reporting what was not streamed.
func (a *answer) settle(s slot, final string) error {
	at, known := a.slots[s]
	if !known && final == "" {
		return nil
	}
	var streamed string
	if known {
		streamed = a.parts[at].text.String()
	}
	rest, ok := strings.CutPrefix(final, streamed)
	if !ok {
		a.parts[at].text.Reset()
		if a.text += len(final); a.text > 2*maxText {
			return tooBig("text", maxText)
		}
		a.parts[at].text.WriteString(final)
		return nil
	}
	if s.kind == KindToolCall {
		return a.arguments(s.index, rest)
	}
	return a.add(s, rest)
}

// finishCall marks a call whole: its arguments will not grow.
func (a *answer) finishCall(index int) {
	if at, ok := a.slots[slot{KindToolCall, index}]; ok {
		a.parts[at].whole = true
	}
}

// attach keeps what only the provider understands. Anything with the key in it is not kept.
func (a *answer) attach(s slot, raw any) {
	data, err := json.Marshal(raw)
	if err != nil || (a.key != "" && strings.Contains(string(data), a.key)) {
		return
	}
	at, err := a.at(s)
	if err != nil {
		return
	}
	e := &a.parts[at].entry
	e.Provider, e.Raw = a.provider, data
}

// response returns what there is. Calls that are not whole are left out: nobody may run them.
func (a *answer) response() Response {
	r := Response{Usage: a.usage, Model: a.model, Incomplete: a.stopped}
	for _, p := range a.parts {
		e := p.entry
		switch {
		case e.Kind != KindToolCall:
			e.Text = cleanText(p.text.String())
		case p.whole && e.Name != "":
			if e.Arguments = cleanText(p.text.String()); strings.TrimSpace(e.Arguments) == "" {
				e.Arguments = "{}"
			}
		default:
			continue
		}
		r.Entries = append(r.Entries, e)
	}
	return r
}

func tooBig(what string, limit int) *Error {
	return &Error{
		Kind:    ErrMalformed,
		Message: fmt.Sprintf("The model's answer has more %s than the limit of %d allows.", what, limit),
		Remedy:  "Ask for a smaller step, or choose another model.",
	}
}
