// This file tests that ordinary work goes on in every confinement, and how the network, the levels and the limits behave.

package local

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// work is what must go well inside: the program it needs, and a script that must succeed.
var work = []struct{ name, program, script string }{
	{"files in the workspace", "sh", `mkdir -p a/b && echo x > a/b/c && mv a d && chmod 600 d/b/c && touch d/b/c && ln -s c d/b/l && ln d/b/c d/h && rm -r d`},
	{"temporary files", "mktemp", `f=$(mktemp) && echo x > $f && echo x > $TMPDIR/y && seq 200000 | sort -S 1M -R | tail -1`},
	{"home", "sh", `mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/f && echo y >> ~/.bashrc`},
	{"devices", "sh", `echo x > /dev/null && head -c 10 /dev/zero | wc -c && head -c 4 /dev/urandom > r && echo a | tee /dev/stderr && test -e /dev/fd/0`},
	{"git", "git", `git init -q repo && cd repo && echo x > f && git add f && git commit -qm first && git checkout -qb other && echo y >> f && git commit -qam second && git log --oneline && git stash list && test "$(git log -1 --format=%ae)" = me@example.org`},
	{"go", "go", `mkdir g && cd g && printf 'module m\n' > go.mod && printf 'package main\n\nfunc main() { println("built") }\n' > main.go && go vet ./... && go build -o m . && ./m`},
	{"C", "gcc", `printf 'int main(){return 0;}' > m.c && gcc -o m m.c && ./m`},
	{"python", "python3", `python3 -c 'import subprocess, tempfile; tempfile.mkstemp(); subprocess.check_call(["true"])'`},
	{"shared memory", "python3", `touch /dev/shm/x || exit 0; python3 -c 'import multiprocessing; multiprocessing.get_context("fork").Pool(2).map(abs, [1])'`},
	{"node", "node", `node -e 'require("child_process").execSync("true"); setTimeout(() => console.log(1), 5)'`},
	{"processes", "sh", `sleep 60 & kill -0 $! && kill $! ; wait; cat /proc/self/status > /dev/null; ps > /dev/null || true`},
}

func TestWorkGoesOn(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Me \\\"Myself\\\"\n\temail = me@example.org\n[core]\n\tsshCommand = evil\n")
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			if real, err := os.UserHomeDir(); err == nil { // where go and others have their files
				t.Setenv("GOMODCACHE", filepath.Join(real, "go", "pkg", "mod"))
			}
			t.Setenv("HOME", home)
			b := newBackendWith(t, confine.DefaultLevel, way)
			sb := open(t, b, "s1", t.TempDir())
			for _, w := range work {
				if _, err := exec.LookPath(w.program); err != nil {
					t.Logf("%s is not installed", w.program)
					continue
				}
				if w.program == "go" && way != ways[0] && os.Getenv("SANDBOX_TEST_FULL") != "1" {
					continue // it begins with a cold cache every time
				}
				st, out := run(t, sb, w.name, sandbox.Command{Script: "mkdir w && (cd w && { " + w.script + "\n} 2>&1); s=$?; rm -rf w; exit $s"})
				require.Equal(t, 0, st.ExitCode, "%s: %s", w.name, out)
			}
			_, out := script(t, sb, "config", "cat ~/.gitconfig")
			require.Contains(t, out, `name = "Me \"Myself\""`)
			require.NotContains(t, out, "evil")
			server := `python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print("met")' 2>&1`
			if _, out := script(t, sb, "server", server); way.Strong() {
				require.Equal(t, "met\n", out, "the own loopback works")
			}
		})
	}
	if os.Getuid() == 0 {
		t.Run("as an ordinary user", func(t *testing.T) { again(t, "^TestWorkGoesOn$") })
	}
}

// dial returns a script that connects to a server of this process, which counts.
func dial(t *testing.T) (command string, met func() bool) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	came := make(chan bool, 100)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- true
			_ = c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return "(exec 3<>/dev/tcp/127.0.0.1/" + port + ") 2>&1 && echo connected", func() bool {
		select {
		case <-came:
			return true
		default:
			return false
		}
	}
}

func TestNetworkIsForCommandsThatWereAllowedIt(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			b, ws := newBackendWith(t, confine.LevelFull, way), t.TempDir()
			sb := open(t, b, "s1", ws)
			connect, met := dial(t)
			_, out := script(t, sb, "without", connect)
			require.NotContains(t, out, "connected")
			require.False(t, met())
			st, out := run(t, sb, "with", sandbox.Command{Script: connect + "; echo x > made; cat $HOME/seen; echo run >> count", Network: true})
			require.Equal(t, 0, st.ExitCode, out)
			require.Contains(t, out, "connected")
			require.Equal(t, "x\n", content(t, filepath.Join(ws, "made")), "in the same folder")
			_, out = script(t, sb, "then", connect)
			require.NotContains(t, out, "connected", "nobody else has it")

			// found again by another, and not run twice, whatever is asked
			again, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
			require.NoError(t, err)
			defer again.Close()
			require.Contains(t, read(t, again, "with", sandbox.Stdout), "connected")
			require.NoError(t, again.Start(t.Context(), "with", sandbox.Command{Script: "echo run >> count"}))
			require.NoError(t, again.Start(t.Context(), "without", sandbox.Command{Script: "echo run >> count", Network: true}))
			require.Equal(t, st, await(t, again, "with"))
			require.Equal(t, "run\n", content(t, filepath.Join(ws, "count")))

			// what runs there is listed, and dies with the sandbox
			mark := marker(t)
			require.NoError(t, sb.Start(t.Context(), "long", sandbox.Command{Script: "sleep " + mark, Network: true}))
			live, err := sb.Commands(t.Context())
			require.NoError(t, err)
			require.Len(t, live, 1)
			require.NoError(t, b.Destroy(t.Context(), sb.Ref()))
			eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 0 })
		})
	}
}

