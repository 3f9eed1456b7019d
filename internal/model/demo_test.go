// This file tests the demo model with tools that work on a map of files: what it calls, and that it reports what really happened.

package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
)

// folder answers tool calls; numbered makes read_file number the lines.
type folder struct {
	files    map[string]string
	numbered bool
}

func (f *folder) call(t *testing.T, e model.Entry) string {
	t.Helper()
	var a map[string]string
	require.NoError(t, json.Unmarshal([]byte(e.Arguments), &a))
	switch e.Name {
	case "list":
		return strings.Join(slices.Sorted(maps.Keys(f.files)), "\n")
	case "read_file":
		return f.read(a["path"])
	case "search":
		return "main.go:1: found " + a["pattern"]
	case "exec_command":
		return "output of " + a["command"] + "\nexit code: 0"
	case "apply_patch":
		return f.patch(a["patch"])
	}
	t.Fatalf("unknown tool %s", e.Name)
	return ""
}

func (f *folder) read(path string) string {
	text, ok := f.files[path]
	if !ok {
		return "Error: read file " + path + ": there is no such file or directory"
	}
	switch {
	case text == "":
		return path + " is empty.\n"
	case path == "secret":
		return "Error: the user did not allow this call"
	case !f.numbered:
		return text
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
	}
	return b.String()
}

// patch applies one file's patch where its old lines occur exactly once.
func (f *folder) patch(patch string) string {
	lines := strings.Split(strings.TrimSuffix(patch, "\n"), "\n")
	op, file, _ := strings.Cut(lines[1], " File: ")
	var before, after []string
	for _, line := range lines[2 : len(lines)-1] {
		switch line[0] {
		case ' ':
			before, after = append(before, line[1:]), append(after, line[1:])
		case '-':
			before = append(before, line[1:])
		case '+':
			after = append(after, line[1:])
		}
	}
	if op == "*** Add" {
		f.files[file] = strings.Join(after, "\n") + "\n"
		return "added " + file
	}
	old := strings.Join(before, "\n")
	if strings.Count(f.files[file], old) != 1 && old != "" {
		return "conflict"
	}
	f.files[file] = strings.Replace(f.files[file], old, strings.Join(after, "\n"), 1)
	return "updated " + file
}

var demoTools = []model.Tool{{Name: "list"}, {Name: "read_file"}, {Name: "search"}, {Name: "exec_command"}, {Name: "apply_patch"}}

// converse runs a turn to its end and returns the names of the tools that were called and the answer.
func converse(t *testing.T, f *folder, input []model.Entry) (called []string, answer string, whole []model.Entry) {
	t.Helper()
	m, err := model.New(model.Options{DemoDelay: -1}).Get(model.DemoModel)
	require.NoError(t, err)
	for range 20 {
		deltas := gathered{}
		req := model.Request{Input: input, Tools: demoTools}
		r, err := m.Respond(t.Context(), req, deltas.take)
		require.NoError(t, err)
		deltas.sameAs(t, r.Entries)
		again, err := m.Respond(t.Context(), req, nil)
		require.NoError(t, err)
		require.Equal(t, r, again, "the same request gets the same answer")
		input = append(slices.Clone(input), r.Entries...)
		last := r.Entries[len(r.Entries)-1]
		if last.Kind != model.KindToolCall {
			return called, last.Text, input
		}
		called = append(called, last.Name)
		input = append(input, model.Entry{Kind: model.KindToolResult, CallID: last.CallID, Text: f.call(t, last)})
	}
	t.Fatal("it does not end")
	return nil, "", nil
}

const mainGo = "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n"

