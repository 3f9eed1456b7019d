// This file tests what is planned, hidden and passed on, without starting anything.

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func put(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o644))
	return path
}

// policy makes the directories of a sandbox.
func policy(t *testing.T, method Method) (Policy, Host) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := Policy{Method: method, Workspace: filepath.Join(base, "home", "project"), Session: filepath.Join(base, "home", "ours", "s"), Program: put(t, filepath.Join(base, "bin", "helper"))}
	p.State = p.Session
	h := Host{Home: filepath.Join(base, "home"), Private: []string{filepath.Join(base, "home", "ours")}, Env: []string{"PATH=/usr/bin", "HOME=/x", "OPENAI_API_KEY=x", "XDG_RUNTIME_DIR=/run/user/1"}}
	for _, dir := range []string{p.Workspace, p.Session} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, p.Prepare(t.Context(), h))
	p, err = p.resolved()
	require.NoError(t, err)
	return p, h
}

func kinds(p plan) map[string]kind {
	out := map[string]kind{}
	for _, m := range p.Mounts {
		out[m.Target] = m.Kind
	}
	return out
}

func TestPlan(t *testing.T) {
	p, h := policy(t, Namespaces)
	put(t, filepath.Join(h.Home, ".ssh", "id"))
	put(t, filepath.Join(h.Home, ".netrc"))
	require.NoError(t, os.Symlink(filepath.Join(h.Home, ".ssh"), filepath.Join(h.Home, ".aws")))
	for _, name := range []string{"config", "hooks/pre-commit", "HEAD", "modules/sub/HEAD", "modules/sub/config"} {
		put(t, filepath.Join(p.Workspace, ".git", name))
	}
	socket := put(t, filepath.Join(h.Home, "service.sock"))
	got := newPlan(p, h, []string{socket, "/run/docker.sock", "/tmp/x"})
	state, home, _ := p.inside()
	want := map[string]kind{
		"/dev": devices, "/proc": process, "/tmp": bind, state: bind, home: bind, NetworkDir(state): cover,
		p.Workspace: bind, filepath.Join(p.Workspace, ".git"): bind,
		filepath.Join(p.Workspace, ".git/config"): readOnly, filepath.Join(p.Workspace, ".git/hooks"): readOnly,
		filepath.Join(p.Workspace, ".git/modules/sub/config"): readOnly,
		filepath.Join(h.Home, ".ssh"):                         cover, filepath.Join(h.Home, ".netrc"): null, filepath.Join(h.Home, "ours"): cover,
	}
	all := kinds(got)
	for target, k := range want {
		require.Equal(t, k, all[target], target)
	}
	require.NotContains(t, all, "/run/docker.sock", "what is covered anyway needs nothing more")
	require.NotContains(t, all, "/tmp/x")
	for i, m := range got.Mounts {
		for _, later := range got.Mounts[i+1:] {
			require.False(t, m.Target != later.Target && within(later.Target, m.Target), "%s is mounted before %s, which hides it", m.Target, later.Target)
		}
	}
}

func TestPlanOfTheNetwork(t *testing.T) {
	p, h := policy(t, Namespaces)
	p.State, p.Network = NetworkDir(p.Session), true
	got := newPlan(p, h, nil)
	require.True(t, got.Network)
	for _, m := range got.Mounts {
		require.NotEqual(t, p.Session, m.Source, "the records of the other helper are not shown")
	}
	for _, elsewhere := range []string{h.Home, p.Session + ".", p.Session + ".x", p.Session + ".01", p.Session + "2"} {
		require.NoError(t, os.MkdirAll(elsewhere, 0o700))
		p.State = elsewhere
		_, err := p.resolved()
		require.ErrorContains(t, err, "replaced", elsewhere)
	}
}

func TestPlanOfAnHeir(t *testing.T) {
	p, h := policy(t, Namespaces)
	p.State = HeirDir(p.Session, 1)
	require.NoError(t, os.Mkdir(p.State, 0o700))
	require.NoError(t, p.Prepare(t.Context(), h))
	p, err := p.resolved()
	require.NoError(t, err)
	state, _, _ := p.inside()
	got := newPlan(p, h, nil)
	require.Equal(t, cover, kinds(got)[NetworkDir(state)])
	for _, m := range got.Mounts {
		require.NotEqual(t, p.Session, m.Source, "the records of the first helper are not shown")
	}
	p.State = NetworkDir(p.State)
	_, err = p.resolved()
	require.NoError(t, err)
}

func TestReplacedState(t *testing.T) {
	p, _ := policy(t, Namespaces)
	p.State = NetworkDir(p.Session)
	require.NoError(t, os.Remove(p.State))
	require.NoError(t, os.Symlink("/etc", p.State))
	_, err := p.resolved()
	require.ErrorContains(t, err, "replaced")
}

