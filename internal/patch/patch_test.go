// This file holds the helpers of the tests and the cases of placing hunks: anchors, ends, order, overlap, tolerance.

package patch

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// files maps paths to contents.
type files map[string]string

// read is the read function that Apply takes.
func (f files) read(path string) (File, error) {
	data, ok := f[path]
	if !ok {
		return File{}, fs.ErrNotExist
	}
	return File{Data: []byte(data), Mode: 0o644}, nil
}

// apply parses and applies a patch and returns all files afterwards; f stays as it is.
func (f files) apply(text string) (files, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	changes, err := Apply(p, f.read)
	if err != nil {
		return nil, err
	}
	return f.with(changes), nil
}

// with returns the files after changes.
func (f files) with(changes []Change) files {
	after := files{}
	for path, data := range f {
		after[path] = data
	}
	for _, c := range changes {
		delete(after, c.Path)
		if c.After != nil {
			after[c.Path] = string(c.After.Data)
		}
	}
	return after
}

// update wraps hunks for the file "f" in an envelope.
func update(hunks string) string {
	return "*** Begin Patch\n*** Update File: f\n" + hunks + "*** End Patch\n"
}

// requireCode checks that err is an *Error of the code.
func requireCode(t *testing.T, code Code, err error) *Error {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, e.Error())
	require.NotEmpty(t, e.Message)
	return e
}

const twins = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\n" +
	"class B:\n    def f(self):\n        return 1\n\nclass C:\n    def f(self):\n        return 1\n"

