// These tests move sessions between a folder and containers, fork them and bring the changes back.

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// numbered is a text of lines that can be told apart.
func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func run(part, command, text string) any {
	arguments, _ := json.Marshal(map[string]string{"command": command})
	return call(part, "exec_command", string(arguments), text)
}

// done asks a session something and waits for the end of its turn. It returns what the turn's commands printed.
func (i *install) done(session, question string) string {
	i.Helper()
	s := i.start("ask", "--session", session, question)
	require.Zero(i, s.wait(), s.describe())
	var printed strings.Builder
	for _, item := range toolItems(s.durable()) {
		require.Equal(i, editors.ItemCompleted, item.Status, item.Error)
		if item.Output != nil {
			printed.WriteString(item.Output.Head)
		}
	}
	return printed.String()
}

// session makes a session of the folder that never asks.
func (i *install) session(args ...string) string {
	i.Helper()
	var made editors.NewResult
	i.ok(&made, append([]string{"new", "--workspace", i.work, "--approve", "never"}, args...)...)
	return made.Session.ID
}

// refused runs a verb that must fail and returns its error.
func (i *install) refused(args ...string) (code, message, detail string) {
	i.Helper()
	out, errs, status := i.run(append(args, "--json")...)
	require.Equal(i, 1, status, "%v\nstdout: %s\nstderr: %s", args, out, errs)
	var line struct {
		Error struct{ Code, Message, Detail string }
	}
	require.NoError(i, json.Unmarshal([]byte(out), &line), out)
	return line.Error.Code, line.Error.Message, line.Error.Detail
}

func (i *install) listed(session string) *editors.Session {
	i.Helper()
	var list editors.SessionsResult
	i.ok(&list, "sessions")
	for _, s := range list.Sessions {
		if s.ID == session {
			return &s
		}
	}
	return nil
}

// sandboxes are the ids of the sandboxes that the engine has.
func (i *install) sandboxes() []string {
	i.Helper()
	found, err := i.containers().List(i.Context(), "")
	require.NoError(i, err)
	var ids []string
	for _, f := range found {
		ids = append(ids, f.Ref.ID)
	}
	return ids
}

// The command tells where it runs: in a container, its workspace has another path.
const whereAmI = `test "$PWD" = /workspace && echo in the container || echo in the folder; `

func TestASessionGoesToAContainerAndComesBack(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(
		run("step one", whereAmI+`echo 1 > by-agent`, "One."),
		run("step two", whereAmI+`cat by-agent && sed -i 's/^line 18$/line 18 by the agent/' text && rm old && echo 2 > new`, "Two."),
		run("step three", whereAmI+`cat new`, "Three."),
	))
	i.write("text", numbered(20))
	i.write("old", "old\n")
	id := i.session()
	require.Contains(t, i.done(id, "step one"), "in the folder")

	var plan, moved, back editors.SwitchResult
	i.ok(&plan, "switch", "--session", id, "--dry-run", "docker")
	require.Equal(t, 3, plan.Carry.Added, "%+v", plan.Carry)
	require.Empty(t, i.sandboxes(), "a dry run makes nothing")
	i.ok(&moved, "switch", "--session", id, "docker")
	require.Equal(t, editors.Docker, moved.Backend.Kind)
	require.Equal(t, 3, moved.Carry.Added, "%+v", moved.Carry)
	require.Equal(t, editors.Docker, i.listed(id).Backend.Kind)

	require.Contains(t, i.done(id, "step two"), "in the container\n1\n")
	require.Equal(t, numbered(20), i.read("text"), "the folder is left alone")
	i.write("text", strings.Replace(numbered(20), "line 2\n", "line 2 by the user\n", 1))
	i.write("mine", "the user's\n")

	i.ok(&plan, "switch", "--session", id, "--dry-run", "local")
	require.Equal(t, []int{1, 1, 1}, []int{plan.Carry.Added, plan.Carry.Removed, plan.Carry.Merged}, "%+v", plan.Carry)
	require.FileExists(t, i.work+"/old")
	i.ok(&back, "switch", "--session", id, "local")
	require.Equal(t, editors.Local, back.Backend.Kind)
	want := strings.NewReplacer("line 2\n", "line 2 by the user\n", "line 18\n", "line 18 by the agent\n").Replace(numbered(20))
	require.Equal(t, want, i.read("text"), "both are in the file")
	require.Equal(t, "the user's\n", i.read("mine"))
	require.NoFileExists(t, i.work+"/old")
	require.Contains(t, i.done(id, "step three"), "in the folder\n2\n")
	i.eventually("the container is gone after a turn has succeeded here", func() bool { return len(i.sandboxes()) == 0 })

	require.NotEmpty(t, back.Undo)
	i.ok(nil, "restore", id, back.Undo)
	require.Equal(t, strings.Replace(numbered(20), "line 2\n", "line 2 by the user\n", 1), i.read("text"))
	require.Equal(t, "old\n", i.read("old"))
}

