// This file tests the listing and removing of what was allowed for always, and what the doctor says of policies.

package core

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
	"sandboxagent/internal/policy/store"
	"sandboxagent/internal/workspace"
)

// ruled is a connection whose folder is real and has a rule of its own.
func ruled(t *testing.T) (conn *Conn, f *fakeEngine, dir, uri string) {
	t.Helper()
	f = newFakeEngine()
	core := testCore(t, f)
	conn, dir = testConn(t, core), workspace.Resolve(t.TempDir())
	uri = "file://" + dir
	conn.SetFolders([]string{uri})
	s := f.add("s1", core.HostID())
	s.view.WorkspaceFolder = uri
	rule := store.Rule{Rule: policy.Rule{Tool: "exec_command", Pattern: "make"}, Backend: editors.Local, By: "nvim", At: time.Unix(1, 0).UTC()}
	require.NoError(t, core.policies().Allow(dir, rule))
	return conn, f, dir, uri
}

func TestRulesOfAWorkspace(t *testing.T) {
	conn, _, _, uri := ruled(t)
	for _, p := range []editors.RulesParams{{Op: "list"}, {Op: "list", WorkspaceFolder: uri}, {Op: "list", SessionID: "s1", Scope: editors.ScopeWorkspace}} {
		out, err := run[editors.RulesResult](t, conn, "rules", p)
		require.NoError(t, err)
		require.Len(t, out.Rules, 1)
		require.Equal(t, "nvim", out.Rules[0].By)
		require.Equal(t, editors.ScopeWorkspace, out.Rules[0].Scope)
	}
	out, err := run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "remove", Pattern: "make"})
	require.NoError(t, err)
	require.Len(t, out.Rules, 1)
	_, err = run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "remove", Pattern: "make"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
	out, err = run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "list"})
	require.NoError(t, err)
	require.Empty(t, out.Rules)
}

func TestRulesOfASession(t *testing.T) {
	conn, f, _, _ := ruled(t)
	f.rules = []policy.Rule{{Tool: "exec_command", Pattern: "npm test *"}, {Tool: "exec_command", Pattern: "make"}}
	out, err := run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "list", SessionID: "s1"})
	require.NoError(t, err)
	require.Len(t, out.Rules, 3, "those of the session and of its workspace")
	out, err = run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "list", SessionID: "s1", Scope: editors.ScopeSession})
	require.NoError(t, err)
	require.Len(t, out.Rules, 2)
	out, err = run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "remove", SessionID: "s1", Pattern: "make"})
	require.NoError(t, err)
	require.Len(t, out.Rules, 2, "taken back in both")
	_, err = run[editors.RulesResult](t, conn, "rules", editors.RulesParams{Op: "remove", SessionID: "s1", Pattern: "make"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
	for _, p := range []editors.RulesParams{{Op: "remove"}, {Op: "list", Scope: editors.ScopeSession}, {Op: "explode"}, {Op: "list", Scope: "world"}} {
		_, err = run[editors.RulesResult](t, conn, "rules", p)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), p)
	}
}

func TestDoctorReadsThePolicies(t *testing.T) {
	conn, _, dir, _ := ruled(t)
	file := conn.core.opts.Paths.PolicyFile
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	checks := conn.checkPolicies(t.Context())
	require.Len(t, checks, 1)
	require.Contains(t, checks[0].Detail, file+" says nothing")

	write(file, `{"allow": ["make"], "deny": ["git push *", "rm *"]}`)
	write(filepath.Join(dir, store.WorkspaceFile), `{"allow": ["curl x"]}`)
	checks = conn.checkPolicies(t.Context())
	require.Len(t, checks, 2)
	require.Contains(t, checks[0].Detail, "allows 1 pattern, asks about 0 patterns and denies 2 patterns")
	require.Equal(t, checkWarning, checks[1].Status)
	require.Contains(t, checks[1].Detail, "curl x")

	write(file, "{\n\"alow\": []}")
	checks = conn.checkPolicies(t.Context())
	require.Equal(t, checkError, checks[0].Status)
	require.Contains(t, checks[0].Detail, file+":2: there is no key \"alow\"")
	require.NotEmpty(t, checks[0].Remedy)
}