func TestDemo(t *testing.T) {
	t.Parallel()
	for ask, c := range map[string]struct {
		tools string
		says  []string
		file  string // which must afterwards hold …
		holds string
	}{
		"List the files":                               {tools: "list", says: []string{"README.md", "main.go", "demo model"}},
		"what's here?":                                 {tools: "list", says: []string{"main.go"}},
		"Please list the files in the folder":          {tools: "list", says: []string{"main.go"}},
		"read main.go":                                 {tools: "read_file", says: []string{"println", "5 lines"}},
		"Show me main.go.":                             {tools: "read_file", says: []string{"println"}},
		"What does `main.go` do?":                      {tools: "read_file", says: []string{"println"}},
		"show the README":                              {tools: "read_file", says: []string{"could not read"}},
		"read missing.txt":                             {tools: "read_file", says: []string{"could not read", "no such file"}},
		"run `go test ./...`":                          {tools: "exec_command", says: []string{"output of go test ./...", "exit code 0"}},
		"Could you execute \"date\" please":            {tools: "exec_command", says: []string{"output of date"}},
		"let's run 'go vet' since it's short":          {tools: "exec_command", says: []string{"output of go vet"}},
		"run it, it's what's needed":                   {tools: "list read_file"},
		"search for `hello`":                           {tools: "search", says: []string{"found hello"}},
		"replace `hello` with `hi there` in main.go":   {tools: "read_file apply_patch", says: []string{"updated main.go"}, file: "main.go", holds: "println(\"hi there\")"},
		"Replace \"absent\" by \"x\" in main.go":       {tools: "read_file", says: []string{"does not contain"}},
		"create file notes/todo.txt with `first`":      {tools: "read_file apply_patch", says: []string{"added"}, file: "notes/todo.txt", holds: "first\n"},
		"create a file main.go with `x`":               {tools: "read_file", says: []string{"exists already"}, file: "main.go", holds: "println"},
		"append `// the end` to main.go":               {tools: "read_file apply_patch", file: "main.go", holds: "}\n// the end\n"},
		"Append a line “z” to the end of empty.txt.":   {tools: "read_file apply_patch", file: "empty.txt", holds: "z"},
		"append `x` to empty.txt":                      {tools: "read_file apply_patch", file: "empty.txt", holds: "x"},
		"read secret/../secret and show ./secret":      {tools: "read_file read_file", says: []string{"could not read"}},
		"create file secret with `x`":                  {tools: "read_file", says: []string{"could not see", "did not allow"}},
		"append `x` to missing.txt":                    {tools: "read_file", says: []string{"could not read"}},
		"tell me a joke":                               {tools: "list read_file", says: []string{"main.go", "A sample"}},
		"":                                             {tools: "list read_file", says: []string{"README.md"}},
		"list files, then run `date` and read main.go": {tools: "list exec_command read_file", says: []string{"README.md", "output of date", "println"}},
		"replace `hello` with `a. and run` in main.go. Then run `go vet`.": {tools: "read_file apply_patch exec_command", file: "main.go", holds: "a. and run"},
	} {
		for _, numbered := range []bool{false, true} {
			t.Run(fmt.Sprint(ask, numbered), func(t *testing.T) {
				t.Parallel()
				f := &folder{files: map[string]string{"README.md": "# A sample\n", "main.go": mainGo, "empty.txt": "", "odd.txt": "it was not found\n", "secret": "s"}, numbered: numbered}
				called, answer, _ := converse(t, f, user(ask))
				require.Equal(t, c.tools, strings.Join(called, " "))
				for _, part := range append(c.says, "demo model") {
					require.Contains(t, answer, part)
				}
				if c.file != "" {
					require.Contains(t, f.files[c.file], c.holds)
				}
			})
		}
	}
}

func TestDemoReadsTheReadmeAtTheTopOnly(t *testing.T) {
	t.Parallel()
	m, err := model.New(model.Options{DemoDelay: -1}).Get(model.DemoModel)
	require.NoError(t, err)
	for listing, want := range map[string]string{
		"docs/\n  README.md\nmain.go":          "",
		"./\n  docs/\n    a\n  Readme.txt 3 B": "Readme.txt",
		"README\nx":                            "README",
		"docs/README.md":                       "",
		"├── docs\n│   └── README.md\n└── a.go": "",
		"[\n  \"README.md\",\n  \"x\"\n]":       "README.md",
	} {
		input := append(user("hello"), model.Entry{Kind: model.KindToolCall, CallID: "1", Name: "list", Arguments: "{}"},
			model.Entry{Kind: model.KindToolResult, CallID: "1", Text: listing})
		r, err := m.Respond(t.Context(), model.Request{Input: input, Tools: demoTools}, nil)
		require.NoError(t, err)
		last := r.Entries[len(r.Entries)-1]
		if want == "" {
			require.Equal(t, model.KindAssistant, last.Kind, listing)
			continue
		}
		require.JSONEq(t, `{"path":"`+want+`"}`, last.Arguments, listing)
	}
}

