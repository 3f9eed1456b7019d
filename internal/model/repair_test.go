// This file tests that any log of entries becomes one that servers accept.

package model

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func said(text string) Entry { return Entry{Kind: KindAssistant, Text: text} }

func asked(text string) Entry { return Entry{Kind: KindUser, Text: text} }

func called(id string) Entry {
	return Entry{Kind: KindToolCall, CallID: id, Name: "tool", Arguments: "{}"}
}

func gave(id, text string) Entry {
	return Entry{Kind: KindToolResult, CallID: id, Name: "tool", Text: text}
}

func thought(provider string) Entry {
	return Entry{Kind: KindReasoning, Text: "hm", Provider: provider, Raw: json.RawMessage(`{"x":1}`)}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want []Entry }{
		"nothing":                  {nil, nil},
		"sound":                    {[]Entry{asked("a"), called("1"), gave("1", "r"), said("b")}, []Entry{asked("a"), called("1"), gave("1", "r"), said("b")}},
		"call without result":      {[]Entry{asked("a"), called("1")}, []Entry{asked("a"), called("1"), gave("1", noResult)}},
		"… before a user message":  {[]Entry{called("1"), asked("b")}, []Entry{called("1"), gave("1", noResult), asked("b")}},
		"result without call":      {[]Entry{asked("a"), gave("9", "r"), said("b")}, []Entry{asked("a"), said("b")}},
		"result before its call":   {[]Entry{gave("1", "r"), called("1")}, []Entry{called("1"), gave("1", noResult)}},
		"late result":              {[]Entry{called("1"), asked("steer"), gave("1", "r")}, []Entry{called("1"), gave("1", "r"), asked("steer")}},
		"results out of order":     {[]Entry{called("1"), called("2"), gave("2", "b"), gave("1", "a")}, []Entry{called("1"), called("2"), gave("1", "a"), gave("2", "b")}},
		"one of two missing":       {[]Entry{called("1"), called("2"), gave("2", "b"), said("x")}, []Entry{called("1"), called("2"), gave("1", noResult), gave("2", "b"), said("x")}},
		"call repeated":            {[]Entry{called("1"), gave("1", "a"), called("1"), gave("1", "b")}, []Entry{called("1"), gave("1", "a")}},
		"result repeated":          {[]Entry{called("1"), gave("1", "a"), gave("1", "b")}, []Entry{called("1"), gave("1", "a")}},
		"call without id or name":  {[]Entry{{Kind: KindToolCall, Name: "tool"}, {Kind: KindToolCall, CallID: "1"}, gave("1", "r")}, nil},
		"empty messages":           {[]Entry{asked(""), said("")}, nil},
		"our reasoning":            {[]Entry{asked("a"), thought("p"), said("b")}, []Entry{asked("a"), thought("p"), said("b")}},
		"reasoning of others":      {[]Entry{asked("a"), thought("q"), said("b")}, []Entry{asked("a"), said("b")}},
		"reasoning at the end":     {[]Entry{asked("a"), thought("p")}, []Entry{asked("a")}},
		"reasoning led to nothing": {[]Entry{thought("p"), asked("a"), said("b")}, []Entry{asked("a"), said("b")}},
		"reasoning without raw":    {[]Entry{{Kind: KindReasoning, Text: "x", Provider: "p"}, said("b")}, []Entry{said("b")}},
		"reasoning, raw not JSON":  {[]Entry{{Kind: KindReasoning, Provider: "p", Raw: json.RawMessage("{")}, said("b")}, []Entry{said("b")}},
		"two thoughts":             {[]Entry{thought("p"), thought("p"), called("1")}, []Entry{thought("p"), thought("p"), called("1"), gave("1", noResult)}},
		"unknown kind":             {[]Entry{{Kind: "new", Text: "x"}, asked("a")}, []Entry{asked("a")}},
		"NUL and broken UTF-8":     {[]Entry{asked("a\x00b\xff")}, []Entry{asked("a\uFFFDb\uFFFD")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprint(c.in)
			require.Equal(t, c.want, repair(c.in, "p"))
			require.Equal(t, before, fmt.Sprint(c.in), "the log itself stays as it is")
		})
	}
}

func TestRepairWithoutProviderDropsAllThatIsRaw(t *testing.T) {
	t.Parallel()
	in := []Entry{thought(""), thought("p"), {Kind: KindAssistant, Text: "b", Raw: json.RawMessage(`{}`)}}
	require.Equal(t, []Entry{said("b")}, repair(in, ""))
}

func TestCleanArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":            "{}",
		"  ":          "{}",
		`{"a": 1}`:    `{"a": 1}`,
		`{"a":`:       `{"malformed":"{\"a\":"}`,
		`[1]`:         `{"malformed":"[1]"}`,
		`null`:        `{"malformed":"null"}`,
		"{\"a\xff\":": `{"malformed":"{\"a�\":"}`,
	} {
		require.Equal(t, want, cleanArguments(in))
	}
}

// FuzzRepair builds a log from bytes and checks what servers insist on.
func FuzzRepair(f *testing.F) {
	f.Add([]byte("uctrsacct"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		out := repair(logFrom(data), "p")
		open := map[string]bool{}
		inResults := false
		for i, e := range out {
			require.True(t, utf8.ValidString(e.Text))
			if e.Kind != KindToolResult && inResults {
				require.Empty(t, open, "something comes before the results of all calls")
			}
			inResults = e.Kind == KindToolResult
			switch e.Kind {
			case KindToolCall:
				require.False(t, open[e.CallID])
				open[e.CallID] = true
				require.True(t, json.Valid([]byte(e.Arguments)))
			case KindToolResult:
				require.True(t, open[e.CallID])
				delete(open, e.CallID)
			case KindReasoning:
				require.Less(t, i+1, len(out))
				require.Contains(t, []Kind{KindAssistant, KindToolCall, KindReasoning}, out[i+1].Kind)
			}
		}
		require.Empty(t, open)
	})
}

func logFrom(data []byte) []Entry {
	kinds := []Kind{KindUser, KindAssistant, KindReasoning, KindToolCall, KindToolResult}
	var entries []Entry
	for _, b := range data {
		id := fmt.Sprint(b / 5 % 4)
		e := Entry{Kind: kinds[b%5], Text: "x" + string(data[:1]), CallID: id, Name: "tool", Arguments: string(data)}
		if b > 100 {
			e.Provider, e.Raw = "p", json.RawMessage(`{}`)
		}
		entries = append(entries, e)
	}
	return entries
}
