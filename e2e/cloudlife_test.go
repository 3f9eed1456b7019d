//go:build linux

// These tests are of how long sandboxes in clouds live and who may know their keys.

package e2e

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/proxy"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
	"sandboxagent/internal/sandbox/e2b/e2btest"
	"sandboxagent/internal/session"
	"sandboxagent/internal/temporal"
	"sandboxagent/internal/worker"
)

// keys are the names and values of the clouds' keys.
var keys = map[editors.BackendKind][2]string{
	editors.E2B:     {"E2B_API_KEY", e2btest.DefaultKey},
	editors.Daytona: {"DAYTONA_API_KEY", daytonatest.DefaultKey},
}

// inject makes a coming request to a cloud go wrong.
func (c *clouds) inject(kind editors.BackendKind, f cloudtest.Fault) {
	if kind == editors.E2B {
		c.e2b.Inject(f)
		return
	}
	c.daytona.Inject(f)
}

// made counts the sandboxes that a cloud has ever made.
func (c *clouds) made(kind editors.BackendKind) int {
	if kind == editors.E2B {
		return c.e2b.Created()
	}
	return c.daytona.Created()
}

// requireNotInHistory looks for a secret in everything that a workflow has recorded, which names the session.
func (i *install) requireNotInHistory(workflowID, sessionID, secret string) {
	i.Helper()
	payloads, err := temporal.NewDataConverter(nil)
	require.NoError(i, err)
	var all strings.Builder
	err = proxy.VisitPayloads(i.Context(), i.history(workflowID), proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, some []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, p := range some {
				all.WriteString(payloads.ToString(p))
			}
			return some, nil
		},
	})
	require.NoError(i, err)
	require.Contains(i, all.String(), sessionID)
	require.NotContains(i, all.String(), secret)
}

func TestAKeyThatOnlyTheEditorGave(t *testing.T) {
	t.Parallel()
	for kind, key := range keys {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := inClouds(t, rules(
				run("step one", lookAround+`echo 1 > one`, "One."),
				run("step two", `cat one`, "Two."),
			), "E2B_API_KEY=", "DAYTONA_API_KEY=", "SANDBOX_AGENT_OWNER=tester")
			c.project()
			c.ok(nil, "worker", "start")
			_, message, _ := c.refused("new", "--workspace", c.work, "--backend", string(kind))
			require.Contains(t, message, "there is no API key of ")
			e := c.editor(`{}`)
			give := func() {
				t.Helper()
				e.call("sandboxAgent/setSecret", `{"name":"`+key[0]+`","value":"`+key[1]+`"}`, nil)
			}
			give()
			id := c.session("--backend", string(kind))
			require.Equal(t, "tool\n", c.done(id, "step one"))

			kill(c.install, c.workerInfo().PID)
			c.ok(nil, "worker", "start")
			s := c.start("ask", "--session", id, "step two")
			require.NotZero(t, s.wait(), "the next worker does not know the key")
			require.Contains(t, s.describe(), "there is no API key of ")
			give()
			require.Equal(t, "1\n", c.done(id, "step two"))
			require.Equal(t, 1, c.made(kind), "in the same sandbox")

			c.requireNoKeys()
			for _, pid := range c.processes() {
				env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
				require.NoError(t, err)
				require.NotContains(t, string(env), key[1])
			}
			for _, workflow := range []string{agent.WorkflowID(id), session.ManagerID("tester")} {
				c.requireNotInHistory(workflow, id, key[1])
			}
			c.ok(nil, "destroy", id)
			c.eventually("no sandbox is left", func() bool { all, _ := c.boxes(kind); return all == 0 })
		})
	}
}