func TestDemoOverManyTurnsAndSteers(t *testing.T) {
	t.Parallel()
	f := &folder{files: map[string]string{"a.txt": "a\n"}}
	_, _, log := converse(t, f, user("list files"))
	_, answer, log := converse(t, f, append(log, user("run `date`")...))
	require.Contains(t, answer, "output of date")
	log = append(log, user("read a.txt")...)
	log = append(log, model.Entry{Kind: model.KindToolCall, CallID: "x", Name: "read_file", Arguments: `{"path":"a.txt"}`})
	called, answer, log := converse(t, f, append(log, user("no, run `pwd`")...))
	require.Equal(t, []string{"exec_command"}, called)
	require.Contains(t, answer, "output of pwd")
	ids := map[string]bool{}
	for _, e := range log {
		if e.Kind == model.KindToolCall {
			require.False(t, ids[e.CallID], "call ids are unique in a session")
			ids[e.CallID] = true
		}
	}
}

func TestDemoThinksOncePerTurn(t *testing.T) {
	t.Parallel()
	_, _, log := converse(t, &folder{files: map[string]string{"README": "x"}}, user("hello"))
	thoughts := 0
	for _, e := range log {
		if e.Kind == model.KindReasoning {
			thoughts++
		}
	}
	require.Equal(t, 1, thoughts)
}

func TestDemoWithoutTools(t *testing.T) {
	t.Parallel()
	m, err := model.New(model.Options{DemoDelay: -1}).Get(model.DemoModel)
	require.NoError(t, err)
	r, err := m.Respond(t.Context(), model.Request{Input: user("run `date`")}, nil)
	require.NoError(t, err)
	require.Contains(t, textOf(r), "`exec_command`")
}

func TestDemoStopsWhenCanceled(t *testing.T) {
	t.Parallel()
	m, err := model.New(model.Options{DemoDelay: time.Minute}).Get(model.DemoModel)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := m.Respond(ctx, model.Request{Input: user("list files"), Tools: demoTools}, nil)
	require.Equal(t, model.ErrCanceled, failure(t, err).Kind)
	require.Empty(t, r.Entries)
}

func TestDemoQuotesCannotBeBroken(t *testing.T) {
	t.Parallel()
	f := &folder{files: map[string]string{"a.md": "x\n```\n*bold*\n````\ny"}}
	_, answer, _ := converse(t, f, user("read a.md"))
	require.Contains(t, answer, "\n`````\nx\n")
}

// FuzzDemo checks that any request ends, with tools that answer anything.
func FuzzDemo(f *testing.F) {
	f.Add("replace `a` with `b` in c", "     1\ta")
	f.Add("append `` to a.b", "")
	f.Fuzz(func(t *testing.T, ask, result string) {
		m, err := model.New(model.Options{DemoDelay: -1}).Get(model.DemoModel)
		require.NoError(t, err)
		input := user(ask)
		for range 40 {
			r, err := m.Respond(t.Context(), model.Request{Input: input, Tools: demoTools}, nil)
			require.NoError(t, err)
			last := r.Entries[len(r.Entries)-1]
			if last.Kind != model.KindToolCall {
				return
			}
			require.True(t, json.Valid([]byte(last.Arguments)))
			input = append(append(input, r.Entries...), model.Entry{Kind: model.KindToolResult, CallID: last.CallID, Text: result})
		}
		t.Fatal("it does not end")
	})
}
