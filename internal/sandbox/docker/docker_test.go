// This file tests the life of a sandbox on a real engine: made once, found again, mended, paused and gone.

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/docker/testimage"
	"sandboxagent/internal/sandbox/sandboxtest"
)

// patience is how long a condition may take that holds within a second on an idle machine.
const patience = 90 * time.Second

func TestMain(m *testing.M) {
	sandboxtest.Worker(fromDescription)
	os.Exit(sandboxtest.Main(m))
}

// newBackend makes a backend with a host of its own; what it made is gone with the test.
func newBackend(t testing.TB, change ...func(*Options)) *Backend {
	t.Helper()
	image := testimage.Need(t)
	o := Options{StateDir: t.TempDir(), HostID: "test-" + filepath.Base(t.TempDir()) + t.Name(), Image: image, HelperBinary: sandboxtest.Helper(t)}
	for _, f := range change {
		f(&o)
	}
	b, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { removeAll(t, b) })
	return b
}

// again is a backend on the same state, as the next worker has it.
func again(t *testing.T, b *Backend) *Backend {
	t.Helper()
	next, err := New(b.opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = next.Close() })
	return next
}

func removeAll(t testing.TB, b *Backend) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	refs, err := b.List(ctx, "")
	require.NoError(t, err)
	for _, ref := range refs {
		require.NoError(t, b.Destroy(ctx, ref.Ref))
	}
	refs, err = b.List(ctx, "")
	require.NoError(t, err)
	require.Empty(t, refs, "nothing of ours is left")
	require.NoError(t, b.Close())
}

func open(t testing.TB, b *Backend, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	if spec.ID == "" {
		spec.ID = "s"
	}
	s, err := b.Open(t.Context(), spec)
	require.NoError(t, err)
	return s
}

var (
	await   = sandboxtest.Await
	output  = sandboxtest.Output
	run     = sandboxtest.Exec
	succeed = sandboxtest.Succeed
)

func (b *Backend) containers(t *testing.T, id string) []container.Summary {
	t.Helper()
	e, err := b.engine()
	require.NoError(t, err)
	list, err := e.ContainerList(context.WithoutCancel(t.Context()), container.ListOptions{All: true, Filters: b.ours(id)})
	require.NoError(t, err)
	return list
}

func TestContainerIsHeldIn(t *testing.T) {
	t.Parallel()
	b := newBackend(t, func(o *Options) { o.Pids, o.Memory = 64, 256<<20 })
	s := open(t, b, sandbox.Spec{Env: []string{"GREETING=hello"}})
	who := hostIdentity()
	require.Equal(t, fmt.Sprintf("%d %d", who.uid, who.gid), succeed(t, s, "echo $(id -u) $(id -g)"))
	require.Equal(t, userName+" /workspace hello /home/"+userName, succeed(t, s, `echo $(whoami) $PWD $GREETING $HOME`))
	require.Equal(t, "0000000000000000", succeed(t, s, "grep CapBnd /proc/self/status | cut -f2"))
	require.Equal(t, "1", succeed(t, s, "grep NoNewPrivs /proc/self/status | cut -f2"))
	require.Equal(t, "lo", succeed(t, s, "ls /sys/class/net"), "no network")
	require.Equal(t, "/workspace", s.Ref().Workspace)

	succeed(t, s, "touch file ~/file /tmp/file")
	out, st := run(t, s, "touch /etc/file")
	require.NotZero(t, st.ExitCode, out)
	out, st = run(t, s, "touch "+binDir+"/x; ls "+stateDir+" > /dev/null && kill -9 1")
	require.NotZero(t, st.ExitCode, out)
	require.NoError(t, s.Start(t.Context(), "bomb", sandbox.Command{Argv: []string{"sh", "-c", "for i in $(seq 200); do sleep 600 & done"}}))
	await(t, s, "bomb")
	require.Contains(t, output(t, s, "bomb", sandbox.Stderr), "fork")
	require.NoError(t, s.Kill(t.Context(), "bomb"), "what it left")
	out, st = run(t, s, "python3 -c 'x = bytearray(512 << 20)'")
	require.Equal(t, 137, st.ExitCode, out)
	require.Equal(t, "still here", succeed(t, s, "echo still here"))
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	err := s.Start(t.Context(), "fetch", sandbox.Command{Script: "true", Network: true})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
	require.ErrorContains(t, err, `docker.network = "bridge"`)
	_, err = s.Wait(t.Context(), "fetch", sandbox.Offsets{}, 0)
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err), "what is refused leaves no record")

	bridged := newBackend(t, func(o *Options) { o.Network = NetworkBridge })
	require.True(t, bridged.Capabilities().Network)
	s = open(t, bridged, sandbox.Spec{})
	require.NoError(t, s.Start(t.Context(), "fetch", sandbox.Command{Script: "ls /sys/class/net", Network: true}))
	require.Zero(t, await(t, s, "fetch").ExitCode)
	require.Equal(t, "eth0\nlo\n", output(t, s, "fetch", sandbox.Stdout))

	succeed(t, s, "echo served > page")
	require.NoError(t, bridged.Stop(t.Context(), s.Ref()))
	at, err := bridged.Preview(t.Context(), s.Ref(), 3000)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), "serve", sandbox.Command{Script: "exec python3 -m http.server 3000"}))
	require.Eventually(t, func() bool {
		res, err := http.Get(at.URL + "/page")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond)
}

