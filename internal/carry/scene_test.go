// This file is the scene of the tests: a store, the user's folder, and backends whose workspaces are directories.

package carry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
	"sandboxagent/internal/workspace"
)

// places is a backend of some kind: local works in the folders themselves, the others in directories of their own.
type places struct {
	kind sandbox.Kind
	dir  string
	fake *fake.Backend

	mu   sync.Mutex
	open map[string]string // the folders of the sandboxes that there are
}

type placed struct {
	sandbox.Sandbox
	*worktree.Tree
}

func (p placed) Close() error { return p.Sandbox.Close() }

func (p *places) root(spec sandbox.Spec) string {
	if p.kind == sandbox.KindLocal {
		return spec.Workspace
	}
	return filepath.Join(p.dir, spec.ID, "workspace")
}

func (p *places) Kind() sandbox.Kind                 { return p.kind }
func (p *places) Capabilities() sandbox.Capabilities { return sandbox.Capabilities{} }
func (p *places) Available(context.Context) error    { return nil }

func (p *places) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	root := p.root(spec)
	if p.kind != sandbox.KindLocal {
		if !spec.Empty && !p.has(spec.ID) {
			return nil, sandbox.Errorf(sandbox.ClassInvalid, "open", "a new sandbox was asked for that begins as a copy")
		}
		if err := os.MkdirAll(root, 0o700); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(root); err != nil {
		return nil, sandbox.Errorf(sandbox.ClassNotFound, "open", "there is no folder")
	}
	sb, err := p.fake.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[spec.ID] = spec.Workspace
	return placed{sb, worktree.New(worktree.Options{Root: root, State: filepath.Join(p.dir, spec.ID, "state")})}, nil
}

func (p *places) Destroy(ctx context.Context, ref sandbox.Ref) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, ref.ID)
	return errors.Join(p.fake.Destroy(ctx, ref), os.RemoveAll(filepath.Join(p.dir, ref.ID)))
}

func (p *places) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.open[id]
	return ok
}

// List implements sandbox.Lister.
func (p *places) List(context.Context, string) ([]sandbox.Found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []sandbox.Found
	for id, folder := range p.open {
		all = append(all, sandbox.Found{Ref: sandbox.Ref{Kind: p.kind, ID: id, Workspace: folder}})
	}
	return all, nil
}

type scene struct {
	*testing.T
	*Carrier
	home    string // the user's folder
	dir     string
	folders *places
	boxes   *places // containers
	clouds  *places
	fault   func(step string) error // of store and carrier
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, dir: t.TempDir()}
	s.home = s.mkdir("home", "project")
	s.Carrier = &Carrier{Forks: workspace.Forks{Dir: filepath.Join(s.dir, "forks")}, Fault: s.faulty}
	s.reopen()
	s.folders, s.boxes, s.clouds = s.backend(sandbox.KindLocal), s.backend(sandbox.KindDocker), s.backend(sandbox.KindE2B)
	return s
}

func (s *scene) reopen() {
	s.Helper()
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(s.dir, "store"), Reserve: -1, Fault: s.faulty})
	require.NoError(s, err)
	s.Store = store
}

func (s *scene) faulty(step string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(step)
}

func (s *scene) backend(kind sandbox.Kind) *places {
	return &places{kind: kind, dir: filepath.Join(s.dir, string(kind)), fake: fake.NewBackend(), open: map[string]string{}}
}

func (s *scene) mkdir(names ...string) string {
	s.Helper()
	dir := filepath.Join(append([]string{s.dir}, names...)...)
	require.NoError(s, os.MkdirAll(dir, 0o755))
	return dir
}

func (s *scene) write(dir string, files map[string]string) {
	s.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(s, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(s, os.WriteFile(path, []byte(text), 0o644))
	}
}

// files returns what is below a directory; links and empty directories count.
func (s *scene) files(dir string) map[string]string {
	s.Helper()
	out := map[string]string{}
	require.NoError(s, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			out[rel] = "-> " + target
			return err
		case d.IsDir():
			entries, err := os.ReadDir(path)
			if len(entries) == 0 && rel != "." {
				out[rel+"/"] = ""
			}
			return err
		}
		b, err := os.ReadFile(path)
		out[rel] = string(b)
		return err
	}))
	return out
}

// picture takes a checkpoint of a workspace, for a session.
func (s *scene) picture(p Place) string {
	s.Helper()
	sb, err := p.Backend.Open(s.Context(), p.Spec)
	require.NoError(s, err)
	w, err := checkpoint.Of(sb)
	require.NoError(s, err)
	info, err := s.Store.Take(s.Context(), w, checkpoint.TakeOptions{Pin: &checkpoint.Ref{Session: "s", Reason: checkpoint.Turn}})
	require.NoError(s, err)
	return info.ID
}

func (s *scene) place(b *places, id, folder string) Place {
	return Place{Backend: b, Spec: sandbox.Spec{ID: id, Owner: "me", Workspace: folder, Realm: "realm"}}
}

// opening asks to carry the user's folder.
func (s *scene) opening(to Place) Opening {
	s.Helper()
	id := s.picture(s.place(s.folders, "home", s.home))
	return Opening{
		To: to, From: Origin{Local: true, Folder: s.home}, Checkpoint: id, Base: id,
		Session: checkpoint.Ref{Session: "s", Owner: "me", Reason: checkpoint.Carry, Effect: "e1"},
	}
}

// refs counts what is kept for the session because of carries.
func (s *scene) refs() int {
	s.Helper()
	refs, err := s.Store.List("s", "")
	require.NoError(s, err)
	n := 0
	for _, r := range refs {
		if r.Reason == checkpoint.Carry {
			n++
		}
	}
	return n
}

func (s *scene) forkPlace() Place {
	return s.place(s.folders, "s.1", filepath.Join(s.Forks.Dir, "s", "project"))
}
