// This file writes an answer as the chunks, or the one object, of Chat Completions, with the habits of compatible servers.

package modeltest

import (
	"encoding/json"
	"iter"
)

type chatWriter struct {
	f     filled
	model string
	q     Quirks
	chunk int
	yield func(frame) bool
}

func (w *chatWriter) send(delta object, finish any, counts bool) bool {
	return w.yield(frame{delta: counts, data: object{
		"id": "chatcmpl-" + w.f.id, "object": "chat.completion.chunk", "created": 1750000000, "model": w.model,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}},
	}})
}

func (w *chatWriter) text(field, text string) bool {
	for piece := range pieces(text, w.chunk) {
		if !w.send(object{field: piece}, nil, true) {
			return false
		}
	}
	return true
}

func (q Quirks) reasoningField() string {
	if q.ReasoningField == "" {
		return "reasoning_content"
	}
	return q.ReasoningField
}

// chatFrames streams an answer.
func chatFrames(f filled, r *request, q Quirks, chunk int, fault *Fault) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		w := &chatWriter{f: f, model: r.model, q: q, chunk: chunk, yield: yield}
		ok := w.send(object{"role": "assistant", "content": ""}, nil, false) &&
			w.text(q.reasoningField(), f.Reasoning) && w.text("content", f.Text) && w.text("refusal", f.Refusal)
		for i, c := range f.calls {
			ok = ok && w.call(i, c)
		}
		switch {
		case !ok:
		case fault != nil && fault.Failed:
			yield(frame{data: object{"error": object{"message": fault.Message, "code": fault.Code}}})
		case w.send(object{}, finishReason(f), false) && r.usage && !q.NoUsage:
			yield(frame{data: object{
				"id": "chatcmpl-" + f.id, "object": "chat.completion.chunk", "created": 1750000000, "model": r.model,
				"choices": []any{}, "usage": chatUsage(f),
			}})
		}
	}
}

func (w *chatWriter) call(index int, c filledCall) bool {
	chunk := w.chunk
	if w.q.WholeArguments || w.q.ObjectArgs {
		chunk = max(len(c.arguments), 1)
	}
	first := true
	for piece := range pieces(c.arguments, chunk) {
		function := object{"arguments": any(piece)}
		if w.q.ObjectArgs {
			function["arguments"] = json.RawMessage(piece)
		}
		call := object{"index": index, "function": function}
		if first {
			call["id"], call["type"], function["name"] = c.id, "function", c.name
		}
		if w.q.NoIDs {
			delete(call, "id")
		}
		if w.q.NoIndex {
			delete(call, "index")
		}
		first = false
		if !w.send(object{"tool_calls": []object{call}}, nil, true) {
			return false
		}
	}
	return true
}

func finishReason(f filled) string {
	switch {
	case f.Incomplete == "max_output_tokens":
		return "length"
	case f.Incomplete != "":
		return f.Incomplete
	case len(f.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(f filled) object {
	return object{
		"prompt_tokens": f.Usage.Input, "completion_tokens": f.Usage.Output, "total_tokens": f.Usage.Input + f.Usage.Output,
		"prompt_tokens_details":     object{"cached_tokens": f.Usage.Cached},
		"completion_tokens_details": object{"reasoning_tokens": f.Usage.Reasoning},
	}
}

// chatObject is an answer that is not streamed.
func chatObject(f filled, model string, q Quirks) object {
	message := object{"role": "assistant", "content": f.Text, "refusal": nil}
	if f.Refusal != "" {
		message["refusal"] = f.Refusal
	}
	if f.Reasoning != "" {
		message[q.reasoningField()] = f.Reasoning
	}
	var calls []object
	for _, c := range f.calls {
		call := object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments}}
		if q.NoIDs {
			delete(call, "id")
		}
		calls = append(calls, call)
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	o := object{
		"id": "chatcmpl-" + f.id, "object": "chat.completion", "created": 1750000000, "model": model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finishReason(f), "logprobs": nil}},
	}
	if !q.NoUsage {
		o["usage"] = chatUsage(f)
	}
	return o
}