func TestPlaces(t *testing.T) {
	cases := []struct{ name, before, hunks, want string }{
		{"plain", "a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		{"no @@ at all", "a\nb\nc\n", " a\n-b\n+B\n", "a\nB\nc\n"},
		{"anchor jump", "x\nk = 1\n\ny\nk = 1\n", "@@ y\n-k = 1\n+k = 2\n", "x\nk = 1\n\ny\nk = 2\n"},
		{"anchored block in the middle", twins, "@@ class B:\n-        return 1\n+        return 2\n", strings.Replace(twins, "class B:\n    def f(self):\n        return 1", "class B:\n    def f(self):\n        return 2", 1)},
		{"two stacked anchors", twins, "@@ class A:\n@@     def g(self):\n-        return 1\n+        return 2\n", strings.Replace(twins, "def g(self):\n        return 1", "def g(self):\n        return 2", 1)},
		{"stacked anchors, the outer decides", twins, "@@ class C:\n@@ def f(self):\n-        return 1\n+        return 3\n", twins[:len(twins)-2] + "3\n"},
		{"same parent for two hunks", twins, "@@ class A:\n@@ def f(self):\n-        return 1\n+        return 2\n@@ class A:\n@@ def g(self):\n-        return 1\n+        return 3\n", strings.Replace(strings.Replace(twins, "return 1", "return 2", 1), "return 1", "return 3", 1)},
		{"partial anchor", "def one(a, b):\n  x\n\ndef two(a, b):\n  x\n", "@@ def two\n-  x\n+  y\n", "def one(a, b):\n  x\n\ndef two(a, b):\n  y\n"},
		{"anchor repeated as context", "def one():\n  x\n\ndef two():\n  x\n", "@@ def two():\n def two():\n-  x\n+  y\n", "def one():\n  x\n\ndef two():\n  y\n"},
		{"anchor after a long head", "def one(\n    a,\n):\n    x\n\ndef two(\n    a,\n):\n    x\n", "@@ def one(\n-    x\n+    y\n", "def one(\n    a,\n):\n    y\n\ndef two(\n    a,\n):\n    x\n"},
		{"braces", "int f()\n{\n  x;\n}\nint g()\n{\n  x;\n}\n", "@@ int f()\n-  x;\n+  y;\n", "int f()\n{\n  y;\n}\nint g()\n{\n  x;\n}\n"},
		{"single missing anchor is advice", "a\nb\n", "@@ nowhere\n-b\n+B\n", "a\nB\n"},
		{"wrong anchor, one place", "a\nb\nz\n", "@@ z\n-b\n+B\n", "a\nB\nz\n"},
		{"trailing bare @@", "a\nb\n", "@@\n-b\n+B\n@@\n", "a\nB\n"},
		{"dots for an anchor", "a\nb\n", "@@ ... @@\n-b\n+B\n", "a\nB\n"},
		{"end of file", "x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n"},
		{"append at the end", "x\n", "@@\n+y\n*** End of File\n", "x\ny\n"},
		{"end of file is a preference", "x\ny\n", "@@\n-x\n+z\n*** End of File\n", "z\ny\n"},
		{"floating on an empty file", "", "@@\n+a\n+b\n", "a\nb\n"},
		{"insert after an anchor", "a\nb\n", "@@ a\n+x\n", "a\nx\nb\n"},
		{"line number decides", "k\nk\nk\n", "@@ -2,1 +2,1 @@\n-k\n+K\n", "k\nK\nk\n"},
		{"wrong line number, one place", "a\nb\nc\n", "@@ -77,2 +77,2 @@ func f() {\n a\n-b\n+B\n", "a\nB\nc\n"},
		{"out of order", "a\nb\nc\nd\n", "@@\n-d\n+D\n@@\n-a\n+A\n", "A\nb\nc\nD\n"},
		{"shared context", "a\nb\nc\n", "@@\n-a\n+A\n b\n@@\n b\n-c\n+C\n", "A\nb\nC\n"},
		{"context without its space", "a\n\nb\n", "@@\n a\n\n-b\n+B\n", "a\n\nB\n"},
		{"blank lines around", "a\nb\n", "\n@@\n\n a\n-b\n+B\n\n", "a\nB\n"},
		{"insert above blank skipped context", "a\nb\n", "@@\n \n+x\n a\n", "x\na\nb\n"},
		{"no final newline kept", "a\nb", "@@\n-b\n+B\n", "a\nB"},
		{"no final newline, appended", "a\nb", "@@\n b\n+c\n", "a\nb\nc"},
		{"final newline added", "a\nb", "@@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		{"final newline removed", "a\nb\n", "@@\n-b\n+b\n\\ No newline at end of file\n", "a\nb"},
		{"all removed", "a\nb\n", "@@\n-a\n-b\n", ""},
		{"lines that look like headers", "-- a\n", "@@\n--- a\n+++ b\n", "++ b\n"},
		{"lines that look like markers", "*** End Patch\n", "@@\n-*** End Patch\n+*** Add File: x\n", "*** Add File: x\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			after, err := files{"f": c.before}.apply(update(c.hunks))
			require.NoError(t, err)
			require.Equal(t, c.want, after["f"])
		})
	}
}

func TestTolerance(t *testing.T) {
	cases := []struct{ name, before, hunks, want string }{
		{"trailing spaces in the file", "a  \nb\t\nc\n", "@@\n a\n b\n-c\n+C\n", "a  \nb\t\nC\n"},
		{"trailing spaces in the patch", "a\nb\n", "@@\n a  \n-b \n+B\n", "a\nB\n"},
		{"typographic quotes", "say “hi” it’s\nx\n", "@@\n say \"hi\" it's\n-x\n+y\n", "say “hi” it’s\ny\n"},
		{"dashes", "a – b — c\nx\n", "@@\n a - b - c\n-x\n+y\n", "a – b — c\ny\n"},
		{"NBSP", "a\u00a0b\nx\n", "@@\n a b\n-x\n+y\n", "a\u00a0b\ny\n"},
		{"composed and decomposed", "cafe\u0301\nx\n", "@@\n caf\u00e9\n-x\n+y\n", "cafe\u0301\ny\n"},
		{"indentation lost", "    if a:\n        b\n        c\n", "@@\n if a:\n     b\n-    c\n+    d\n+        e\n+\n", "    if a:\n        b\n        d\n            e\n\n"},
		{"indentation gained", "if a:\n    b\n", "@@\n     if a:\n-        b\n+        c\n+      d\n", "if a:\n    c\n  d\n"},
		{"less than was gained", "a\nb\n", "@@\n     a\n-    b\n+  c\n", "a\nc\n"},
		{"spaces for tabs", "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n", "@@\n func f() {\n     if x {\n-        y()\n+        if z {\n+            y()\n+        }\n     }\n", "func f() {\n\tif x {\n\t\tif z {\n\t\t\ty()\n\t\t}\n\t}\n}\n"},
		{"two spaces for tabs", "a\n\tb\n\t\tc\n", "@@\n a\n   b\n-    c\n+    d\n+      e\n", "a\n\tb\n\t\td\n\t\t\te\n"},
		{"tabs for spaces", "a\n    b\n        c\n", "@@\n a\n \tb\n-\t\tc\n+\t\td\n", "a\n    b\n        d\n"},
		{"tabs for spaces, shifted too", "    a\n        b\n", "@@\n a\n-\tb\n+\tc\n", "    a\n        c\n"},
		{"exact before tolerant", "a \na\n", "@@\n-a\n+b\n", "a \nb\n"},
		{"byte order mark", bom + "a\nb\n", "@@\n-a\n+A\n", bom + "A\nb\n"},
		{"byte order mark, inserted above", bom + "a\n", "@@\n+x\n a\n", bom + "x\na\n"},
		{"byte order mark quoted", bom + "a\nb\n", "@@\n-" + bom + "a\n+" + bom + "A\n", bom + "A\nb\n"},
		{"CRLF file, LF patch", "a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+x\n", "a\r\nB\r\nx\r\nc\r\n"},
		{"LF file, CRLF patch", "a\nb\n", "@@\r\n a\r\n-b\r\n+B\r\n", "a\nB\n"},
		{"mixed ends kept by line", "a\r\nb\nc\r\nd\n", "@@\n a\n-b\n-c\n+B\n+C\n+x\n d\n", "a\r\nB\nC\r\nx\r\nd\n"},
		{"mixed ends, inserted like its neighbour", "a\nb\r\nc\r\nd\n", "@@\n b\n+x\n c\n", "a\nb\r\nx\r\nc\r\nd\n"},
		{"ends changed by a faithful patch", "a\r\nb\n", "@@\n-a\r\n+a\n b\n", "a\nb\n"},
		{"CRLF, no final newline", "a\r\nb", "@@\n b\n+c\n", "a\r\nb\r\nc"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			after, err := files{"f": c.before}.apply(update(c.hunks))
			require.NoError(t, err)
			require.Equal(t, c.want, after["f"])
		})
	}
}

func TestConflicts(t *testing.T) {
	cases := []struct {
		name, before, hunks string
		candidates          []int
	}{
		{"no such lines", "a\nb\n", "@@\n-x\n+y\n", nil},
		{"nearly", "a\nb\nc\nd\n", "@@\n b\n x\n-d\n+D\n", []int{2}},
		{"runs over the end", "a\nb\n", "@@\n b\n-c\n+C\n", []int{2}},
		{"two places", "a\nb\na\nb\n", "@@\n a\n-b\n+B\n", []int{1, 3}},
		{"two places but for spaces", "a \nx\na\t\n", "@@\n-a\n+b\n", []int{1, 3}},
		{"two places but for indentation", "  a\nx\n    a\n", "@@\n-a\n+b\n", []int{1, 3}},
		{"two places in the block", "f:\n  x\n  x\ng:\n  x\n", "@@ f:\n-  x\n+  y\n", []int{2, 3}},
		{"two anchors, each with its place", "f:\n  x\nf:\n  x\n", "@@ f:\n-  x\n+  y\n", []int{2, 4}},
		{"stacked anchors partly there", twins, "@@ class A:\n@@ def h(self):\n-        return 1\n+        return 2\n", nil},
		{"stacked anchors not there", twins, "@@ class X:\n@@ def f(self):\n-        return 1\n+        return 2\n", nil},
		{"indentation without a rule", "a\n  b\n c\n", "@@\n a\n-   b\n-    c\n+x\n", []int{1}},
		{"overlap", "a\nb\nc\n", "@@\n-a\n-b\n+x\n@@\n-b\n-c\n+y\n", []int{2}},
		{"same hunk twice", "a\nb\n", "@@\n-a\n+x\n@@\n-a\n+x\n", []int{1}},
		{"insertion without a place", "a\n", "@@\n+x\n", nil},
		{"insertion after a missing anchor", "a\n", "@@ b\n+x\n", nil},
		{"insertion after one of two anchors", "a\na\n", "@@ a\n+x\n", []int{2, 3}},
		{"context in an empty file", "", "@@\n a\n+x\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := files{"f": c.before}.apply(update(c.hunks))
			e := requireCode(t, Conflict, err)
			require.Equal(t, c.candidates, e.Candidates, e.Message)
			require.Equal(t, "f", e.Path)
		})
	}
}

func TestMessagesNameThePlace(t *testing.T) {
	_, err := files{"f": "a\nb\na\nb\n"}.apply(update("@@\n-a\n+x\n"))
	require.EqualError(t, err, "f: hunk 1 (line 3 of the patch) fits 2 places, at lines 1, 3; add context lines, or an @@ line that names the place")
	_, err = files{"f": "a\nb\nc\n"}.apply(update("@@\n a\n-x\n+y\n"))
	require.EqualError(t, err, `f: hunk 1 (line 3 of the patch) was not found: it comes closest at line 1, but line 2 of the file is "b" where the patch has "x"; read the file again and use its lines as they are`)
	_, err = files{"f": strings.Repeat("a\n", 30)}.apply(update("@@\n-a\n+x\n"))
	require.Len(t, requireCode(t, Conflict, err).Candidates, 10)
	require.ErrorContains(t, err, "30 places")
	require.False(t, errors.Is(err, fs.ErrNotExist))
}
