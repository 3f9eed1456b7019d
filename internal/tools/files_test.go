// This file checks reading, listing, searching and patching of files.

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/sandbox"
)

// fullStore is a store whose disk is full.
type fullStore struct{ blob.Store }

func (fullStore) Put(context.Context, []byte) (blob.Ref, error) { return "", errDiskFull }

func numbered(from, to int) string {
	var out strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&out, "%6d\tline %d\n", i, i)
	}
	return out.String()
}

func TestRead(t *testing.T) {
	var many strings.Builder
	for i := 1; i <= 2500; i++ {
		fmt.Fprintf(&many, "line %d\n", i)
	}
	files := map[string]string{
		"small": "line 1\nline 2\n", "bare": "line 1\nline 2", "empty": "", "crlf": "line 1\r\nline 2\r\n", "many": many.String(),
		"strayed": "é\xe9\n", "latin": "caf\xe9\n", "bin": "\x7fELF\x02\x01\x01\x00\x00\x00", "long": strings.Repeat("é", 3000) + "\nline 2\n",
		"wide": strings.Repeat(strings.Repeat("x", 1000)+"\n", 500), "one": strings.Repeat("x", 3<<20), "d/e": "line 1\n",
	}
	cases := []struct {
		name string
		args obj
		want string
	}{
		{"whole", obj{"path": "small"}, numbered(1, 2) + "(2 lines)\n"},
		{"in a directory, absolute", obj{"path": "/fake/workspace/d/e"}, numbered(1, 1) + "(1 lines)\n"},
		{"backslashes", obj{"path": `d\e`}, numbered(1, 1) + "(1 lines)\n"},
		{"no newline at the end", obj{"path": "bare"}, numbered(1, 2) + "(2 lines; no newline at the end)\n"},
		{"CRLF", obj{"path": "crlf"}, numbered(1, 2) + "(2 lines; lines end in CRLF)\n"},
		{"empty", obj{"path": "empty"}, "empty is empty.\n"},
		{"first 2000", obj{"path": "many"}, numbered(1, 2000) + "(lines 1 to 2000 of 2500 lines; continue with offset 2001)\n"},
		{"window", obj{"path": "many", "offset": 2400, "limit": 10}, numbered(2400, 2409) + "(lines 2400 to 2409 of 2500 lines; continue with offset 2410)\n"},
		{"rest", obj{"path": "many", "offset": 2499, "limit": 10}, numbered(2499, 2500) + "(lines 2499 to 2500 of 2500 lines)\n"},
		{"not UTF-8", obj{"path": "latin"}, "     1\tcafé\n(1 lines; not UTF-8: every byte is shown as the character that Windows-1252 has for it)\n"},
		{"not all UTF-8", obj{"path": "strayed"}, "     1\té\uFFFD\n(1 lines; not all of it is UTF-8: what could not be read is shown as \uFFFD)\n"},
		{"binary", obj{"path": "bin"}, "bin is a binary file (application/octet-stream, 10 bytes); it is not shown. Use a command to look into it.\n"},
		{"long line", obj{"path": "long"}, "     1\t" + strings.Repeat("é", 2000) + " … (cut: the line has 6,000 bytes)\n     2\tline 2\n(2 lines)\n"},
		{"huge line", obj{"path": "one"}, "     1\t" + strings.Repeat("x", 2000) + " … (cut: the line has 3,145,728 bytes)\n(1 lines; no newline at the end)\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, files)
			result := r.run(context.Background(), call("e", readFile, c.args))
			require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
			require.Equal(t, c.want, result.ForModel)
			if len(c.want) > 2*MaxPreviewBytes {
				require.Equal(t, c.want, r.blob(result, "stdout"))
			}
		})
	}
	wide := newRig(t, files).run(context.Background(), call("e", readFile, obj{"path": "wide"}))
	require.Contains(t, wide.ForModel, "of 500 lines; continue with offset 26")
}

