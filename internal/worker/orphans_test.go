// This file tests what is taken for an orphan, and what is never removed.

package worker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/workspace"
)

// knownSessions are those that Temporal knows, unless it is away.
type knownSessions struct {
	known map[string]sessionNow
	away  error
}

func (k knownSessions) now(_ context.Context, id string) (sessionNow, error) {
	return k.known[id], k.away
}

func at(present int64, changing bool, former ...int64) sessionNow {
	return sessionNow{exists: true, epochs: func(context.Context) (int64, []int64, bool, error) { return present, former, changing, nil }}
}

func orphanScene(t *testing.T) (*Activities, knownSessions) {
	t.Helper()
	a := newActivities(t)
	p := a.containers(t)
	old := time.Now().Add(-2 * time.Hour)
	for id, realm := range map[string]string{
		"here.2": "realm", "here.1": "realm", "here": "realm", "here.3": "realm", "moving.4": "realm", "gone": "realm", "gone.7": "realm",
		"other": "another realm", "ancient": "", "odd.x": "realm", "doubt.5": "realm",
	} {
		p.found[id] = sandbox.Found{Ref: sandbox.Ref{Kind: sandbox.KindDocker, ID: id, HostID: "host"}, Realm: realm, Made: old}
	}
	p.found["young"] = sandbox.Found{Ref: sandbox.Ref{ID: "young", HostID: "host"}, Realm: "realm", Made: time.Now()}
	p.found["ageless"] = sandbox.Found{Ref: sandbox.Ref{ID: "ageless", HostID: "host"}, Realm: "realm"}
	p.found["elsewhere"] = sandbox.Found{Ref: sandbox.Ref{ID: "elsewhere", HostID: "another host"}, Realm: "realm", Made: old}
	p.found["away.1"] = sandbox.Found{Ref: sandbox.Ref{ID: "away.1", HostID: "host"}, Realm: "realm", Made: old, Away: "on another engine"}
	for session, realm := range map[string]string{"here": "realm", "gone": "realm", "foreign": "another realm", "young": "realm"} {
		require.NoError(t, a.Forks.Make(filepath.Join(a.Forks.Dir, session, "p"), workspace.Fork{Session: session, HostID: "host", Realm: realm}))
		if session != "young" {
			require.NoError(t, os.Chtimes(filepath.Join(a.Forks.Dir, session, ".sandbox-agent-fork.json"), old, old))
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(a.Forks.Dir, "unmarked", "p"), 0o700))
	doubt := sessionNow{exists: true, epochs: func(context.Context) (int64, []int64, bool, error) {
		return 0, nil, false, errors.New("no worker answers")
	}}
	return a, knownSessions{known: map[string]sessionNow{"here": at(2, false, 1), "moving": at(3, true), "doubt": doubt}}
}

func TestOrphans(t *testing.T) {
	a, known := orphanScene(t)
	found := a.findOrphans(t.Context(), known)
	removable, listed := map[string]string{}, map[string]string{}
	for _, o := range found.Orphans {
		name := o.Kind + " " + filepath.Base(o.ID)
		if o.Removable {
			removable[name] = o.Reason
		} else {
			listed[name] = o.Reason
		}
	}
	const none = "its session does not exist"
	require.Equal(t, map[string]string{
		"docker gone": none, "docker gone.7": none, "docker young": none, "docker ageless": none,
		"docker here": "its session has left it", "docker here.3": "its session has left it", "fork gone": none, "fork young": none,
	}, removable)
	require.Equal(t, map[string]string{
		"docker other": "it belongs to a session of another Temporal namespace", "fork foreign": "it belongs to a session of another Temporal namespace",
		"docker ancient": none + ", as far as this Temporal namespace knows", "fork unmarked": none + ", as far as this Temporal namespace knows",
	}, listed)
	require.Len(t, found.Problems, 2, "a session that does not answer keeps what it has, and so does what cannot be reached")
	require.Contains(t, found.Problems, "sandbox away.1 lives on another engine")

	done, err := a.held.take(t.Context(), "gone.7")
	require.NoError(t, err)
	a.removeOrphans(t.Context(), known, time.Now().Add(-time.Hour), slog.New(slog.DiscardHandler))
	left := map[string]bool{}
	for id := range a.containers(t).found {
		left[id] = true
	}
	require.Equal(t, map[string]bool{
		"here.2": true, "here.1": true, "moving.4": true, "other": true, "ancient": true, "odd.x": true, "doubt.5": true, "young": true, "ageless": true,
		"elsewhere": true, "away.1": true, "gone.7": true,
	}, left)
	require.NoDirExists(t, filepath.Join(a.Forks.Dir, "gone"))
	for _, session := range []string{"here", "foreign", "young", "unmarked"} {
		require.DirExists(t, filepath.Join(a.Forks.Dir, session, "p"))
	}
	done()
	a.removeOrphans(t.Context(), known, time.Now().Add(-time.Hour), slog.New(slog.DiscardHandler))
	require.False(t, a.containers(t).has("gone.7"), "when nobody is at it any more")
}

