//go:build linux

// These tests are of sessions in clouds, which stand-ins on this machine play.

package e2e

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/mcp/mcptest"
	"sandboxagent/internal/model/modeltest"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
	"sandboxagent/internal/sandbox/docker/testimage"
	"sandboxagent/internal/sandbox/e2b/e2btest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	switch {
	case e2btest.Invoked():
		os.Exit(e2btest.Daemon())
	case daytonatest.Invoked():
		os.Exit(daytonatest.Daemon())
	}
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue { // which is for tests that compute; these wait most of the time
		_ = parallel.Value.Set(strconv.Itoa(2 * runtime.NumCPU()))
	}
	os.Exit(m.Run())
}

// clouds are an installation and the clouds that it has keys of.
type clouds struct {
	*install
	e2b     *e2btest.Server
	daytona *daytonatest.Server
}

func inClouds(t *testing.T, script modeltest.Script, env ...string) *clouds {
	t.Helper()
	c := &clouds{e2b: e2btest.New(t, e2btest.Options{}), daytona: daytonatest.New(t, daytonatest.Options{})}
	c.install = newInstall(t, script, append([]string{
		"E2B_API_KEY=" + e2btest.DefaultKey, "E2B_API_URL=" + c.e2b.URL, "E2B_SANDBOX_URL=" + c.e2b.URL, "SANDBOX_AGENT_E2B_ROOT=" + e2btest.Root,
		"DAYTONA_API_KEY=" + daytonatest.DefaultKey, "DAYTONA_API_URL=" + c.daytona.URL,
	}, env...)...)
	return c
}

// boxes counts the sandboxes that would have to be paid for, and those that run.
func (c *clouds) boxes(kind editors.BackendKind) (all, running int) {
	note := func(runs bool) {
		if all++; runs {
			running++
		}
	}
	if kind == editors.E2B {
		for _, s := range c.e2b.Sandboxes() {
			note(s.Running)
		}
		return all, running
	}
	for _, s := range c.daytona.Sandboxes() {
		note(s.Running)
	}
	return all, running
}

// lose deletes every sandbox, as somebody else with access to the account could.
func (c *clouds) lose(kind editors.BackendKind) {
	c.Helper()
	if kind == editors.E2B {
		for _, s := range c.e2b.Sandboxes() {
			require.NoError(c, c.e2b.Kill(s.ID))
		}
		return
	}
	for _, s := range c.daytona.Sandboxes() {
		require.NoError(c, c.daytona.Kill(s.ID))
	}
}

// requireNoKeys looks for the keys where they must not be: on disk, in arguments, in the environment of what runs commands.
func (c *clouds) requireNoKeys() {
	c.Helper()
	for _, key := range []string{e2btest.DefaultKey, daytonatest.DefaultKey} {
		c.requireNotOnDisk(key)
		for _, pid := range c.processes() {
			proc := filepath.Join("/proc", strconv.Itoa(pid))
			argv, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
			require.NotContains(c, string(argv), key, "arguments of a process")
			program, _ := os.Readlink(filepath.Join(proc, "exe"))
			if base := filepath.Base(program); base != "sandbox-worker" && base != "sandbox-agent" {
				env, _ := os.ReadFile(filepath.Join(proc, "environ"))
				require.NotContains(c, string(env), key, "environment of "+program)
			}
		}
	}
}

func (i *install) git(args ...string) string {
	i.Helper()
	cmd := exec.CommandContext(i.Context(), "git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.org"}, args...)...)
	cmd.Dir, cmd.Env = i.work, append(os.Environ(), "HOME="+i.home, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	require.NoError(i, err, string(out))
	return strings.TrimSpace(string(out))
}

// project fills the folder with a repository, something that git ignores and a secret.
func (i *install) project() {
	i.Helper()
	for name, text := range map[string]string{
		"text": numbered(20), "old": "old\n", "sub/deep/file": "deep\n", ".gitignore": "/build\n", "build/out": "built\n", ".env": "TOKEN=of-the-user\n",
	} {
		require.NoError(i, os.MkdirAll(filepath.Dir(filepath.Join(i.work, name)), 0o755))
		i.write(name, text)
	}
	i.write("tool", "#!/bin/sh\necho tool\n")
	require.NoError(i, os.Chmod(filepath.Join(i.work, "tool"), 0o755))
	require.NoError(i, os.Symlink("sub/deep", filepath.Join(i.work, "link")))
	i.git("init", "-q", "-b", "main")
	i.git("add", "-A", ":!.env")
	i.git("commit", "-qm", "by the user")
}

