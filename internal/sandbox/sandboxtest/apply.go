// These cases are about edits: together or not at all, once, and never over somebody else's change.

package sandboxtest

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var applyCases = []testCase{
	{name: "edits", run: appliesEdits},
	{name: "nothing", run: appliesNothing},
	{name: "same id", run: appliesOnce},
	{name: "all or none", run: appliesAllOrNone},
	{name: "modes", run: keepsModes},
	{name: "races", run: winsOnlyOnce},
	{name: "saves are never lost", real: true, run: neverLosesASave},
	{name: "many files", run: appliesManyEdits},
	{name: "too much", run: refusesTooMuch},
	{name: "hard links", real: true, run: replacesHardLinks},
	{name: "read-only directory", real: true, run: appliesOnlyWhereItMay},
	{name: "nothing is left beside", run: leavesNothingBeside},
}

func appliesEdits(e *env) {
	e.put("old", "old")
	e.put("gone", "gone")
	e.succeed("ln -s old link; ln -s gone link2")
	require.NoError(e, e.apply(
		sandbox.Edit{Path: e.at("link"), Before: hash("old"), Content: []byte("new")},
		sandbox.Edit{Path: e.at("gone"), Before: hash("gone"), Delete: true},
		sandbox.Edit{Path: e.at("link2"), Before: "*", Delete: true},
		sandbox.Edit{Path: e.at("a/b/c"), Content: []byte("made")},
		sandbox.Edit{Path: e.at("any"), Before: "*", Content: []byte{}},
		sandbox.Edit{Path: e.at("never"), Before: "*", Delete: true},
	))
	names, _ := e.list(".", 10, 0)
	require.Equal(e, []string{"a", "a/b", "a/b/c", "any", "link", "old"}, names)
	require.Equal(e, "new", e.get("old"), "an edit of a link changes the file it leads to")
	require.Equal(e, "made", e.get("a/b/c"))
	require.Empty(e, e.get("any"))
	entry, err := e.box.Stat(e.Context(), e.at("link"))
	require.NoError(e, err)
	require.Equal(e, "old", entry.Target)
}

func appliesNothing(e *env) {
	require.NoError(e, e.apply())
	e.put("f", "x")
	require.NoError(e, e.apply(sandbox.Edit{Path: e.at("f"), Before: hash("x"), Content: []byte("x")}), "the same content")
	for _, id := range []string{"", strings.Repeat("x", sandbox.MaxID+1), "\xff"} {
		e.class(sandbox.ClassInvalid, e.box.Apply(e.Context(), id, nil), id)
	}
}

func appliesOnce(e *env) {
	id := e.id()
	edits := []sandbox.Edit{{Path: e.at("f"), Content: []byte("one")}}
	require.NoError(e, e.box.Apply(e.Context(), id, edits))
	e.put("f", "user")
	require.NoError(e, e.box.Apply(e.Context(), id, edits))
	require.NoError(e, e.box.Apply(e.Context(), id, nil))
	require.NoError(e, e.box.Apply(e.Context(), id, []sandbox.Edit{{Path: e.at("f"), Before: "*", Content: []byte("other")}}))
	require.Equal(e, "user", e.get("f"), "the same id is the same effect")

	id = e.id()
	err := e.box.Apply(e.Context(), id, edits)
	e.class(sandbox.ClassConflict, err)
	require.NoError(e, e.apply(sandbox.Edit{Path: e.at("f"), Before: hash("user"), Delete: true}))
	again := e.box.Apply(e.Context(), id, edits)
	e.class(sandbox.ClassConflict, again, "a refusal is an outcome too")
	require.Equal(e, err.Error(), again.Error())
}

func appliesAllOrNone(e *env) {
	e.put("f", "f")
	e.put("d/x", "x")
	e.succeed("ln -s /etc/passwd out")
	tree := func() string {
		names, _ := e.list(".", 10, 0)
		return strings.Join(names, " ") + e.get("f") + e.get("d/x")
	}
	before := tree()
	good := sandbox.Edit{Path: e.at("f"), Before: hash("f"), Content: []byte("changed")}
	for name, c := range map[string]struct {
		bad  sandbox.Edit
		want sandbox.Class
	}{
		"changed":         {sandbox.Edit{Path: "d/x", Before: hash("y"), Content: []byte("n")}, sandbox.ClassConflict},
		"exists":          {sandbox.Edit{Path: "d/x", Content: []byte("n")}, sandbox.ClassConflict},
		"missing":         {sandbox.Edit{Path: "d/y", Before: hash("y"), Content: []byte("n")}, sandbox.ClassConflict},
		"delete changed":  {sandbox.Edit{Path: "d/x", Before: hash("y"), Delete: true}, sandbox.ClassConflict},
		"delete missing":  {sandbox.Edit{Path: "d/y", Before: hash("y"), Delete: true}, sandbox.ClassConflict},
		"delete nothing":  {sandbox.Edit{Path: "d/x", Delete: true}, sandbox.ClassInvalid},
		"directory":       {sandbox.Edit{Path: "d", Before: "*", Content: []byte("n")}, sandbox.ClassInvalid},
		"delete a folder": {sandbox.Edit{Path: "d", Before: "*", Delete: true}, sandbox.ClassInvalid},
		"below a file":    {sandbox.Edit{Path: "f/x", Content: []byte("n")}, sandbox.ClassNotFound},
		"twice":           {sandbox.Edit{Path: "./f", Before: "*", Content: []byte("n")}, sandbox.ClassInvalid},
		"outside":         {sandbox.Edit{Path: "../../f", Before: "*", Content: []byte("n")}, sandbox.ClassDenied},
		"outside by link": {sandbox.Edit{Path: "out", Before: "*", Content: []byte("n")}, sandbox.ClassDenied},
		"no name":         {sandbox.Edit{Path: "new/", Content: []byte("n")}, sandbox.ClassInvalid},
		"NUL":             {sandbox.Edit{Path: "a\x00", Content: []byte("n")}, sandbox.ClassInvalid},
	} {
		c.bad.Path = e.dir + "/" + c.bad.Path
		for i, edits := range [][]sandbox.Edit{{good, c.bad}, {c.bad, good}} {
			e.class(c.want, e.apply(edits...), name, i)
			require.Equal(e, before, tree(), name)
		}
	}
}