func TestReadRefuses(t *testing.T) {
	r := newRig(t, map[string]string{"a": "x\n", "d/e": ""})
	r.box.Put("pipe", "", fs.ModeNamedPipe)
	for path, want := range map[string]string{
		"nowhere": "nowhere: there is no such file or directory; use list", "d": "d: this is a directory; use list",
		"../x": "outside the workspace", "/etc/passwd": "outside the workspace", "pipe": "not a regular file",
	} {
		result := r.run(context.Background(), call("e", readFile, obj{"path": path}))
		require.Equal(t, editors.ItemFailed, result.Status)
		require.Contains(t, result.Error, want)
	}
	result := r.run(context.Background(), call("e", readFile, obj{"path": "a", "offset": 5}))
	require.Contains(t, result.Error, "a has only 1 lines; give a smaller offset")
}

func TestList(t *testing.T) {
	r := newRig(t, map[string]string{"a-b": "", "a/x.go": "", "a/deep/y": "", "new\nline": "", "z": ""})
	r.box.Link("link", "a/x.go")
	result := r.run(context.Background(), call("e", list, nil))
	require.Equal(t, "./\n  a/\n    deep/\n    x.go\n  a-b\n  link -> a/x.go\n  \"new\\nline\"\n  z\n", result.ForModel)
	result = r.run(context.Background(), call("e", list, obj{"path": "a", "depth": 5}))
	require.Equal(t, "a/\n  deep/\n    y\n  x.go\n", result.ForModel)
	require.Contains(t, r.run(context.Background(), call("e", list, obj{"path": "z"})).Error, "this is a file; use read_file")
	require.Contains(t, r.run(context.Background(), call("e", list, obj{"path": "q"})).Error, "there is no such file")
	require.Contains(t, newRig(t, nil).run(context.Background(), call("e", list, nil)).ForModel, "(empty)")

	many := map[string]string{}
	for i := range 600 {
		many[fmt.Sprintf("f%03d", i)] = ""
		many[fmt.Sprintf("long/%03d%s", i, strings.Repeat("x", 100))] = ""
	}
	r = newRig(t, many)
	require.Contains(t, r.run(context.Background(), call("e", list, obj{"depth": 1})).ForModel, "f499\n(cut: there are more than 500 entries; list a subdirectory")
	require.Contains(t, r.run(context.Background(), call("e", list, obj{"path": "long"})).ForModel, "(cut: there are more than 1")
}

func TestSearch(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "func f() {}\nx\nfunc g() {}\n", "d/b.go": "func h() {}\n", "c.txt": "func\n" + strings.Repeat("y", 400) + "\n"})
	search := func(args obj) string { return r.run(context.Background(), call("e", search, args)).ForModel }
	require.Equal(t, "a.go\n     1\tfunc f() {}\n     3\tfunc g() {}\nd/b.go\n     1\tfunc h() {}\n", search(obj{"pattern": `^func \w`}))
	require.Equal(t, "a.go\n     1\tfunc f() {}\n", search(obj{"pattern": "f() {", "literal": true}))
	require.Equal(t, "c.txt\n     1\tfunc\n", search(obj{"pattern": "func", "glob": "*.txt"}))
	require.Equal(t, "d/b.go\n     1\tfunc h() {}\n", search(obj{"pattern": "func", "path": "d"}))
	require.Equal(t, "a.go\nd/b.go\n", search(obj{"pattern": "", "glob": "**/*.go"}))
	require.Equal(t, "No matches.\n", search(obj{"pattern": "nothing"}))
	require.Equal(t, "c.txt\n     2\t"+strings.Repeat("y", 300)+"…\n", search(obj{"pattern": "yyy"}))
	require.Contains(t, search(obj{"pattern": "("}), "Error: the pattern is no regular expression")
	r.box.Put("many", strings.Repeat("match this line\n", 1000), 0o644)
	require.Contains(t, search(obj{"pattern": "match"}), "(cut: there are more matches; narrow the search")
}

