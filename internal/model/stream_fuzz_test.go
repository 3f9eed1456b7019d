// This file feeds the readers of both wires whatever a server might send: they may refuse it, never fall over it.

package model

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}}`,
		`{"type":"response.output_text.delta","output_index":1,"delta":"x"}` + "\n" + `{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"y"}]}]}}`,
		`{"type":"response.reasoning_summary_part.added","summary_index":3}` + "\n" + `{"type":"error","code":7}`,
		`{"choices":[{"delta":{"content":[{"text":"a"}],"tool_calls":[{"index":-1,"function":{"name":"n","arguments":{"a":1}}},{"id":"x"}]}}]}` + "\n[DONE]",
		`{"choices":[{"delta":{"tool_calls":[{"index":9,"id":"a","function":{}},{"index":9,"id":"b","function":{"name":"m"}}]},"finish_reason":"length"}]}`,
		`{"error":"x"}`, `null`, `[]`, `7`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, w := range []wire{&responsesWire{}, &chatWire{}} {
			c := &call{parent: context.Background(), ctx: context.Background(), connected: true}
			deltas := map[int]int{}
			a := newAnswer(Request{}, "p", "secret", func(d Delta) { deltas[d.Entry]++ })
			for line := range bytes.Lines(stream) {
				if done, err := w.event(c, a, "", bytes.TrimSpace(line)); done || err != nil {
					break
				}
			}
			w.eof(a)
			for _, e := range a.response().Entries {
				require.NotEmpty(t, e.Kind)
				if e.Kind == KindToolCall {
					require.NotEmpty(t, e.CallID)
					require.NotEmpty(t, e.Arguments)
				}
				require.True(t, len(e.Raw) == 0 || json.Valid(e.Raw))
			}
		}
	})
}
