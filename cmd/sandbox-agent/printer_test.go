// This file tests what people get to see, against golden text.

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

var update = flag.Bool("update", false, "write the golden files")

// script is what a session can go through, for people to look at.
func script() []editors.Event {
	zero, two := 0, 2
	delta := func(item string, attempt int, n int64, text string) editors.Event {
		return editors.Event{Type: editors.ItemDelta, ItemID: item, Attempt: attempt, N: n, Stream: "text", Data: text}
	}
	item := func(t editors.EventType, i editors.Item) editors.Event {
		i.TurnID = 1
		return editors.Event{Type: t, Item: &i}
	}
	message := func(id string) editors.Item { return editors.Item{ID: id, Kind: editors.AgentMessage} }
	whole := func(id, text string) editors.Item {
		return editors.Item{ID: id, Kind: editors.AgentMessage, Status: editors.ItemCompleted, Text: text}
	}
	return []editors.Event{
		item(editors.ItemEnded, editors.Item{ID: "u", Kind: editors.UserMessage, Text: "Fix it.\nPlease."}),
		{Type: editors.StateChanged, State: &editors.State{Status: editors.StatusRunning, Reason: "Waiting for the model (retry 2 of 5: 429)"}},
		item(editors.ItemStarted, message("m1")),
		delta("m1", 1, 0, "I will lo"), delta("m1", 1, 1, "ok at \x1b[31mit"), delta("m1", 1, 3, "lost"),
		item(editors.ItemEnded, whole("m1", "I will look at \x1b[31mit first.")),
		item(editors.ItemStarted, message("m2")),
		delta("m2", 1, 0, "First try"), delta("m2", 2, 0, "Second"), delta("m2", 1, 1, " stale"), delta("m2", 2, 1, " try"),
		item(editors.ItemEnded, whole("m2", "Second try.")),
		item(editors.ItemStarted, editors.Item{ID: "t1", Kind: editors.ToolCall, Tool: "exec_command", Text: "go test ./...", Arguments: `{"cmd":"go test ./...\n"}`}),
		item(editors.ItemEnded, editors.Item{
			ID: "t1", Kind: editors.ToolCall, Tool: "exec_command", Text: "go test ./...", Arguments: `{"cmd":"go test ./..."}`, Status: editors.ItemCompleted,
			ExitCode: &two, DurationMs: 1530, Output: &editors.Output{Head: "a", Tail: strings.Repeat("line\n", 12) + "FAIL\x07\n", TotalBytes: 5000},
		}),
		item(editors.ItemStarted, editors.Item{ID: "t2", Kind: editors.ToolCall, Tool: "exec_command", Text: "ls -l", Arguments: `{"command":["ls","-l"]}`}),
		item(editors.ItemStarted, editors.Item{ID: "t3", Kind: editors.ToolCall, Tool: "apply_patch", Arguments: `*** Begin`}),
		item(editors.ItemEnded, editors.Item{
			ID: "t2", Kind: editors.ToolCall, Tool: "exec_command", Text: "ls -l", Arguments: `{"command":["ls","-l"]}`, Status: editors.ItemCompleted,
			ExitCode: &zero, Output: &editors.Output{Head: "a.go\n", TotalBytes: 5},
		}),
		item(editors.ItemEnded, editors.Item{
			ID: "t3", Kind: editors.ToolCall, Tool: "apply_patch", Arguments: `*** Begin`, Status: editors.ItemCompleted,
			Diff: "--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-old\n+new\n",
		}),
		item(editors.ItemEnded, editors.Item{ID: "t4", Kind: editors.ToolCall, Tool: "read_file", Text: "/etc", Arguments: `{"path":"/etc"}`, Status: editors.ItemDenied, Error: "Denied by vscode."}),
		item(editors.ItemEnded, editors.Item{ID: "t5", Kind: editors.ToolCall, Tool: "exec_command", Text: "npm run dev", Status: editors.ItemCompleted, Background: true}),
		item(editors.ItemEnded, editors.Item{
			ID: "t5", Kind: editors.ToolCall, Tool: "exec_command", Text: "npm run dev", Status: editors.ItemInterrupted, Background: true,
			StoppedBy: "vscode", Error: "Stopped by the user (vscode) after 12.0 s with all it started.",
		}),
		item(editors.ItemEnded, editors.Item{ID: "n", Kind: editors.Notice, Text: "The conversation was shortened."}),
		{Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnInterrupted},
	}
}

func TestTextPrinter(t *testing.T) {
	for name, term := range map[string]terminal{"plain": {}, "colour": {output: true, colour: true}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := newTextPrinter(&app{stdout: &out, stderr: &out, term: term}, 0, "")
			for _, e := range script() {
				require.NoError(t, p.event(editors.EventMessage{Event: e}))
				require.NoError(t, p.lull())
			}
			patch := editors.Item{ID: "p", Kind: editors.ToolCall, Tool: editors.PatchTool, Text: "change f", Arguments: `{"patch":"*** Update File: f\n@@\n-old\n+new\u001b[2J\n"}`}
			require.NoError(t, p.event(editors.EventMessage{Event: editors.Event{Type: editors.ItemStarted, Item: &patch}}))
			require.NoError(t, p.approval(editors.Approval{ItemID: "p", Tool: editors.PatchTool, Subject: "change f"}))
			require.NoError(t, p.approval(editors.Approval{Tool: "exec_command", Subject: "rm -rf build\nls", Reason: "It deletes files."}))
			golden(t, name, out.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestPlain(t *testing.T) {
	require.Equal(t, "a[31mb\tc\nd", plain("a\x1b[31mb\tc\nd\r\x00\u202e\u009b"))
	require.Equal(t, "a b c…", oneLine("a\nb  c d e", 6))
	require.Equal(t, `a\x1b[31m\nb\u202e é`, line("a\x1b[31m\nb\u202e é"))
	require.Equal(t, "one\n  two", block("one\ntwo", "  "))
	for given, want := range map[string]string{
		"a b/é.go": "a b/é.go", "": `""`, " a": `" a"`, "a\nb": `"a\nb"`, "\xff": `"\xff"`, `"a"`: `"\"a\""`, "a\u202eb": `"a\u202eb"`, "\ufffd": `"` + "\ufffd" + `"`,
	} {
		require.Equal(t, want, name(given))
	}
	for given, want := range map[string]string{
		"": "", "the folder is full": "The folder is full", "nosuch: it is gone": "nosuch: it is gone", "étoile is gone": "étoile is gone",
		"main.go is gone": "main.go is gone", `"a" is gone`: `"a" is gone`, "git's own": "Git's own",
	} {
		require.Equal(t, want, upperFirst(given))
	}
}

func TestPrintingThatFails(t *testing.T) {
	p := newTextPrinter(&app{stdout: brokenWriter{}, stderr: brokenWriter{}}, 0, "")
	require.Error(t, p.event(editors.EventMessage{Event: editors.Event{Type: editors.ItemEnded, Item: &editors.Item{ID: "n", Kind: editors.Notice}}}))
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }
