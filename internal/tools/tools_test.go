// This file holds the helpers of the tests and checks what all tools share.

package tools

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

// rig is an Env over a fake sandbox, with what came out of it.
type rig struct {
	t    *testing.T
	box  *fake.Sandbox
	env  Env
	live map[string]string
}

func newRig(t *testing.T, files map[string]string) *rig {
	r := &rig{t: t, box: fake.New(files), live: map[string]string{}}
	r.env = Env{
		Sandbox: r.box, Blobs: blob.NewMem(), Plans: DirPlans{Dir: t.TempDir()},
		OnOutput: func(stream string, data []byte) {
			r.live[stream] += string(data)
		},
	}
	return r
}

// call makes a call with arguments that are marshalled.
func call(id, name string, args any) Call {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Call{EffectID: id, Name: name, Arguments: string(data)}
}

// run runs a call that must not give an error, and checks what holds for every result.
func (r *rig) run(ctx context.Context, c Call) Result {
	r.t.Helper()
	result, err := Run(ctx, r.env, c)
	require.NoError(r.t, err)
	requireSound(r.t, c, result)
	return result
}

func requireSound(t *testing.T, c Call, result Result) {
	t.Helper()
	most := MaxModelBytes
	if c.Name == readFile {
		most = MaxReadBytes
	}
	require.NotEmpty(t, result.Status)
	require.NotEmpty(t, result.ForModel)
	require.True(t, utf8.ValidString(result.ForModel))
	require.LessOrEqual(t, len(result.ForModel), most)
	require.LessOrEqual(t, len(result.Diff), MaxDiffBytes)
	if result.Output != nil {
		require.True(t, utf8.ValidString(result.Output.Head+result.Output.Tail))
		require.LessOrEqual(t, len(result.Output.Head), 2*MaxPreviewBytes)
		require.LessOrEqual(t, len(result.Output.Tail), MaxPreviewBytes)
	}
}

// blob returns what a reference of a result names.
func (r *rig) blob(result Result, name string) string {
	r.t.Helper()
	require.Contains(r.t, result.Refs, name)
	data, err := blob.ReadAll(context.Background(), r.env.Blobs, blob.Ref(result.Refs[name]), 1<<30)
	require.NoError(r.t, err)
	return string(data)
}

type obj = map[string]any

func TestDefinitions(t *testing.T) {
	for _, tool := range Definitions() {
		_, err := json.Marshal(tool.Parameters)
		require.NoError(t, err)
		require.Equal(t, "object", tool.Parameters["type"])
		require.Equal(t, false, tool.Parameters["additionalProperties"])
		for _, name := range tool.Parameters["required"].([]string) {
			require.Contains(t, tool.Parameters["properties"], name)
		}
		require.Less(t, len(tool.Description), 800)
		result := newRig(t, nil).run(context.Background(), Call{Name: tool.Name, Arguments: `{"nonsense":1}`})
		require.Contains(t, result.Error, "nonsense", "every tool says which argument it does not know")
	}
	require.True(t, ReadOnly("list"))
	require.False(t, ReadOnly("exec_command"))
}

func TestWrongCalls(t *testing.T) {
	cases := []struct{ name, tool, arguments, want string }{
		{"unknown tool", "rm", `{}`, `there is no tool "rm"; the tools are exec_command`},
		{"cut arguments", execCommand, `{"command":"ls`, "the JSON text ends early"},
		{"wrong type", execCommand, `{"command":5}`, "command cannot be a number"},
		{"no object", execCommand, `[]`, "they are a array"},
		{"two values", execCommand, `{"command":"ls"}{}`, "more than one JSON value"},
		{"wrong name", execCommand, `{"cmd":"ls"}`, `it takes an object with: background, command, network, timeout_ms`},
		{"empty command", execCommand, `{"command":" \n"}`, "the command is empty"},
		{"NUL", execCommand, `{"command":"a\u0000"}`, "NUL"},
		{"negative time", execCommand, `{"command":"ls","timeout_ms":-1}`, "negative"},
		{"huge command", execCommand, `{"command":"` + strings.Repeat("x", maxCommandBytes+1) + `"}`, "more than 256 KiB"},
		{"no command id", writeStdin, ``, "use the id that exec_command returned"},
		{"no path", readFile, ``, "give a path"},
		{"no pattern", search, `{}`, "give a pattern"},
		{"no patch", applyPatch, `{}`, "the patch is empty"},
		{"negative depth", list, `{"depth":-1}`, "give a depth"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result := newRig(t, nil).run(context.Background(), Call{EffectID: "e", Name: c.tool, Arguments: c.arguments})
			require.Equal(t, editors.ItemFailed, result.Status)
			require.Contains(t, result.Error, c.want)
			require.Equal(t, "Error: "+result.Error, result.ForModel)
		})
	}
}

func TestErrorsForTheCaller(t *testing.T) {
	for _, class := range []sandbox.Class{sandbox.ClassUnavailable, sandbox.ClassUnknown, sandbox.ClassCanceled} {
		r := newRig(t, map[string]string{"a": "x\n"})
		r.box.Fail("Stat", sandbox.Errorf(class, "stat", "no"))
		_, err := Run(context.Background(), r.env, call("e", readFile, obj{"path": "a"}))
		require.Equal(t, class, sandbox.ClassOf(err))
	}
	r := newRig(t, map[string]string{"a": "x\n"})
	r.box.Fail("Stat", sandbox.Errorf(sandbox.ClassDenied, "stat", "not yours"))
	require.Contains(t, r.run(context.Background(), call("e", readFile, obj{"path": "a"})).Error, "not yours")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, r.env, call("e", readFile, obj{"path": "a"}))
	require.Equal(t, sandbox.ClassCanceled, sandbox.ClassOf(err))
}

