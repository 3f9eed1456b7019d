// This file carries between a real folder and real containers: the test's own program is the helper of folders.

package carry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/docker"
	"sandboxagent/internal/sandbox/docker/testimage"
	"sandboxagent/internal/sandbox/local"
	"sandboxagent/internal/sandbox/sandboxtest"
	"sandboxagent/internal/workspace"
)

func TestMain(m *testing.M) {
	if helper.Invoked(os.Args) {
		os.Exit(helper.Main(os.Args[1:]))
	}
	os.Exit(sandboxtest.Main(m))
}

// world is a host with a folder, a store and an engine.
type world struct {
	testing.TB
	*Carrier
	home    string
	folders *local.Backend
	boxes   *docker.Backend
	dir     string
	made    int
}

func newWorld(t testing.TB, dockerHost string) *world {
	t.Helper()
	image := testimage.Need(t)
	self, err := os.Executable()
	require.NoError(t, err)
	w := &world{TB: t, dir: t.TempDir()}
	w.home = filepath.Join(w.dir, "home", "project")
	require.NoError(t, os.MkdirAll(w.home, 0o755))
	w.folders, err = local.New(local.Options{StateDir: filepath.Join(w.dir, "state"), HelperBinary: self, HostID: "host"})
	require.NoError(t, err)
	host := "test-" + filepath.Base(w.dir) + t.Name()
	w.boxes, err = docker.New(docker.Options{
		StateDir: filepath.Join(w.dir, "docker"), HostID: host, Image: image, HelperBinary: sandboxtest.Helper(t),
		Env: func(name string) (string, bool) {
			if name == "DOCKER_HOST" && dockerHost != "" {
				return dockerHost, true
			}
			return os.LookupEnv(name)
		},
	})
	require.NoError(t, err)
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(w.dir, "store"), Reserve: -1})
	require.NoError(t, err)
	w.Carrier = &Carrier{Store: store, Forks: workspace.Forks{Dir: filepath.Join(w.dir, "forks")}}
	t.Cleanup(w.clean)
	return w
}

func (w *world) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, b := range []interface {
		sandbox.Backend
		sandbox.Lister
	}{w.folders, w.boxes} {
		found, err := b.List(ctx, "")
		require.NoError(w, err)
		for _, f := range found {
			require.NoError(w, b.Destroy(ctx, f.Ref))
		}
	}
	_ = w.boxes.Close()
}

func (w *world) place(b sandbox.Backend, folder string) Place {
	w.made++
	return Place{Backend: b, Spec: sandbox.Spec{ID: fmt.Sprintf("s.%d", w.made), Owner: "me", Workspace: folder}}
}

// picture takes a checkpoint for the session.
func (w *world) picture(p Place) checkpoint.Info {
	w.Helper()
	sb, err := p.Backend.Open(context.Background(), p.Spec)
	require.NoError(w, err)
	defer sb.Close()
	ws, err := checkpoint.Of(sb)
	require.NoError(w, err)
	info, err := w.Store.Take(context.Background(), ws, checkpoint.TakeOptions{Pin: &checkpoint.Ref{Session: "s", Reason: checkpoint.Turn}})
	require.NoError(w, err)
	return info
}

func (w *world) shell(p Place, script string) string {
	w.Helper()
	ctx := context.Background()
	sb, err := p.Backend.Open(ctx, p.Spec)
	require.NoError(w, err)
	defer sb.Close()
	w.made++
	id := fmt.Sprint("command-", w.made)
	require.NoError(w, sb.Start(ctx, id, sandbox.Command{Script: script}))
	st, err := sb.Wait(ctx, id, sandbox.Offsets{Stdout: 1 << 40, Stderr: 1 << 40}, time.Minute)
	require.NoError(w, err)
	out, err := sb.Output(ctx, id, sandbox.Stdout, 0, 1<<20)
	require.NoError(w, err)
	complaints, err := sb.Output(ctx, id, sandbox.Stderr, 0, 1<<20)
	require.NoError(w, err)
	require.Zero(w, st.ExitCode, "%s%s", out.Data, complaints.Data)
	return string(out.Data)
}

func (w *world) open(to Place, from Origin, id, base string) (Opened, error) {
	w.Helper()
	return w.Open(context.Background(), Opening{
		To: to, From: from, Checkpoint: id, Base: base, Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Carry, Effect: to.Spec.ID},
	})
}

