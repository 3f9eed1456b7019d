// This file checks that what cannot be read is told and allows nothing, and that rules survive what happens to their file.

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// scene is a store, and a folder with a policy file of its own.
func scene(t *testing.T, user, workspace string) (Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, folder := Store{PolicyFile: filepath.Join(dir, "policy.json"), RuleDir: filepath.Join(dir, "rules")}, filepath.Join(dir, "w")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, ".sandbox-agent"), 0o755))
	if user != "" {
		require.NoError(t, os.WriteFile(s.PolicyFile, []byte(user), 0o600))
	}
	if workspace != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, WorkspaceFile), []byte(workspace), 0o600))
	}
	return s, folder
}

func TestWithoutFilesNothingIsSaid(t *testing.T) {
	s, folder := scene(t, "", "")
	require.Equal(t, Policies{}, s.Policies(folder))
}

func TestPoliciesAreRead(t *testing.T) {
	s, folder := scene(t, "\ufeff{\"allow\": [\"make\"]}", `{"deny": ["git push *"], "allow": ["rm -rf x"]}`)
	p := s.Policies(folder)
	require.Equal(t, policy.Policy{Allow: []string{"make"}}, p.User)
	require.Equal(t, policy.Policy{Deny: []string{"git push *"}}, p.Workspace, "what a workspace allows is left behind")
	require.Empty(t, p.Broken)
	require.Len(t, p.Notices, 1)
	require.Contains(t, p.Notices[0], "rm -rf x")
}

func TestWhatCannotBeReadIsTold(t *testing.T) {
	for _, c := range []struct{ user, workspace, want string }{
		{"{\n\"allow\": [1]}", "", "policy.json:2: a pattern must be text"},
		{"", "{\n\n\"alow\": []}", WorkspaceFile + ":3: there is no key \"alow\""},
		{"", strings.Repeat(" ", maxFile+1), "more than 256 KiB"},
		{"", `{"ask": ["` + strings.Repeat(strings.Repeat("y", 100)+`","`, 400) + `z"]}`, "more than 32 KiB"},
	} {
		s, folder := scene(t, c.user, c.workspace)
		p := s.Policies(folder)
		require.Contains(t, p.Broken, c.want)
		require.Equal(t, policy.Policy{}, p.User)
		require.Len(t, p.Notices, 1)
	}
}

func TestAWorkspaceCannotTrapItsReader(t *testing.T) {
	for name, trap := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link out":  func(path string) error { return os.Symlink("/etc/passwd", path) },
		"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"loop":      func(path string) error { return os.Symlink("policy.json", path) },
	} {
		t.Run(name, func(t *testing.T) {
			s, folder := scene(t, `{"allow": ["make"]}`, "")
			require.NoError(t, trap(filepath.Join(folder, WorkspaceFile)))
			p := s.Policies(folder)
			require.Contains(t, p.Broken, WorkspaceFile)
			require.NotContains(t, p.Broken, "root:")
		})
	}
}

func TestRulesAreKeptPerFolderAndBackend(t *testing.T) {
	s, folder := scene(t, "", "")
	r := Rule{Rule: policy.Rule{Tool: "exec_command", Pattern: "make"}, Backend: editors.Local, By: "me", At: time.Unix(1, 0).UTC()}
	other := r
	other.Backend = editors.Docker
	for _, add := range []Rule{r, other, r} {
		require.NoError(t, s.Allow(folder, add))
	}
	got, err := s.Rules(folder)
	require.NoError(t, err)
	require.Equal(t, []Rule{r, other}, got)
	got, err = s.Rules(folder + "2")
	require.NoError(t, err)
	require.Empty(t, got)
	gone, err := s.Forget(folder, "make")
	require.NoError(t, err)
	require.Len(t, gone, 2)
	gone, err = s.Forget(folder, "make")
	require.NoError(t, err)
	require.Empty(t, gone)
}

func TestRulesAreBounded(t *testing.T) {
	s, folder := scene(t, "", "")
	rule := func(pattern string) Rule {
		return Rule{Rule: policy.Rule{Tool: "exec_command", Pattern: pattern}, Backend: editors.Local}
	}
	require.ErrorIs(t, s.Allow(folder, rule(strings.Repeat("x", MaxRuleBytes+1))), ErrFull)
	for i := range MaxRules {
		require.NoError(t, s.Allow(folder, rule(fmt.Sprint("p", i))))
	}
	require.ErrorIs(t, s.Allow(folder, rule("one more")), ErrFull)
	require.NoError(t, s.Allow(folder, rule("p7")), "what is there may be allowed again")
}

func TestRulesOfSeveralProcessesAllStay(t *testing.T) {
	s, folder := scene(t, "", "")
	var adding sync.WaitGroup
	for i := range 20 {
		adding.Go(func() {
			r := Rule{Rule: policy.Rule{Tool: "exec_command", Pattern: fmt.Sprint("p", i)}, Backend: editors.Local}
			if err := s.Allow(folder, r); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	got, err := s.Rules(folder)
	require.NoError(t, err)
	require.Len(t, got, 20)
	left, err := filepath.Glob(filepath.Join(s.RuleDir, ".rules-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestADamagedFileOfRulesIsNeverReplaced(t *testing.T) {
	s, folder := scene(t, "", "")
	require.NoError(t, os.MkdirAll(s.RuleDir, 0o700))
	require.NoError(t, os.WriteFile(s.ruleFile(folder), []byte("{"), 0o600))
	_, err := s.Rules(folder)
	require.ErrorContains(t, err, s.ruleFile(folder))
	require.Error(t, s.Allow(folder, Rule{Rule: policy.Rule{Tool: "exec_command", Pattern: "make"}}))
	data, err := os.ReadFile(s.ruleFile(folder))
	require.NoError(t, err)
	require.Equal(t, "{", string(data))
}
