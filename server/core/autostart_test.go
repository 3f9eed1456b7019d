// This file tests that exactly one worker is started, with this test's program as the worker.

package core

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/temporal"
	"sandboxagent/internal/workerproc"
	"sandboxagent/internal/workspace"
)

const (
	fakeWorkerEnv = "CORE_TEST_WORKER" // what the worker does: work, fail, or hang
	fakeHomeEnv   = "CORE_TEST_HOME"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeWorkerEnv); mode != "" {
		if err := fakeWorker(mode); err != nil {
			fmt.Fprintln(os.Stderr, "fake worker:", err)
			os.Exit(3)
		}
		return
	}
	folder, err := os.MkdirTemp("", "core-folder")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testFolder = "file://" + workspace.Resolve(folder)
	status := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

func pathsBelow(home string) (config.Paths, error) {
	return config.ResolvePaths(func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": home, "XDG_RUNTIME_DIR": home + "/run"}[name]
		return v, ok
	})
}

// fakeWorker does what a worker does for those who start it. It notes each of its lives in a file.
func fakeWorker(mode string) error {
	if mode == "fail" {
		return fmt.Errorf("the moon is in the wrong phase")
	}
	paths, err := pathsBelow(os.Getenv(fakeHomeEnv))
	if err != nil {
		return err
	}
	release, err := workerproc.Hold(context.Background(), paths.WorkerLock)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	lives, err := os.OpenFile(paths.StateDir+"/lives", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(lives, os.Args[1]); err != nil {
		return err
	}
	if err := os.RemoveAll(paths.WorkerSocket); err != nil {
		return err
	}
	if mode != "hang" {
		l, err := net.Listen("unix", paths.WorkerSocket)
		if err != nil {
			return err
		}
		defer l.Close()
		info := config.WorkerInfo{PID: os.Getpid(), Version: "9.9.9", StartedAt: time.Now(), Socket: paths.WorkerSocket}
		if err := config.WriteWorkerInfo(paths, info); err != nil {
			return err
		}
	}
	for {
		select {
		case <-stop:
			if _, err := os.Stat(paths.WorkerLock + ".stopped"); err != nil {
				return os.WriteFile(paths.StateDir+"/unrecorded", nil, 0o600)
			}
			return nil
		case <-time.After(100 * time.Millisecond):
			if _, err := os.Stat(paths.StateDir); err != nil {
				return nil // the test is over
			}
		}
	}
}

// installation is a home in which the fake worker can be started.
func installation(t *testing.T, mode string) (newCore func() *Core, lives func() int) {
	t.Helper()
	home, err := os.MkdirTemp("", "core") // short, for the socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	t.Setenv(fakeWorkerEnv, mode)
	t.Setenv(fakeHomeEnv, home)
	for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_API_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", home+"/none.toml")
	paths, err := pathsBelow(home)
	require.NoError(t, err)
	require.NoError(t, paths.Ensure())
	newCore = func() *Core {
		c := New(Options{Paths: paths, Config: config.Default(), Autostart: true, WorkerBinary: os.Args[0]})
		t.Cleanup(c.Close)
		return c
	}
	t.Cleanup(func() { _ = newCore().StopWorker(context.Background()) })
	return newCore, func() int {
		b, err := os.ReadFile(paths.StateDir + "/lives")
		if err != nil {
			return 0
		}
		n := strings.Count(string(b), "--embedded\n")
		require.Equal(t, strings.Count(string(b), "\n"), n, "each worker brings its own Temporal")
		return n
	}
}

func TestManyStartersStartOneWorker(t *testing.T) {
	newCore, lives := installation(t, "work")
	var starters sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		core := newCore()
		starters.Go(func() { _, errs[i] = core.StartWorker(t.Context()) })
	}
	starters.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, lives())
	status, err := newCore().WorkerStatus(t.Context())
	require.NoError(t, err)
	require.True(t, status.Running)
	require.Equal(t, "9.9.9", status.Version)
}

