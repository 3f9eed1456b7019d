package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// joining returns the environment by which another installation reaches this one's Temporal, as if it were a cluster.
func (i *install) joining() []string {
	i.Helper()
	b, err := os.ReadFile(filepath.Join(i.paths.TemporalDir, "temporal.json"))
	require.NoError(i, err)
	var state struct{ Address, Namespace, CA, Cert, Key string }
	require.NoError(i, json.Unmarshal(b, &state))
	return []string{
		"TEMPORAL_ADDRESS=" + state.Address, "TEMPORAL_NAMESPACE=" + state.Namespace, "TEMPORAL_TLS_SERVER_CA_CERT_PATH=" + state.CA,
		"TEMPORAL_TLS_CLIENT_CERT_PATH=" + state.Cert, "TEMPORAL_TLS_CLIENT_KEY_PATH=" + state.Key,
	}
}

func TestAnotherHostFollowsWithoutTheFeed(t *testing.T) {
	t.Parallel()
	a := newInstall(t, rules(call("wait", "exec_command", `{"command":"until [ -e go ]; do echo tick; sleep 0.2; done; echo went"}`, "It went.")))
	first := a.start("ask", "--workspace", a.work, "--approve", "never", "wait")
	id := first.until("the turn", isType(editors.TurnStarted)).SessionID
	b := newInstall(t, modeltest.Script{}, a.joining()...)
	second := b.start("attach", id)
	second.until("output by heartbeats", delta("stdout"))
	a.write("go", "")
	require.Zero(t, first.wait(), first.describe())
	second.until("the end", endOf(1))
	x, y := first.durable(), second.durable()
	from, to := max(x[0].Seq, y[0].Seq), min(x[len(x)-1].Seq, y[len(y)-1].Seq)
	require.Greater(t, to-from, int64(8))
	require.Equal(t, lines(x, from, to), lines(y, from, to))
}

func TestAWorkerOfItsOwnJoinsACluster(t *testing.T) {
	t.Parallel()
	cluster := newInstall(t, modeltest.Script{})
	cluster.ok(nil, "worker", "start")
	script := rules(call("where", "exec_command", `{"command":"pwd"}`, "There."))
	i := newInstall(t, script, append(cluster.joining(), "SANDBOX_AGENT_OWNER=somebody-else")...)

	began := time.Now()
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "where")
	away := s.until("the reason", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.StateChanged && e.Event.State.Status == editors.StatusRecovering
	})
	t.Log("after", time.Since(began), away.Event.State.Reason, away.Event.State.Remedy)
	require.Contains(t, away.Event.State.Reason, "No worker")
	require.Contains(t, away.Event.State.Remedy, "worker start")

	worker := exec.CommandContext(context.Background(), filepath.Join(i.bin, "sandbox-worker"))
	worker.Env, worker.Stderr = i.env, os.Stderr
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	i.eventually("the worker serves", func() bool { _, err := os.Stat(i.paths.WorkerState); return err == nil })
	require.Zero(t, s.wait(), s.describe())
	require.Contains(t, toolItems(s.durable())[0].Output.Head, filepath.Base(i.work))
	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(t, worker.Wait(), "a stopped worker ends well")
}
