// These cases are about calls that go wrong, and about a caller that keeps the rules: what failed is asked for again with
// the same id, input is not. What should happen once then happens once.

package sandboxtest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

const faultsName = "faults"

var faultCases = faults()

// kinds are the faults with the class of the failure that each must show as.
var kinds = map[fake.FaultKind]sandbox.Class{
	fake.Lost: sandbox.ClassUnavailable, fake.LostReply: sandbox.ClassUnknown, fake.Duplicate: "", fake.Slow: sandbox.ClassCanceled,
	fake.DiskFull: sandbox.ClassLimit, fake.Crash: sandbox.ClassUnavailable,
}

func faults() (all []testCase) {
	add := func(op string, run func(e *env, f fake.Fault), steps ...int) {
		for _, kind := range []fake.FaultKind{fake.Lost, fake.LostReply, fake.Duplicate, fake.Slow, fake.DiskFull, fake.Crash} {
			for _, step := range steps {
				f := fake.Fault{Op: op, Kind: kind, Step: step}
				name := op + ", " + string(kind)
				if kind == fake.Crash || kind == fake.DiskFull {
					name += " at step " + itoa(step)
				} else if step > 0 {
					continue // these have no steps
				}
				all = append(all, testCase{name: name, run: func(e *env) { run(e, f) }})
			}
		}
	}
	add("Start", startsOnceInTrouble, 0, 1)
	add("Apply", appliesOnceInTrouble, 0, 1, 2, 3)
	add("Input", writesOnceInTrouble, 0)
	add("Kill", killsInTrouble, 0, 1)
	add("Wait", waitsInTrouble, 0)
	add("Output", readsInTrouble, 0)
	add("ReadFile", readsFilesInTrouble, 0)
	return all
}

// persist makes a call that goes wrong once, as f says, and repeats it until it succeeds.
func (e *env) persist(f fake.Fault, call func(ctx context.Context) error) {
	e.Helper()
	e.Inject(e.box.Ref(), f)
	ctx, cancel := context.WithTimeout(e.Context(), 50*time.Millisecond)
	defer cancel()
	if f.Kind != fake.Slow {
		ctx = e.Context()
	}
	e.class(kinds[f.Kind], call(ctx), f)
	require.NoError(e, call(e.Context()), "asked again")
	require.NoError(e, call(e.Context()), "and again")
}

func startsOnceInTrouble(e *env, f fake.Fault) {
	cmd := sandbox.Command{Script: "echo run >> count; read x; echo got $x", Stdin: true}
	e.persist(f, func(ctx context.Context) error { return e.box.Start(ctx, "c", cmd) })
	if f.Kind == fake.Crash && f.Step > 0 {
		st := e.await("c")
		require.Equal(e, sandbox.StateLost, st.State, "its outcome is unknown, and it is not run again")
		require.NotEmpty(e, st.Failure)
		return
	}
	require.NoError(e, e.box.Input(e.Context(), "c", []byte("it\n"), true))
	require.Zero(e, e.await("c").ExitCode)
	require.Equal(e, "got it\n", e.read("c", sandbox.Stdout))
	require.Equal(e, "run\n", e.get("count"))
}

func appliesOnceInTrouble(e *env, f fake.Fault) {
	e.put("old", "1")
	edits := []sandbox.Edit{
		{Path: "new/a", Content: []byte("a")}, {Path: "old", Before: hash("1"), Content: []byte("2")}, {Path: "b", Content: []byte("b")},
	}
	first := true
	e.persist(f, func(ctx context.Context) error {
		err := e.box.Apply(ctx, "edit", edits)
		if first && (f.Kind == fake.DiskFull || f.Kind == fake.Crash || f.Kind == fake.Lost) {
			e.requireAllOrNone()
		}
		first = false
		return err
	})
	require.Equal(e, "a2b", e.get("new/a")+e.get("old")+e.get("b"))
	e.put("old", "3")
	require.NoError(e, e.box.Apply(e.Context(), "edit", edits))
	require.Equal(e, "3", e.get("old"), "it was made once")
}

// requireAllOrNone checks that of the three edits all or none were made.
func (e *env) requireAllOrNone() {
	e.Helper()
	names, _ := e.list(".", 10, 0)
	switch e.get("old") {
	case "1":
		require.Equal(e, []string{"old"}, names)
	case "2":
		require.Equal(e, []string{"b", "new", "new/a", "old"}, names)
	default:
		require.Fail(e, "neither the old content nor the new one")
	}
}

func writesOnceInTrouble(e *env, f fake.Fault) {
	if f.Kind == fake.Duplicate {
		e.Skip("a duplicated write cannot be told from two; callers and connections never repeat one")
	}
	id := e.start(sandbox.Command{Script: "cat", Stdin: true})
	e.Inject(e.box.Ref(), f)
	ctx, cancel := context.WithTimeout(e.Context(), 50*time.Millisecond)
	defer cancel()
	err := e.box.Input(ctx, id, []byte("x\n"), false)
	e.class(kinds[f.Kind], err)
	switch f.Kind {
	case fake.Crash:
		require.Equal(e, sandbox.StateLost, e.await(id).State)
		return
	case fake.Lost, fake.DiskFull: // nothing was written: it may be tried again
		require.NoError(e, e.box.Input(e.Context(), id, []byte("x\n"), false))
	}
	require.NoError(e, e.box.Input(e.Context(), id, nil, true))
	require.Zero(e, e.await(id).ExitCode)
	require.Equal(e, "x\n", e.read(id, sandbox.Stdout))
}

func killsInTrouble(e *env, f fake.Fault) {
	id := e.start(sh("echo partial; sleep 600"))
	e.awaitOutput(id, "partial")
	e.persist(f, func(ctx context.Context) error { return e.box.Kill(ctx, id) })
	st := e.await(id)
	require.Equal(e, f.Kind == fake.Crash && f.Step == 0, st.State == sandbox.StateLost)
	require.Equal(e, st.State == sandbox.StateExited, st.Killed)
	require.Equal(e, "partial\n", e.read(id, sandbox.Stdout))
}

func waitsInTrouble(e *env, f fake.Fault) {
	id := e.script("echo out; exit 3").id
	var st sandbox.Status
	e.persist(f, func(ctx context.Context) (err error) {
		st, err = e.box.Wait(ctx, id, sandbox.Offsets{}, patience)
		return err
	})
	require.Equal(e, 3, st.ExitCode, "what had ended is not touched")
}

func readsInTrouble(e *env, f fake.Fault) {
	id := e.script("echo out").id
	var chunk sandbox.Chunk
	e.persist(f, func(ctx context.Context) (err error) {
		chunk, err = e.box.Output(ctx, id, sandbox.Stdout, 0, 100)
		return err
	})
	require.Equal(e, "out\n", string(chunk.Data))
}

func readsFilesInTrouble(e *env, f fake.Fault) {
	e.put("f", "x")
	var content sandbox.FileContent
	e.persist(f, func(ctx context.Context) (err error) {
		content, err = e.box.ReadFile(ctx, "f", 0, 10)
		return err
	})
	require.Equal(e, "x", string(content.Data))
}
