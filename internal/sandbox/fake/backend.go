// This file makes a backend of sandboxes in memory.

package fake

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

// Backend implements sandbox.Backend.
type Backend struct {
	mu     sync.Mutex
	places map[string]*place
}

var (
	_ sandbox.Backend = (*Backend)(nil)
	_ sandbox.Lister  = (*Backend)(nil)
	_ sandbox.Sandbox = (*Sandbox)(nil)
)

// NewBackend makes a backend without sandboxes. Their commands are run by a small shell: its own builtins, cat, sleep,
// ln -s and mkdir.
func NewBackend() *Backend { return &Backend{places: map[string]*place{}} }

// Kind implements sandbox.Backend.
func (b *Backend) Kind() sandbox.Kind { return Kind }

// Capabilities implements sandbox.Backend. There are no terminals, and everything ends with this process.
func (b *Backend) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{ByteExact: true, KillTree: true, Confinement: "none"}
}

// Available implements sandbox.Backend.
func (b *Backend) Available(context.Context) error { return nil }

// Open implements sandbox.Backend. Every sandbox begins empty.
func (b *Backend) Open(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := sandbox.CheckID("open sandbox", spec.ID); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.places[spec.ID]
	if p == nil {
		p = newPlace(spec.ID)
		p.shell = true
		p.found = sandbox.Found{Ref: p.ref, Owner: spec.Owner, Realm: spec.Realm, Made: time.Now()}
		b.places[spec.ID] = p
	}
	return &Sandbox{place: p, env: spec.Env}, nil
}

// List implements sandbox.Lister.
func (b *Backend) List(_ context.Context, owner string) ([]sandbox.Found, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []sandbox.Found
	for _, id := range slices.Sorted(maps.Keys(b.places)) {
		if f := b.places[id].found; owner == "" || f.Owner == owner {
			all = append(all, f)
		}
	}
	return all, nil
}

// Destroy implements sandbox.Backend.
func (b *Backend) Destroy(_ context.Context, ref sandbox.Ref) error {
	b.mu.Lock()
	p := b.places[ref.ID]
	delete(b.places, ref.ID)
	b.mu.Unlock()
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for id := range p.commands {
		p.kill(id, func(st *sandbox.Status) { st.Killed = true })
	}
	return nil
}

// Inject makes something go wrong with a call to a sandbox, through whatever Sandbox it is made.
func (b *Backend) Inject(id string, f Fault) {
	b.mu.Lock()
	p := b.places[id]
	b.mu.Unlock()
	if p != nil {
		(&Sandbox{place: p}).Inject(f)
	}
}
