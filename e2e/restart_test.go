package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// TestAnEditorOutlivesItsWorker kills the worker under an attached editor; whatever the editor asks next is answered.
func TestAnEditorOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	e := i.editor(`{}`)
	var made editors.NewResult
	e.call("sandboxAgent/new", `{}`, &made)
	id := made.Session.ID
	e.call("sandboxAgent/attach", `{"sessionId":"`+id+`"}`, nil)
	for command, params := range map[string]string{
		"ask":       `{"sessionId":%q,"text":"hello"}`,
		"sessions":  `{"search":""}`,
		"history":   `{"sessionId":%q}`,
		"configure": `{"sessionId":%q,"model":"scripted"}`,
		"attach":    `{"sessionId":%q}`,
	} {
		if strings.Contains(params, "%q") {
			params = fmt.Sprintf(params, id)
		}
		i.ok(nil, "worker", "start") // where the request before was answered without one
		kill(i, i.workerInfo().PID)
		began := time.Now()
		e.call("sandboxAgent/"+command, params, nil)
		t.Log(command, "after", time.Since(began))
	}
}

// TestFirstAsksShareASession asks at once from several processes in a folder without a session, and in what is none.
func TestFirstAsksShareASession(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	link := filepath.Join(i.home, "link")
	require.NoError(t, os.Symlink(i.work, link))
	var all []*stream
	for n := range 4 {
		all = append(all, i.start("ask", "--workspace", []string{i.work, link}[n%2], "hello"))
	}
	for _, s := range all {
		require.Zero(t, s.wait(), s.describe())
	}
	var page editors.SessionsResult
	i.ok(&page, "sessions")
	require.Len(t, page.Sessions, 1)

	id := page.Sessions[0].ID
	i.ok(nil, "destroy", id[:8])
	_, errs, status := i.run("attach", id)
	require.Zero(t, status, errs)
	require.Contains(t, errs, "The session is destroyed.")
	e := i.editor(`{}`)
	for _, folder := range []string{"/", i.home, i.home + "/none", "/dev/null"} {
		m := e.ask("sandboxAgent/new", fmt.Sprintf(`{"workspaceFolder":"file://%s"}`, folder))
		require.NotNil(t, m.Error, folder)
		require.Equal(t, editors.CodeInvalidParams, m.Error.Data.Code, folder)
	}
	m := e.ask("sandboxAgent/new", `{"backend":{"kind":"e2b"}}`)
	require.NotNil(t, m.Error)
	require.Equal(t, editors.CodeBackendUnavailable, m.Error.Data.Code, m.Error.Message)
	require.NotEmpty(t, m.Error.Data.Remedy)
	i.ok(&page, "sessions")
	require.Empty(t, page.Sessions)
}

// TestWithoutAWorkerRequestsAreHeld has a cluster whose worker is gone: requests say so, and are carried out by the next.
func TestWithoutAWorkerRequestsAreHeld(t *testing.T) {
	t.Parallel()
	cluster := newInstall(t, modeltest.Script{})
	cluster.ok(nil, "worker", "start")
	script := rules(call("wait", "exec_command", `{"command":"sleep 4712"}`, "?"))
	i := newInstall(t, script, append(cluster.joining(), "SANDBOX_AGENT_OWNER=somebody")...)
	start := func() *exec.Cmd {
		worker := exec.Command(filepath.Join(i.bin, "sandbox-worker"))
		worker.Env, worker.Stderr = i.env, os.Stderr
		require.NoError(t, worker.Start())
		t.Cleanup(func() { _ = worker.Process.Kill() })
		i.eventually("the worker serves", func() bool { _, err := os.Stat(i.paths.WorkerState); return err == nil })
		return worker
	}
	worker := start()
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "wait")
	id := s.until("the command", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemStarted && e.Event.Item.Kind == editors.ToolCall
	}).SessionID
	host := cluster.workerInfo().PID // it works for all owners
	require.NoError(t, syscall.Kill(host, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(host, syscall.SIGCONT) })
	require.NoError(t, worker.Process.Signal(syscall.SIGKILL))
	_ = worker.Wait()
	require.NoError(t, os.Remove(i.paths.WorkerState))

	var page editors.SessionsResult
	i.ok(&page, "sessions")
	require.Equal(t, editors.StatusRecovering, page.Sessions[0].State.Status)
	require.Contains(t, page.Sessions[0].State.Remedy, "Start sandbox-worker")
	began := time.Now()
	out, errs, status := i.run("interrupt", id, "--turn", "1")
	t.Log("after", time.Since(began), out, errs)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "will be carried out when a worker runs")
	require.Contains(t, errs, "Start sandbox-worker")
	start()
	end := s.until("the end", isType(editors.TurnEnded))
	require.Equal(t, editors.TurnInterrupted, end.Event.Status, "as was said")
}
