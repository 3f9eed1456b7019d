// This file kills helpers and workers in mid-restore, and lets a session's sandbox and the plain folder meet.

package helper_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper"
	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/helper/daemon"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/local"
)

const restoredFiles = 300

// place is a folder with a helper of its own.
type place struct {
	t           *testing.T
	state, root string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, state: filepath.Join(t.TempDir(), "state"), root: t.TempDir()}
	require.NoError(t, os.MkdirAll(p.state, 0o700))
	for i := range restoredFiles {
		require.NoError(t, os.WriteFile(p.path(i), content("old"), 0o644))
	}
	t.Cleanup(func() {
		c := p.client()
		defer c.Close()
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := daemon.AwaitEnd(context.Background(), p.state); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *place) path(i int) string { return filepath.Join(p.root, fmt.Sprintf("f%d", i)) }

func content(version string) []byte { return []byte(strings.Repeat(version, 2000)) }

// client returns what a worker has of the sandbox.
func (p *place) client() *client.Client {
	return client.New(client.Options{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		return daemon.Dial(ctx, p.state, func() (*exec.Cmd, error) {
			return exec.Command(os.Args[0], helper.ServeArgs(p.state, p.root, 0)...), nil
		})
	}})
}

// kill kills the helper.
func (p *place) kill() {
	b, err := os.ReadFile(filepath.Join(p.state, "serve.lock"))
	if err != nil {
		p.t.Error(err)
		return
	}
	pid, err := strconv.Atoi(string(b))
	if err == nil && pid > 1 {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		p.t.Error(err)
	}
}

func fileEntry(version string) *tree.Entry {
	b := content(version)
	return &tree.Entry{Name: "f", Kind: tree.File, Mode: 0o644, Size: int64(len(b)), Hash: tree.Sum(b)}
}

func (p *place) change(version string) worktree.Change {
	c := worktree.Change{ID: "to " + version}
	for i := range restoredFiles {
		c.Steps = append(c.Steps, worktree.Step{Path: filepath.Base(p.path(i)), Before: fileEntry("old"), After: fileEntry(version)})
	}
	return c
}

func (p *place) apply(to worktree.Changer, version string) error {
	o, err := worktree.Apply(context.Background(), to, p.change(version), func(_ *tree.Entry, put func(int64, []byte) error) error {
		return put(0, content(version))
	}, nil)
	if err == nil && len(o.Kept) > 0 {
		err = fmt.Errorf("kept: %v", o.Kept[0])
	}
	return err
}

func (p *place) requireVersion(version string) {
	p.t.Helper()
	for i := range restoredFiles {
		b, err := os.ReadFile(p.path(i))
		require.NoError(p.t, err)
		require.Equal(p.t, string(content(version)), string(b))
	}
	require.Empty(p.t, p.stages())
}

func (p *place) stages() []string {
	found, err := filepath.Glob(filepath.Join(p.root, ".sandbox-restore-*"))
	require.NoError(p.t, err)
	return found
}

// killing kills the helper once before a call.
type killing struct {
	worktree.Changer
	before string
	kill   func()
	once   sync.Once
}

func (k *killing) at(call string) {
	if call == k.before {
		k.once.Do(k.kill)
	}
}

func (k *killing) Put(ctx context.Context, id string, pieces []worktree.Piece) error {
	k.at("put")
	err := k.Changer.Put(ctx, id, pieces)
	k.at("put again")
	return err
}

func (k *killing) Commit(ctx context.Context, id string) (worktree.Outcome, error) {
	k.at("commit")
	return k.Changer.Commit(ctx, id)
}

func TestAHelperKilledInMidRestore(t *testing.T) {
	for _, before := range []string{"put", "put again", "commit"} {
		t.Run(before, func(t *testing.T) {
			p := newPlace(t)
			c := p.client()
			defer c.Close()
			require.NoError(t, p.apply(&killing{Changer: c, before: before, kill: p.kill}, "new"))
			p.requireVersion("new")
		})
	}
}

func TestAHelperKilledWhileItChangesTheTree(t *testing.T) {
	for range 20 {
		p := newPlace(t)
		killed := make(chan bool)
		ctx, end := context.WithCancel(t.Context())
		go func() { killed <- p.killAtWork(ctx) }()
		c := p.client()
		err := p.apply(c, "new")
		end()
		require.NoError(t, err)
		require.NoError(t, c.Close())
		p.requireVersion("new")
		if <-killed {
			return
		}
	}
	require.Fail(t, "it was always too fast to be killed")
}

// killAtWork kills the helper as soon as it changes the tree, and reports whether it did before ctx ended.
func (p *place) killAtWork(ctx context.Context) bool {
	for ctx.Err() == nil {
		if found, err := filepath.Glob(filepath.Join(p.root, ".sandbox-restore-*", "committing")); err == nil && len(found) > 0 {
			p.kill()
			return true
		}
	}
	return false
}

func TestTheRestoreOfAWorkerThatIsGoneBlocksNobody(t *testing.T) {
	p := newPlace(t)
	first, second := p.client(), p.client()
	defer second.Close()
	_, err := first.Begin(t.Context(), p.change("new"))
	require.NoError(t, err)
	err = p.apply(second, "other")
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "%v", err)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return p.apply(second, "other") == nil }, 30*time.Second, 10*time.Millisecond)
	p.requireVersion("other")
}

func TestARestoreGoesOnWithAnotherWorker(t *testing.T) {
	p := newPlace(t)
	first, second := p.client(), p.client()
	defer second.Close()
	_, err := first.Begin(t.Context(), p.change("new"))
	require.NoError(t, err)
	stage := p.stages()
	require.NoError(t, first.Close())
	_, err = second.Begin(t.Context(), p.change("new"))
	require.NoError(t, err)
	require.Equal(t, stage, p.stages(), "it is the same one")
	require.NoError(t, p.apply(second, "new"))
	p.requireVersion("new")
}

// TestASandboxAndTheFolderMeet: under the confinement that sandboxes have by default.
func TestASandboxAndTheFolderMeet(t *testing.T) {
	p := newPlace(t)
	b, err := local.New(local.Options{StateDir: filepath.Join(t.TempDir(), "state"), HelperBinary: os.Args[0], HostID: "host"})
	require.NoError(t, err)
	sb, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: p.root})
	require.NoError(t, err)
	defer func() {
		_ = sb.Close()
		require.NoError(t, b.Destroy(context.Background(), sb.Ref()))
	}()
	inside, err := checkpoint.Of(sb)
	require.NoError(t, err)
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "checkpoints"), Reserve: -1})
	require.NoError(t, err)
	outside, err := store.Folder(p.root)
	require.NoError(t, err)

	for _, who := range []struct{ first, second checkpoint.Workspace }{{inside, outside}, {outside, inside}} {
		_, err = who.first.Begin(t.Context(), p.change("new"))
		require.NoError(t, err)
		_, err = who.second.Begin(t.Context(), p.change("other"))
		require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "%v", err)
		info, err := store.Take(t.Context(), who.second, checkpoint.TakeOptions{})
		require.NoError(t, err)
		require.False(t, info.Partial)
		require.Len(t, p.stages(), 1)
		require.NoError(t, who.first.Abort(t.Context(), p.change("new").ID))
		require.Empty(t, p.stages())
	}
	require.NoError(t, p.apply(inside, "new"))
	p.requireVersion("new")
}
