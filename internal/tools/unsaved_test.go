// This file checks what the tools make of text that stands unsaved in the user's editor.

package tools

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

// typed is a change in the editor of a file whose content is base.
func typed(base, text string) Unsaved {
	return Unsaved{Text: text, Base: patch.TextSum([]byte(base))}
}

func TestReadingSeesWhatIsTyped(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "old\n", "dir/b.go": "old\n", "large": "disk\n", "moved on": "newer\n"})
	r.env.Unsaved = map[string]Unsaved{
		"a.go": typed("old\n", "typed\nmore\n"), "dir/new.go": {Text: "typed new\n"}, "nodir/new.go": {Text: "typed too\n"}, "empty": {},
		"large": {Base: "x", Omitted: true}, "moved on": typed("old\n", "typed\n"), "gone": typed("old\n", "typed\n"),
	}
	read := func(name string) string { return r.run(t.Context(), call("r", readFile, obj{"path": name})).ForModel }
	require.Equal(t, "     1\ttyped\n     2\tmore\n(2 lines; unsaved in the editor)\n", read("a.go"))
	require.Equal(t, "     2\tmore\n(lines 2 to 2 of 2 lines; unsaved in the editor)\n", r.run(t.Context(), call("r", readFile, obj{"path": "a.go", "offset": 2})).ForModel)
	require.Equal(t, "     1\ttyped new\n(1 lines; unsaved in the editor)\n", read("dir/new.go"))
	require.Contains(t, read("nodir/new.go"), "typed too")
	require.Equal(t, "empty is empty (unsaved in the editor).\n", read("empty"))
	require.Contains(t, read("large"), "disk\n(1 lines; the editor has unsaved changes of it that are too large")
	require.Equal(t, "     1\tnewer\n(1 lines)\n", read("moved on"), "what is on disk is no longer what was typed over")
	require.Contains(t, read("gone"), "there is no such file")
	require.Equal(t, "     1\told\n(1 lines)\n", read("dir/b.go"))

	require.Equal(t, "./\n  a.go (unsaved in the editor)\n  dir/\n    b.go\n    new.go (unsaved in the editor)\n"+
		"  empty (unsaved in the editor)\n  large ("+omittedNote+")\n  moved on\n", r.run(t.Context(), call("l", list, nil)).ForModel)
}

func TestSearchingSeesWhatIsTyped(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "old\n", "b.go": "typed on disk\n", "dir/c.go": "old\n"})
	r.env.Unsaved = map[string]Unsaved{"a.go": typed("old\n", "x\r\ntyped (1)\r\n"), "dir/new.txt": {Text: "typed new"}}
	found := func(args obj) string { return r.run(t.Context(), call("s", search, args)).ForModel }
	require.Equal(t, "a.go (unsaved in the editor)\n     2\ttyped (1)\nb.go\n     1\ttyped on disk\ndir/new.txt (unsaved in the editor)\n     1\ttyped new\n",
		found(obj{"pattern": "typ.d"}))
	require.Equal(t, "dir/c.go\n     1\told\n", found(obj{"pattern": "old"}), "what was typed over is not found")
	require.Equal(t, "a.go (unsaved in the editor)\n     2\ttyped (1)\n", found(obj{"pattern": "(1)", "literal": true}))
	require.Equal(t, "dir/new.txt (unsaved in the editor)\n     1\ttyped new\n", found(obj{"pattern": "typed", "path": "dir"}))
	require.Equal(t, "dir/new.txt (unsaved in the editor)\n     1\ttyped new\n", found(obj{"pattern": "typed", "path": "dir/new.txt"}))
	require.Equal(t, "dir/new.txt (unsaved in the editor)\n", found(obj{"glob": "**/*.txt"}))
	require.Contains(t, found(obj{"pattern": "(", "literal": false}), "no regular expression")
}

func TestWhatIsTypedIsNeverWrittenBehindTheEditor(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "old\n", "b.go": "b\n", "large": "disk\n"})
	r.env.InPlace = true
	r.env.Unsaved = map[string]Unsaved{"a.go": typed("old\n", "typed\n"), "new": {Text: "n\n"}, "large": {Omitted: true}}
	before := r.box.Files()
	for id, patch := range map[string]string{
		"1": "*** Update File: a.go\n-typed\n+mine\n*** Update File: b.go\n-b\n+B\n",
		"2": "*** Delete File: a.go\n",
		"3": "*** Update File: new\n-n\n+N\n",
		"4": "*** Update File: large\n-disk\n+mine\n",
		"5": "*** Update File: b.go\n*** Move to: c.go\n*** Update File: a.go\n*** Move to: d.go\n",
	} {
		result := r.run(t.Context(), call(id, applyPatch, obj{"patch": patch}))
		require.Equal(t, editors.ItemFailed, result.Status, patch)
		require.Contains(t, result.Error, "unsaved changes in the user's editor")
		require.Contains(t, result.Error, "ask the user to save it")
	}
	require.Equal(t, before, r.box.Files())

	r.box.Put("a.go", "typed\n", 0o644) // the user saves
	result := r.run(t.Context(), call("6", applyPatch, obj{"patch": "*** Update File: a.go\n-typed\n+mine\n"}))
	require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
	result = r.run(t.Context(), call("7", applyPatch, obj{"patch": "*** Update File: a.go\n-mine\n+mine again\n"}))
	require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
	require.Equal(t, "mine again\n", r.box.Files()["a.go"])
}

