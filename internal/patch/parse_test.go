// This file holds the cases of form: envelopes, unified and git diffs, what is around them, and what is refused.

package patch

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForms(t *testing.T) {
	hunk := "@@\n a\n-b\n+B\n"
	unified := "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
	forms := map[string]string{
		"envelope":                    update(hunk),
		"no end":                      "*** Begin Patch\n*** Update File: f\n" + hunk,
		"no begin":                    "*** Update File: f\n" + hunk + "*** End Patch",
		"decorated":                   "*** Begin Patch ***\n*** Update File: f ***\n" + hunk + "*** End Patch ***\n",
		"sloppy markers":              "***begin patch\n**  update file : `f`\n" + hunk + "***END PATCH***",
		"other words":                 "*** Begin Patch\n*** Modify File: \"f\"\n" + hunk,
		"fence":                       "```diff\n" + update(hunk) + "```\n",
		"fence, no end":               "Here it is:\n\n```\n*** Begin Patch\n*** Update File: f\n" + hunk + "```\nDone.\n",
		"prose":                       "I change b.\n\n* first\n- then\n***\n" + update(hunk) + "\nThat was it.\n",
		"here-document":               "apply_patch <<'EOF'\n" + update(hunk) + "EOF\n",
		"here-document without end":   "apply_patch <<EOF\n*** Update File: f\n" + hunk + "EOF\n",
		"CRLF throughout":             strings.ReplaceAll(update(hunk), "\n", "\r\n"),
		"byte order mark":             bom + update(hunk),
		"dot path":                    strings.Replace(update(hunk), "f\n", "./x/../f\n", 1),
		"backslash path":              strings.Replace(update(hunk), "f\n", `.\f`+"\n", 1),
		"unified":                     unified,
		"unified in an envelope":      "*** Begin Patch\n" + unified + "*** End Patch",
		"unified below a marker":      update(unified),
		"unified without a/":          strings.ReplaceAll(strings.ReplaceAll(unified, "a/", ""), "b/", ""),
		"unified with times":          strings.ReplaceAll(unified, "/f\n", "/f\t2024-01-01 10:00:00 +0000\n"),
		"unified with sloppy numbers": strings.Replace(unified, "-1,2 +1,2", "-10,7 +12,9", 1),
		"unified fenced":              "```\n" + unified + "```",
		"git":                         "diff --git a/f b/f\nindex 123..456 100644\n" + unified,
		"git, quoted":                 `diff --git "a/f" "b/f"` + "\n" + `--- "a/\146"` + "\n" + `+++ "b/\146"` + "\n" + hunk,
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			after, err := files{"f": "a\nb\n"}.apply(text)
			require.NoError(t, err)
			require.Equal(t, files{"f": "a\nB\n"}, after)
		})
	}
}

