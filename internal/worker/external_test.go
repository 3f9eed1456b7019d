package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/config"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/mcp/mcptest"
	"sandboxagent/internal/tools"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

// withServer gives activities the server x, which is this program, and returns a call of one of its tools.
func withServer(t *testing.T, a *Activities) func(effect, tool string) agent.RunToolInput {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	a.Live = silent{}
	a.Servers = mcp.New(mcp.Options{Dir: t.TempDir(), Env: os.LookupEnv, Offer: 20 * time.Second, Servers: map[string]config.MCPServer{"x": {
		Command: self, Env: map[string]string{mcptest.Variable: "sdk"}, Timeout: 20 * time.Second, StartTimeout: 20 * time.Second,
	}}})
	t.Cleanup(a.Servers.Close)
	file := filepath.Join(t.TempDir(), "notes")
	return func(effect, tool string) agent.RunToolInput {
		return agent.RunToolInput{
			Sandbox: agent.Sandbox{SessionID: "s", HostID: "host"}, ItemID: "i", EffectID: effect, Attempt: 1,
			Call: agent.CallRequest{Tool: "mcp__x__" + tool, Arguments: fmt.Sprintf(`{"file":%q,"text":"once"}`, file), External: &agent.ExternalTool{Server: "x", Tool: tool}},
		}
	}
}

func fileOf(in agent.RunToolInput) string { return strings.Split(in.Call.Arguments, `"`)[3] }

func (a *Activities) told(t *testing.T, res agent.RunToolResult) string {
	t.Helper()
	data, err := blob.ReadAll(t.Context(), a.Blobs, blob.Ref(res.ModelRef), maxText)
	require.NoError(t, err)
	return string(data)
}

func TestACallToAServerIsMadeOnce(t *testing.T) {
	a := newActivities(t)
	calls := withServer(t, a)
	in := calls("e1", "note")
	first, err := activityOf[agent.RunToolResult](t, a.RunTool, in)
	require.NoError(t, err)
	require.Equal(t, editors.ItemCompleted, first.Status)
	require.Equal(t, "noted", a.told(t, first))
	in.Attempt = 2
	again, err := activityOf[agent.RunToolResult](t, a.RunTool, in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	in.Stop = true
	again, err = activityOf[agent.RunToolResult](t, a.RunTool, in)
	require.NoError(t, err)
	require.Equal(t, first, again, "what is known is told, also when the turn was interrupted")
	require.Equal(t, "once\n", read(t, fileOf(in)))
}

func TestACallThatWasBegunIsUnknown(t *testing.T) {
	a := newActivities(t)
	in := withServer(t, a)("e1", "note")
	require.NoError(t, a.remember(t.Context(), in, made{}))
	for _, stop := range []bool{false, true} {
		in.Stop = stop
		res, err := activityOf[agent.RunToolResult](t, a.RunTool, in)
		require.NoError(t, err)
		require.Equal(t, editors.ItemUnknown, res.Status)
		require.Contains(t, a.told(t, res), "it was not repeated")
	}
	in.EffectID, in.Stop = "e2", true
	res, err := activityOf[agent.RunToolResult](t, a.RunTool, in)
	require.NoError(t, err)
	require.Equal(t, editors.ItemInterrupted, res.Status, "it had not begun, and does not begin now")
	require.NoFileExists(t, fileOf(in))
}

func TestACallThatCannotBeNotedIsNotMade(t *testing.T) {
	a := newActivities(t)
	in := withServer(t, a)("e1", "note")
	a.PlanDir = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(a.PlanDir, nil, 0o600))
	_, err := activityOf[agent.RunToolResult](t, a.RunTool, in)
	require.Error(t, err)
	require.NoFileExists(t, fileOf(in))
}

func TestAnswersOfServersAreBounded(t *testing.T) {
	a := newActivities(t)
	calls := withServer(t, a)
	res, err := activityOf[agent.RunToolResult](t, a.RunTool, calls("big", "big"))
	require.NoError(t, err)
	told := a.told(t, res)
	require.LessOrEqual(t, len(told), tools.MaxModelBytes)
	require.Contains(t, told, "begin 0123")
	require.Contains(t, told, "789 end")
	require.Contains(t, told, "bytes left out")
	require.Equal(t, int64(10<<20+10), res.Output.TotalBytes)
	require.LessOrEqual(t, len(res.Output.Head)+len(res.Output.Tail), 2*tools.MaxPreviewBytes)
	whole, err := blob.ReadAll(t.Context(), a.Blobs, blob.Ref(res.Refs["stdout"]), 20<<20)
	require.NoError(t, err)
	require.Len(t, whole, 10<<20+10)

	res, err = activityOf[agent.RunToolResult](t, a.RunTool, calls("picture", "picture"))
	require.NoError(t, err)
	require.Len(t, res.Images, 1)
	require.Equal(t, [2]int{3, 2}, [2]int{res.Images[0].Width, res.Images[0].Height})

	res, err = activityOf[agent.RunToolResult](t, a.RunTool, calls("fail", "fail"))
	require.NoError(t, err)
	require.Equal(t, editors.ItemFailed, res.Status)
	require.Equal(t, "The tool says that it failed:\nno such thing", a.told(t, res))

	wrong := calls("wrong", "note")
	wrong.Call.Arguments = `["file"]`
	res, err = activityOf[agent.RunToolResult](t, a.RunTool, wrong)
	require.NoError(t, err)
	require.Equal(t, "Error: The arguments are no JSON object.", a.told(t, res))

	gone := calls("gone", "note")
	gone.Call.External.Server = "former"
	res, err = activityOf[agent.RunToolResult](t, a.RunTool, gone)
	require.NoError(t, err)
	require.Equal(t, editors.ItemFailed, res.Status)
	require.Contains(t, a.told(t, res), "no MCP server former")
}

func TestTheModelIsToldOfToolsAndCallsAreMarked(t *testing.T) {
	a := newActivities(t)
	withServer(t, a)
	own := a.overhead("s")
	offer := a.offer(t.Context(), "s")
	require.Greater(t, a.overhead("s"), own, "tools take room in the window")
	require.Len(t, definitions(offer), len(tools.Definitions())+len(offer.Tools))
	out := agent.ModelStepResult{Calls: []agent.CallRequest{{Tool: "mcp__x__note"}, {Tool: "mcp__x__invented"}, {Tool: "read_file"}}}
	require.NoError(t, a.recordOffer(t.Context(), offer, &out))
	require.Equal(t, &agent.ExternalTool{Server: "x", Tool: "note"}, out.Calls[0].External)
	require.Nil(t, out.Calls[1].External, "what was not offered is no tool")
	require.Nil(t, out.Calls[2].External)
	var recorded []mcp.Tool
	require.NoError(t, blob.GetJSON(t.Context(), a.Blobs, blob.Ref(out.External), &recorded))
	require.Equal(t, offer.Tools, recorded)
}