func TestInACopyTheChangeIsMadeToWhatIsTyped(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "\uFEFFold\r\nrest\r\n"})
	r.env.Unsaved = map[string]Unsaved{"a.go": typed("old\nrest\n", "typed\nrest\n"), "new": {Text: "n\n"}}
	r.run(t.Context(), call("r", readFile, obj{"path": "a.go"}))
	c := call("1", applyPatch, obj{"patch": "*** Update File: a.go\n-rest\n+mine\n*** Update File: new\n-n\n+N\n"})
	result := r.run(t.Context(), c)
	require.Equal(t, "Done:\nUpdated a.go (+1 -1)\nUpdated new (+1 -1)\n", result.ForModel)
	want := map[string]string{"a.go": "\uFEFFtyped\r\nmine\r\n", "new": "N\n"}
	require.Equal(t, want, r.box.Files())
	require.Equal(t, result.Diff, r.run(t.Context(), c).Diff)
	require.Equal(t, want, r.box.Files())
	result = r.run(t.Context(), call("r", readFile, obj{"path": "a.go"}))
	require.NotContains(t, result.ForModel, unsavedNote, "the copy has it now")
}

func TestTheEditorMakesTheChangeOfWhatIsTyped(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "\uFEFFold\r\nrest\r\n", "b.go": "b\n"})
	r.env.InPlace = true
	r.env.Unsaved = map[string]Unsaved{"a.go": typed("old\nrest\n", "typed\nrest\n")}
	var asked []EditorChange
	var answer error
	r.env.Editor = func(_ context.Context, id string, changes []EditorChange) error {
		require.NotEmpty(t, id)
		asked = append(asked, changes...)
		return answer
	}
	before := r.box.Files()
	c := call("1", applyPatch, obj{"patch": "*** Update File: a.go\n-rest\n+mine\n"})
	result := r.run(t.Context(), c)
	require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
	require.Equal(t, "Done:\nUpdated a.go (+1 -1)\n"+inEditor, result.ForModel)
	require.Equal(t, []EditorChange{{Path: "a.go", Before: "typed\nrest\n", After: "typed\nmine\n", Base: patch.TextSum([]byte("old\nrest\n"))}}, asked)
	require.Equal(t, result.ForModel, r.run(t.Context(), c).ForModel)
	require.Len(t, asked, 1, "once")
	r.env.Unsaved = map[string]Unsaved{"a.go": typed("old\nrest\n", "typed\nmine\n")}

	for id, patch := range map[string]string{
		"a patch of its own":     "*** Update File: a.go\n-mine\n+more\n*** Update File: b.go\n-b\n+B\n",
		"not deleted or moved":   "*** Delete File: a.go\n",
		"so it is not deleted":   "*** Update File: a.go\n*** Move to: c.go\n",
		"no such file; list the": "*** Update File: c.go\n-b\n+B\n",
	} {
		result = r.run(t.Context(), call(id, applyPatch, obj{"patch": patch}))
		require.Equal(t, editors.ItemFailed, result.Status)
		if id != "so it is not deleted" {
			require.Contains(t, result.Error, id)
		}
	}
	require.Len(t, asked, 1)

	answer = sandbox.Errorf(sandbox.ClassDenied, "apply patch", "the editor did not take it")
	result = r.run(t.Context(), call("2", applyPatch, obj{"patch": "*** Update File: a.go\n-mine\n+more\n"}))
	require.Contains(t, result.Error, "the editor did not take it")
	answer = sandbox.Errorf(sandbox.ClassUnknown, "apply patch", "who knows")
	c = call("3", applyPatch, obj{"patch": "*** Update File: a.go\n-mine\n+more\n"})
	for range 2 {
		_, err := Run(t.Context(), r.env, c)
		require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(err))
	}
	require.Len(t, asked, 3, "what may have happened is not repeated")
	require.Equal(t, before, r.box.Files())
}

func TestWhatIsTypedAfterTheQuestionIsNotWrittenUnderEither(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "\uFEFFold\r\nrest\r\n", "b.go": "b\n", "c.go": "c\n"})
	open := map[string]Open{}
	var asked []EditorChange
	r.env.Open = func() map[string]Open { return open }
	r.env.Editor = func(_ context.Context, _ string, changes []EditorChange) error {
		asked = append(asked, changes...)
		return nil
	}
	patched := func(id, patch string) Result { return r.run(t.Context(), call(id, applyPatch, obj{"patch": patch})) }
	require.Equal(t, editors.ItemCompleted, patched("1", "*** Update File: b.go\n-b\n+B\n").Status)
	require.Equal(t, "B\n", r.box.Files()["b.go"], "nobody has it open")

	before := r.box.Files()
	open["a.go"], open["new.go"] = Open{"file:///w/a.go", "e"}, Open{"file:///w/new.go", "e"}
	result := patched("2", "*** Update File: a.go\n-rest\n+mine\n")
	require.Equal(t, "Done:\nUpdated a.go (+1 -1)\n"+inEditor, result.ForModel, result.Error)
	base := patch.TextSum([]byte("old\nrest\n"))
	require.Equal(t, []EditorChange{{"a.go", "old\r\nrest\r\n", "old\r\nmine\r\n", base, open["a.go"]}}, asked)
	patched("3", "*** Add File: new.go\n+mine\n")
	require.Equal(t, EditorChange{"new.go", "", "mine\n", "", open["new.go"]}, asked[1])
	open["b.go"] = Open{"file:///w/b.go", "e"}
	for id, patch := range map[string]string{
		"a patch of its own":   "*** Update File: b.go\n-B\n+mine\n*** Update File: c.go\n-c\n+C\n",
		"not deleted or moved": "*** Delete File: b.go\n",
	} {
		require.Contains(t, patched(id, patch).Error, id)
	}
	require.Len(t, asked, 2)
	require.Equal(t, before, r.box.Files())
}