func TestFiles(t *testing.T) {
	start := files{"f": "a\n", "g": "b\n"}
	cases := []struct {
		name, text string
		want       files
	}{
		{"add", "*** Add File: d/n\n+x\n+\n+y\n", files{"f": "a\n", "g": "b\n", "d/n": "x\n\ny\n"}},
		{"add with a bare blank line", "*** Add File: n\n+x\n\n+y\n\n*** End Patch", files{"f": "a\n", "g": "b\n", "n": "x\n\ny\n"}},
		{"add empty", "*** Add File: n\n", files{"f": "a\n", "g": "b\n", "n": ""}},
		{"add CRLF", "*** Add File: n\r\n+x\r\n+y\r\n", files{"f": "a\n", "g": "b\n", "n": "x\r\ny\r\n"}},
		{"add without final newline", "*** Add File: n\n+x\n\\ No newline at end of file\n", files{"f": "a\n", "g": "b\n", "n": "x"}},
		{"add by unified hunk", "*** Add File: n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+x\n", files{"f": "a\n", "g": "b\n", "n": "x\n"}},
		{"delete", "*** Delete File: f\n", files{"g": "b\n"}},
		{"move", "*** Update File: f\n*** Move to: d/h\n", files{"g": "b\n", "d/h": "a\n"}},
		{"move and change", "*** Update File: f\n*** Move to: h\n-a\n+A\n", files{"g": "b\n", "h": "A\n"}},
		{"move to itself", "*** Update File: f\n*** Move to: ./f\n-a\n+A\n", files{"f": "A\n", "g": "b\n"}},
		{"move by backslash", "*** Update File: f\n*** Move to: d\\h\n", files{"g": "b\n", "d/h": "a\n"}},
		{"swap", "*** Update File: f\n*** Move to: t\n*** Update File: g\n*** Move to: f\n*** Update File: t\n*** Move to: g\n", files{"f": "b\n", "g": "a\n"}},
		{"delete and add", "*** Delete File: f\n*** Add File: f\n+x\n", files{"f": "x\n", "g": "b\n"}},
		{"twice", "*** Update File: f\n-a\n+b\n*** Update File: f\n-b\n+c\n", files{"f": "c\n", "g": "b\n"}},
		{"add and update", "*** Add File: n\n+x\n*** Update File: n\n-x\n+y\n", files{"f": "a\n", "g": "b\n", "n": "y\n"}},
		{"nothing", "*** Update File: f\n-a\n+a\n", start},
		{"several envelopes", update("-a\n+A\n") + "\n" + "*** Begin Patch\n*** Delete File: g\n*** End Patch\n", files{"f": "A\n"}},
		{"unified add", "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", files{"f": "a\n", "g": "b\n", "n": "x\n"}},
		{"unified delete", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", files{"g": "b\n"}},
		{"unified two files", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-b\n+B\n", files{"f": "A\n", "g": "B\n"}},
		{"unified move", "--- a/f\n+++ b/h\n@@ -1 +1 @@\n-a\n+A\n", files{"g": "b\n", "h": "A\n"}},
		{"git add", "diff --git a/n b/n\nnew file mode 100755\nindex 000..111\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", files{"f": "a\n", "g": "b\n", "n": "x\n"}},
		{"git add empty", "diff --git a/n b/n\nnew file mode 100644\nindex 000..000\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n", files{"f": "A\n", "g": "b\n", "n": ""}},
		{"git delete", "diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", files{"g": "b\n"}},
		{"git rename", "diff --git a/f b/h i\nsimilarity index 100%\nrename from f\nrename to h i\n", files{"g": "b\n", "h i": "a\n"}},
		{"git rename and change", "diff --git a/f b/h\nsimilarity index 50%\nrename from f\nrename to h\n--- a/f\n+++ b/h\n@@ -1 +1 @@\n-a\n+A\n", files{"g": "b\n", "h": "A\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			after, err := start.apply(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, after)
		})
	}
}

func TestRefused(t *testing.T) {
	start := files{"f": "a\n", "g": "b\n", "bin": "a\x00b\n", "latin": "caf\xe9\n"}
	cases := []struct {
		name, text string
		code       Code
	}{
		{"nothing", "", Invalid},
		{"garbage", "hello\nworld\n", Invalid},
		{"empty envelope", "*** Begin Patch\n*** End Patch\n", Invalid},
		{"hunk without a file", "*** Begin Patch\n@@\n-a\n+b\n*** End Patch\n", Invalid},
		{"NUL", "*** Add File: n\n+\x00\n", Invalid},
		{"not UTF-8", "*** Add File: n\n+caf\xe9\n", Invalid},
		{"update without hunk", "*** Update File: f\n*** End Patch", Invalid},
		{"update with a bare @@ only", "*** Update File: f\n@@\n", Invalid},
		{"anchor without lines", "*** Update File: f\n@@ a\n", Invalid},
		{"update with a bad prefix", "*** Update File: f\n@@\nxa\n", Invalid},
		{"add without prefix", "*** Add File: n\nx\n", Invalid},
		{"add with context", "*** Add File: n\n+x\n y\n", Invalid},
		{"unified add with context", "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+x\n y\n", Invalid},
		{"delete with body", "*** Delete File: f\n-a\n", Invalid},
		{"unknown header", "*** Updat File: f\n-a\n+b\n", Invalid},
		{"unknown header within", "*** Update File: f\n-a\n+b\n*** Rename: g\n", Invalid},
		{"no path", "*** Update File:\n-a\n+b\n", Invalid},
		{"empty path in quotes", "*** Update File: \"\"\n-a\n+b\n", Invalid},
		{"no path to move to", "*** Update File: f\n*** Move to:\n-a\n+b\n", Invalid},
		{"move of an added file", "*** Add File: n\n*** Move to: m\n+b\n", Invalid},
		{"move after hunks", "*** Update File: f\n-a\n+b\n*** Move to: m\n", Invalid},
		{"path outside", "*** Update File: ../f\n-a\n+b\n", Invalid},
		{"path outside by backslash", "*** Update File: ..\\f\n-a\n+b\n", Invalid},
		{"path outside by a detour", "*** Update File: d/../../f\n-a\n+b\n", Invalid},
		{"absolute path", "*** Update File: /etc/f\n-a\n+b\n", Invalid},
		{"Windows path", "*** Update File: C:\\f\n-a\n+b\n", Invalid},
		{"the root", "*** Update File: .\n-a\n+b\n", Invalid},
		{"move outside", "*** Update File: f\n*** Move to: ../f\n", Invalid},
		{"no newline after nothing", "*** Update File: f\n\\ No newline at end of file\n", Invalid},
		{"lost prefix of a fence", "*** Update File: f\n-a\n```\n+b\n", Invalid},
		{"absurd line number", "*** Update File: f\n@@ -99999999999999999999 +1 @@\n-a\n", Invalid},
		{"update of nothing", "*** Update File: n\n-a\n+b\n", NotFound},
		{"delete of nothing", "*** Delete File: n\n", NotFound},
		{"delete twice", "*** Delete File: f\n*** Delete File: f\n", NotFound},
		{"update after move", "*** Update File: f\n*** Move to: h\n*** Update File: f\n-a\n+b\n", NotFound},
		{"add of what is there", "*** Add File: f\n+x\n", Exists},
		{"move to what is there", "*** Update File: f\n*** Move to: g\n", Exists},
		{"binary file", "*** Update File: bin\n-a\n+b\n", Unsupported},
		{"a character that the file's encoding lacks", "*** Update File: latin\n-caf\u00e9\n+\u4e16\n", Unsupported},
		{"binary patch", "diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 0\n", Unsupported},
		{"binary difference", "diff --git a/f b/f\nBinary files a/f and b/f differ\n", Unsupported},
		{"copy", "diff --git a/f b/n\ncopy from f\ncopy to n\n", Unsupported},
		{"mode", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", Unsupported},
		{"delete of more than quoted", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", Conflict},
		{"second file fails", "*** Update File: f\n-a\n+A\n*** Update File: g\n-x\n+y\n", Conflict},
		{"too large", "*** Add File: n\n+" + strings.Repeat("x", MaxBytes), Limit},
		{"too many files", manyFiles(MaxFiles + 1), Limit},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			after, err := start.apply(c.text)
			requireCode(t, c.code, err)
			require.Nil(t, after)
		})
	}
}

func manyFiles(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "*** Add File: n%d\n+x\n", i)
	}
	return text.String()
}

