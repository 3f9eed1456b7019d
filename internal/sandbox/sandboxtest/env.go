// This file is what a case works with: a sandbox, a directory in it, and short ways to use both.

package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// patience is how long a condition may take that holds at once on an idle machine.
const patience = 90 * time.Second

type env struct {
	*testing.T
	Target
	box  sandbox.Sandbox
	caps sandbox.Capabilities
	dir  string // of the case, relative to the workspace
	ids  *counter
}

type counter struct{ n atomic.Int64 }

// id returns a new id for a command or an effect.
func (e *env) id() string { return fmt.Sprintf("%s #%d", e.Name(), e.ids.n.Add(1)) }

// at returns a path in the directory of the case.
func (e *env) at(name string) string { return path.Join(e.dir, name) }

// result is what came of a command.
type result struct {
	sandbox.Status
	id  string
	out string
	err string
}

// start starts a command in the directory of the case and returns its id.
func (e *env) start(cmd sandbox.Command) string {
	e.Helper()
	if cmd.Dir == "" {
		cmd.Dir = e.dir
	}
	id := e.id()
	require.NoError(e, e.box.Start(e.Context(), id, cmd))
	return id
}

// run runs a command to its end.
func (e *env) run(cmd sandbox.Command) result {
	e.Helper()
	id := e.start(cmd)
	return result{Status: e.await(id), id: id, out: e.read(id, sandbox.Stdout), err: e.read(id, sandbox.Stderr)}
}

// script runs a script to its end.
func (e *env) script(text string) result {
	e.Helper()
	return e.run(sandbox.Command{Script: text})
}

// succeed runs a script that must succeed and returns what it printed.
func (e *env) succeed(text string) string {
	e.Helper()
	r := e.script(text)
	require.Zero(e, r.ExitCode, "%s%s", r.err, r.Failure)
	return r.out
}

// await waits for the end of a command.
func (e *env) await(id string) sandbox.Status {
	e.Helper()
	return awaitIn(e.T, e.box, id)
}

func awaitIn(t *testing.T, box sandbox.Sandbox, id string) sandbox.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after sandbox.Offsets
	for {
		st, err := box.Wait(ctx, id, after, patience)
		require.NoError(t, err)
		require.Equal(t, id, st.ID)
		if st.State != sandbox.StateRunning {
			return st
		}
		after = st.Total
	}
}

// awaitOutput waits until the standard output of a command contains text, and returns it.
func (e *env) awaitOutput(id, text string) string {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	var after sandbox.Offsets
	for {
		out := e.read(id, sandbox.Stdout)
		if strings.Contains(out, text) {
			return out
		}
		st, err := e.box.Wait(ctx, id, after, patience)
		require.NoError(e, err)
		if st.State != sandbox.StateRunning {
			require.Contains(e, e.read(id, sandbox.Stdout), text, "%+v", st)
		}
		after = st.Total
	}
}

// read reads what is kept of a stream.
func (e *env) read(id string, stream sandbox.Stream) string {
	e.Helper()
	var out []byte
	for at := int64(0); ; {
		c, err := e.box.Output(e.Context(), id, stream, at, 1<<20)
		require.NoError(e, err)
		require.GreaterOrEqual(e, c.Offset, at)
		out = append(out, c.Data...)
		at = c.Offset + int64(len(c.Data))
		if c.EOF || len(c.Data) == 0 {
			return string(out)
		}
	}
}

// put makes a file in the directory of the case, or replaces it.
func (e *env) put(name, content string) {
	e.Helper()
	require.NoError(e, e.apply(sandbox.Edit{Path: e.at(name), Before: "*", Content: []byte(content)}))
}

// apply makes edits under an id of their own.
func (e *env) apply(edits ...sandbox.Edit) error {
	return e.box.Apply(e.Context(), e.id(), edits)
}

// get reads a file in the directory of the case, up to 8 MiB of it.
func (e *env) get(name string) string {
	e.Helper()
	f, err := e.box.ReadFile(e.Context(), e.at(name), 0, 8<<20)
	require.NoError(e, err)
	return string(f.Data)
}

// root is what the workspace is called inside the sandbox.
func (e *env) root() string {
	e.Helper()
	r := e.run(sandbox.Command{Script: "pwd", Dir: "."})
	require.Zero(e, r.ExitCode, "%+v", r)
	return strings.TrimSuffix(r.out, "\n")
}

// class requires that an error is of a class; "" is none.
func (e *env) class(want sandbox.Class, err error, about ...any) {
	e.Helper()
	if err != nil {
		var known *sandbox.Error
		require.True(e, errors.As(err, &known), "every error is a sandbox.Error: %v", err)
		require.NotEmpty(e, known.Op, "%v", err)
	}
	require.Equal(e, want, sandbox.ClassOf(err), append([]any{"%v: %v"}, fmt.Sprint(about...), err)...)
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(t, "it never came to be", what)
		}
	}
}

// destroy destroys a sandbox at the end of a test.
func (e *env) destroy(ref sandbox.Ref) {
	_ = e.box.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(e, e.Backend.Destroy(ctx, ref))
	if e.Gone != nil {
		e.Gone(e.T, ref)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
