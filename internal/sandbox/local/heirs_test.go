// This file tests that what runs outlives a change of what helpers are shut off from, and nothing is begun under the old one.

package local

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// guarded is a sandbox whose helpers are shut off from a file that the test replaces.
type guarded struct {
	*testing.T
	b      *Backend
	ws     string
	secret string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	g := &guarded{T: t, b: newBackend(t), ws: t.TempDir(), secret: filepath.Join(home, ".netrc")}
	write(t, g.secret, "secret-0")
	return g
}

// replace saves the secret as many programs do: under another name first.
func (g *guarded) replace(text string) {
	g.Helper()
	write(g, g.secret+".new", text)
	require.NoError(g, os.Rename(g.secret+".new", g.secret))
}

// again opens the sandbox as the next worker does.
func (g *guarded) again() sandbox.Sandbox {
	g.Helper()
	next, err := New(g.b.opts)
	require.NoError(g, err)
	sb, err := next.Open(g.Context(), sandbox.Spec{ID: "s1", Workspace: g.ws})
	require.NoError(g, err)
	g.Cleanup(func() { _ = sb.Close() })
	return sb
}

// hanging starts a command that ends when the test lets it, and prints then.
func (g *guarded) hanging(sb sandbox.Sandbox, id string) (letGo func()) {
	g.Helper()
	file := "let-go-" + id
	require.NoError(g, sb.Start(g.Context(), id, sandbox.Command{Script: "until [ -e " + file + " ]; do sleep 0.02; done; echo done " + id}))
	return func() { write(g, filepath.Join(g.ws, file), "") }
}

func TestARunningCommandOutlivesAChangeOfGuards(t *testing.T) {
	g, mark := newGuarded(t), marker(t)
	first := open(t, g.b, "s1", g.ws)
	_, _ = script(t, first, "left", "sleep "+mark+" & echo")
	require.NoError(t, first.Apply(t.Context(), "edit", []sandbox.Edit{{Path: "f", Content: []byte("1")}}))
	letGo := g.hanging(first, "a")
	require.NoError(t, first.Start(t.Context(), "b", sandbox.Command{Script: "read x; echo got $x; sleep " + mark, Stdin: true}))

	g.replace("secret-1")
	next := g.again()
	require.NoError(t, next.Start(t.Context(), "a", sandbox.Command{Script: "echo twice"}))
	_, out := script(t, next, "new", "cat "+g.secret+"; echo looked")
	require.Equal(t, "looked\n", out, "what is begun now is shut off from what is there now")
	require.NoError(t, next.Apply(t.Context(), "edit", []sandbox.Edit{{Path: "f", Content: []byte("2")}}))
	one, err := next.ReadFile(t.Context(), "f", 0, 10)
	require.NoError(t, err)
	require.Equal(t, "1", string(one.Data), "the edits of one effect are made once")
	running, err := next.Commands(t.Context())
	require.NoError(t, err)
	require.Len(t, running, 3, "those of all helpers: %v", running)

	third := g.again()
	require.NoError(t, third.Input(t.Context(), "b", []byte("input\n"), false))
	st, err := third.Wait(t.Context(), "b", sandbox.Offsets{}, patience)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateRunning, st.State)
	require.Equal(t, "got input\n", read(t, third, "b", sandbox.Stdout))
	require.NoError(t, third.Kill(t.Context(), "b"))
	letGo()
	st = await(t, third, "a")
	require.Equal(t, sandbox.StateExited, st.State)
	require.Equal(t, "done a\n", read(t, third, "a", sandbox.Stdout))

	fourth := g.again()
	require.Empty(t, processes("sleep\x00"+mark), "with its last command the former helper ends, and what its commands left")
	require.Equal(t, "done a\n", read(t, fourth, "a", sandbox.Stdout), "what it recorded is still there")
	require.True(t, await(t, fourth, "b").Killed)
}

func TestChangesOfGuardsAreBounded(t *testing.T) {
	g := newGuarded(t)
	sb := open(t, g.b, "s1", g.ws)
	var letGo []func()
	for n := range maxHeirs + 1 {
		letGo = append(letGo, g.hanging(sb, strconv.Itoa(n)))
		g.replace("secret-" + strconv.Itoa(n+1))
		sb = g.again()
	}
	require.NotEqual(t, 0, await(t, sb, "0").ExitCode, "with one change too many the oldest ends, and says so")
	for n := 1; n <= maxHeirs; n++ {
		letGo[n]()
		require.Equal(t, 0, await(t, sb, strconv.Itoa(n)).ExitCode, n)
	}
	_, out := script(t, sb, "new", "cat "+g.secret+"; echo looked")
	require.Equal(t, "looked\n", out)
	g.replace("last")
	require.NoError(t, g.again().Close())
	eventually(t, func() bool { // one helper is left, the first
		first := processes(g.b.stateDir("s1") + "\x00")
		return len(first) > 0 && len(processes(g.b.stateDir("s1"))) == len(first)
	})
}

func TestAHelperThatDoesNotAnswerIsNotEnded(t *testing.T) {
	b, state := &Backend{}, t.TempDir()
	require.False(t, b.runs(t.Context(), state), "none was ever there")
	listener, err := net.Listen("unix", filepath.Join(state, "sock"))
	require.NoError(t, err)
	write(t, filepath.Join(state, "socket"), "sock")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	require.True(t, b.runs(t.Context(), state), "it hangs up, and may run something")
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	require.False(t, b.runs(t.Context(), state), "nobody listens")
}