func TestAKilledWorkerIsReplaced(t *testing.T) {
	newCore, lives := installation(t, "work")
	core := newCore()
	core.link.dial = func(context.Context, temporal.Profile) (engine, error) { return newFakeEngine(), nil }
	_, err := core.link.engine(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, lives())
	info, err := config.ReadWorkerInfo(core.opts.Paths)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(info.PID, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !core.workerAlive() }, 10*time.Second, 5*time.Millisecond)
	core.link.lost()
	_, err = core.link.engine(t.Context())
	require.NoError(t, err, "the stale lock, socket and state file do not matter")
	require.Equal(t, 2, lives())
}

func TestAStoppedWorkerIsNotStartedByItself(t *testing.T) {
	newCore, lives := installation(t, "work")
	core := newCore()
	core.link.dial = func(context.Context, temporal.Profile) (engine, error) { return newFakeEngine(), nil }
	_, err := core.StartWorker(t.Context())
	require.NoError(t, err)
	require.NoError(t, core.StopWorker(t.Context()))
	require.NoFileExists(t, core.opts.Paths.StateDir+"/unrecorded", "a stop is recorded before the worker hears of it")
	require.NoError(t, core.StopWorker(t.Context()), "stopping twice")
	_, _ = core.link.engine(context.WithValue(t.Context(), quietKey{}, quietUnlessStopped))
	require.Equal(t, 1, lives())
	_, err = core.link.engine(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, lives(), "a command starts it again")
}

func TestAFailingWorkerIsExplained(t *testing.T) {
	newCore, _ := installation(t, "fail")
	began := time.Now()
	_, err := newCore().StartWorker(t.Context())
	require.Less(t, time.Since(began), 5*time.Second)
	var e *editors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, editors.CodeWorkerUnavailable, e.Code)
	require.Contains(t, e.Message, "the moon is in the wrong phase")
	require.Contains(t, e.Detail, "the moon is in the wrong phase")
	require.Contains(t, e.Remedy, "worker.log")
}

func TestAMissingWorkerIsExplained(t *testing.T) {
	newCore, _ := installation(t, "work")
	core := newCore()
	core.opts.WorkerBinary = "/nowhere/sandbox-worker"
	_, err := core.StartWorker(t.Context())
	var e *editors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, editors.CodeWorkerUnavailable, e.Code)
	require.False(t, e.Retryable)
	require.NotEmpty(t, e.Remedy)
}

func TestWaitingForAWorkerCanBeGivenUp(t *testing.T) {
	newCore, _ := installation(t, "hang")
	core := newCore()
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string, 100)
	go func() {
		<-said
		for !core.workerAlive() {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := core.StartWorker(WithProgress(ctx, func(message string) { said <- message }))
	require.Equal(t, editors.CodeCancelled, editors.CodeOf(err))
	require.True(t, core.workerAlive(), "the worker goes on starting")
	// It never writes who it is, so it has to be ended by its lock's holder.
	stop := core.StopWorker(t.Context())
	require.Equal(t, editors.CodeBusy, editors.CodeOf(stop))
}

func TestNewDoesNothingYet(t *testing.T) {
	home := t.TempDir()
	paths, err := pathsBelow(home)
	require.NoError(t, err)
	began := time.Now()
	core := New(Options{Paths: paths, Config: config.Default(), Autostart: true})
	core.Connect("test", func(editors.EventMessage) {}).Close()
	core.Close()
	require.Less(t, time.Since(began), 50*time.Millisecond)
	entries, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestARequestOutlivesItsWorker kills the worker after the connection was used, and finds a request answered by the next.
func TestARequestOutlivesItsWorker(t *testing.T) {
	newCore, lives := installation(t, "work")
	core := newCore()
	engines := []*fakeEngine{newFakeEngine(), newFakeEngine()}
	core.link.dial = func(context.Context, temporal.Profile) (engine, error) {
		f := engines[lives()-1]
		return f, f.Health(context.Background())
	}
	for _, f := range engines {
		f.add("s1", core.HostID())
	}
	conn := testConn(t, core)
	killWorker := func() {
		info, err := config.ReadWorkerInfo(core.opts.Paths)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(info.PID, syscall.SIGKILL))
	}
	commands := map[string]func() error{
		"sessions": func() error {
			_, err := run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{})
			return err
		},
		"history": func() error {
			_, err := run[editors.HistoryResult](t, conn, "history", editors.HistoryParams{SessionID: "s1"})
			return err
		},
		"ask": func() error {
			_, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "s1", Text: "x"})
			return err
		},
		"attach": func() error {
			_, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
			return err
		},
	}
	require.NoError(t, commands["ask"]())
	for name, command := range commands {
		engines = append(engines, newFakeEngine())
		engines[len(engines)-1].add("s1", core.HostID())
		old := engines[lives()-1]
		old.mu.Lock()
		old.down = true
		old.mu.Unlock()
		killWorker()
		began := time.Now()
		require.NoError(t, command(), name)
		require.Less(t, time.Since(began), 15*time.Second, name)
	}
	require.Equal(t, 1+len(commands), lives())
}