func TestConflictsAreTheUsersToDecide(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(
		run("edit", `sed -i 's/^line 3$/line 3 by the agent/' text && echo agent > other`, "Edited."),
		run("nothing", `true`, "Nothing."),
	))
	i.write("text", numbered(5))
	id := i.session()
	i.ok(nil, "switch", "--session", id, "docker")
	i.done(id, "edit")
	mine := strings.Replace(numbered(5), "line 3\n", "line 3 by the user\n", 1)
	i.write("text", mine)

	code, message, detail := i.refused("switch", "--session", id, "local")
	require.Equal(t, "conflict", code, message)
	require.Equal(t, "text", detail)
	require.Equal(t, mine, i.read("text"))
	require.NoFileExists(t, i.work+"/other", "nothing is applied")
	require.Equal(t, editors.Docker, i.listed(id).Backend.Kind, "the session stays")
	var plan, back editors.SwitchResult
	i.ok(&plan, "switch", "--session", id, "--dry-run", "local")
	require.Len(t, plan.Carry.Conflicts, 1)

	i.ok(&back, "switch", "--session", id, "--on-conflict", "mine", "local")
	require.Equal(t, mine, i.read("text"))
	require.Equal(t, "agent\n", i.read("other"))
	var diff editors.DiffResult
	i.ok(&diff, "diff", id, "--from", back.Carry.Theirs, "--path", "text")
	require.Len(t, diff.Files, 1)
	require.Contains(t, diff.Files[0].Patch, "-line 3 by the agent\n+line 3 by the user\n", "the agent's version is there to be looked at")

	i.ok(nil, "restore", id, back.Carry.Theirs, "--path", "text")
	require.Contains(t, i.read("text"), "line 3 by the agent\n", "and to be taken")
}

func TestAForkGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(
		run("begin", `echo begun > file`, "Begun."),
		run("go on", `echo parent >> parents; until [ -e go ]; do sleep 0.05; done; echo done`, "Gone on."),
		run("other way", whereAmI+`cat file && echo fork > forks && test ! -e parents`, "Otherwise."),
	))
	i.write("given", "given\n")
	id := i.session("--title", "Work")
	i.done(id, "begin")
	parent := i.start("ask", "--session", id, "go on")
	i.eventually("turn 2 runs", func() bool { _, err := os.Stat(i.work + "/parents"); return err == nil })

	var forked editors.SessionResult
	i.ok(&forked, "fork", id, "--turn", "1", "--backend", "docker")
	fork := forked.Session
	require.Equal(t, []any{id, 1, "Work [docker]"}, []any{fork.ParentID, fork.ForkedAtTurn, fork.Title})
	require.Equal(t, "in the container\nbegun\n", i.done(fork.ID, "other way"))
	i.write("go", "")
	require.Zero(t, parent.wait(), parent.describe())
	out, _, _ := i.run("sessions")
	require.Regexp(t, id+` +Work .*\n`+fork.ID+` +└─ Work \[docker\]`, out)
	out, _, _ = i.run("history", fork.ID)
	require.Contains(t, out, "Begun.", "the conversation up to there is the fork's too")
	require.NotContains(t, out, "Gone on.")

	var plan, adopted editors.AdoptResult
	i.ok(&plan, "adopt", fork.ID, "--dry-run")
	require.Equal(t, []int{1, 0, 0}, []int{plan.Carry.Added, plan.Carry.Changed, plan.Carry.Removed}, "%+v", plan.Carry)
	require.NoFileExists(t, i.work+"/forks")
	i.ok(&adopted, "adopt", fork.ID)
	require.Equal(t, id, adopted.SessionID)
	require.Equal(t, "fork\n", i.read("forks"))
	require.Equal(t, "parent\n", i.read("parents"))
	i.ok(&adopted, "adopt", fork.ID)
	require.Zero(t, adopted.Carry.Added, "it has that already")

	i.ok(nil, "destroy", fork.ID)
	i.eventually("nothing of the fork is left", func() bool { return len(i.sandboxes()) == 0 && i.listed(fork.ID) == nil })
	require.Equal(t, "given\n", i.read("given"))
	i.done(id, "begin")
}

func TestALocalForkHasAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		run("begin", `echo begun > file`, "Begun."),
		run("other way", `pwd && echo fork > file`, "Otherwise."),
	))
	id := i.session()
	i.done(id, "begin")
	var forked, again editors.SessionResult
	i.ok(&forked, "fork", id)
	fork := forked.Session
	dir := filepath.Join(i.paths.ForkDir, fork.ID, "work")
	require.Equal(t, dir, fork.Backend.WorkspaceRoot)
	require.Equal(t, dir+"\n", i.done(fork.ID, "other way"))
	require.Equal(t, "begun\n", i.read("file"), "the parent's folder is left alone")
	var here editors.SessionsResult
	i.ok(&here, "sessions", "--workspace", dir)
	require.Len(t, here.Sessions, 1, "who opens the folder finds the fork")

	i.ok(&again, "fork", fork.ID)
	i.ok(nil, "destroy", fork.ID)
	require.NoDirExists(t, filepath.Dir(dir))
	require.DirExists(t, again.Session.Backend.WorkspaceRoot, "a fork of the fork lives on")
	require.Equal(t, "begun\n", i.read("file"))
	code, _, _ := i.refused("adopt", again.Session.ID)
	require.Equal(t, "notFound", code, "its parent is gone")
}

func TestASwitchThatCannotBe(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(run("look", `echo here`, "Looked.")), "DOCKER_HOST=unix:///nowhere/docker.sock")
	i.write("kept", "kept\n")
	id := i.session()
	for _, dry := range []string{"--dry-run=true", "--dry-run=false"} {
		code, message, _ := i.refused("switch", "--session", id, dry, "docker")
		require.Equal(t, "backendUnavailable", code)
		require.Contains(t, message, "no Docker engine answers at unix:///nowhere/docker.sock")
	}
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "mine"), []byte("mine\n"), 0o600))
	code, message, _ := i.refused("switch", "--session", id, "--into", full, "local")
	require.Equal(t, "conflict", code, message)
	require.Equal(t, "here\n", i.done(id, "look"), "it is where it was")
	require.Equal(t, editors.Local, i.listed(id).Backend.Kind)

	elsewhere := filepath.Join(t.TempDir(), "new")
	i.ok(nil, "switch", "--session", id, "--into", elsewhere, "local")
	require.FileExists(t, filepath.Join(elsewhere, "kept"))
	i.ok(nil, "switch", "--session", id, "local")
	require.Equal(t, "kept\n", i.read("kept"))
}

