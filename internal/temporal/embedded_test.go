// These tests exist to prove the embedded server end to end, with its real binary: clients outlive its death, a second
// process shares it and takes over. They need sandbox-temporal, built by the Makefile.

package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/internal/program"
)

func realBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv(BinaryEnv)
	if path == "" {
		path = filepath.Join("..", "..", "bin", binaryName)
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	if err := program.Executable(path); err != nil {
		t.Skipf("sandbox-temporal is not built (%v); set %s or run make", err, BinaryEnv)
	}
	return path
}

// watched collects states for conditions to wait on.
type watched struct {
	mu  sync.Mutex
	all []EmbeddedState
}

func (w *watched) add(s EmbeddedState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, s)
}

func (w *watched) last() EmbeddedState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[len(w.all)-1]
}

func startReal(t *testing.T, dir string) (*Embedded, *watched) {
	t.Helper()
	w := &watched{}
	e, err := StartEmbedded(t.Context(), EmbeddedOptions{Binary: realBinary(t), StateDir: dir, OnState: w.add})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		require.NoError(t, e.Stop(ctx))
	})
	return e, w
}

func dialReal(t *testing.T, dir string, o Options) client.Client {
	t.Helper()
	p, err := Resolve(t.Context(), ResolveOptions{StateDir: dir, Embedded: true})
	require.NoError(t, err)
	c, err := Dial(t.Context(), p, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// greeter waits for a signal, so that a test can kill the server while it runs, and tells how its activity failed.
func greeter(ctx workflow.Context) (string, error) {
	var name string
	workflow.GetSignalChannel(ctx, "name").Receive(ctx, &name)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	err := workflow.ExecuteActivity(ctx, "Oversized").Get(ctx, nil)
	var failure *temporal.ApplicationError
	if !errors.As(err, &failure) {
		return "", err
	}
	return "hello " + name + ": " + failure.Type(), nil
}

func TestEmbeddedEndToEnd(t *testing.T) {
	dir := t.TempDir()
	_, states := startReal(t, dir)
	require.Equal(t, EmbeddedReady, states.last().Status)
	completed := make(chan string, 100)
	c := dialReal(t, dir, Options{MaxResult: 1000, OnWorkflowTaskCompleted: func(id string) { completed <- id }})
	require.NoError(t, Health(t.Context(), c))
	n, _, err := Pollers(t.Context(), c, "agent")
	require.NoError(t, err)
	require.Zero(t, n)

	var attempts atomic.Int32
	w := worker.New(c, "agent", worker.Options{})
	w.RegisterWorkflow(greeter)
	w.RegisterActivityWithOptions(func(context.Context) ([]byte, error) {
		attempts.Add(1)
		result := make([]byte, 2000) // random, hence not compressible
		_, err := rand.Read(result)
		return result, err
	}, activity.RegisterOptions{Name: "Oversized"})
	require.NoError(t, w.Start())
	defer w.Stop()

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "session/1", TaskQueue: "agent"}, greeter)
	require.NoError(t, err)
	require.Equal(t, "session/1", <-completed)
	require.Eventually(t, func() bool {
		n, last, err := Pollers(t.Context(), c, "agent")
		return err == nil && n == 1 && time.Since(last) < time.Minute
	}, 10*time.Second, 50*time.Millisecond)

	first := states.last().PID
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	require.Eventually(t, func() bool { s := states.last(); return s.Status == EmbeddedReady && s.PID != first }, 60*time.Second, 10*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	require.Eventually(t, func() bool { return c.SignalWorkflow(ctx, "session/1", "", "name", "you") == nil }, 30*time.Second, 50*time.Millisecond)
	var out string
	require.NoError(t, run.Get(ctx, &out))
	require.Equal(t, "hello you: "+ErrTypePayloadTooLarge, out)
	require.EqualValues(t, 1, attempts.Load(), "a result that is too large is not tried again")
}

func TestEmbeddedIsSharedAndTakenOver(t *testing.T) {
	dir := t.TempDir()
	owner, ownerStates := startReal(t, dir)
	_, guestStates := startReal(t, dir)
	require.Equal(t, EmbeddedAdopted, guestStates.last().Status)
	require.Equal(t, ownerStates.last().PID, guestStates.last().PID)
	c := dialReal(t, dir, Options{})

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	require.NoError(t, owner.Stop(ctx))
	require.Equal(t, EmbeddedStopped, ownerStates.last().Status)
	require.Eventually(t, func() bool { return guestStates.last().Status == EmbeddedReady }, 60*time.Second, 10*time.Millisecond)
	require.Equal(t, ownerStates.all[1].Address, guestStates.last().Address)
	require.Eventually(t, func() bool { return Health(ctx, c) == nil }, 15*time.Second, 20*time.Millisecond)
}

func TestForcedStop(t *testing.T) {
	dir := t.TempDir()
	e, states := startReal(t, dir)
	require.NoError(t, syscall.Kill(states.last().PID, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, e.Stop(ctx), context.DeadlineExceeded)
	require.Equal(t, EmbeddedStopped, states.last().Status)
}
