// This file tests what becomes of a call whose sandbox goes away under it.

package worker

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

// away is what a backend says whose engine has stopped.
var away = sandbox.Errorf(sandbox.ClassUnavailable, "open sandbox", "no Docker engine answers at /docker.sock: start Docker")

// TestEngineStopsInACall: what had begun is unknown, with what it printed; what had not, has failed.
func TestEngineStopsInACall(t *testing.T) {
	for name, c := range map[string]struct {
		tool    string
		reached bool // the engine stops when the call has begun
		attempt int
		stop    bool
		status  editors.ItemStatus
		told    string
	}{
		"begun":             {"exec_command", true, 1, false, editors.ItemUnknown, "tick 2"},
		"not begun":         {"exec_command", false, 1, false, editors.ItemFailed, "Error: no Docker engine answers at /docker.sock"},
		"begun by another":  {"exec_command", false, 2, false, editors.ItemUnknown, "it was not repeated: no Docker engine answers"},
		"to be ended":       {"exec_command", false, 1, true, editors.ItemUnknown, "it was not repeated: no Docker engine answers"},
		"nothing to repeat": {"read_file", false, 2, false, editors.ItemFailed, "Error: no Docker engine answers"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newActivities(t)
				a.Live = silent{}
				p := a.containers(t)
				in := agent.RunToolInput{
					Sandbox: agent.Sandbox{SessionID: "s", HostID: "host", Backend: editors.Backend{Kind: editors.Docker}},
					ItemID:  "i", EffectID: "e", Attempt: c.attempt, Stop: c.stop,
					Call: agent.CallRequest{Tool: c.tool, Arguments: `{"command": "count"}`},
				}
				if c.reached {
					stopsAfter(t, p, in.ID())
					defer func() { require.NoError(t, p.Destroy(t.Context(), sandbox.Ref{ID: in.ID()})) }()
				} else {
					p.broken = away
				}
				res, err := activityOf[agent.RunToolResult](t, a.RunTool, in)
				require.NoError(t, err)
				require.Equal(t, c.status, res.Status)
				told, err := blob.ReadAll(t.Context(), a.Blobs, blob.Ref(res.ModelRef), maxText)
				require.NoError(t, err)
				require.Contains(t, string(told), c.told)
				if c.reached {
					require.Equal(t, &editors.Output{Head: "tick 1\ntick 2\n", TotalBytes: 14, Stream: "stdout"}, res.Output)
					require.Contains(t, res.Error, away.Message)
				}
			})
		})
	}
}

// stopsAfter has the program count print before its backend goes away for good.
func stopsAfter(t *testing.T, p *places, id string) {
	t.Helper()
	sb, err := p.Backend.Open(t.Context(), sandbox.Spec{ID: id})
	require.NoError(t, err)
	box, ok := sb.(*fake.Sandbox)
	require.True(t, ok)
	box.Fail("Wait", nil, away)
	box.Program("count", func(run *fake.Process) int {
		p.mu.Lock()
		p.broken = away
		p.mu.Unlock()
		run.Print("tick 1\ntick 2\n")
		<-run.Context().Done()
		return 0
	})
}