func TestRepository(t *testing.T) {
	ws := t.TempDir()
	hold, keep := repository(ws)
	require.Empty(t, hold)
	require.Empty(t, keep)
	file := put(t, filepath.Join(ws, ".git"))
	hold, keep = repository(ws)
	require.Empty(t, hold)
	require.Equal(t, []string{file}, keep, "a linked work tree stays linked")
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Symlink("elsewhere", file))
	hold, keep = repository(ws)
	require.Empty(t, hold)
	require.Empty(t, keep)
}

func TestEnvironment(t *testing.T) {
	p, h := policy(t, Namespaces)
	put(t, filepath.Join(h.Home, "go/pkg/mod/cache/download/x"))
	put(t, filepath.Join(h.Home, ".config/go/env"))
	require.NoError(t, os.WriteFile(filepath.Join(h.Home, ".config/go/env"), []byte("GOPROXY=https://proxy.example\n"), 0o644))
	env := p.Environment(h)
	_, home, _ := p.inside()
	require.Equal(t, home, lookup(env, "HOME"))
	require.Equal(t, "/tmp", lookup(env, "TMPDIR"))
	require.Equal(t, "file://"+h.Home+"/go/pkg/mod/cache/download,https://proxy.example", lookup(env, "GOPROXY"))
	require.NotContains(t, strings.Join(env, " "), "OPENAI")
	require.Empty(t, lookup(env, "XDG_RUNTIME_DIR"))
	h.Env = append(h.Env, "GOPROXY=off")
	require.Equal(t, "off", lookup(p.Environment(h), "GOPROXY"))
}

func TestPrepareFollowsNothing(t *testing.T) {
	p, h := policy(t, Namespaces)
	outside := put(t, filepath.Join(h.Home, ".bashrc"))
	config := filepath.Join(p.Home(), ".gitconfig")
	require.NoError(t, os.Remove(config))
	require.NoError(t, os.Symlink(outside, config))
	require.NoError(t, p.Prepare(t.Context(), h))
	b, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "x", string(b))
}

func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	put(t, filepath.Join(dir, "a", "b", "f"))
	outside := t.TempDir()
	require.NoError(t, os.Chmod(outside, 0o555))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "a", "link")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a", "b"), 0o000))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0o555))
	require.NoError(t, Remove(dir))
	require.NoDirExists(t, dir)
	info, err := os.Stat(outside)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o555), info.Mode().Perm())
	require.NoError(t, Remove(dir))
}

func TestJailIsReadBack(t *testing.T) {
	p, h := policy(t, Landlock)
	j := p.jail(h)
	back, err := DecodeJail(j.Encode())
	require.NoError(t, err)
	require.Equal(t, j, back)
	for _, text := range []string{"", "{}", `{"method":"landlock"}`} {
		_, err := DecodeJail(text)
		require.Error(t, err)
	}
}

func TestProfile(t *testing.T) {
	p, h := policy(t, Seatbelt)
	put(t, filepath.Join(h.Home, ".ssh", "id"))
	odd := filepath.Join(h.Home, `a "quoted\ name`)
	require.NoError(t, os.MkdirAll(odd, 0o755))
	p.Workspace = odd
	j := p.jail(h)
	profile := j.Profile()
	require.Equal(t, strings.Count(profile, "(")-strings.Count(profile, `\(`), strings.Count(profile, ")"))
	require.True(t, strings.HasPrefix(profile, "(version 1)\n(deny default)\n"))
	inOrder(t, profile, "(allow file-read*)", "(deny file-read* file-write*\n", schemeString(filepath.Join(h.Home, ".ssh")),
		"(allow file-read* file-write*\n", `a \"quoted\\ name"`, "(deny file-write*\n", `/.git/hooks"`)
	require.NotContains(t, profile, "network-outbound")
	require.Contains(t, profile, `(allow network-bind (local ip "localhost:*"))`)
	j.Network = true
	require.Contains(t, j.Profile(), "(allow network-outbound (remote ip))")
	if runtime.GOOS == "darwin" {
		require.NoError(t, exec.Command("/usr/bin/sandbox-exec", "-p", profile, "/usr/bin/true").Run())
	}
}

func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		_, rest, ok := strings.Cut(text, part)
		require.True(t, ok, part)
		text = rest
	}
}

func TestOutermost(t *testing.T) {
	require.Equal(t, []string{"/a", "/a-b", "/c/d"}, outermost([]string{"/c/d/e", "/a/b", "/a-b", "/a", "/c/d"}))
}