func TestLimits(t *testing.T) {
	after, err := files{}.apply(manyFiles(MaxFiles))
	require.NoError(t, err)
	require.Len(t, after, MaxFiles)

	huge := strings.Repeat("x", MaxFileBytes)
	_, err = files{"f": huge + "\n"}.apply("*** Update File: f\n-x\n+y\n")
	requireCode(t, Limit, err)
	_, err = files{"f": huge[:MaxFileBytes-2] + "\n"}.apply("*** Update File: f\n+y\n*** End of File\n")
	requireCode(t, Limit, err)

	_, err = files{"f": strings.Repeat("a\n", 500_000)}.apply(update("@@\n" + strings.Repeat(" a\n", 100_000) + "+x\n"))
	requireCode(t, Limit, err)

	many := files{}
	var text strings.Builder
	for i := range MaxTotalBytes/MaxFileBytes + 1 {
		many[fmt.Sprint("f", i)] = huge
		fmt.Fprintf(&text, "*** Delete File: f%d\n", i)
	}
	_, err = many.apply(text.String())
	requireCode(t, Limit, err)
}

func TestOverwriteAndModes(t *testing.T) {
	read := func(path string) (File, error) {
		switch path {
		case "tool":
			return File{Data: []byte("a\n"), Mode: 0o755}, nil
		case "other":
			return File{Data: []byte("b\n"), Mode: 0o600}, nil
		}
		return File{}, fmt.Errorf("reading: %w", fs.ErrNotExist)
	}
	apply := func(text string, overwrite bool) []Change {
		p, err := Parse(text)
		require.NoError(t, err)
		p.Overwrite = overwrite
		changes, err := Apply(p, read)
		require.NoError(t, err)
		return changes
	}
	changes := apply("*** Update File: tool\n-a\n+A\n", false)
	require.EqualValues(t, 0o755, changes[0].After.Mode, "update keeps the mode")

	changes = apply("*** Update File: tool\n*** Move to: bin/tool\n-a\n+A\n", false)
	require.Len(t, changes, 2)
	require.Equal(t, Change{Path: "tool", Before: changes[0].Before, MovedTo: "bin/tool"}, changes[0])
	require.Equal(t, Change{Path: "bin/tool", After: &File{Data: []byte("A\n"), Mode: 0o755}, From: "tool"}, changes[1])

	changes = apply("*** Add File: other\n+x\n", true)
	require.EqualValues(t, 0o600, changes[0].After.Mode, "overwriting keeps the mode")
	changes = apply("*** Update File: tool\n*** Move to: other\n", true)
	require.EqualValues(t, 0o755, changes[1].After.Mode, "moving brings the mode along")

	changes = apply("diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", false)
	require.EqualValues(t, 0o755, changes[0].After.Mode)
	changes = apply("*** Add File: n\n+x\n", false)
	require.EqualValues(t, 0o644, changes[0].After.Mode)

	denied := fmt.Errorf("denied: %w", fs.ErrPermission)
	p, err := Parse("*** Delete File: x\n")
	require.NoError(t, err)
	_, err = Apply(p, func(string) (File, error) { return File{}, denied })
	require.ErrorIs(t, err, fs.ErrPermission, "errors of read pass through")
}