func keepsModes(e *env) {
	require.NoError(e, e.apply(
		sandbox.Edit{Path: e.at("run"), Content: []byte("#!"), Mode: 0o755},
		sandbox.Edit{Path: e.at("private"), Content: []byte("x"), Mode: 0o600},
		sandbox.Edit{Path: e.at("plain"), Content: []byte("x")},
	))
	require.NoError(e, e.apply(
		sandbox.Edit{Path: e.at("run"), Before: hash("#!"), Content: []byte("#!x")},
		sandbox.Edit{Path: e.at("private"), Before: hash("x"), Content: []byte("y"), Mode: 0o644},
	))
	for name, mode := range map[string]fs.FileMode{"run": 0o755, "private": 0o600, "plain": 0o644} {
		entry, err := e.box.Stat(e.Context(), e.at(name))
		require.NoError(e, err)
		require.Equal(e, mode, entry.Mode, name)
	}
}

func winsOnlyOnce(e *env) {
	e.put("n", "0")
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			errs[i] = e.apply(sandbox.Edit{Path: e.at("n"), Before: hash("0"), Content: fmt.Append(nil, i+1)})
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			require.Equal(e, fmt.Sprint(i+1), e.get("n"))
			continue
		}
		e.class(sandbox.ClassConflict, err)
	}
	require.Equal(e, 1, won)
}

// A user who saves all the time must never lose a save to an edit that was made from an older content.
func neverLosesASave(e *env) {
	e.put("f", "user 0")
	id := e.start(sandbox.Command{Stdin: true, Script: `while read n; do printf "user $n" > tmp && mv tmp f && echo "saved $n"; done`})
	for i := 1; i <= 40; i++ {
		old := e.get("f")
		require.NoError(e, e.box.Input(e.Context(), id, fmt.Appendf(nil, "%d\n", i), false))
		err := e.apply(sandbox.Edit{Path: e.at("f"), Before: hash(old), Content: fmt.Append(nil, "agent ", i)})
		e.awaitOutput(id, fmt.Sprintf("saved %d\n", i))
		if now := e.get("f"); now != fmt.Sprint("user ", i) {
			require.NoError(e, err)
			require.Equal(e, fmt.Sprint("agent ", i), now)
			require.Fail(e, "the save came before the edit, which should have been a conflict, or after it and should have stayed")
		}
	}
	require.NoError(e, e.box.Kill(e.Context(), id))
}

func appliesManyEdits(e *env) {
	var edits []sandbox.Edit
	for i := range 200 {
		edits = append(edits, sandbox.Edit{Path: e.at(fmt.Sprintf("d%d/f%d", i%7, i)), Content: []byte(strings.Repeat("x", 20_000))})
	}
	require.NoError(e, e.apply(edits...))
	names, _ := e.list(".", 10, 0)
	require.Len(e, names, 207)
	edits[199].Before = hash("other")
	for i := range edits[:199] {
		edits[i].Before, edits[i].Delete, edits[i].Content = "*", true, nil
	}
	e.class(sandbox.ClassConflict, e.apply(edits...))
	names, _ = e.list(".", 10, 0)
	require.Len(e, names, 207, "the last one failed: all are there again")
}

func refusesTooMuch(e *env) {
	e.class(sandbox.ClassLimit, e.apply(sandbox.Edit{Path: e.at("big"), Content: make([]byte, 64<<20+1)}))
	many := make([]sandbox.Edit, 1001)
	for i := range many {
		many[i].Path = e.at(fmt.Sprint("f", i))
	}
	e.class(sandbox.ClassLimit, e.apply(many...))
	names, _ := e.list(".", 1, 0)
	require.Empty(e, names)
}

func replacesHardLinks(e *env) {
	e.succeed("printf x > f; ln f other")
	require.NoError(e, e.apply(sandbox.Edit{Path: e.at("f"), Before: hash("x"), Content: []byte("y")}))
	require.Equal(e, "yx", e.get("f")+e.get("other"), "the other name keeps the old content")
}

func appliesOnlyWhereItMay(e *env) {
	if e.succeed("id -u") == "0\n" {
		e.Skip("this user may write everywhere")
	}
	e.succeed("mkdir d; printf x > d/f; chmod 555 d")
	for _, edit := range []sandbox.Edit{{Path: "d/new", Content: []byte("n")}, {Path: "d/f", Before: "*", Content: []byte("n")}, {Path: "d/f", Before: "*", Delete: true}} {
		edit.Path = e.at(edit.Path)
		e.class(sandbox.ClassDenied, e.apply(edit))
	}
	require.Equal(e, "x", e.get("d/f"))
	e.succeed("chmod 755 d")
}

func leavesNothingBeside(e *env) {
	e.put("f", "1")
	e.class(sandbox.ClassConflict, e.apply(
		sandbox.Edit{Path: e.at("new/deep/g"), Content: []byte("x")}, sandbox.Edit{Path: e.at("f"), Before: hash("0"), Content: []byte("x")},
	))
	require.NoError(e, e.apply(sandbox.Edit{Path: e.at("f"), Before: "*", Content: []byte("2")}))
	names, _ := e.list(".", 10, 0)
	require.Equal(e, []string{"f"}, names, "neither temporary files nor directories of what failed")
}
