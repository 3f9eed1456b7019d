// This file tests the verbs switch, fork and adopt, and the tree of forks.

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

var carried = editors.Carry{
	Added: 3, Changed: 2, Removed: 1, Merged: 1, Bytes: 2048,
	Files: []editors.FileChange{
		{Path: "new", Kind: "added"}, {Path: "old", Kind: "changed"}, {Path: "both", Kind: "merged"}, {Path: "gone\x1b", Kind: "removed"},
	},
	Skipped: []editors.Skipped{{Path: "pipe", Reason: "a pipe"}}, SkippedAll: 5,
}

func TestSwitchVerb(t *testing.T) {
	f := newFake()
	f.sessions = []editors.Session{{ID: "s1", HostID: "host"}}
	f.snapshot.Session = editors.Session{ID: "s1", Backend: editors.Backend{Kind: editors.Local}, TurnID: 4}
	var asked editors.SwitchParams
	answer := editors.SwitchResult{Backend: editors.Backend{Kind: editors.Docker, Image: "debian"}, Carry: carried}
	editors.Handle(&f.mux, editors.Switch, func(_ context.Context, p editors.SwitchParams) (editors.SwitchResult, error) {
		asked = p
		return answer, nil
	})
	const summary = "3 files added, 2 changed, 1 removed, 1 of the changed with the changes of both sides, 5 left out (2.0 KiB).\n"
	require.Equal(t, outcome{
		statusDone, "s1 runs in docker (debian) now.\n" + summary + "left out pipe (a pipe)\n… and 4 more\n",
		"· To go back: sandbox-agent switch --session s1 local\n",
	}, runVerb(t, f, "switch", "docker", "--image", "debian"), "the latest session of the folder")
	require.NotEmpty(t, asked.RequestID)
	require.Equal(t, "debian", asked.Backend.Image)

	require.Equal(t, outcome{
		statusDone, "s1 would run in docker (debian).\n" + summary +
			"added    new\nchanged  old\nmerged   both\nremoved  \"gone\\x1b\"\n… and 2 more\nleft out pipe (a pipe)\n… and 4 more\n", "",
	}, runVerb(t, f, "switch", "--session", "s1", "--dry-run", "docker"))
	require.True(t, asked.DryRun)

	f.snapshot.Session.Backend = editors.Backend{Kind: editors.Docker, Image: "debian"}
	dir := t.TempDir()
	answer = editors.SwitchResult{
		Backend: editors.Backend{Kind: editors.Local, WorkspaceRoot: dir}, Undo: "0123456789abcdef",
		Carry: editors.Carry{Added: 1, Theirs: "fedcba9876543210", Conflicts: []editors.Skipped{{Path: "x", Reason: "both changed it"}}, ConflictsAll: 1},
	}
	require.Equal(t, outcome{
		statusDone, "s1 runs in " + dir + " now.\n1 file added, 1 in conflict.\nconflict x (both changed it)\n",
		"· What came is in the checkpoint fedcba987654: sandbox-agent diff --from fedcba987654 s1\n" +
			"· To undo what came: sandbox-agent restore s1 0123456789ab\n· To go back: sandbox-agent switch --session s1 --image debian docker\n",
	}, runVerb(t, f, "switch", "-s", "s1", "--into", dir, "--yes", "--on-conflict", "mine", "local"))
	require.Equal(t, []any{dir, true, editors.ConflictMine}, []any{asked.Backend.WorkspaceRoot, asked.IntoNonEmpty, asked.OnConflict})

	answer = editors.SwitchResult{Backend: editors.Backend{Kind: editors.Local}, Undo: "0123456789abcdef"}
	require.NotContains(t, runVerb(t, f, "switch", "-s", "s1", "local").stderr, "undo", "nothing came")
	answer = editors.SwitchResult{Backend: editors.Backend{Kind: editors.Docker}, Queued: true, AfterTurnID: 5}
	require.Equal(t, "s1 will run in local when turn 5 has ended.\n", runVerb(t, f, "switch", "-s", "s1", "local").stdout)
	require.Contains(t, runVerb(t, f, "switch", "-s", "s1", "--json", "local").stdout, `"queued":true`)
}

func TestConflictsNameThePaths(t *testing.T) {
	f := newFake()
	editors.Handle(&f.mux, editors.Adopt, func(context.Context, editors.AdoptParams) (editors.AdoptResult, error) {
		e := editors.Errorf(editors.CodeConflict, "adopting would meet 2 conflicts").WithRemedy("Decide.")
		e.Detail = "a\nb"
		return editors.AdoptResult{}, e
	})
	require.Equal(t, outcome{statusFailed, "", "Error: Adopting would meet 2 conflicts\n  a\n  b\nDecide.\n"}, runVerb(t, f, "adopt", "s1"))
}