const samplePatch = "*** Begin Patch\n*** Update File: a.go\n@@\n-one\n+two\n*** Add File: d/n\n+new\n*** Delete File: old\n*** Update File: m\n*** Move to: moved\n*** End Patch\n"

func sample(t *testing.T) *rig {
	r := newRig(t, map[string]string{"a.go": "one\n", "old": "x\n", "m": "y\n"})
	r.box.Put("a.go", "one\n", 0o755)
	return r
}

func TestPatch(t *testing.T) {
	r := sample(t)
	result := r.run(context.Background(), call("e", applyPatch, obj{"patch": samplePatch}))
	require.Equal(t, editors.ItemCompleted, result.Status)
	require.Equal(t, map[string]string{"a.go": "two\n", "d/n": "new\n", "moved": "y\n"}, r.box.Files())
	require.EqualValues(t, 0o755, r.box.Mode("a.go"))
	require.Equal(t, "Done:\nUpdated a.go (+1 -1)\nCreated d/n (+1 -0)\nDeleted old\nMoved m to moved\n", result.ForModel)
	require.Equal(t, []editors.FileChange{
		{Path: "a.go", Kind: "changed"},
		{Path: "d/n", Kind: "added"},
		{Path: "old", Kind: "removed"},
		{Path: "m", Kind: "removed"},
		{Path: "moved", Kind: "added"},
	}, result.Files)
	require.Contains(t, result.Diff, "--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-one\n+two\n")
	require.Contains(t, result.Diff, "rename from m\nrename to moved\n")
	require.EqualValues(t, len(result.Diff), result.DiffBytes)
	require.Empty(t, result.Refs)
}

func TestPatchIsAppliedOnce(t *testing.T) {
	r := sample(t)
	c := call("e", applyPatch, obj{"patch": samplePatch})
	r.box.LoseReply("Apply", sandbox.Errorf(sandbox.ClassUnknown, "apply", "lost"))
	_, err := Run(context.Background(), r.env, c)
	require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(err))
	r.box.Put("d/n", "changed by the user since\n", 0o644)

	result := r.run(context.Background(), c)
	require.Equal(t, editors.ItemCompleted, result.Status)
	require.Contains(t, result.Diff, "-one\n+two\n", "the diff is there though the patch no longer applies")
	require.Equal(t, "changed by the user since\n", r.box.Files()["d/n"], "and nothing is applied again")

	again := r.run(context.Background(), c)
	again.Duration, result.Duration = 0, 0
	require.Equal(t, result, again)
	require.Equal(t, 2, r.box.Calls("Apply"), "once it is known to be done, nobody is asked")
}

func TestPatchDiedBeforeApplying(t *testing.T) {
	r := sample(t)
	c := call("e", applyPatch, obj{"patch": samplePatch})
	r.box.Fail("Apply", sandbox.Errorf(sandbox.ClassUnavailable, "apply", "away"))
	_, err := Run(context.Background(), r.env, c)
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.Equal(t, "one\n", r.box.Files()["a.go"])
	require.Equal(t, editors.ItemCompleted, r.run(context.Background(), c).Status)
	require.Equal(t, "two\n", r.box.Files()["a.go"])
}

func TestPatchMeetsAChange(t *testing.T) {
	conflict := func(r *rig, changed string) Result {
		raced := false
		r.env.Sandbox = racing{Sandbox: r.box, before: func() {
			if !raced {
				r.box.Put("a.go", changed, 0o755)
			}
			raced = true
		}}
		return r.run(context.Background(), call("e", applyPatch, obj{"patch": samplePatch}))
	}
	r := sample(t)
	result := conflict(r, "zero\none\n")
	require.Equal(t, editors.ItemCompleted, result.Status, "it still fits one place")
	require.Equal(t, "zero\ntwo\n", r.box.Files()["a.go"])
	require.Equal(t, result.Diff, r.run(context.Background(), call("e", applyPatch, obj{"patch": samplePatch})).Diff)

	r = sample(t)
	result = conflict(r, "one\none\n")
	require.Equal(t, editors.ItemFailed, result.Status)
	require.Contains(t, result.Error, "fits 2 places, at lines 1, 2")
	require.Equal(t, map[string]string{"a.go": "one\none\n", "old": "x\n", "m": "y\n"}, r.box.Files(), "all or nothing")
}

