// This file is the scene of the tests of activities: a store, and backends whose workspaces are directories.

package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
	"sandboxagent/internal/workspace"
)

// places is a backend: local works in the folders themselves, the others in directories of their own.
type places struct {
	*fake.Backend
	kind sandbox.Kind
	dir  string

	mu      sync.Mutex
	found   map[string]sandbox.Found // sandboxes that there are
	broken  error                    // what Open fails with, unless nil
	stuck   error                    // what Destroy fails with, unless nil
	stopped []string
}

type placed struct {
	sandbox.Sandbox
	*worktree.Tree
}

func (p placed) Close() error { return p.Sandbox.Close() }

func (p *places) Kind() sandbox.Kind { return p.kind }

func (p *places) root(spec sandbox.Spec) string {
	if p.kind == sandbox.KindLocal {
		return spec.Workspace
	}
	return filepath.Join(p.dir, spec.ID, "workspace")
}

func (p *places) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return nil, p.broken
	}
	if p.kind != sandbox.KindLocal {
		if err := os.MkdirAll(p.root(spec), 0o700); err != nil {
			return nil, err
		}
	}
	sb, err := p.Backend.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.found[spec.ID] = sandbox.Found{Ref: sandbox.Ref{Kind: p.kind, ID: spec.ID, HostID: "host"}, Owner: spec.Owner, Realm: spec.Realm}
	return placed{sb, worktree.New(worktree.Options{Root: p.root(spec), State: filepath.Join(p.dir, spec.ID, "state")})}, nil
}

func (p *places) Destroy(ctx context.Context, ref sandbox.Ref) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck != nil {
		return p.stuck
	}
	delete(p.found, ref.ID)
	return errors.Join(p.Backend.Destroy(ctx, ref), os.RemoveAll(filepath.Join(p.dir, ref.ID)))
}

func (p *places) List(context.Context, string) ([]sandbox.Found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []sandbox.Found
	for _, f := range p.found {
		all = append(all, f)
	}
	return all, p.broken
}

func (p *places) Lost(_ context.Context, ref sandbox.Ref) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := os.Stat(filepath.Join(p.dir, ref.ID))
	return errors.Is(err, os.ErrNotExist), p.broken
}

func (p *places) Stop(_ context.Context, ref sandbox.Ref) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = append(p.stopped, ref.ID)
	return nil
}

func (p *places) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.found[id]
	return ok
}

func newPlaces(t *testing.T, kind sandbox.Kind) *places {
	t.Helper()
	return &places{Backend: fake.NewBackend(), kind: kind, dir: t.TempDir(), found: map[string]sandbox.Found{}}
}

func newActivities(t *testing.T) *Activities {
	t.Helper()
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	return &Activities{
		PlanDir: t.TempDir(), HostID: "host", Realm: "realm", Forks: workspace.Forks{Dir: filepath.Join(t.TempDir(), "forks")},
		Blobs:       blob.NewMem(),
		Checkpoints: func() (*checkpoint.Store, error) { return store, nil },
		Backends: map[editors.BackendKind]sandbox.Backend{
			editors.Local: newPlaces(t, sandbox.KindLocal), editors.Docker: newPlaces(t, sandbox.KindDocker),
		},
	}
}

func (a *Activities) containers(t *testing.T) *places {
	t.Helper()
	p, ok := a.Backends[editors.Docker].(*places)
	require.True(t, ok)
	return p
}

// activityOf runs an activity as Temporal does.
func activityOf[R any](t *testing.T, f, in any) (R, error) {
	t.Helper()
	var result R
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(f)
	answer, err := env.ExecuteActivity(f, in)
	if err != nil || !answer.HasValue() {
		return result, err
	}
	return result, answer.Get(&result)
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}