func TestNetworkAtOtherLevels(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			sb := open(t, newBackendWith(t, confine.LevelFS, way), "s1", t.TempDir())
			connect, _ := dial(t)
			_, out := script(t, sb, "a", connect)
			require.Contains(t, out, "connected")
			_, out = script(t, sb, "b", "echo x > /etc/x || echo refused")
			require.Contains(t, out, "refused")
		})
	}
}

func TestHelpersOfOneSandboxAreApart(t *testing.T) {
	b, ws := newBackend(t), t.TempDir()
	sb := open(t, b, "s1", ws)
	_, _ = run(t, sb, "n", sandbox.Command{Script: "true", Network: true})
	session := b.stateDir("s1")
	for _, network := range []bool{false, true} {
		_, out := run(t, sb, "look"+map[bool]string{true: "n", false: ""}[network], sandbox.Command{
			Script: "find /run /tmp " + session + " -name sock 2>/dev/null; ls " + session + " /run/sandbox-agent/state/network 2>&1", Network: network,
		})
		require.LessOrEqual(t, strings.Count(out, "/sock\n"), 1, out)
		require.NotContains(t, out, "network/sock")
	}
}

func TestAnotherLevelEndsWhatRan(t *testing.T) {
	free := newBackendWith(t, confine.LevelNone)
	ws, mark := t.TempDir(), marker(t)
	sb, err := free.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
	require.NoError(t, err)
	defer sb.Close()
	require.NoError(t, sb.Start(t.Context(), "free", sandbox.Command{Script: "sleep " + mark}))
	strict, err := New(Options{StateDir: free.opts.StateDir, HelperBinary: selfPath(), HostID: "host"})
	require.NoError(t, err)
	confined := open(t, strict, "s1", ws)
	require.Empty(t, processes("sleep\x00"+mark))
	require.True(t, await(t, confined, "free").Killed)
	_, out := script(t, confined, "b", "echo x > /etc/x || echo refused")
	require.Contains(t, out, "refused")
}

func TestNothingIsRunWhereNothingHolds(t *testing.T) {
	b, err := New(Options{StateDir: filepath.Join(t.TempDir(), "state"), HelperBinary: selfPath(), Methods: []confine.Method{confine.Seatbelt}})
	require.NoError(t, err)
	require.Equal(t, sandbox.ClassUnavailable, class(b.Available(t.Context())))
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: t.TempDir()})
	require.Equal(t, sandbox.ClassUnavailable, class(err))
	require.NoDirExists(t, b.stateDir("s1"))
}

func TestForkBombIsBounded(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_FULL") != "1" {
		t.Skip("slow; SANDBOX_TEST_FULL=1 runs it")
	}
	if os.Getuid() == 0 {
		t.Run("as an ordinary user", func(t *testing.T) { again(t, "^TestForkBombIsBounded$") })
	}
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			b := newBackendWith(t, confine.DefaultLevel, way)
			report, err := b.Confinement(t.Context())
			require.NoError(t, err)
			if !strings.Contains(report.Limits, "at most") {
				t.Skip(report.Limits)
			}
			sb := open(t, b, "s1", t.TempDir())
			_, out := script(t, sb, "bomb", `python3 -c '
import os, time
n = 0
try:
  while n < 10000:
    if os.fork() == 0:
      time.sleep(100)
      os._exit(0)
    n += 1
except OSError: print("refused", n > 1000)
os.killpg(0, 9)'`)
			require.NotContains(t, out, "False")
			require.NoError(t, sb.Health(t.Context()))
			_, out = script(t, sb, "after", "echo alive")
			require.Equal(t, "alive\n", out)
		})
	}
}

// Sockets of others, which are kept from commands, come and go while sandboxes are made.
func TestSandboxesAreMadeWhileSocketsComeAndGo(t *testing.T) {
	dir, err := os.MkdirTemp("/srv", ".sandbox-sockets-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := comeAndGo(filepath.Join(dir, strconv.Itoa(i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			b := newBackendWith(t, confine.DefaultLevel, way)
			if way != confine.Bubblewrap { // which, run by root, fails at what it cannot reach
				closed := filepath.Join(dir, "closed-"+string(way))
				require.NoError(t, os.Mkdir(closed, 0o700))
				stays, err := net.Listen("unix", filepath.Join(closed, "s"))
				require.NoError(t, err)
				defer stays.Close()
				require.NoError(t, os.Chown(closed, ordinaryUID, ordinaryUID))
			}
			report, err := b.probe(t.Context())
			require.NoError(t, err)
			require.Equal(t, way, report.Method)
			for i := range 5 {
				st, out := script(t, open(t, b, strconv.Itoa(i), t.TempDir()), "c", "true")
				require.Zero(t, st.ExitCode, out)
			}
		})
		_ = os.RemoveAll(filepath.Join(dir, "closed-"+string(way)))
	}
}

// comeAndGo has something listen in a new directory for a moment.
func comeAndGo(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return err
	}
	_ = l.Close()
	return os.RemoveAll(dir)
}