func TestLongArgumentsAreKept(t *testing.T) {
	r := newRig(t, nil)
	long := call("e", applyPatch, obj{"patch": "*** Add File: a\n+" + strings.Repeat("x", MaxArguments)})
	result := r.run(context.Background(), long)
	require.Equal(t, editors.ItemCompleted, result.Status)
	require.Equal(t, long.Arguments, r.blob(result, "arguments"))
}

func TestBeatsWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var beats atomic.Int32
		r.env.Beat = func() { beats.Add(1) }
		r.box.Program("wait", func(*fake.Process) int { time.Sleep(10500 * time.Millisecond); return 0 })
		r.run(t.Context(), call("e", execCommand, obj{"command": "wait"}))
		require.EqualValues(t, 10, beats.Load())
		time.Sleep(time.Minute)
		require.EqualValues(t, 10, beats.Load(), "no beat after the end")
	})
}

func TestCutting(t *testing.T) {
	const text = "aé€😀z"
	for n := range len(text) + 2 {
		head, tail := Head(text, n), Tail(text, n)
		require.True(t, utf8.ValidString(head) && len(head) <= n, "%d %q", n, head)
		require.True(t, utf8.ValidString(tail) && len(tail) <= n, "%d %q", n, tail)
		require.True(t, strings.HasPrefix(text, head) && strings.HasSuffix(text, tail))
		require.Less(t, min(n, len(text))-len(head), utf8.UTFMax)
		whole := wholeRunes([]byte(text[:min(n, len(text))]))
		require.Equal(t, head, text[:whole])
	}
	require.Empty(t, Head(text, 0))
	require.Empty(t, Head(text, -5))
	require.Empty(t, Tail(text, -5))
	require.Equal(t, 4, wholeRunes([]byte("\xff\xff\xff\xff")), "garbage is not waited for")
	require.Equal(t, "\uFFFDa\uFFFD", valid("\xff\xfea\x00"))

	head, left := headLines("a\nb\nc", 4)
	require.Equal(t, "a\nb\n", head)
	require.Equal(t, 1, left)
	head, left = headLines("a\nb\n", 4)
	require.Equal(t, "a\nb\n", head)
	require.Zero(t, left)
	require.Equal(t, "1,234,567", thousands(1234567))
	require.Equal(t, "123", thousands(123))
}

func TestPlain(t *testing.T) {
	require.Equal(t, "red\n100%\ntitle", plain("\x1b[1;31mred\x1b[0m\r\n10%\r50%\r100%\n\x1b]0;x\x07title"))
}

func TestSubject(t *testing.T) {
	cases := []struct {
		name string
		call Call
		want string
	}{
		{"command", call("", execCommand, obj{"command": "make test"}), "make test"},
		{"command elsewhere", call("", execCommand, obj{"command": "make", "workdir": "web"}), "(in web) make"},
		{"lines", call("", execCommand, obj{"command": "a\nb\n"}), "a ⏎ b"},
		{"hidden characters", call("", execCommand, obj{"command": "a\x1b[2K\u202eb\r"}), `a\x1b[2K\u202eb`},
		{"look", call("", writeStdin, obj{"command_id": "c"}), "look at command c"},
		{"input", call("", writeStdin, obj{"command_id": "c", "input": "y\n", "eof": true}), `write "y\n" to, end the input of command c`},
		{"kill", call("", writeStdin, obj{"command_id": "c", "kill": true}), "kill command c"},
		{"resize", call("", writeStdin, obj{"command_id": "c", "rows": 40, "cols": 120}), "resize the terminal of command c"},
		{"patch", call("", applyPatch, obj{"patch": "*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: d e\n"}), "add a, move b to c, delete d e"},
		{"broken patch", call("", applyPatch, obj{"patch": "x"}), "a patch that cannot be read: the patch names no file"},
		{"read", call("", readFile, obj{"path": "a/b"}), "a/b"},
		{"list", call("", list, obj{}), "."},
		{"search", call("", search, obj{"pattern": "x", "path": "src"}), "x in src"},
		{"unknown", Call{Name: "rm", Arguments: "{}"}, "rm {}"},
		{"broken", Call{Name: execCommand, Arguments: `{"command":`}, `exec_command {"command":`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, Subject(c.call), c.want)
			require.NotContains(t, Subject(c.call), "\n")
		})
	}
	long := Subject(call("", execCommand, obj{"command": strings.Repeat("é", maxSubject)}))
	require.Contains(t, long, "4,096 bytes more")
}

func TestDirPlans(t *testing.T) {
	ctx := context.Background()
	plans := DirPlans{Dir: t.TempDir() + "/new/dir"}
	_, ok, err := plans.Load(ctx, "k")
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, plans.Save(ctx, "k", []byte("1")))
	require.NoError(t, plans.Save(ctx, "../k/\x00", []byte("2")))
	require.NoError(t, plans.Save(ctx, "k", []byte("3")))
	data, ok, err := plans.Load(ctx, "k")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "3", string(data))
	require.Error(t, DirPlans{Dir: "/dev/null/x"}.Save(ctx, "k", nil))
}
