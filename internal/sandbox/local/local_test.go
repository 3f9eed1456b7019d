// This file sets the tests up: the test binary is the helper too, and a worker that can be killed.

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
	"sandboxagent/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if helper.Invoked(os.Args) {
		os.Exit(helper.Main(os.Args[1:]))
	}
	sandboxtest.Worker(fromDescription)
	os.Exit(m.Run())
}

func selfPath() string {
	p, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return p
}

func newBackend(t testing.TB) *Backend {
	t.Helper()
	return newBackendWith(t, confine.DefaultLevel)
}

// newBackendWith makes a backend of a level, enforced in one of the ways, where not any will do.
func newBackendWith(t testing.TB, level confine.Level, ways ...confine.Method) *Backend {
	t.Helper()
	b, err := New(Options{
		StateDir: filepath.Join(t.TempDir(), "state"), HelperBinary: selfPath(), HostID: "host", Confinement: level, Methods: ways,
	})
	require.NoError(t, err)
	if err := b.Available(t.Context()); err != nil {
		t.Skipf("not possible here: %v", err)
	}
	return b
}

// open opens a sandbox that is destroyed at the end of the test, after which no process of it may be left.
func open(t testing.TB, b *Backend, id, workspace string) sandbox.Sandbox {
	t.Helper()
	sb, err := b.Open(t.Context(), sandbox.Spec{ID: id, Workspace: workspace})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = sb.Close()
		require.NoError(t, b.Destroy(context.Background(), sb.Ref()))
		eventually(t, func() bool { return len(processes(b.stateDir(id))) == 0 })
		left, err := filepath.Glob(b.stateDir(id) + "*")
		require.NoError(t, err)
		require.Empty(t, left)
	})
	return sb
}

func newSandbox(t testing.TB) (sandbox.Sandbox, string) {
	t.Helper()
	ws := t.TempDir()
	return open(t, newBackend(t), "s1", ws), ws
}

// run starts a command, waits for its end and returns its status and standard output.
func run(t testing.TB, sb sandbox.Sandbox, id string, cmd sandbox.Command) (sandbox.Status, string) {
	t.Helper()
	require.NoError(t, sb.Start(t.Context(), id, cmd))
	st := await(t, sb, id)
	return st, read(t, sb, id, sandbox.Stdout)
}

func script(t testing.TB, sb sandbox.Sandbox, id, text string) (sandbox.Status, string) {
	t.Helper()
	return run(t, sb, id, sandbox.Command{Script: text})
}

const patience = 60 * time.Second

func await(t testing.TB, sb sandbox.Sandbox, id string) sandbox.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after sandbox.Offsets
	for {
		st, err := sb.Wait(ctx, id, after, patience)
		require.NoError(t, err, id)
		if st.State != sandbox.StateRunning {
			return st
		}
		after = st.Total
	}
}

func read(t testing.TB, sb sandbox.Sandbox, id string, s sandbox.Stream) string {
	t.Helper()
	var out []byte
	var at int64
	for {
		c, err := sb.Output(t.Context(), id, s, at, 1<<20)
		require.NoError(t, err)
		out = append(out, c.Data...)
		at = c.Offset + int64(len(c.Data))
		if c.EOF || len(c.Data) == 0 {
			return string(out)
		}
	}
}

// eventually waits for a condition that nothing announces.
func eventually(t testing.TB, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(t, "the condition never held")
		}
	}
}

// processes returns the live processes whose command line holds text.
func processes(text string) []int {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", d.Name(), "cmdline"))
		if err != nil || len(cmdline) == 0 { // gone, or a zombie
			continue
		}
		if bytes.Contains(cmdline, []byte(text)) {
			out = append(out, pid)
		}
	}
	return out
}

// helperOf returns the process id of the one helper of a sandbox.
func helperOf(t testing.TB, b *Backend, id string) int {
	t.Helper()
	return helperIn(t, b.stateDir(id))
}

// helperIn returns the one helper of a state directory: not bubblewrap above it, nor a child just forked, which looks like it
// until it executes its own program.
func helperIn(t testing.TB, state string) (pid int) {
	t.Helper()
	eventually(t, func() bool {
		found := slices.DeleteFunc(processes(state), func(p int) bool {
			cmdline, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "cmdline"))
			program, _, _ := strings.Cut(string(cmdline), "\x00")
			return err != nil || filepath.Base(program) == "bwrap" || !strings.Contains(string(cmdline), "\x00serve\x00")
		})
		found = slices.DeleteFunc(slices.Clone(found), func(p int) bool { return slices.Contains(found, parent(p)) })
		if len(found) == 1 {
			pid = found[0]
		}
		return len(found) == 1
	})
	return pid
}

// parent returns the parent of a process, 0 if it is gone.
func parent(pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return 0
	}
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return ppid
}

// marker returns a number of seconds that identifies the sleeps of one test.
func marker(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("3%09d", time.Now().UnixNano()%1e9)
}

func class(err error) sandbox.Class {
	var e *sandbox.Error
	if err != nil && !errors.As(err, &e) {
		return "not a sandbox.Error"
	}
	return sandbox.ClassOf(err)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}