func TestForkVerb(t *testing.T) {
	f := newFake()
	f.sessions = []editors.Session{{ID: "abcd-1", HostID: "host"}}
	var asked editors.ForkParams
	backend, notice := editors.Backend{Kind: editors.Local}, ""
	editors.Handle(&f.mux, editors.Fork, func(_ context.Context, p editors.ForkParams) (editors.SessionResult, error) {
		asked = p
		return editors.SessionResult{Notice: notice, Session: editors.Session{
			ID: "f1", Title: "X (fork #1)", ParentID: p.SessionID, ForkedAtTurn: p.TurnID, Backend: backend, WorkspaceFolder: "file:///forks/f1/my%20app",
		}}, nil
	})
	require.Equal(t, outcome{
		statusDone, "f1\n", "· \"X (fork #1)\" goes on from turn 3 of abcd-1, in local.\n" +
			"· To open its folder in an editor: code '/forks/f1/my app'\n· To bring its changes back: sandbox-agent adopt f1\n",
	}, runVerb(t, f, "fork", "--turn", "3", "abcd", "Another", "way"))
	require.Equal(t, []any{"abcd-1", "Another way", 3}, []any{asked.SessionID, asked.Title, asked.TurnID})
	require.Nil(t, asked.Backend, "as its source")

	backend, notice = editors.Backend{Kind: editors.Docker}, "The files are older."
	require.Equal(t, outcome{
		statusDone, "f1\n", "· \"X (fork #1)\" goes on from the beginning of abcd-1, in docker.\n· The files are older.\n· To bring its changes back: sandbox-agent adopt f1\n",
	}, runVerb(t, f, "fork", "--backend", "docker", "--title", "T"))
	require.Equal(t, []any{"abcd-1", "T", editors.Docker}, []any{asked.SessionID, asked.Title, asked.Backend.Kind})
}

func TestAdoptVerb(t *testing.T) {
	f := newFake()
	f.sessions = []editors.Session{{ID: "f1f1-1"}}
	var asked editors.AdoptParams
	editors.Handle(&f.mux, editors.Adopt, func(_ context.Context, p editors.AdoptParams) (editors.AdoptResult, error) {
		asked = p
		return editors.AdoptResult{SessionID: "s1", Undo: "0123456789abcdef", Carry: editors.Carry{Added: 1, Files: []editors.FileChange{{Path: "a", Kind: "added"}}}}, nil
	})
	require.Equal(t, outcome{
		statusDone, "s1 has the changes of f1f1-1.\n1 file added.\nadded    a\n", "· To undo: sandbox-agent restore s1 0123456789ab\n",
	}, runVerb(t, f, "adopt", "f1f1"))
	require.Equal(t, outcome{statusDone, "1 file added.\nadded    a\n", ""}, runVerb(t, f, "adopt", "--dry-run", "--on-conflict", "theirs", "f1f1"))
	require.Equal(t, []any{"f1f1-1", true, editors.ConflictTheirs}, []any{asked.SessionID, asked.DryRun, asked.OnConflict})
}

func TestForksAreShownAsATree(t *testing.T) {
	f := newFake()
	local := editors.Backend{Kind: editors.Local}
	add := func(id, parent string) {
		f.sessions = append(f.sessions, editors.Session{ID: id, ParentID: parent, Title: "T" + id, Backend: local, State: editors.State{Status: editors.StatusIdle}, Model: "m", WorkspaceFolder: "file:///w"})
	}
	add("5", "3")
	add("4", "1")
	add("3", "1")
	add("2", "")
	add("1", "")
	add("6", "elsewhere")
	var shown []string
	for line := range strings.Lines(runVerb(t, f, "sessions").stdout) {
		fields := strings.SplitN(line, "idle", 2)
		shown = append(shown, strings.TrimRight(fields[0], " "))
	}
	require.Equal(t, []string{"2        T2", "1        T1", "4        ├─ T4", "3        └─ T3", "5           └─ T5", "6        T6"}, shown[1:])
	require.Regexp(t, `"id":"5".*"id":"4"`, runVerb(t, f, "sessions", "--json").stdout, "flat, in its order")
}

func TestAForkIsNotMeantByTheFolderOfItsSource(t *testing.T) {
	f := newFake()
	dir := t.TempDir()
	here := "file://" + dir
	f.sessions = []editors.Session{
		{ID: "fork", ParentID: "s1", HostID: "host", WorkspaceFolder: here, Backend: editors.Backend{Kind: editors.Docker}}, {ID: "s1", HostID: "host", WorkspaceFolder: here},
	}
	var asked []string
	editors.Handle(&f.mux, editors.Fork, func(_ context.Context, p editors.ForkParams) (editors.SessionResult, error) {
		asked = append(asked, p.SessionID)
		return editors.SessionResult{}, nil
	})
	require.Zero(t, runVerb(t, f, "fork", "--workspace", dir).status)
	require.Zero(t, runVerb(t, f, "fork", "--workspace", t.TempDir()).status, "the fork's own folder")
	require.Equal(t, []string{"s1", "fork"}, asked)
}

func TestWordsAreQuotedForAShell(t *testing.T) {
	for word, want := range map[string]string{"/a/b-c": "/a/b-c", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''"} {
		require.Equal(t, want, quoted(word))
	}
}
