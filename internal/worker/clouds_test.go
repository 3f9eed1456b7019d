package worker

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/sandbox"
)

func TestSandboxesOfCloudsAreNoHosts(t *testing.T) {
	a := newActivities(t)
	p := newPlaces(t, sandbox.KindE2B)
	a.Backends[editors.E2B] = p
	old := time.Now().Add(-2 * time.Hour)
	for id, realm := range map[string]string{"here": "realm", "gone": "realm", "foreign": "another realm", "unknown": ""} {
		p.found[id] = sandbox.Found{Ref: sandbox.Ref{Kind: sandbox.KindE2B, ID: id}, Realm: realm, Made: old}
	}
	a.removeOrphans(t.Context(), knownSessions{known: map[string]sessionNow{"here": at(0, false)}}, time.Now().Add(-time.Hour), slog.New(slog.DiscardHandler))
	require.False(t, p.has("gone"), "left without a session, it would be paid for until somebody looks")
	for _, id := range []string{"here", "foreign", "unknown"} {
		require.True(t, p.has(id), id)
	}
}

// keeper counts who keeps a sandbox awake.
type keeper struct {
	*places
	held map[string]int
}

func (k *keeper) Keep(ref sandbox.Ref) func() {
	k.held[ref.ID]++
	return func() { k.held[ref.ID]-- }
}

func TestSandboxesStayAwakeWhileAModelThinks(t *testing.T) {
	a := newActivities(t)
	k := &keeper{places: newPlaces(t, sandbox.KindDaytona), held: map[string]int{}}
	a.Backends[editors.Daytona] = k
	in := agent.Sandbox{SessionID: "s", Epoch: 2, Backend: editors.Backend{Kind: editors.Daytona}}
	release := a.keepAwake(in)
	require.Equal(t, map[string]int{in.ID(): 1}, k.held)
	release()
	require.Zero(t, k.held[in.ID()])
	in.Backend.Kind = editors.Docker
	a.keepAwake(in)() // nobody puts it to rest
}

// elsewhere has its workspaces where the user's folder is not.
type elsewhere struct{ *places }

func (elsewhere) Root(ref sandbox.Ref) string { return "/there/" + ref.ID }

func TestPoliciesKnowWhereWorkspacesAre(t *testing.T) {
	a := newActivities(t)
	a.Backends[editors.E2B] = elsewhere{newPlaces(t, sandbox.KindE2B)}
	a.Backends[editors.Docker] = newPlaces(t, sandbox.KindDocker)
	root := func(kind editors.BackendKind) string {
		return a.rootOf(agent.Sandbox{SessionID: "s", Epoch: 2, Folder: "/folder", Backend: editors.Backend{Kind: kind}})
	}
	require.Equal(t, "/folder", root(editors.Local))
	require.Equal(t, "/there/s.2", root(editors.E2B))
	require.Empty(t, root(editors.Docker), "that one does not say")
	require.Empty(t, root(editors.Daytona), "that one is not there")
}

func TestWhatSandboxesOfDaytonaAreMadeOf(t *testing.T) {
	for text, want := range map[string][2]string{"": {}, "node:24": {"", "node:24"}, "snapshot:mine": {"mine", ""}} {
		snapshot, image := snapshotOrImage(text)
		require.Equal(t, want, [2]string{snapshot, image}, text)
	}
}
