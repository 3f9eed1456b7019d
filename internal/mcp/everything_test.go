package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/config"
)

// TestTheReferenceServer tries the protocol's own reference server, which is not made with the SDK used here.
func TestTheReferenceServer(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped by -short: it installs a package with npm")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: %s is not installed, so the reference server cannot be tried", program)
		}
	}
	const dir = "mcptest/npm"
	script, err := filepath.Abs(dir + "/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	require.NoError(t, err)
	if _, err := os.Stat(script); err != nil {
		npm := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
		npm.Dir = dir
		out, err := npm.CombinedOutput()
		require.NoError(t, err, "npm ci: %s", out)
	}
	p := one(t, config.MCPServer{Command: "node", Args: []string{script, "stdio"}, Timeout: time.Minute, StartTimeout: time.Minute})
	p.o.Offer = time.Minute
	offer := p.Offer(t.Context(), "s")
	require.Empty(t, offer.Notices)
	require.Greater(t, len(offer.Tools), 5)
	r, err := p.do(t.Context(), "echo", `{"message":"hello there"}`)
	require.NoError(t, err)
	require.Contains(t, r.Text, "hello there")
	require.True(t, slices.ContainsFunc(offer.Tools, func(t Tool) bool { return strings.HasSuffix(t.Original, "image") }), "%v", names(offer.Tools))
	image := offer.Tools[slices.IndexFunc(offer.Tools, func(t Tool) bool { return strings.HasSuffix(t.Original, "image") })].Original
	r, err = p.do(t.Context(), image, `{}`)
	require.NoError(t, err)
	require.Contains(t, r.Text, "[image 1: image/png, ")
	require.Len(t, r.Images, 1)
	r, err = p.do(t.Context(), "echo", `{}`)
	require.NoError(t, err)
	require.True(t, r.Error, "it refuses wrong arguments: %s", r.Text)
}