// files are the contents of all files of the folder but git's own.
func (i *install) files() map[string]string {
	i.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(i.work, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(i.work, path)
		switch {
		case name == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case d.Type()&os.ModeSymlink != 0:
			out[name], err = os.Readlink(path)
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[name] = info.Mode().String() + " " + i.read(name)
		return nil
	})
	require.NoError(i, err)
	return out
}

// leftOut are the paths of a carry that did not travel.
func leftOut(c editors.Carry) []string {
	var out []string
	for _, s := range c.Skipped {
		out = append(out, s.Path)
	}
	return out
}

// lookAround tells of a workspace what tests of every cloud want to know.
const lookAround = `[ -e .env ] && echo secret; [ -e build ] && echo ignored; env | grep -E 'E2B|DAYTONA|e2b_|dtn_'; ./tool; `

func TestARoundTripThroughTheClouds(t *testing.T) {
	t.Parallel()
	image := testimage.Need(t)
	c := inClouds(t, rules(
		run("step local", `echo 1 > by-agent`, "One."),
		run("step e2b", lookAround+`cat by-agent && sed -i 's/^line 18$/line 18 in e2b/' text && rm old && echo 2 > in-e2b`, "Two."),
		run("step daytona", lookAround+`cat in-e2b && sed -i 's/^line 12$/line 12 in daytona/' text && echo 3 > sub/in-daytona`, "Three."),
		run("step docker", lookAround+`cat sub/in-daytona && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm agent && echo 4 > in-docker`, "Four."),
	), "SANDBOX_AGENT_DOCKER_IMAGE="+image)
	t.Cleanup(func() { removeContainers(t, c.install) })
	c.project()
	id := c.session()
	want := c.files()
	c.done(id, "step local")

	stays := []string{".env", "build"}
	var there editors.SwitchResult
	c.ok(&there, "switch", "--session", id, "e2b")
	require.ElementsMatch(t, stays, leftOut(there.Carry))
	require.Equal(t, "tool\n1\n", c.done(id, "step e2b"))
	require.FileExists(t, filepath.Join(c.work, "old"), "the folder is left alone")
	c.write("text", strings.Replace(numbered(20), "line 3\n", "line 3 by the user\n", 1))

	c.ok(&there, "switch", "--session", id, "daytona")
	require.Equal(t, "tool\n2\n", c.done(id, "step daytona"))
	c.write("by-user", "while it was in daytona\n")

	c.ok(&there, "switch", "--session", id, "docker")
	require.Equal(t, "tool\n3\n", c.done(id, "step docker"))

	var back editors.SwitchResult
	c.ok(&back, "switch", "--session", id, "local")
	require.Empty(t, back.Carry.Conflicts)
	text := strings.NewReplacer("line 3\n", "line 3 by the user\n", "line 12\n", "line 12 in daytona\n", "line 18\n", "line 18 in e2b\n").Replace(numbered(20))
	for name, content := range map[string]string{
		"text": text, "by-agent": "1\n", "in-e2b": "2\n", "sub/in-daytona": "3\n", "in-docker": "4\n", "by-user": "while it was in daytona\n",
	} {
		want[name] = "-rw-r--r-- " + content
	}
	delete(want, "old")
	require.Equal(t, want, c.files(), "with what never left")
	require.Equal(t, "agent\nby the user", c.git("log", "--format=%s"))
	c.git("fsck", "--strict")

	c.requireNoKeys()
	c.ok(nil, "destroy", id)
	c.eventually("no sandbox is left", func() bool {
		e2bs, _ := c.boxes(editors.E2B)
		daytonas, _ := c.boxes(editors.Daytona)
		return e2bs+daytonas == 0 && len(c.sandboxes()) == 0
	})
	require.Equal(t, 1, c.e2b.Created())
	require.Equal(t, 1, c.daytona.Created())
}

func TestASessionBegunInACloud(t *testing.T) {
	t.Parallel()
	for _, kind := range []editors.BackendKind{editors.E2B, editors.Daytona} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := inClouds(t, rules(
				run("step one", lookAround+`cat text sub/deep/file | wc -l; git log --format=%s; echo 1 > one`, "One."),
				run("step two", `cat one && echo 2 > two`, "Two."),
				run("step three", `cat two && echo 3 > three`, "?"),
				say("The sandbox was gone", "Three."), // the model is told too
			))
			c.project()
			want := c.files()
			id := c.session("--backend", string(kind))
			all, _ := c.boxes(kind)
			require.Equal(t, 1, all, "it is there before the first question")
			require.Equal(t, "tool\n21\nby the user\n", c.done(id, "step one"))

			c.ok(nil, "pause", id)
			c.eventually("the sandbox rests with its session", func() bool { _, running := c.boxes(kind); return running == 0 })
			require.Equal(t, "1\n", c.done(id, "step two"))

			c.lose(kind)
			s := c.start("ask", "--session", id, "step three")
			require.Zero(t, s.wait(), s.describe())
			require.Contains(t, notices(s.durable()), "The sandbox was gone; a fresh one was made from checkpoint")
			items := toolItems(s.durable())
			require.Equal(t, "2\n", items[len(items)-1].Output.Head)

			var back editors.SwitchResult
			c.ok(&back, "switch", "--session", id, "local")
			for _, name := range []string{"one", "two", "three"} {
				want[name] = "-rw-r--r-- " + map[string]string{"one": "1\n", "two": "2\n", "three": "3\n"}[name]
			}
			require.Equal(t, want, c.files())
			c.requireNoKeys()
			c.ok(nil, "destroy", id)
			c.eventually("no sandbox is left", func() bool { all, _ := c.boxes(kind); return all == 0 })
		})
	}
}