// Checkpoints are kept for sessions that exist, or that nobody knows enough about.
func TestCheckpointsOfSessionsThatDoNotExist(t *testing.T) {
	a := newActivities(t)
	home, _ := aSession(t, a)
	store, err := a.Checkpoints()
	require.NoError(t, err)
	taken, err := activityOf[agent.CheckpointOutput](t, a.TakeCheckpoint, agent.CheckpointInput{Sandbox: home, KeepFor: "dead", Effect: "left"})
	require.NoError(t, err)
	for session, realm := range map[string]string{"alive": "realm", "foreign": "another realm", "ancient": ""} {
		require.NoError(t, store.Pin(checkpoint.Ref{Checkpoint: taken.Checkpoint.ID, Session: session, Realm: realm}))
	}
	kept := func() (sessions []string) {
		holders, err := store.Holders()
		require.NoError(t, err)
		for _, h := range holders {
			sessions = append(sessions, h.Session)
		}
		return sessions
	}
	release := func(known knownSessions, before time.Time) {
		a.releaseOrphans(t.Context(), known, before, slog.New(slog.DiscardHandler))
	}
	known := knownSessions{known: map[string]sessionNow{"alive": at(0, false), home.SessionID: at(0, false)}}
	soon, all := time.Now().Add(time.Hour), []string{"alive", "ancient", "dead", "foreign", home.SessionID}
	release(known, time.Now().Add(-time.Hour))
	require.Equal(t, all, kept(), "they are young")
	release(knownSessions{away: errors.New("Temporal is away")}, soon)
	require.Equal(t, all, kept())
	release(known, soon)
	require.Equal(t, []string{"alive", "ancient", "foreign", home.SessionID}, kept())
}

func TestNothingIsRemovedWhileNobodyCanBeAsked(t *testing.T) {
	a, known := orphanScene(t)
	known.away = errors.New("Temporal is away")
	before := len(a.containers(t).found)
	a.removeOrphans(t.Context(), known, time.Now().Add(-time.Hour), slog.New(slog.DiscardHandler))
	require.Len(t, a.containers(t).found, before)
	require.DirExists(t, filepath.Join(a.Forks.Dir, "gone", "p"))

	a, known = orphanScene(t)
	a.Realm = "" // it could not be found out
	a.removeOrphans(t.Context(), known, time.Now().Add(-time.Hour), slog.New(slog.DiscardHandler))
	require.Len(t, a.containers(t).found, before)

	a, known = orphanScene(t)
	a.containers(t).broken = sandbox.Errorf(sandbox.ClassUnavailable, "list", "no engine answers")
	require.Contains(t, a.findOrphans(t.Context(), known).Problems, "list the sandboxes of docker: no engine answers")
}

func TestIDsOfSandboxes(t *testing.T) {
	for id, want := range map[string]struct {
		session string
		epoch   int64
		ok      bool
	}{"s": {"s", 0, true}, "s.12": {"s", 12, true}, "": {}, ".1": {"", 1, false}, "s.": {"s", 0, false}, "s.x": {"s", 0, false}, "s.0": {"s", 0, false}, "s.-1": {"s", -1, false}} {
		session, epoch, ok := splitID(id)
		require.Equal(t, want.ok, ok, id)
		if ok {
			require.Equal(t, want.session, session)
			require.Equal(t, want.epoch, epoch)
		}
	}
}
