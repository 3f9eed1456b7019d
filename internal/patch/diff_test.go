// This file checks that diffs are right and read back: whatever is edited, the diff of it applies to the original and gives
// the edit. It also throws garbage at the parser.

package patch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func file(data string) *File { return &File{Data: []byte(data), Mode: 0o644} }

func TestUnified(t *testing.T) {
	numbers := func(n int, change map[int]string) string {
		var out strings.Builder
		for i := 1; i <= n; i++ {
			if text, ok := change[i]; ok {
				out.WriteString(text)
			} else {
				fmt.Fprintln(&out, i)
			}
		}
		return out.String()
	}
	cases := []struct {
		name          string
		before, after *File
		want          string
	}{
		{"same", file("a\n"), file("a\n"), ""},
		{"change", file("a\nb\nc\n"), file("a\nB\nc\n"), "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"add", nil, file("a\n"), "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"},
		{"add empty", nil, file(""), "diff --git a/x b/x\nnew file mode 100644\n"},
		{"add executable", nil, &File{Data: []byte("a"), Mode: 0o755}, "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"},
		{"delete", file("a\n"), nil, "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		{"no newline", file("a"), file("a\n"), "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"binary", file("a\x00"), file("b"), "diff --git a/x b/x\nBinary files a/x and b/x differ\n"},
		{
			"joined and apart, with right numbers", file(numbers(40, nil)), file(numbers(40, map[int]string{5: "5\nnew\n", 10: "", 30: "x\ny\n"})),
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,11 +3,11 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n 9\n-10\n 11\n 12\n 13\n@@ -27,7 +27,8 @@\n 27\n 28\n 29\n-30\n+x\n+y\n 31\n 32\n 33\n",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, Unified("x", c.before, c.after))
		})
	}
}

func TestUnifiedStaysSmall(t *testing.T) {
	var before, after strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&before, "line %d\n\n", i)
		if i%10 == 3 {
			fmt.Fprintf(&after, "changed %d\n\n", i)
		} else {
			fmt.Fprintf(&after, "line %d\n\n", i)
		}
	}
	diff := Unified("x", file(before.String()), file(after.String()))
	require.Equal(t, 1001, strings.Count(diff, "\n-"), "one for each change, and the header")
	requireRoundTrip(t, files{"x": before.String()}, files{"x": after.String()})
}

func TestDiffOfMoves(t *testing.T) {
	start := files{"f": "a\nb\n", "g": "x\n"}
	p, err := Parse("*** Update File: f\n*** Move to: h\n-a\n+A\n*** Update File: g\n*** Move to: i\n")
	require.NoError(t, err)
	changes, err := Apply(p, start.read)
	require.NoError(t, err)
	require.Equal(t, "diff --git a/f b/h\nrename from f\nrename to h\n--- a/f\n+++ b/h\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n"+
		"diff --git a/g b/i\nrename from g\nrename to i\n", Diff(changes))
	after, err := start.apply(Diff(changes))
	require.NoError(t, err)
	require.Equal(t, files{"h": "A\nb\n", "i": "x\n"}, after)
}

func TestOddNamesReadBack(t *testing.T) {
	for _, name := range []string{"a b", " lead", "trail ", "new\nline", `quo"te`, "-rf", "tab\there", "b/a", "a/b", "é", "\xff.txt", "*** x", "dev/null"} {
		requireRoundTrip(t, files{}, files{name: "x\n"})
		requireRoundTrip(t, files{name: "x\n"}, files{name: "y\n"})
		requireRoundTrip(t, files{name: "x\n"}, files{})
		requireRoundTrip(t, files{}, files{name: ""})
	}
}

// requireRoundTrip checks that the diff from before to after applies and gives after.
func requireRoundTrip(t *testing.T, before, after files) {
	t.Helper()
	var changes []Change
	for path := range after {
		c := Change{Path: path, After: file(after[path])}
		if data, ok := before[path]; ok {
			c.Before = file(data)
		}
		changes = append(changes, c)
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			changes = append(changes, Change{Path: path, Before: file(before[path])})
		}
	}
	diff := Diff(changes)
	if diff == "" {
		require.Equal(t, before, after)
		return
	}
	got, err := before.apply(diff)
	require.NoError(t, err, "before %q, diff:\n%s", before, diff)
	require.Equal(t, after, got, "diff:\n%s", diff)
}

// TestRandomEditsReadBack makes files of few different lines, so that most places look alike, and all kinds of line ends.
func TestRandomEditsReadBack(t *testing.T) {
	words := []string{"", " ", "a", "b", "  a", "\ta", "-- a", "++ b", "@@", "*** End Patch", "a ", "“a”", "\\ No", "\r", bom + "a", "```", "diff --git a/x b/x"}
	ends := []string{"\n", "\n", "\n", "\r\n"}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		line := func() string { return words[r.IntN(len(words))] + ends[r.IntN(len(ends))] }
		random := func(n int) []string {
			lines := make([]string, n)
			for i := range lines {
				lines[i] = line()
			}
			return lines
		}
		before := random(r.IntN(40))
		after := append([]string(nil), before...)
		for range r.IntN(5) {
			at := r.IntN(len(after) + 1)
			end := min(len(after), at+r.IntN(4))
			after = append(append(append([]string(nil), after[:at]...), random(r.IntN(4))...), after[end:]...)
		}
		text := func(lines []string) string {
			joined := strings.Join(lines, "")
			if r.IntN(4) == 0 {
				joined = strings.TrimRight(joined, "\r\n")
			}
			return joined
		}
		requireRoundTrip(t, files{"x": text(before)}, files{"x": text(after)})
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(update("@@ a\n a\n-b\n+c\n"), "a\nb\n")
	f.Add("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", "a\r\nb")
	f.Add("diff --git a/f b/g\nrename from f\nrename to g\n", "x")
	f.Add("*** Begin Patch\n*** Add File: n\n+\n*** Delete File: f\n*** Update File: n\n@@\n-\n+\tx\n*** End of File", "")
	f.Add(update("@@\n     if a:\n-        b\n+\tc\n"), bom+"if a:\n\tb")
	f.Fuzz(func(t *testing.T, text, data string) {
		before := files{"f": data}
		p, err := Parse(text)
		if err != nil {
			requireMessage(t, err)
			return
		}
		changes, err := Apply(p, before.read)
		if err != nil {
			requireMessage(t, err)
			return
		}
		diff := Diff(changes)
		if diff == "" || len(diff) > MaxBytes || !utf8.ValidString(data) || strings.ContainsRune(data, 0) {
			return // nothing, or nothing a patch can say
		}
		after, err := before.apply(diff)
		require.NoError(t, err, diff)
		require.Equal(t, before.with(changes), after, diff)
	})
}

func requireMessage(t *testing.T, err error) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Message)
}

func TestLargeFile(t *testing.T) {
	var before strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&before, "func f%d() {\n\treturn\n}\n\n", i)
	}
	var hunks strings.Builder
	for i := 0; i < 10_000; i += 50 {
		fmt.Fprintf(&hunks, "@@ func f%d() {\n-\treturn\n+\treturn // %d\n", i, i)
	}
	after, err := files{"f": before.String()}.apply(update(hunks.String()))
	require.NoError(t, err)
	require.Equal(t, 200, strings.Count(after["f"], "return //"))
	require.Contains(t, after["f"], "func f9950() {\n\treturn // 9950\n}")
}
