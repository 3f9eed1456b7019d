// This file holds merges to what must be true of them, and to what git and diff3 say.

package merge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTexts(t *testing.T) {
	const base = "1\n2\n3\n4\n5\n"
	for name, c := range map[string]struct {
		base, ours, theirs, want string
		conflict                 bool
	}{
		"apart":                         {base: base, ours: "one\n2\n3\n4\n5\n", theirs: "1\n2\n3\n4\nfive\n", want: "one\n2\n3\n4\nfive\n"},
		"one line between":              {base: base, ours: "1\ntwo\n3\n4\n5\n", theirs: "1\n2\n3\nfour\n5\n", want: "1\ntwo\n3\nfour\n5\n"},
		"touching":                      {base: base, ours: "1\ntwo\n3\n4\n5\n", theirs: "1\n2\nthree\n4\n5\n", conflict: true},
		"the same line":                 {base: base, ours: "1\nours\n3\n4\n5\n", theirs: "1\ntheirs\n3\n4\n5\n", conflict: true},
		"the same change":               {base: base, ours: "1\ntwo\n3\n4\nfive\n", theirs: "1\ntwo\n3\n4\n5\n", want: "1\ntwo\n3\n4\nfive\n"},
		"inserted at one place":         {base: base, ours: "1\nours\n2\n3\n4\n5\n", theirs: "1\ntheirs\n2\n3\n4\n5\n", conflict: true},
		"inserted the same":             {base: base, ours: "1\nx\n2\n3\n4\n5\n", theirs: "1\nx\n2\n3\n4\n5\ny\n", want: "1\nx\n2\n3\n4\n5\ny\n"},
		"appended both":                 {base: base, ours: base + "ours\n", theirs: base + "theirs\n", conflict: true},
		"removed and changed":           {base: base, ours: "1\n2\n4\n5\n", theirs: "1\n2\nthree\n4\n5\n", conflict: true},
		"removed apart":                 {base: base, ours: "2\n3\n4\n5\n", theirs: "1\n2\n3\n4\n", want: "2\n3\n4\n"},
		"begun and ended":               {base: base, ours: "0\n" + base, theirs: base + "6\n", want: "0\n" + base + "6\n"},
		"carriage returns":              {base: "a\r\nb\r\nc\r\n", ours: "A\r\nb\r\nc\r\n", theirs: "a\r\nb\r\nC\r\n", want: "A\r\nb\r\nC\r\n"},
		"ends of lines changed":         {base: "a\nb\nc\n", ours: "a\r\nb\r\nc\r\n", theirs: "a\nb\nC\n", conflict: true},
		"no last end":                   {base: "a\nb\nc", ours: "A\nb\nc", theirs: "a\nb\nC", want: "A\nb\nC"},
		"a last end added, more added":  {base: "a\nb\nc", ours: "a\nb\nc\n", theirs: "a\nb\nc\nd", conflict: true},
		"a mark, and another alphabet":  {base: "\ufeffa\nb\n\xe9\n", ours: "\ufeffA\nb\n\xe9\n", theirs: "\ufeffa\nb\n\xe9\xe8\n", want: "\ufeffA\nb\n\xe9\xe8\n"},
		"nothing before":                {ours: "a\n", theirs: "b\n", conflict: true},
		"all removed, and changed":      {base: base, ours: "", theirs: "1\n2\n3\n4\nfive\n", conflict: true},
		"binary":                        {base: base, ours: "one\n2\n3\n4\n5\n", theirs: "1\n2\n3\n4\n\x00\n", conflict: true},
		"binary, changed by one":        {base: "\x00", ours: "\x00", theirs: "\x00\x01", want: "\x00\x01"},
		"binary, changed the same":      {base: "\x00", ours: "\x00\x01", theirs: "\x00\x01", want: "\x00\x01"},
		"one change is part of another": {base: base, ours: "1\ntwo\nthree\n4\n5\n", theirs: "1\ntwo\n3\n4\n5\n", conflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Texts([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			require.Equal(t, !c.conflict, ok)
			require.Equal(t, c.want, string(got))
		})
	}
}

// check holds one merge to what is true of all.
func check(t testing.TB, base, ours, theirs string) (string, bool) {
	t.Helper()
	b, o, x := []byte(base), []byte(ours), []byte(theirs)
	for _, c := range [][4][]byte{{b, b, x, x}, {b, o, b, o}, {b, x, x, x}, {b, b, b, b}} {
		got, ok := Texts(c[0], c[1], c[2])
		require.True(t, ok)
		require.Equal(t, string(c[3]), string(got))
	}
	got, ok := Texts(b, o, x)
	mirrored, again := Texts(b, x, o)
	require.Equal(t, ok, again, "%q %q %q", base, ours, theirs)
	require.Equal(t, string(got), string(mirrored), "%q %q %q", base, ours, theirs)
	if !ok {
		return "", false
	}
	was, now := counts(base), counts(string(got))
	for _, side := range []string{ours, theirs} {
		for line, n := range counts(side) {
			if n > was[line] {
				require.GreaterOrEqual(t, now[line], 1, "%q was inserted: %q %q %q", line, base, ours, theirs)
			}
		}
	}
	inOurs, inTheirs := counts(ours), counts(theirs)
	for line := range now {
		require.Positive(t, inOurs[line]+inTheirs[line], "%q is nobody's: %q %q %q", line, base, ours, theirs)
	}
	return string(got), true
}

func counts(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		out[line]++
	}
	return out
}