// notices are the texts of all notices.
func notices(events []editors.EventMessage) string {
	var b strings.Builder
	for _, e := range events {
		if e.Event.Item != nil && e.Event.Item.Kind == editors.Notice {
			b.WriteString(e.Event.Item.Text + "\n")
		}
	}
	return b.String()
}

func TestNoSecretComesToACloudByARestoreOrAnAdoption(t *testing.T) {
	t.Parallel()
	c := inClouds(t, rules(
		run("work", `echo w > work`, "Worked."),
		run("look", `ls -A | tr '\n' ' '`, "Looked."),
		run("forked", `echo TOKEN=of-the-fork > .env; echo f > by-fork`, "Made."),
	))
	c.project()
	id := c.session()
	c.ok(nil, "switch", "--session", id, "e2b")
	c.done(id, "work") // what the agent has seen last has no secrets any more
	var all editors.CheckpointsResult
	c.ok(&all, "checkpoints", id)
	at := slices.IndexFunc(all.Checkpoints, func(p editors.Checkpoint) bool { return p.Summary == "Before moving to e2b" })
	require.GreaterOrEqual(t, at, 0, "%+v", all)
	var back editors.RestoreResult
	c.ok(&back, "restore", id, all.Checkpoints[at].ID)
	require.NotContains(t, back.Restored, ".env")
	require.NotContains(t, c.done(id, "look"), ".env")

	var fork editors.NewResult
	c.ok(&fork, "fork", "--backend", "local", id)
	c.done(fork.Session.ID, "forked")
	c.ok(nil, "adopt", fork.Session.ID)
	seen := c.done(id, "look")
	require.Contains(t, seen, "by-fork")
	require.NotContains(t, seen, ".env")
	c.ok(nil, "destroy", fork.Session.ID)
	c.ok(nil, "destroy", id)
}

func TestASlowCloudThatLosesAnAnswerMakesOneSandbox(t *testing.T) {
	t.Parallel()
	c := inClouds(t, rules(run("look", `./tool`, "Looked.")))
	c.project()
	c.e2b.Inject(cloudtest.Fault{Op: "create", Lost: true})
	c.e2b.Inject(cloudtest.Fault{Op: "upload", Delay: 12 * time.Second}) // longer than any answer that makes nothing
	id := c.session("--backend", "e2b")
	require.Zero(t, c.e2b.Pending())
	require.Equal(t, "tool\n", c.done(id, "look"))
	require.Equal(t, 1, c.e2b.Created())
	c.ok(nil, "destroy", id)
	c.eventually("no sandbox is left", func() bool { all, _ := c.boxes(editors.E2B); return all == 0 })
}

func TestACloudThatFailsMakesNoSession(t *testing.T) {
	t.Parallel()
	c := inClouds(t, rules(), "E2B_API_KEY=e2b_0000000000000000000000000000000000000000")
	c.project()
	_, message, _ := c.refused("new", "--workspace", c.work, "--backend", "e2b")
	require.Contains(t, message, "E2B")
	var page editors.SessionsResult
	c.ok(&page, "sessions")
	require.Empty(t, page.Sessions)
	require.Zero(t, c.e2b.Created())
}

func TestCloudsWithoutAKey(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules())
	i.ok(nil, "worker", "start")
	for kind, key := range map[editors.BackendKind]string{editors.E2B: "E2B_API_KEY", editors.Daytona: "DAYTONA_API_KEY"} {
		check := i.backendCheck(kind)
		require.Equal(t, "warning", check.Status)
		require.Contains(t, check.Detail, "there is no API key of ")
		require.Contains(t, check.Remedy, "set "+key)
		code, message, _ := i.refused("new", "--workspace", i.work, "--backend", string(kind))
		require.Equal(t, string(editors.CodeBackendUnavailable), code)
		require.Contains(t, message, "there is no API key of ")
	}
}