// oddities makes what workspaces are full of beside plain files.
func (w *world) oddities(dir string) {
	w.Helper()
	put := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		require.NoError(w, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(w, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(w, os.Chmod(path, mode))
	}
	link := func(target, name string) {
		require.NoError(w, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(w, os.Symlink(target, filepath.Join(dir, name)))
	}
	put("venv/pyvenv.cfg", "home = /usr/bin\n", 0o644)
	put("venv/bin/activate", "export VIRTUAL_ENV="+dir+"/venv\n", 0o644)
	link("/usr/bin/python3", "venv/bin/python")
	link("python", "venv/bin/python3")
	link("lib", "venv/lib64")
	put("venv/lib/site/m.py", "x = 1\n", 0o644)
	link("../inside", "d/inside")
	link("no/where", "d/dangling")
	link("../../../outside", "d/outside")
	link(".", "d/loop")
	put("hard1", "shared\n", 0o755)
	require.NoError(w, os.Link(filepath.Join(dir, "hard1"), filepath.Join(dir, "d", "hard2")))
	for _, mode := range []os.FileMode{0o400, 0o444, 0o600, 0o640, 0o755, 0o777, 0o700} {
		put(fmt.Sprintf("modes/%o", mode), "m", mode)
	}
	for _, name := range []string{"new\nline", "tab\t", "sp ace", "\xff\xfe", "-dash", "*", "ünïcode", strings.Repeat("n", 255), "quote'\"", "back\\slash"} {
		put("names/"+name, name, 0o644)
	}
	require.NoError(w, os.MkdirAll(filepath.Join(dir, "empty", "very"), 0o750))
	put("locked/f", "l", 0o444)
	put("old", "o", 0o644)
	require.NoError(w, os.Chtimes(filepath.Join(dir, "old"), time.Unix(0, 0), time.Unix(86400, 123456789)))
	require.NoError(w, os.Chmod(filepath.Join(dir, "locked"), 0o555))
	w.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	require.NoError(w, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
}

// project makes many files.
func (w *world) project(dir string, files int) {
	w.Helper()
	for i := range files {
		path := filepath.Join(dir, "many", fmt.Sprint("d", i/100), fmt.Sprint("f", i))
		if i%100 == 0 {
			require.NoError(w, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		require.NoError(w, os.WriteFile(path, []byte(strings.Repeat(fmt.Sprint("line ", i, "\n"), 1+i%40)), 0o644))
	}
}

// manyFiles is how many files there are beside the odd ones; SANDBOX_TEST_FULL=1 makes them ten times as many.
func manyFiles() int {
	if os.Getenv("SANDBOX_TEST_FULL") == "1" {
		return 10_000
	}
	return 1000
}

// A workspace of every kind of file goes into a container, from there into another one and into another folder, and home:
// everything is equal, or told.
func TestRoundTrip(t *testing.T) {
	w := newWorld(t, "")
	w.oddities(w.home)
	w.project(w.home, manyFiles())
	home := w.place(w.folders, w.home)
	sent := w.picture(home)

	box := w.place(w.boxes, w.home)
	began := time.Now()
	there, err := w.open(box, Origin{Local: true, Folder: w.home}, sent.ID, sent.ID)
	require.NoError(t, err)
	t.Logf("%d files into a container: %v", sent.Files, time.Since(began).Round(time.Millisecond))
	require.Equal(t, []editors.Skipped{{Path: "pipe", Reason: "a pipe"}}, there.Carry.Skipped)
	require.Equal(t, 1, there.Carry.SkippedAll)
	require.Empty(t, there.Notes, "times and hard links too")
	require.Equal(t, sent.Root, w.picture(box).Root)
	require.Equal(t, "shared\nmore\n", w.shell(box, "echo more >> d/hard2; cat hard1"), "hard links are hard links")
	w.shell(box, "printf 'shared\\n' > hard1 && touch -d @1 hard1 && chmod 755 hard1")

	other := w.place(w.folders, filepath.Join(w.dir, "elsewhere"))
	changed := w.picture(box)
	began = time.Now()
	_, err = w.open(other, Origin{Folder: w.home}, changed.ID, there.Base)
	require.NoError(t, err)
	t.Logf("%d files out of it: %v", changed.Files, time.Since(began).Round(time.Millisecond))
	require.Equal(t, changed.Root, w.picture(other).Root)

	w.shell(box, "echo made > made; mkdir -p new/dir; echo x > new/dir/x; echo changed >> many/d0/f0; rm many/d0/f1; ln -s made link")
	theirs := w.picture(box)
	require.NoError(t, os.WriteFile(filepath.Join(w.home, "mine"), []byte("m"), 0o644))
	began = time.Now()
	back, err := w.Merge(t.Context(), Merging{
		To: home, From: Origin{Folder: w.home}, Base: there.Base, Theirs: theirs.ID, Session: checkpoint.Ref{Session: "s", Effect: "back"},
	})
	require.NoError(t, err)
	t.Logf("the changes back: %v", time.Since(began).Round(time.Millisecond))
	require.True(t, back.Applied)
	require.Equal(t, []int{3, 1, 1}, []int{back.Carry.Added, back.Carry.Changed, back.Carry.Removed})
	d, err := w.Store.Diff(t.Context(), theirs.ID, w.picture(home).ID, checkpoint.DiffOptions{})
	require.NoError(t, err)
	require.Len(t, d.Files, 1)
	require.Equal(t, "mine", d.Files[0].Path)
	for _, name := range []string{"made", "new/dir/x", "link"} {
		info, err := os.Lstat(filepath.Join(w.home, name))
		require.NoError(t, err)
		owner, ok := info.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		require.Equal(t, os.Getuid(), int(owner.Uid), "%s belongs to the user", name)
	}
}

// BenchmarkSwitch moves a workspace of 1,000 files into a new container.
func BenchmarkSwitch(b *testing.B) {
	w := newWorld(b, "")
	w.project(w.home, 1000)
	sent := w.picture(w.place(w.folders, w.home))
	for b.Loop() {
		to := w.place(w.boxes, w.home)
		_, err := w.open(to, Origin{Local: true, Folder: w.home}, sent.ID, sent.ID)
		require.NoError(b, err)
		b.StopTimer()
		require.NoError(b, w.boxes.Destroy(b.Context(), to.ref()))
		b.StartTimer()
	}
}

// BenchmarkSwitchBack brings ten changes back into a workspace of 1,000 files.
func BenchmarkSwitchBack(b *testing.B) {
	w := newWorld(b, "")
	w.project(w.home, 1000)
	home, box := w.place(w.folders, w.home), w.place(w.boxes, w.home)
	sent := w.picture(home)
	out, err := w.open(box, Origin{Local: true, Folder: w.home}, sent.ID, sent.ID)
	require.NoError(b, err)
	base := out.Base
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		w.shell(box, fmt.Sprintf("for i in 0 1 2 3 4 5 6 7 8 9; do echo %d > many/d0/f$i; done", n))
		b.StartTimer()
		theirs := w.picture(box)
		_, err := w.Merge(b.Context(), Merging{
			To: home, From: Origin{Folder: w.home}, Base: base, Theirs: theirs.ID, Session: checkpoint.Ref{Session: "s", Effect: fmt.Sprint("back", n)},
		})
		require.NoError(b, err)
		base = theirs.ID
	}
}

// Commits made in a container come home: the repository of a confined folder is on mounts of its own.
func TestCommitsComeHome(t *testing.T) {
	w := newWorld(t, "")
	s := &scene{T: t, dir: w.dir}
	git := func(args ...string) string { return s.git(w.home, args...) }
	git("init", "-q", "-b", "main")
	require.NoError(t, os.WriteFile(filepath.Join(w.home, "f"), []byte("1\n"), 0o644))
	git("add", ".")
	git("commit", "-qm", "first")
	home, box := w.place(w.folders, w.home), w.place(w.boxes, w.home)
	sent := w.picture(home)
	there, err := w.open(box, Origin{Local: true, Folder: w.home}, sent.ID, sent.ID)
	require.NoError(t, err)
	w.shell(box, `cd /workspace && export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b &&
		echo 2 > f && git commit -qam second && git checkout -q -b topic && echo new > g && git add g && git commit -qm third`)
	back, err := w.Merge(t.Context(), Merging{
		To: home, From: Origin{Folder: w.home}, Base: there.Base, Theirs: w.picture(box).ID, Session: checkpoint.Ref{Session: "s", Effect: "back"},
	})
	require.NoError(t, err)
	require.True(t, back.Applied)
	require.Equal(t, "third\nsecond\nfirst", git("log", "--format=%s"), "%v", back.Carry)
	require.Equal(t, "topic", git("rev-parse", "--abbrev-ref", "HEAD"))
	require.Empty(t, git("status", "--porcelain"))
	git("fsck", "--strict")
}