// A container whose every process of the agent is killed goes on, and so does the sandbox.
func TestAgentKillsEverything(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	before := b.containers(t, "s")[0].ID
	id := "suicide"
	require.NoError(t, s.Start(t.Context(), id, sandbox.Command{Script: "kill -9 -1"}))
	require.Equal(t, sandbox.StateLost, await(t, s, id).State)
	require.Equal(t, "back", succeed(t, s, "echo back"))
	require.Equal(t, before, b.containers(t, "s")[0].ID)
}

func TestOpenIsRepeatable(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	other := again(t, b)
	var wg sync.WaitGroup
	for _, backend := range []*Backend{b, other, b, other} {
		wg.Go(func() {
			if _, err := backend.Open(t.Context(), sandbox.Spec{ID: "s", Owner: "o", Realm: "r"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, b.containers(t, ""), 1)
	refs, err := b.List(t.Context(), "o")
	require.NoError(t, err)
	require.Len(t, refs, 1)
	require.WithinDuration(t, time.Now(), refs[0].Made, patience)
	refs[0].Made = time.Time{}
	require.Equal(t, []sandbox.Found{{
		Ref:   sandbox.Ref{Kind: sandbox.KindDocker, ID: "s", HostID: b.opts.HostID, Epoch: 1, Workspace: root},
		Owner: "o", Realm: "r",
	}}, refs)
	refs, err = b.List(t.Context(), "somebody else")
	require.NoError(t, err)
	require.Empty(t, refs)
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s", Workspace: t.TempDir()})
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
}

// An answer that got lost after the container was made leaves one that the next try takes.
func TestLostCreateReply(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	r, err := b.begin(t.Context(), sandbox.Spec{ID: "s"})
	require.NoError(t, err)
	r.Epoch = 1
	e, err := b.engine()
	require.NoError(t, err)
	_, err = e.ContainerCreate(t.Context(), b.config(r), b.hostConfig(r), nil, nil, b.names("s").container)
	require.NoError(t, err)
	require.Equal(t, "ok", succeed(t, open(t, b, sandbox.Spec{}), "echo ok"))
	require.Len(t, b.containers(t, ""), 1)
}

func TestForeignContainerInTheWay(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	e, err := b.engine()
	require.NoError(t, err)
	made, err := e.ContainerCreate(t.Context(), &container.Config{Image: b.opts.Image, Cmd: []string{"true"}}, nil, nil, nil, b.names("s").container)
	require.NoError(t, err)
	defer func() { _ = e.ContainerRemove(context.Background(), made.ID, removal) }()
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "%v", err)
}

// What people and engines do to a container between two commands.
func TestMending(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	e, err := b.engine()
	require.NoError(t, err)
	name := b.names("s").container
	s := open(t, b, sandbox.Spec{})
	succeed(t, s, "echo kept > file; echo layer > ~/file")
	second := 1
	for _, c := range []struct {
		note   string
		strike func() error
		layer  string
	}{
		{"paused", func() error { return e.ContainerPause(t.Context(), name) }, "layer"},
		{"started again", func() error { return e.ContainerStop(t.Context(), name, container.StopOptions{Timeout: &second}) }, "layer"},
		{"had stopped", func() error { return e.ContainerKill(t.Context(), name, "KILL") }, "layer"},
		{"removed", func() error {
			return e.ContainerRemove(t.Context(), name, removal)
		}, ""},
	} {
		t.Run(c.note, func(t *testing.T) {
			require.NoError(t, c.strike())
			var notes []string
			s := open(t, b, sandbox.Spec{Notify: func(text string) { notes = append(notes, text) }})
			require.Equal(t, "kept", succeed(t, s, "cat file"))
			require.Equal(t, c.layer, succeed(t, s, "cat ~/file 2> /dev/null || true"))
			require.Contains(t, strings.Join(notes, " "), c.note)
		})
	}
	require.EqualValues(t, 2, s.Ref().Epoch)
}

func TestCommandsOfAStoppedContainerAreLost(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	require.NoError(t, s.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count; echo begun; sleep 600"}))
	require.Eventually(t, func() bool { return output(t, s, "long", sandbox.Stdout) == "begun\n" }, patience, 10*time.Millisecond)
	e, err := b.engine()
	require.NoError(t, err)
	require.NoError(t, e.ContainerRemove(t.Context(), b.names("s").container, removal))
	s = open(t, b, sandbox.Spec{})
	require.NoError(t, s.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count"}))
	require.Equal(t, sandbox.StateLost, await(t, s, "long").State)
	require.Equal(t, "begun\n", output(t, s, "long", sandbox.Stdout), "its output is kept")
	require.Equal(t, "once", succeed(t, s, "cat count"), "it is not run again")
}

func TestLostFilesAreNotTakenForAnEmptyWorkspace(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	succeed(t, s, "echo mine > file")
	e, err := b.engine()
	require.NoError(t, err)
	require.NoError(t, b.discard(t.Context(), e, "s"))
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassCorrupt, sandbox.ClassOf(err), "%v", err)
	require.NoError(t, b.Destroy(t.Context(), s.Ref()))
	require.Empty(t, succeed(t, open(t, b, sandbox.Spec{}), "ls"), "a destroyed id begins anew")
}

// A sandbox that is to begin empty does so, whether or not there is a folder, and whoever opens it again.
func TestBeginsEmpty(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	require.Empty(t, succeed(t, open(t, b, sandbox.Spec{ID: "s.1", Workspace: dir, Empty: true}), "ls -A"))
	s := open(t, again(t, b), sandbox.Spec{ID: "s.1", Workspace: dir})
	require.Empty(t, succeed(t, s, "ls -A"))
	succeed(t, s, "echo mine > file")
	require.Equal(t, "mine", succeed(t, open(t, b, sandbox.Spec{ID: "s.1", Workspace: dir, Empty: true}), "cat file"))
	none := filepath.Join(dir, "none")
	require.Empty(t, succeed(t, open(t, b, sandbox.Spec{ID: "s.2", Workspace: none, Empty: true}), "ls -A"))
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s.3", Workspace: none})
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err))
}

// A half-made empty sandbox is finished by the next who opens it.
func TestHalfMadeEmptySandbox(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	spec := sandbox.Spec{ID: "s", Workspace: dir, Empty: true}
	r, err := b.begin(t.Context(), spec)
	require.NoError(t, err)
	e, err := b.engine()
	require.NoError(t, err)
	x, err := b.box(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, x.create(t.Context(), e, &r)) // and the worker dies
	require.Empty(t, succeed(t, open(t, again(t, b), sandbox.Spec{ID: "s", Workspace: dir}), "ls -A"))
}

func TestLost(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	lost := func(b *Backend) bool {
		t.Helper()
		lost, err := b.Lost(t.Context(), s.Ref())
		require.NoError(t, err)
		return lost
	}
	require.False(t, lost(b))
	e, err := b.engine()
	require.NoError(t, err)
	require.NoError(t, e.ContainerRemove(t.Context(), b.names("s").container, removal))
	require.False(t, lost(b), "a container can be made again")
	require.NoError(t, b.discard(t.Context(), e, "s"))
	require.True(t, lost(b))
	require.NoError(t, b.Destroy(t.Context(), s.Ref()))
	require.True(t, lost(b), "nothing was ever made")

	away := backendWith(t, map[string]string{"DOCKER_HOST": unixScheme + filepath.Join(t.TempDir(), "none.sock")})
	_, err = away.Lost(t.Context(), s.Ref())
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "start Docker")
}

// The next worker finds a running command at its output, and a destroyed sandbox nowhere.
func TestNextWorker(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	first := open(t, b, sandbox.Spec{})
	require.NoError(t, first.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count; for i in 1 2 3; do echo $i; sleep 1; done"}))
	require.Eventually(t, func() bool { return output(t, first, "long", sandbox.Stdout) != "" }, patience, 10*time.Millisecond)
	require.NoError(t, b.Close())
	next := again(t, b)
	second := open(t, next, sandbox.Spec{})
	require.NoError(t, second.Start(t.Context(), "long", sandbox.Command{Script: "echo twice >> count"}))
	require.Zero(t, await(t, second, "long").ExitCode)
	require.Equal(t, "1\n2\n3\n", output(t, second, "long", sandbox.Stdout))
	require.Equal(t, "once", succeed(t, second, "cat count"))

	old := open(t, b, sandbox.Spec{})
	require.NoError(t, next.Destroy(t.Context(), second.Ref()))
	require.NoError(t, next.Destroy(t.Context(), second.Ref()), "again")
	for _, s := range []sandbox.Sandbox{old, second} {
		require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(s.Health(t.Context())), "%v", s.Health(t.Context()))
	}
	require.Empty(t, b.containers(t, ""))
	_, err := os.Stat(b.stateDir("s"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStop(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	succeed(t, s, "mkdir -p ~/.local/bin && printf '#!/bin/sh\necho installed\n' > ~/.local/bin/tool && chmod +x ~/.local/bin/tool")
	require.NoError(t, s.Start(t.Context(), "long", sandbox.Command{Script: "sleep 600"}))
	require.NoError(t, b.Stop(t.Context(), s.Ref()))
	require.NoError(t, b.Stop(t.Context(), s.Ref()), "again")
	require.NoError(t, b.Stop(t.Context(), sandbox.Ref{ID: "never made"}))
	require.Equal(t, container.StateExited, b.containers(t, "s")[0].State)
	require.Equal(t, "installed", succeed(t, s, "tool"), "using it starts it")
	require.NotEqual(t, sandbox.StateRunning, await(t, s, "long").State)
}

func TestHelperOfAnotherBuildIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	succeed(t, s, "echo kept > file")
	text, err := os.ReadFile(b.opts.HelperBinary)
	require.NoError(t, err)
	newer := filepath.Join(t.TempDir(), helper.Name)
	require.NoError(t, os.WriteFile(newer, append(text, "newer"...), 0o755))
	o := b.opts
	o.HelperBinary = newer
	next, err := New(o)
	require.NoError(t, err)
	defer next.Close()
	s = open(t, next, sandbox.Spec{})
	require.Equal(t, "kept", succeed(t, s, "cat file"))
	require.Equal(t, "2", succeed(t, s, "ls "+binDir+" | wc -l"))
}

func TestVolumesAreLabelled(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	open(t, b, sandbox.Spec{Owner: "o"})
	e, err := b.engine()
	require.NoError(t, err)
	volumes, err := e.VolumeList(t.Context(), volume.ListOptions{Filters: b.ours("s")})
	require.NoError(t, err)
	require.Len(t, volumes.Volumes, 2)
}

// An image without programs is refused in words: the engine's own init is there, and ends.
func TestImageWithoutPrograms(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	e, err := b.engine()
	require.NoError(t, err)
	var empty bytes.Buffer
	tw := tar.NewWriter(&empty)
	require.NoError(t, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o777}))
	require.NoError(t, tw.Close())
	const name = "sandbox-agent-test:without-programs"
	out, err := e.ImageImport(t.Context(), image.ImportSource{Source: &empty, SourceName: "-"}, name, image.ImportOptions{})
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	defer func() { _, _ = e.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true}) }()
	require.Eventually(t, func() bool { // who asks the engine for a program just as the init ends is to ask again
		_, err = b.Open(t.Context(), sandbox.Spec{ID: "s", Image: name})
		return sandbox.ClassOf(err) != sandbox.ClassUnavailable
	}, patience, 10*time.Millisecond)
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err), "%v", err)
	require.ErrorContains(t, err, "the image "+name+" has no program sleep")
}
