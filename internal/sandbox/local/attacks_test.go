// This file attacks what lies outside a sandbox from inside, in every way of confinement, as root and as an ordinary user.
// What came of it is the table in docs/security.md; UPDATE_SECURITY=1 writes it anew.

package local

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

const (
	canary      = "canary-7c1d0b"
	outsideEnv  = "SANDBOX_TEST_OUTSIDE"
	ordinaryUID = 1001
	tableBegin  = "<!-- attacks -->"
	tableEnd    = "<!-- /attacks -->"
)

var ways = []confine.Method{confine.Namespaces, confine.Bubblewrap, confine.Landlock}

// victim is everything that must not be reached.
type victim struct {
	t       *testing.T
	out     string // a directory of the user outside the workspace
	home    string
	ws      string
	b       *Backend
	sb      sandbox.Sandbox
	session string
	helper  int // its process id
	worker  int // a process of the same user with a secret in its environment
	tcp     net.Listener
	reached atomic.Int64 // connections and datagrams that came in
	udp     net.PacketConn
	n       int
}

func newVictim(t *testing.T, level confine.Level, way confine.Method) *victim {
	t.Helper()
	v := &victim{t: t, out: outside(t)}
	v.home, v.ws = filepath.Join(v.out, "home"), filepath.Join(v.out, "home", "project")
	for name, text := range map[string]string{
		"file": "original", "home/.bashrc": "original", "home/.ssh/id": canary, "home/.aws/credentials": canary, "home/.config/gh/hosts.yml": canary,
		"home/ours/config.toml": canary, "home/snap/firefox/common/.mozilla/logins.json": canary, "home/.config/microsoft-edge/Cookies": canary,
		"home/.config/Code/User/x": canary, "home/.histfile": canary, "home/project/bin/x": "x", "home/project/mine": "mine", "elsewhere/x": "x",
	} {
		write(t, filepath.Join(v.out, name), text)
	}
	t.Setenv("HOME", v.home)
	t.Setenv("PATH", filepath.Join(v.ws, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("HTTPS_PROXY", "http://u:"+canary+"@proxy.invalid:3128")
	t.Setenv("PIP_INDEX_URL", "https://"+canary+"@pypi.invalid/simple")
	v.repositories()
	v.listen()
	worker := exec.Command("sleep", "1000")
	worker.Env = []string{"CANARY=" + canary}
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	v.worker = worker.Process.Pid
	self := selfPath()
	b, err := New(Options{StateDir: filepath.Join(v.home, "ours", "state"), HelperBinary: self, Confinement: level, Methods: []confine.Method{way}, Private: []string{filepath.Join(v.home, "ours")}})
	require.NoError(t, err)
	if err := b.Available(t.Context()); err != nil {
		t.Skipf("not possible here: %v", err)
	}
	v.b = b
	v.sb = open(t, b, "s1", v.ws)
	v.session = b.stateDir("s1")
	v.helper = helperIn(t, v.session)
	return v
}

// outside returns a directory that no private /tmp hides.
func outside(t *testing.T) string {
	t.Helper()
	bases := []string{os.Getenv(outsideEnv)}
	if home, err := os.UserHomeDir(); err == nil {
		bases = append(bases, home)
	}
	for _, base := range append(bases, "/srv", "/opt") {
		if base == "" {
			continue
		}
		if dir, err := os.MkdirTemp(base, ".sandbox-test-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("there is no place outside /tmp to be attacked")
	return ""
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// repositories makes the workspace a repository with a submodule, and one below it.
func (v *victim) repositories() {
	as := []string{"-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always"}
	source := filepath.Join(v.out, "source")
	require.NoError(v.t, os.Mkdir(source, 0o755))
	git(v.t, source, "init", "-q")
	git(v.t, source, append(as, "commit", "-q", "--allow-empty", "-m", "first")...)
	git(v.t, v.ws, "init", "-q")
	git(v.t, v.ws, append(as, "submodule", "--quiet", "add", source, "module")...)
	git(v.t, v.ws, "init", "-q", "nested")
	require.NoError(v.t, os.RemoveAll(filepath.Join(v.ws, ".git", "hooks"))) // as with an empty template
}

// listen opens doors that are to stay closed.
func (v *victim) listen() {
	var err error
	v.tcp, err = net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(v.t, err)
	v.udp, err = net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(v.t, err)
	path, err := net.Listen("unix", filepath.Join(v.out, "sock"))
	require.NoError(v.t, err)
	abstract, err := net.Listen("unix", "@"+filepath.Join(v.out, "abstract"))
	require.NoError(v.t, err)
	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(v.out, "dgram"), Net: "unixgram"})
	require.NoError(v.t, err)
	for _, l := range []net.Listener{v.tcp, path, abstract} {
		v.t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				v.reached.Add(1)
				_ = c.Close()
			}
		}()
	}
	for _, p := range []net.PacketConn{v.udp, datagrams} {
		v.t.Cleanup(func() { _ = p.Close() })
		go func() {
			for {
				if _, _, err := p.ReadFrom(make([]byte, 100)); err != nil {
					return
				}
				v.reached.Add(1)
			}
		}()
	}
}

// run runs an attack and returns what it printed, and whether the sandbox told of it.
func (v *victim) run(script string, online bool) (out string, told bool) {
	v.t.Helper()
	v.n++
	id := "a" + strconv.Itoa(v.n)
	_, port, _ := net.SplitHostPort(v.tcp.Addr().String())
	_, udp, _ := net.SplitHostPort(v.udp.LocalAddr().String())
	_, out = run(v.t, v.sb, id, sandbox.Command{Script: script, Network: online, Env: []string{
		"OUT=" + v.out, "VICTIM=" + v.home, "WORKER=" + strconv.Itoa(v.worker), "PORT=" + port, "UDP=" + udp, "SESSION=" + v.session,
		"HELPER=" + strconv.Itoa(v.helper),
	}})
	return out, strings.Contains(read(v.t, v.sb, id, sandbox.Stderr), "[sandbox] What git runs")
}

func (v *victim) text(name string) string {
	b, err := os.ReadFile(filepath.Join(v.out, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ranOutside opens another sandbox of the folder, as at the next start of the worker, and reports whether its program ran.
func (v *victim) ranOutside() bool {
	v.t.Helper()
	sb, err := v.b.Open(v.t.Context(), sandbox.Spec{ID: "s2", Workspace: v.ws})
	require.NoError(v.t, err)
	_, _ = script(v.t, sb, "x", "/bin/true")
	require.NoError(v.t, sb.Close())
	require.NoError(v.t, v.b.Destroy(v.t.Context(), sb.Ref()))
	for _, name := range []string{"git", "bwrap"} {
		require.NoError(v.t, os.Remove(filepath.Join(v.ws, "bin", name)))
	}
	return v.there("ran")
}

func (v *victim) there(name string) bool {
	_, err := os.Lstat(filepath.Join(v.out, name))
	return err == nil
}

// What can come of an attack.
const (
	keptOff  = "kept off"
	possible = "**possible**"
	told     = "possible, but told"
)

// outcomes runs every attack and returns what came of each.
func outcomes(t *testing.T, level confine.Level, way confine.Method) map[string]string {
	v := newVictim(t, level, way)
	report, err := v.b.Confinement(t.Context())
	require.NoError(t, err)
	got := map[string]string{}
	for _, a := range attacks {
		if way.Strong() && report.Landlock < a.since {
			got[a.name] = keptOff // the table speaks of later kernels
			continue
		}
		v.reached.Store(0)
		write(t, filepath.Join(v.out, "file"), "original")
		out, noticed := v.run("{ "+a.script+"\n} 2>&1", a.online)
		hit := strings.Contains(out, "leak\n") || a.hit != nil && a.hit(v)
		switch {
		case !hit:
			got[a.name] = keptOff
		case noticed:
			got[a.name] = told
		default:
			got[a.name] = possible
			t.Logf("%s by %s: %s", a.name, way, out)
		}
		if hit && helperGone(v) {
			require.NoError(t, v.sb.Health(t.Context()))
			v.helper = helperIn(t, v.session)
		}
		require.False(t, helperGone(v), "the helper did not survive: %s\n%s\n%s", a.name, out, v.text("home/ours/state/"+filepath.Base(v.session)+"/helper.log"))
	}
	return got
}

func TestAttacks(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the attacks are written in Python")
	}
	table := map[confine.Method]map[string]string{}
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			got := outcomes(t, confine.LevelFull, way)
			for _, a := range attacks {
				want := keptOff
				if slices.Contains(a.open, way) {
					want = possible
				}
				if slices.Contains(a.told, way) {
					want = told
				}
				require.Equal(t, want, got[a.name], a.name)
			}
			table[way] = got
		})
	}
	if os.Getuid() == 0 {
		t.Run("as an ordinary user", func(t *testing.T) { again(t, "^TestAttacks") })
		checkTable(t, table)
	}
}