// scribe changes texts at random.
type scribe struct {
	r    *rand.Rand
	next int
}

// text is of lines that are all different, as far as they are not among few.
func (s *scribe) text(lines, few int) []string {
	out := make([]string, lines)
	for i := range out {
		out[i] = s.line(few)
	}
	return out
}

func (s *scribe) line(few int) string {
	if few > 0 && s.r.IntN(3) == 0 {
		return fmt.Sprintf("%d\n", s.r.IntN(few))
	}
	s.next++
	return fmt.Sprintf("line %d\n", s.next)
}

func (s *scribe) edit(lines []string, few int) string {
	out := append([]string{}, lines...)
	for range s.r.IntN(4) {
		at := s.r.IntN(len(out) + 1)
		end := min(len(out), at+s.r.IntN(3))
		out = append(out[:at:at], append(s.text(s.r.IntN(3), few), out[end:]...)...)
	}
	text := strings.Join(out, "")
	if s.r.IntN(10) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

func TestRandomTexts(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2000
	}
	s := &scribe{r: rand.New(rand.NewPCG(1, 2))}
	clean := 0
	for i := range rounds {
		few := i % 2 * 4
		base := s.text(s.r.IntN(30), few)
		if _, ok := check(t, strings.Join(base, ""), s.edit(base, few), s.edit(base, few)); ok {
			clean++
		}
	}
	require.Greater(t, clean, rounds/4)
	require.Less(t, clean, rounds)
}

// TestAsGitAndDiff3 compares verdicts: what is clean here is clean there, with the same result.
func TestAsGitAndDiff3(t *testing.T) {
	tools := map[string][]string{}
	if _, err := exec.LookPath("git"); err == nil {
		tools["git"] = []string{"git", "merge-file", "-p", "--diff3", "ours", "base", "theirs"}
	}
	if _, err := exec.LookPath("diff3"); err == nil {
		tools["diff3"] = []string{"diff3", "-m", "-E", "ours", "base", "theirs"}
	}
	if len(tools) == 0 {
		t.Skip("neither git nor diff3 is here")
	}
	rounds := 400
	if testing.Short() {
		rounds = 50
	}
	s, dir := &scribe{r: rand.New(rand.NewPCG(3, 4))}, t.TempDir()
	both := map[string]int{}
	for range rounds {
		base := s.text(5+s.r.IntN(30), 0)
		texts := map[string]string{"base": strings.Join(base, ""), "ours": s.edit(base, 0), "theirs": s.edit(base, 0)}
		got, ok := check(t, texts["base"], texts["ours"], texts["theirs"])
		for name, text := range texts {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		for name, args := range tools {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if !ok || name == "diff3" && unended(texts) { // it cannot tell such ends
				continue
			}
			require.NoError(t, err, "%s: %q", name, texts)
			require.Equal(t, string(out), got, "%s: %q", name, texts)
			both[name]++
		}
	}
	for name := range tools {
		require.Greater(t, both[name], rounds/4, name)
	}
}

// unended tells whether the last line of one text has no end.
func unended(texts map[string]string) bool {
	for _, text := range texts {
		if text != "" && !strings.HasSuffix(text, "\n") {
			return true
		}
	}
	return false
}

// TestHostileTextsTakeLittleTime merges what makes a search for the least difference take for ever.
func TestHostileTextsTakeLittleTime(t *testing.T) {
	s := &scribe{r: rand.New(rand.NewPCG(5, 6))}
	random := func(n, few int) []byte {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%d\n", s.r.IntN(few))
		}
		return []byte(b.String())
	}
	long := func(c byte) []byte { return []byte(strings.Repeat(strings.Repeat("x", 4000)+string(c)+"\n", 2000)) }
	for name, texts := range map[string][3][]byte{
		"few different lines":    {random(400_000, 2), random(400_000, 2), random(400_000, 2)},
		"many different lines":   {random(400_000, 1<<30), random(400_000, 1<<30), random(400_000, 1<<30)},
		"nothing but ends":       {[]byte(strings.Repeat("\n", 400_000)), []byte(strings.Repeat("\n", 400_001)), []byte(strings.Repeat("\n", 400_002))},
		"long and almost equal":  {long('a'), append(long('b'), long('a')[:8]...), append(long('a'), long('b')[:9]...)},
		"too many lines":         {[]byte("a"), []byte(strings.Repeat("\n", MaxLines)), []byte("b")},
		"too many bytes":         {[]byte("a"), []byte(strings.Repeat("x", MaxBytes+1)), []byte("b")},
		"equal but for one byte": {[]byte(strings.Repeat("x", MaxBytes)), []byte(strings.Repeat("x", MaxBytes-1) + "y"), []byte(strings.Repeat("x", MaxBytes-1) + "z")},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, ok := Texts(texts[0], texts[1], texts[2])
			require.False(t, ok)
			require.Less(t, time.Since(began), 20*time.Second)
		})
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("1\n2\n3\n", "1\ntwo\n3\n", "1\n2\nthree\n")
	f.Add("a\nb", "a\nb\n", "b")
	f.Add("", "\r\n", "\n\r")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) { check(t, base, ours, theirs) })
}
