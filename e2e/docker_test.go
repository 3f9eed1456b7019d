// These tests are of sessions in containers, on a real Docker engine.

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/model/modeltest"
	"sandboxagent/internal/sandbox/docker"
	"sandboxagent/internal/sandbox/docker/testimage"
)

// containers is the Docker backend as the worker of the installation has it, to look into its sandboxes.
func (i *install) containers() *docker.Backend {
	i.Helper()
	host, err := config.HostID(i.paths)
	require.NoError(i, err)
	b, err := docker.New(docker.Options{StateDir: i.paths.SandboxDir + "/docker", HostID: host})
	require.NoError(i, err)
	i.Cleanup(func() { _ = b.Close() })
	return b
}

// inContainers makes an installation for sessions in containers; those it leaves are gone with the test.
func inContainers(t *testing.T, script modeltest.Script) *install {
	t.Helper()
	image := testimage.Need(t)
	i := newInstall(t, script, "SANDBOX_AGENT_DOCKER_IMAGE="+image)
	t.Cleanup(func() { removeContainers(t, i) })
	return i
}

// removeContainers removes what the installation has made in the engine.
func removeContainers(t *testing.T, i *install) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b := i.containers()
	refs, err := b.List(ctx, "")
	require.NoError(t, err)
	for _, ref := range refs {
		require.NoError(t, b.Destroy(ctx, ref.Ref))
	}
}

// inside runs a script in the container of a session, past the product.
func (i *install) inside(session, script string) string {
	i.Helper()
	ids := i.docker("ps", "--quiet", "--all", "--no-trunc", "--filter", "label="+docker.LabelSession+"="+session)
	require.Len(i, strings.Fields(ids), 1, "a session has one container")
	return i.docker("exec", strings.TrimSpace(ids), "sh", "-c", script)
}

func (i *install) docker(args ...string) string {
	i.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(i, cmd.Run(), "docker %v: %s", args, &errs)
	return out.String()
}

func TestASessionInAContainer(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(
		call("make", "exec_command", `{"command":"cat given && echo made > made && id -u"}`, "Made."),
		call("look", "exec_command", `{"command":"cat made"}`, "Looked."),
	))
	i.write("given", "from the folder")
	s := i.start("ask", "--workspace", i.work, "--backend", "docker", "--approve", "never", "make it")
	session := s.until("the turn", isType(editors.TurnStarted)).SessionID
	s.until("the end", endOf(1))
	requireWhole(t, s, "Made.")
	require.Contains(t, toolItems(s.durable())[0].Output.Head, "from the folder")
	require.NotContains(t, toolItems(s.durable())[0].Output.Head, "\n0\n", "not as root")
	require.NoFileExists(t, i.work+"/made", "the folder is left alone")
	require.Equal(t, "made\n", i.inside(session, "cat /workspace/made"))

	require.Equal(t, "ok", i.backendCheck(editors.Docker).Status)

	// stopped by hand between two turns
	ids := i.docker("ps", "--quiet", "--filter", "label="+docker.LabelSession+"="+session)
	i.docker("stop", "--time", "1", strings.TrimSpace(ids))
	again := i.start("ask", "--session", session, "look at it")
	again.until("the end", endOf(2))
	items := toolItems(again.durable())
	require.Equal(t, "made\n", items[len(items)-1].Output.Head)

	i.ok(nil, "destroy", session)
	i.eventually("nothing is left", func() bool {
		refs, err := i.containers().List(t.Context(), "")
		return err == nil && len(refs) == 0
	})
	require.FileExists(t, i.work+"/given")
}

func TestKilledWorkerFindsTheCommandInTheContainer(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(call("log", "exec_command", `{"command":"date >> log; for i in 1 2 3 4 5 6; do echo line $i; sleep 1; done"}`, "Logged.")))
	s := i.start("ask", "--workspace", i.work, "--backend", "docker", "--approve", "never", "log it")
	session := s.until("the turn", isType(editors.TurnStarted)).SessionID
	s.until("output", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemDelta && strings.Contains(e.Event.Data, "line 2")
	})
	kill(i, i.workerInfo().PID)
	follow := i.start("attach", session)
	follow.until("the end", endOf(1))
	requireWhole(t, follow, "Logged.")
	item := toolItems(follow.durable())[0]
	require.Equal(t, "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n", item.Output.Head, "found again at its output, not reported lost")
	require.Equal(t, "1\n", i.inside(session, "wc -l < /workspace/log"), "the command ran once")
}

func TestInterruptLeavesNothingInTheContainer(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(call("wait", "exec_command", `{"command":"setsid sleep 4712 & (sleep 4712 &) ; echo begun; sleep 4712"}`, "?")))
	s := i.start("ask", "--workspace", i.work, "--backend", "docker", "--approve", "never", "wait")
	started := s.until("output", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemDelta && strings.Contains(e.Event.Data, "begun")
	})
	var out editors.InterruptResult
	i.ok(&out, "interrupt", started.SessionID)
	require.Equal(t, editors.TurnInterrupted, out.Status)
	s.until("the end", isType(editors.TurnEnded))
	item := toolItems(s.durable())[0]
	require.Equal(t, editors.ItemInterrupted, item.Status)
	require.Contains(t, item.Output.Head, "begun", "partial output is kept")
	require.Eventually(t, func() bool {
		return strings.TrimSpace(i.inside(started.SessionID, "ps -eo args | grep -c '^sleep 471[2]' || true")) == "0"
	}, patience, 200*time.Millisecond, "no process is left")
}

func TestAnEngineThatIsNotThere(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("run", "exec_command", `{"command":"true"}`, "Could not.")), "DOCKER_HOST=unix:///nowhere/docker.sock")
	out, _, status := i.run("ask", "--workspace", i.work, "--backend", "docker", "--approve", "never", "--json", "run it")
	require.Equal(t, 1, status)
	require.Contains(t, out, `"backendUnavailable"`)
	require.Contains(t, out, "no Docker engine answers at unix:///nowhere/docker.sock, from DOCKER_HOST")
	var page editors.SessionsResult
	i.ok(&page, "sessions")
	require.Empty(t, page.Sessions, "it is said before there is a session")
	check := i.backendCheck(editors.Docker)
	require.Equal(t, "warning", check.Status)
	require.Contains(t, check.Detail, "no Docker engine answers")
	require.Contains(t, check.Remedy, "start Docker")
}

// backendCheck returns what doctor says of a backend.
func (i *install) backendCheck(kind editors.BackendKind) editors.Check {
	i.Helper()
	out, errs, _ := i.run("doctor", "--json")
	var result editors.DoctorResult
	require.NoError(i, json.Unmarshal([]byte(out), &result), errs)
	for _, c := range result.Checks {
		if c.Name == "backend "+string(kind) {
			return c
		}
	}
	require.Fail(i, "doctor does not tell of the backend", out)
	return editors.Check{}
}
