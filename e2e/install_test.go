// Package e2e tests the product as its users have it: the built binaries, a real embedded Temporal server, a real folder,
// and a scripted model server in place of OpenAI. `make build` must have run.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/model/modeltest"
)

const (
	canaryKey = "sk-canary-5e1f7c0d9b8a4f6e-do-not-leak"
	patience  = 90 * time.Second // for what takes a second on an idle machine
)

// install is a private installation: its own home, its own worker and Temporal, gone with the test.
type install struct {
	testing.TB
	home, work string
	bin        string
	env        []string
	model      *modeltest.Server
	paths      config.Paths
}

// newInstall makes an installation whose model answers by the script.
func newInstall(t testing.TB, script modeltest.Script, env ...string) *install {
	t.Helper()
	bin, err := filepath.Abs("../bin")
	require.NoError(t, err)
	for _, name := range []string{"sandbox-agent", "sandbox-worker", "sandbox-helper", "sandbox-temporal"} {
		_, err := os.Stat(filepath.Join(bin, name))
		require.NoError(t, err, "run `make build` first")
	}
	home, err := os.MkdirTemp("", "sa-e2e-") // short: sockets have short paths
	require.NoError(t, err)
	i := &install{TB: t, home: home, work: filepath.Join(home, "work"), bin: bin}
	require.NoError(t, os.Mkdir(i.work, 0o755))
	i.env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "NO_COLOR=1", "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"SANDBOX_AGENT_MODEL=scripted",
	}
	require.NoError(t, os.Mkdir(filepath.Join(home, "run"), 0o700))
	if script.Rules != nil {
		i.model = modeltest.Start(t, script)
		i.env = append(i.env, "OPENAI_BASE_URL="+i.model.URL, "OPENAI_API_KEY="+canaryKey)
	}
	i.env = append(i.env, env...)
	i.paths, err = config.ResolvePaths(i.lookup)
	require.NoError(t, err)
	t.Cleanup(i.remove)
	return i
}

func (i *install) lookup(name string) (string, bool) {
	for n := len(i.env) - 1; n >= 0; n-- {
		if v, ok := strings.CutPrefix(i.env[n], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// remove kills what runs and deletes the installation; a failed test shows the worker's log.
func (i *install) remove() {
	if i.Failed() {
		i.showLogs()
	}
	assert.Eventually(i, i.killAll, patience, 10*time.Millisecond, "the processes of the installation end")
	_ = os.RemoveAll(i.home)
}

func (i *install) showLogs() {
	logs, _ := filepath.Glob(filepath.Join(i.paths.LogDir, "*"))
	for _, f := range logs {
		b, _ := os.ReadFile(f)
		i.Logf("%s:\n%s", filepath.Base(f), b[max(0, len(b)-4000):])
	}
}

// killAll kills every process whose environment belongs to this installation, and tells whether there was none: one may have
// started another meanwhile.
func (i *install) killAll() bool {
	all := i.processes()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(all) == 0
}

func (i *install) processes() []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && bytes.Contains(env, []byte("HOME="+i.home+"\x00")) {
			out = append(out, pid)
		}
	}
	return out
}

func (i *install) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(i.bin, "sandbox-agent"), args...)
	cmd.Env = i.env
	cmd.Dir = i.work
	return cmd
}

// run runs a verb to its end and returns what it printed and its exit status.
func (i *install) run(args ...string) (stdout, stderr string, status int) {
	i.Helper()
	ctx, cancel := context.WithTimeout(i.Context(), patience)
	defer cancel()
	cmd := i.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(i, err)
	}
	require.NoError(i, ctx.Err(), "%v took too long\nstdout: %s\nstderr: %s", args, &out, &errs)
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// ok runs a verb that must succeed and decodes its JSON answer into result, which may be nil.
func (i *install) ok(result any, args ...string) {
	i.Helper()
	out, errs, status := i.run(append(args, "--json")...)
	require.Zero(i, status, "%v\nstdout: %s\nstderr: %s", args, out, errs)
	if result != nil {
		require.NoError(i, json.Unmarshal([]byte(out), result), out)
	}
}

// stream is a running ask or attach whose events come in.
type stream struct {
	i    *install
	cmd  *exec.Cmd
	errs bytes.Buffer
	done chan struct{}

	mu     sync.Mutex
	events []editors.EventMessage
	other  []string
	more   chan struct{}
}

// start begins a verb with --json and collects its events.
func (i *install) start(args ...string) *stream {
	i.Helper()
	s := &stream{i: i, cmd: i.command(context.Background(), append(args, "--json")...), done: make(chan struct{}), more: make(chan struct{}, 1)}
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	require.NoError(i, err)
	require.NoError(i, s.cmd.Start())
	i.Cleanup(func() { _ = s.cmd.Process.Kill(); <-s.done })
	go s.read(out)
	return s
}

func (s *stream) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			s.add(line)
		}
		if err != nil {
			break
		}
	}
	_ = s.cmd.Wait()
	close(s.done)
}

func (s *stream) add(line []byte) {
	var e editors.EventMessage
	s.mu.Lock()
	if json.Unmarshal(line, &e) == nil && e.Event.Type != "" {
		s.events = append(s.events, e)
	} else {
		s.other = append(s.other, string(line))
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *stream) all() []editors.EventMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]editors.EventMessage(nil), s.events...)
}

// until waits for an event that satisfies want and returns it.
func (s *stream) until(what string, want func(editors.EventMessage) bool) editors.EventMessage {
	s.i.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ended := s.done
	for seen := 0; ; {
		events := s.all()
		for ; seen < len(events); seen++ {
			if want(events[seen]) {
				return events[seen]
			}
		}
		select {
		case <-s.more:
		case <-ended:
			ended = nil
			select {
			case s.more <- struct{}{}:
			default:
			}
			if len(s.all()) == seen {
				require.FailNow(s.i, "ended before "+what, s.describe())
			}
		case <-deadline.C:
			require.FailNow(s.i, "waited too long for "+what, s.describe())
		}
	}
}

func (s *stream) describe() string {
	var b strings.Builder
	for _, e := range s.all() {
		line, _ := json.Marshal(e)
		b.Write(line[:min(len(line), 400)])
		b.WriteByte('\n')
	}
	return b.String() + strings.Join(s.other, "") + s.errs.String()
}

// wait returns the exit status.
func (s *stream) wait() int {
	s.i.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		require.FailNow(s.i, "did not end", s.describe())
		return -1
	}
}

// durable returns the durable events.
func (s *stream) durable() []editors.EventMessage {
	var out []editors.EventMessage
	for _, e := range s.all() {
		if e.Event.Type.Durable() {
			out = append(out, e)
		}
	}
	return out
}

// workerInfo is what the present worker wrote about itself.
func (i *install) workerInfo() config.WorkerInfo {
	i.Helper()
	info, err := config.ReadWorkerInfo(i.paths)
	require.NoError(i, err)
	return info
}

func (i *install) write(name, text string) {
	i.Helper()
	path := filepath.Join(i.work, name)
	require.NoError(i, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(i, os.WriteFile(path, []byte(text), 0o644))
}

func (i *install) read(name string) string {
	i.Helper()
	b, err := os.ReadFile(filepath.Join(i.work, name))
	require.NoError(i, err)
	return string(b)
}