// TestAttacksAreReal proves that the attacks succeed where nothing is confined, so that the table means something.
func TestAttacksAreReal(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root would hit what must live; the ordinary user tries it, see TestAttacks")
	}
	got := outcomes(t, confine.LevelNone, "")
	var failed []string
	for _, a := range attacks {
		if !a.beyond && got[a.name] == keptOff {
			failed = append(failed, a.name)
		}
	}
	require.Empty(t, failed)
}

// again runs tests of this program as an ordinary user.
func again(t *testing.T, tests string) {
	dir, err := os.MkdirTemp("/srv", ".sandbox-user-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, base := filepath.Join(dir, "tests"), filepath.Join(dir, "outside")
	copyFile(t, selfPath(), program)
	require.NoError(t, os.Mkdir(base, 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chown(base, ordinaryUID, ordinaryUID))
	cmd := exec.Command(program, "-test.run", tests, "-test.v")
	cmd.Dir = base
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", "HOME=" + base, "TMPDIR=" + base, outsideEnv + "=" + base}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUID, Gid: ordinaryUID}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("---")) {
			t.Log(string(bytes.TrimSpace(line)))
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// checkTable compares the table for users with what happened, when all ways could be tried.
func checkTable(t *testing.T, table map[confine.Method]map[string]string) {
	t.Helper()
	if len(table) != len(ways) {
		t.Log("not all ways could be tried, so the table in the documentation is not checked")
		return
	}
	var b strings.Builder
	b.WriteString("| attack | namespaces | bubblewrap | Landlock alone |\n|---|---|---|---|\n")
	for _, a := range attacks {
		fmt.Fprintf(&b, "| %s |", a.name)
		for _, way := range ways {
			fmt.Fprintf(&b, " %s |", table[way][a.name])
		}
		b.WriteString("\n")
	}
	doc := filepath.Join("..", "..", "..", "docs", "security.md")
	text := content(t, doc)
	head, rest, ok := strings.Cut(text, tableBegin)
	require.True(t, ok)
	old, tail, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok)
	if os.Getenv("UPDATE_SECURITY") == "1" {
		require.NoError(t, os.WriteFile(doc, []byte(head+tableBegin+"\n"+b.String()+tableEnd+tail), 0o644))
		return
	}
	require.Equal(t, strings.TrimSpace(old), strings.TrimSpace(b.String()), "run this test with UPDATE_SECURITY=1")
}
