package core

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/workerproc"
)

// TestServersAsTheConfigurationAndTheWorkerKnowThem goes from no worker to one that has read an older configuration.
func TestServersAsTheConfigurationAndTheWorkerKnowThem(t *testing.T) {
	core := testCore(t, newFakeEngine())
	core.opts.Config.MCP = map[string]config.MCPServer{
		"new": {Command: "new-server"}, "same": {Command: "server", Args: []string{"stdio"}}, "moved": {URL: "https://b.example/"}, "off": {Command: "x", Disabled: true},
	}
	conn := testConn(t, core)
	states := func() map[string]string {
		out, err := run[editors.MCPResult](t, conn, "mcp", editors.MCPParams{})
		require.NoError(t, err)
		found := map[string]string{}
		for _, s := range out.Servers {
			found[s.Name] = s.State + ": " + s.Reason
			require.True(t, s.Reason == "" || s.State == "off" || s.Remedy != "", s.Name)
		}
		return found
	}
	require.Equal(t, map[string]string{
		"new": "unknown: " + workerAsleep, "same": "unknown: " + workerAsleep, "moved": "unknown: " + workerAsleep, "off": "off: the configuration says enabled = false",
	}, states())

	release, err := workerproc.Hold(t.Context(), core.opts.Paths.WorkerLock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = release() })
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.Handle(CallServers, func(context.Context, editors.Raw) (any, error) {
		return editors.MCPResult{Servers: []editors.MCPServer{
			{Name: "former", State: "ready", Target: "y"},
			{Name: "moved", State: "ready", Target: "https://a.example/"},
			{Name: "off", State: "off", Target: "x"},
			{Name: "same", State: "ready", Target: "server stdio", LeftOut: []string{"a: b"}},
		}}, nil
	})
	const changed = "ready: the configuration has changed since the worker began"
	require.Equal(t, map[string]string{
		"former": changed, "moved": changed, "off": "off: ", "same": "ready: ", "new": "unknown: the worker began before it was configured",
	}, states())

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{}`), 0o600))
	conn.SetFolders([]string{"file://" + dir})
	var said []string
	for _, c := range conn.checkServers(t.Context()) {
		said = append(said, c.Status+" "+c.Detail)
	}
	require.Len(t, said, 6)
	require.Equal(t, "warning same (server stdio): ready, 0 tools; some tools are left out", said[3])
	require.Equal(t, "ok off (x): off", said[2])
	require.Contains(t, said[5], "ok "+dir+": The workspace names MCP servers in .mcp.json; that does not count")
}
