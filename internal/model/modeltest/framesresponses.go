// This file writes an answer as the events, or the one object, of the Responses API.

package modeltest

import (
	"encoding/json"
	"fmt"
	"iter"
)

type object = map[string]any

// frame is one event of a stream. Deltas are what faults count.
type frame struct {
	name  string // of the event; empty on the chat wire
	data  any
	delta bool
}

// pieces cuts a text into chunks of at most n bytes that do not split a character.
func pieces(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for at := range text {
			if at-from >= n {
				if !yield(text[from:at]) {
					return
				}
				from = at
			}
		}
		if from < len(text) {
			yield(text[from:])
		}
	}
}

// outputs returns the items of an answer: reasoning, message, calls.
func outputs(f filled) []object {
	var items []object
	if f.Reasoning != "" {
		items = append(items, object{
			"type": "reasoning", "id": "rs_" + f.id, "status": nil, "encrypted_content": sealed + f.id,
			"summary": []object{{"type": "summary_text", "text": f.Reasoning}},
		})
	}
	if f.Text != "" {
		items = append(items, object{
			"type": "message", "id": "msg_" + f.id, "role": "assistant", "status": "completed", "phase": "final_answer",
			"content": []object{{"type": "output_text", "text": f.Text, "annotations": []any{}}},
		})
	}
	if f.Refusal != "" {
		items = append(items, object{
			"type": "message", "id": "msg_r_" + f.id, "role": "assistant", "status": "completed",
			"content": []object{{"type": "refusal", "refusal": f.Refusal}},
		})
	}
	for i, c := range f.calls {
		items = append(items, object{
			"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", f.id, i), "status": "completed",
			"call_id": c.id, "name": c.name, "arguments": c.arguments,
		})
	}
	return items
}

func responseObject(f filled, model, status string, output []object) object {
	if output == nil {
		output = []object{}
	}
	o := object{
		"id": "resp_" + f.id, "object": "response", "created_at": 1750000000, "status": status, "model": model, "output": output,
		"error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "store": false, "metadata": object{}, "tools": []any{},
	}
	if status == "in_progress" {
		return o
	}
	if f.Incomplete != "" && status != "failed" {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": f.Incomplete}
	}
	o["usage"] = object{
		"input_tokens": f.Usage.Input, "input_tokens_details": object{"cached_tokens": f.Usage.Cached},
		"output_tokens": f.Usage.Output, "output_tokens_details": object{"reasoning_tokens": f.Usage.Reasoning},
		"total_tokens": f.Usage.Input + f.Usage.Output,
	}
	return o
}

// eventWriter numbers the events of a stream.
type eventWriter struct {
	n     int
	yield func(frame) bool
}

func (w *eventWriter) send(name string, delta bool, fields object) bool {
	fields["type"], fields["sequence_number"] = name, w.n
	w.n++
	return w.yield(frame{name: name, data: fields, delta: delta})
}

// responsesFrames streams an answer.
func responsesFrames(f filled, model string, chunk int, fault *Fault) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		w := &eventWriter{yield: yield}
		begun := responseObject(f, model, "in_progress", nil)
		if !w.send("response.created", false, object{"response": begun}) || !w.send("response.in_progress", false, object{"response": begun}) {
			return
		}
		items := outputs(f)
		for index, item := range items {
			if !w.item(index, item, chunk) {
				return
			}
		}
		if fault != nil && fault.Failed {
			failed := responseObject(f, model, "failed", nil)
			failed["error"] = object{"code": fault.Code, "message": fault.Message}
			w.send("response.failed", false, object{"response": failed})
			return
		}
		name := "response.completed"
		if f.Incomplete != "" {
			name = "response.incomplete"
		}
		w.send(name, false, object{"response": responseObject(f, model, "completed", items)})
	}
}

func (w *eventWriter) item(index int, item object, chunk int) bool {
	added := object{}
	for k, v := range item {
		added[k] = v
	}
	added["status"] = "in_progress"
	for _, later := range []string{"content", "summary"} {
		if _, has := added[later]; has {
			added[later] = []any{}
		}
	}
	delete(added, "encrypted_content")
	if _, has := added["arguments"]; has {
		added["arguments"] = ""
	}
	return w.send("response.output_item.added", false, object{"output_index": index, "item": added}) &&
		w.body(index, item, chunk) &&
		w.send("response.output_item.done", false, object{"output_index": index, "item": item})
}

func (w *eventWriter) body(index int, item object, chunk int) bool {
	place := func(more object) object {
		o := object{"item_id": item["id"], "output_index": index}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	stream := func(name, text string, more object) bool {
		for piece := range pieces(text, chunk) {
			o := place(more)
			o["delta"] = piece
			if !w.send(name, true, o) {
				return false
			}
		}
		return true
	}
	if text, isCall := item["arguments"].(string); isCall {
		return stream("response.function_call_arguments.delta", text, nil) &&
			w.send("response.function_call_arguments.done", false, place(object{"arguments": text, "name": item["name"]}))
	}
	kind, at, in := "response.content_part", "content_index", "content"
	if item["type"] == "reasoning" {
		kind, at, in = "response.reasoning_summary_part", "summary_index", "summary"
	}
	parts, _ := item[in].([]object)
	if len(parts) == 0 {
		return true
	}
	where, part := object{at: 0}, parts[0]
	name, text := partEvents(part)
	done := place(object{at: 0, "text": text})
	if part["type"] == "refusal" {
		done["refusal"] = text
	}
	empty := object{"type": part["type"], "text": ""}
	return w.send(kind+".added", false, place(object{at: 0, "part": empty})) &&
		stream(name+".delta", text, where) &&
		w.send(name+".done", false, done) &&
		w.send(kind+".done", false, place(object{at: 0, "part": part}))
}

// partEvents returns the name of a part's events and its text.
func partEvents(part object) (name, text string) {
	switch part["type"] {
	case "refusal":
		text, _ = part["refusal"].(string)
		return "response.refusal", text
	case "summary_text":
		text, _ = part["text"].(string)
		return "response.reasoning_summary_text", text
	}
	text, _ = part["text"].(string)
	return "response.output_text", text
}

// encode never fails on what this package builds.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"error":{"message":"the scripted server could not encode its answer"}}`)
	}
	return data
}
