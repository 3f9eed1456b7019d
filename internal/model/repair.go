// This file turns any log of entries, also one cut by a crash or made by another provider, into one that servers accept.

package model

import "encoding/json"

// noResult stands for the output of a call whose real one never got into the log.
const noResult = "No result was recorded for this call."

// repair returns entries as the given provider can take them:
//
//   - every tool call has exactly one result, which follows the run of entries it was made in, before anything else; a missing
//     one is synthesised, an orphaned or repeated one dropped;
//   - reasoning is kept only if this provider made it, can read it again (Raw), and something it led to follows;
//   - a compaction of another provider is the text that is left of it;
//   - texts are valid UTF-8 without NUL, arguments are JSON objects, empty messages are gone.
//
// A run is what a model says between two user messages or tool results. An empty provider drops all reasoning.
// It neither changes nor keeps its argument.
func repair(entries []Entry, provider string) []Entry {
	r := repairer{provider: provider, results: indexResults(entries), calls: map[string]bool{}}
	for i, e := range entries {
		switch e.Kind {
		case KindUser:
			r.endRun()
			r.emitText(e)
		case KindAssistant:
			r.emitText(e)
		case KindReasoning:
			r.reasoning(e)
		case KindToolCall:
			r.call(i, e)
		case KindToolResult:
			r.endRun()
		case KindCompaction:
			r.endRun()
			r.compaction(e)
		}
	}
	r.endRun()
	return r.out
}

type result struct {
	at     int
	text   string
	images []Image
}

// indexResults lists the results of every call id in order.
func indexResults(entries []Entry) map[string][]result {
	results := map[string][]result{}
	for i, e := range entries {
		if e.Kind == KindToolResult && e.CallID != "" {
			results[e.CallID] = append(results[e.CallID], result{i, e.Text, e.Images})
		}
	}
	return results
}

type repairer struct {
	provider string
	results  map[string][]result
	calls    map[string]bool
	out      []Entry
	thoughts []Entry // reasoning that waits for what it led to
	pending  []Entry // results of the calls of this run
}

func (r *repairer) emit(e Entry) {
	r.out = append(r.out, r.thoughts...)
	r.thoughts = r.thoughts[:0]
	r.out = append(r.out, e)
}

func (r *repairer) emitText(e Entry) {
	if e.Text == "" {
		return
	}
	e.Text = cleanText(e.Text)
	r.emit(r.ours(e))
}

// ours drops what another provider attached.
func (r *repairer) ours(e Entry) Entry {
	if r.provider == "" || e.Provider != r.provider || !json.Valid(e.Raw) {
		e.Provider, e.Raw = "", nil
	}
	return e
}

func (r *repairer) reasoning(e Entry) {
	if e = r.ours(e); len(e.Raw) > 0 {
		e.Text = cleanText(e.Text)
		r.thoughts = append(r.thoughts, e)
	}
}

// compaction is kept for who can read it, and is words of the program for others.
func (r *repairer) compaction(e Entry) {
	if own := r.ours(e); len(own.Raw) > 0 {
		r.emit(own)
		return
	}
	r.emitText(Entry{Kind: KindUser, Text: e.Text})
}

func (r *repairer) call(at int, e Entry) {
	if e.CallID == "" || e.Name == "" || r.calls[e.CallID] {
		return
	}
	r.calls[e.CallID] = true
	e.Text, e.Arguments = cleanText(e.Text), cleanArguments(e.Arguments)
	r.emit(r.ours(e))
	told := Entry{Kind: KindToolResult, CallID: e.CallID, Name: e.Name, Text: noResult}
	for _, found := range r.results[e.CallID] {
		if found.at > at {
			told.Text, told.Images = cleanText(found.text), found.images
			break
		}
	}
	r.pending = append(r.pending, told)
}

func (r *repairer) endRun() {
	r.thoughts = r.thoughts[:0]
	r.out = append(r.out, r.pending...)
	r.pending = r.pending[:0]
}