func TestAServerInACloudIsReached(t *testing.T) {
	t.Parallel()
	for kind := range keys {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0") // the stand-in's sandboxes have this machine's ports
			require.NoError(t, err)
			port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
			require.NoError(t, l.Close())
			c := inClouds(t, rules(run("serve", `mkdir site && echo served > site/page && cd site && (python3 -m http.server `+port+` >/dev/null 2>&1 &); echo begun`, "Served.")),
				"SANDBOX_AGENT_OWNER=tester")
			c.project()
			id := c.session("--backend", string(kind))
			require.Equal(t, "begun\n", c.done(id, "serve"))
			var at editors.PreviewResult
			c.ok(&at, "preview", id, port)
			fetch := func(headers []editors.PreviewHeader) (status int, text string) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+"/page", nil)
				require.NoError(t, err)
				for _, h := range headers {
					r.Header.Set(h.Name, h.Value)
				}
				res, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				return res.StatusCode, string(b)
			}
			c.eventually("it is reached", func() bool { status, text := fetch(at.Headers); return status == http.StatusOK && text == "served\n" })
			for i, h := range at.Headers {
				if strings.HasSuffix(h.Name, "token") {
					at.Headers = slices.Delete(at.Headers, i, i+1)
					status, _ := fetch(at.Headers)
					require.Equal(t, http.StatusForbidden, status)
					c.requireNotInHistory(agent.WorkflowID(id), id, h.Value)
				}
			}
			if kind == editors.Daytona {
				require.NotNil(t, at.Until)
				c.requireNotInHistory(agent.WorkflowID(id), id, at.URL)
			}
			code, _, _ := c.refused("preview", id, "70000")
			require.Equal(t, string(editors.CodeInvalidParams), code)
			c.ok(nil, "destroy", id)
		})
	}
}

// lives are the shortest lives that can be set, and turns that are longer.
var lives = map[editors.BackendKind]struct {
	variable   string
	life, turn time.Duration
}{
	editors.E2B:     {"SANDBOX_AGENT_E2B_TIMEOUT", 15 * time.Second, 24 * time.Second},
	editors.Daytona: {"SANDBOX_AGENT_DAYTONA_TIMEOUT", time.Minute, 80 * time.Second},
}

func TestATurnOutlivesTheLifeOfAnIdleSandbox(t *testing.T) {
	t.Parallel()
	for kind, l := range lives {
		t.Run(string(kind), func(t *testing.T) {
			if kind == editors.Daytona && os.Getenv("SANDBOX_TEST_FULL") != "1" {
				t.Skip("a minute is the shortest life there: SANDBOX_TEST_FULL=1 waits for it")
			}
			t.Parallel()
			c := inClouds(t, rules(
				run("long", `sleep `+strconv.Itoa(int(l.turn.Seconds()))+`; echo awake > file; echo still here`, "Long."),
				run("look", `cat file`, "Looked."),
			), l.variable+"="+l.life.String())
			c.project()
			id := c.session("--backend", string(kind))
			began := time.Now()
			require.Equal(t, "still here\n", c.done(id, "long"))
			require.Greater(t, time.Since(began), l.life)
			c.within(3*l.life+patience, "the idle sandbox comes to rest", func() bool { all, running := c.boxes(kind); return all == 1 && running == 0 })
			require.Equal(t, "awake\n", c.done(id, "look"), "and comes back")
			require.Equal(t, 1, c.made(kind))
			c.ok(nil, "destroy", id)
			c.eventually("no sandbox is left", func() bool { all, _ := c.boxes(kind); return all == 0 })
		})
	}
}

// within waits for a condition that takes its time.
func (i *install) within(d time.Duration, what string, cond func() bool) {
	i.Helper()
	require.Eventually(i, cond, d, 100*time.Millisecond, what)
}

func TestAWorkerKilledWhileASessionBeginsInACloud(t *testing.T) {
	t.Parallel()
	for kind := range keys {
		for _, step := range []string{carry.StepOpened, carry.StepFilled, carry.StepHealthy, "the request to make it"} {
			t.Run(string(kind)+" at "+step, func(t *testing.T) {
				t.Parallel() // most of the time it waits for Temporal to miss the worker
				mark := filepath.Join(t.TempDir(), "died")
				c := inClouds(t, rules(run("look", `./tool`, "Looked.")), worker.FaultVariable+"="+step+"="+mark)
				c.project()
				if step == "the request to make it" {
					c.inject(kind, cloudtest.Fault{Op: "create", Do: func() { // the cloud goes on making what nobody waits for
						kill(c.install, c.workerInfo().PID)
						_ = os.WriteFile(mark, nil, 0o600)
					}})
				}
				id := c.session("--backend", string(kind))
				require.FileExists(t, mark, "the worker came to the step")
				require.Equal(t, "tool\n", c.done(id, "look"))
				require.Equal(t, 1, c.made(kind), "no second one is made")
				var page editors.SessionsResult
				c.ok(&page, "sessions")
				require.Len(t, page.Sessions, 1)
				c.ok(nil, "destroy", id)
				c.eventually("no sandbox is left", func() bool { all, _ := c.boxes(kind); return all == 0 })
			})
		}
	}
}