// TestARequestWaitsForATemporalThatBegins has a server that says it is healthy before it can do anything.
func TestARequestWaitsForATemporalThatBegins(t *testing.T) {
	newCore, _ := installation(t, "work")
	core, f := newCore(), newFakeEngine()
	core.link.dial = func(context.Context, temporal.Profile) (engine, error) { return f, nil }
	f.add("s1", core.HostID())
	conn := testConn(t, core)
	history := func() error {
		_, err := run[editors.HistoryResult](t, conn, "history", editors.HistoryParams{SessionID: "s1"})
		return err
	}
	require.NoError(t, history())
	f.mu.Lock()
	f.begun = 6
	f.mu.Unlock()
	require.NoError(t, history())

	require.NoError(t, core.StopWorker(t.Context()))
	conn.core.opts.Autostart = false // then nobody starts the server again either
	f.mu.Lock()
	f.begun = 1000
	f.mu.Unlock()
	began := time.Now()
	require.Error(t, history())
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestAWorkerForANobodyIsNotStarted(t *testing.T) {
	newCore, _ := installation(t, "work")
	core := newCore()
	core.opts.Config.Temporal.Address = "127.0.0.1:1"
	began := time.Now()
	_, err := core.StartWorker(t.Context())
	require.Equal(t, editors.CodeTemporalUnavailable, editors.CodeOf(err))
	require.Less(t, time.Since(began), time.Second)
	require.False(t, core.workerAlive())

	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	core.opts.Config.Temporal.Address = web.Listener.Addr().String()
	_, err = core.StartWorker(t.Context())
	var e *editors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, editors.CodeTemporalUnavailable, e.Code)
	require.Contains(t, e.Message, "is no Temporal server")
	require.NotContains(t, e.Message+e.Detail+e.Remedy, "preface")
}

func TestAStartSaysWhetherTheWorkerRanAlready(t *testing.T) {
	newCore, _ := installation(t, "work")
	core := newCore()
	status, err := core.StartWorker(t.Context())
	require.NoError(t, err)
	require.False(t, status.Already)
	status, err = core.StartWorker(t.Context())
	require.NoError(t, err)
	require.True(t, status.Already)
	record, err := config.ReadWorkerInfo(core.opts.Paths)
	require.NoError(t, err)
	require.NoError(t, os.Remove(core.opts.Paths.WorkerState))
	status, err = core.WorkerStatus(t.Context())
	require.NoError(t, err)
	require.True(t, status.Starting, "it has not said yet that it serves")
	require.NoError(t, config.WriteWorkerInfo(core.opts.Paths, record)) // by which it is stopped
}