func TestARestoreLeavesWhatAnEditorHasUnsaved(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(run("change", `echo changed | tee open closed`, "Changed.")))
	i.write("open", "before\n")
	i.write("closed", "before\n")
	id := i.session()
	i.done(id, "change")
	var list editors.CheckpointsResult
	i.ok(&list, "checkpoints", id)
	before := list.Checkpoints[0].ID
	e := i.editor(`{}`)
	uri := "file://" + i.work + "/open"
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"` + uri + `","languageId":"text","version":1,"text":"changed\n"}}}`)
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"` + uri + `","version":2},"contentChanges":[{"text":"unsaved\n"}]}}`)
	var result editors.RestoreResult
	e.call("sandboxAgent/restore", fmt.Sprintf(`{"sessionId":%q,"checkpointId":%q}`, id, before), &result)
	require.Equal(t, []string{"closed"}, result.Restored)
	require.Equal(t, "changed\n", i.read("open"))
	require.Contains(t, result.Reasons["open"], "unsaved")
	require.Equal(t, "before\n", i.read("closed"))
}

func TestWhatOneEditorHasUnsavedHoldsForAll(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(run("change", `echo changed | tee open closed`, "Changed.")))
	i.write("open", "before\n")
	i.write("closed", "before\n")
	id := i.session()
	i.done(id, "change")
	var list editors.CheckpointsResult
	i.ok(&list, "checkpoints", id)
	before := list.Checkpoints[0].ID
	e := i.editor(`{}`)
	uri := "file://" + i.work + "/open"
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"` + uri + `","languageId":"text","version":1,"text":"changed\n"}}}`)
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"` + uri + `","version":2},"contentChanges":[{"text":"unsaved\n"}]}}`)
	require.Eventually(t, func() bool {
		var plan editors.RestoreResult
		i.ok(&plan, "restore", "--dry-run", id, before)
		return strings.Contains(plan.Reasons["open"], "unsaved")
	}, patience, 10*time.Millisecond, "the worker hears of it")
	var result editors.RestoreResult
	i.ok(&result, "restore", id, before)
	require.Equal(t, []string{"closed"}, result.Restored)
	require.Equal(t, "changed\n", i.read("open"))
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didSave","params":{"textDocument":{"uri":"` + uri + `"}}}`)
	require.Eventually(t, func() bool {
		var plan editors.RestoreResult
		i.ok(&plan, "restore", "--dry-run", id, before)
		return plan.Reasons["open"] == "you changed it since"
	}, patience, 10*time.Millisecond, "what was saved is held no longer: it is the user's text now")
}

func TestASwitchWaitsForTheTurn(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		run("wait", `until [ -e go ]; do sleep 0.05; done; echo went > went`, "Waited."),
		run("where", `pwd; cat went`, "Looked."),
	))
	id := i.session()
	s := i.start("ask", "--session", id, "wait")
	s.until("the command", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemStarted && e.Event.Item.Kind == editors.ToolCall
	})
	code, _, _ := i.refused("restore", id, "0123456789ab")
	require.Equal(t, "busy", code)
	dir := filepath.Join(t.TempDir(), "new")
	var moved editors.SwitchResult
	i.ok(&moved, "switch", "--session", id, "--into", dir, "local")
	require.True(t, moved.Queued)
	require.Empty(t, moved.Backend.WorkspaceRoot, "it is where it was")
	follow := i.start("attach", id)
	i.write("go", "")
	require.Zero(t, s.wait(), s.describe())
	follow.until("the move", isType(editors.BackendChanged))
	require.Equal(t, dir+"\nwent\n", i.done(id, "where"))
}

func TestTheDoctorShowsWhatNoSessionNeeds(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules())
	i.session()
	left := func() editors.Check {
		out, errs, _ := i.run("doctor", "--json")
		var result editors.DoctorResult
		require.NoError(t, json.Unmarshal([]byte(out), &result), errs)
		for _, c := range result.Checks {
			if c.Name == "leftovers" {
				return c
			}
		}
		require.Fail(t, "it does not tell", out)
		return editors.Check{}
	}
	require.Equal(t, "ok", left().Status)
	dir := filepath.Join(i.paths.ForkDir, "00000000-0000-0000-0000-000000000000")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "work"), 0o700))
	require.Equal(t, "warning", left().Status)
	require.Contains(t, left().Detail, dir+" (its session does not exist")
}