// racing lets something happen just before edits are applied.
type racing struct {
	sandbox.Sandbox
	before func()
}

func (r racing) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	r.before()
	return r.Sandbox.Apply(ctx, id, edits)
}

func TestPatchIsNotInterruptedHalfWay(t *testing.T) {
	r := sample(t)
	ctx, cancel := context.WithCancel(context.Background())
	r.env.Sandbox = racing{Sandbox: r.box, before: cancel}
	require.Equal(t, editors.ItemCompleted, r.run(ctx, call("e", applyPatch, obj{"patch": samplePatch})).Status)
}

func TestPatchRefused(t *testing.T) {
	cases := []struct{ name, patch, want string }{
		{"no patch", "hello", "the patch names no file"},
		{"missing file", "*** Update File: q\n-a\n+b\n", "q: there is no such file"},
		{"conflict", "*** Update File: a.go\n-nope\n+b\n", "a.go: hunk 1 (line 2 of the patch) was not found"},
		{"exists", "*** Add File: a.go\n+b\n", "a.go: the file exists already"},
		{"outside", "*** Add File: ../x\n+b\n", "leads outside"},
		{"absolute outside", "*** Add File: /etc/x\n+b\n", "this path is absolute"},
		{"directory", "*** Update File: d\n-a\n+b\n", "d: this is a directory"},
		{"link", "*** Update File: link\n-a\n+b\n", "link: this is a link to a.go; patch that file instead"},
		{"second file fails", "*** Update File: a.go\n-one\n+two\n*** Delete File: q\n", "q: there is no such file"},
		{"no plan can be saved", "*** Delete File: old\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := sample(t)
			r.box.Put("d/e", "", 0o644)
			r.box.Link("link", "a.go")
			before := r.box.Files()
			if c.want == "" {
				r.env.Plans = DirPlans{Dir: "/dev/null/x"}
				_, err := Run(context.Background(), r.env, call("e", applyPatch, obj{"patch": c.patch}))
				require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
			} else {
				result := r.run(context.Background(), call("e", applyPatch, obj{"patch": c.patch}))
				require.Equal(t, editors.ItemFailed, result.Status)
				require.Contains(t, result.Error, c.want)
			}
			require.Equal(t, before, r.box.Files())
			require.Zero(t, r.box.Calls("Apply"))
		})
	}
}

func TestPatchOddities(t *testing.T) {
	r := sample(t)
	result := r.run(context.Background(), call("e1", applyPatch, obj{"patch": "*** Update File: a.go\n-one\n+one\n"}))
	require.Contains(t, result.ForModel, "changes nothing")
	result = r.run(context.Background(), call("e2", applyPatch, obj{"patch": "*** Update File: /fake/workspace/a.go\n-one\n+two\n"}))
	require.Equal(t, "Done:\nUpdated a.go (+1 -1)\n", result.ForModel)

	var big strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&big, "+line %d\n", i)
	}
	result = r.run(context.Background(), call("e3", applyPatch, obj{"patch": "*** Add File: big\n" + big.String()}))
	require.Contains(t, result.ForModel, "Created big (+5000 -0)")
	whole := r.blob(result, "diff")
	require.EqualValues(t, len(whole), result.DiffBytes)
	require.True(t, strings.HasPrefix(whole, result.Diff))
	require.True(t, strings.HasSuffix(result.Diff, "\n"))
	_, err := json.Marshal(result)
	require.NoError(t, err)

	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, "*** Add File: %s/%d\n+x\n", strings.Repeat("long", 30), i)
	}
	result = r.run(context.Background(), call("e4", applyPatch, obj{"patch": many.String()}))
	require.Contains(t, result.ForModel, "more files")
	require.Len(t, result.Files, 200)
}
