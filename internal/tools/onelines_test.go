// This file checks that a patch of one line is a difference of one line to git, whatever the file is made of.

package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestAnEditOfALineIsADifferenceOfALine(t *testing.T) {
	const hunk = "@@\n a\n-b\n+B\n c\n"
	cases := []struct{ name, before, hunk, want string }{
		{"LF", "a\nb\nc\n", hunk, "a\nB\nc\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", hunk, "a\r\nB\r\nc\r\n"},
		{"CRLF quoted with CR", "a\r\nb\r\nc\r\n", "@@\n a\r\n-b\r\n+B\r\n c\r\n", "a\r\nB\r\nc\r\n"},
		{"mixed, the line has LF", "x\r\na\r\nb\nc\r\ny\r\n", hunk, "x\r\na\r\nB\nc\r\ny\r\n"},
		{"mixed, the line has CRLF", "x\na\nb\r\nc\ny\n", hunk, "x\na\nB\r\nc\ny\n"},
		{"lone CRs stay", "x\ry\na\nb\nc\n", hunk, "x\ry\na\nB\nc\n"},
		{"BOM", "\uFEFFa\nb\nc\n", hunk, "\uFEFFa\nB\nc\n"},
		{"BOM on the line", "\uFEFFb\nc\n", "@@\n-b\n+B\n c\n", "\uFEFFB\nc\n"},
		{"BOM and CRLF", "\uFEFFa\r\nb\r\nc\r\n", hunk, "\uFEFFa\r\nB\r\nc\r\n"},
		{"no final newline", "a\nb\nc", hunk, "a\nB\nc"},
		{"no final newline, the last line", "a\nb", "@@\n a\n-b\n+B\n", "a\nB"},
		{"no final newline, CRLF", "a\r\nb", "@@\n a\n-b\n+B\n", "a\r\nB"},
		{"many empty lines at the end", "a\nb\nc\n\n\n\n", hunk, "a\nB\nc\n\n\n\n"},
		{"trailing spaces and tabs elsewhere", "x \t\na\nb\nc\n\t\n", hunk, "x \t\na\nB\nc\n\t\n"},
		{"trailing spaces in the context", "a \nb\nc\t\n", hunk, "a \nB\nc\t\n"},
		{"form feeds and other line ends of Unicode", "x\f\u2028y\na\nb\nc\u0085\nz\v\n", "@@\n a\n-b\n+B\n", "x\f\u2028y\na\nB\nc\u0085\nz\v\n"},
		{"decomposed letters elsewhere", "e\u0301\na\nb\nc\n", hunk, "e\u0301\na\nB\nc\n"},
		{"Latin-1 elsewhere", "caf\xe9\na\nb\nc\n", hunk, "caf\xe9\na\nB\nc\n"},
		{"Latin-1 in the context", "caf\xe9\nb\n\xe0 la\n", "@@\n café\n-b\n+B\n à la\n", "caf\xe9\nB\n\xe0 la\n"},
		{"Latin-1 on the line", "a\nd\xe9j\xe0 vu\nc\n", "@@\n a\n-déjà vu\n+déjà lu\n c\n", "a\nd\xe9j\xe0 lu\nc\n"},
		{"Latin-1, CRLF, no final newline", "a\r\n\xfcber\r\nc", "@@\n a\n-über\n+Über\n c\n", "a\r\n\xdcber\r\nc"},
		{"Windows-1252", "a\n\x93b\x94 \x80\nc\n", "@@\n-“b” €\n+“B” €\n", "a\n\x93B\x94 \x80\nc\n"},
		{"KOI8-R as it is shown", "\xf0\xd2\xc9\nb\n", "@@\n ðÒÉ\n-b\n+B\n", "\xf0\xd2\xc9\nB\n"},
		{"every byte", allBytes() + "\na\nb\nc\n", hunk, allBytes() + "\na\nB\nc\n"},
		{"UTF-8 with stray bytes elsewhere", "é \xe9\xe8\na\nb\nc\n", hunk, "é \xe9\xe8\na\nB\nc\n"},
		{"UTF-8 with stray bytes in the context", "é \xe9\xe8!\nb\n", "@@\n é \uFFFD!\n-b\n+B\n", "é \xe9\xe8!\nB\n"},
		{"UTF-8 with stray bytes on the line", "é\n\xe9\xe8\nc\n", "@@\n é\n-\uFFFD\n+è\n", "é\nè\nc\n"},
		{"a long line", "a\n" + strings.Repeat("x", 100_000) + "\nb\n", "@@\n-b\n+B\n", "a\n" + strings.Repeat("x", 100_000) + "\nB\n"},
	}
	r, folder := newLocalRig(t)
	git(t, folder, "init", "--quiet")
	for i, c := range cases {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(c.before), 0o644))
	}
	git(t, folder, "add", ".")
	git(t, folder, "commit", "--quiet", "-m", "before")
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := string(rune('a'+i/26)) + string(rune('a'+i%26))
			r.run(t.Context(), call("read "+name, readFile, obj{"path": name}))
			result := r.run(t.Context(), call("patch "+name, applyPatch, obj{"patch": "*** Begin Patch\n*** Update File: " + name + "\n" + c.hunk + "*** End Patch"}))
			require.Equal(t, editors.ItemCompleted, result.Status, result.ForModel)
			data, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			require.Equal(t, c.want, string(data))
			require.Equal(t, "1\t1\t"+name+"\n", git(t, folder, "diff", "--text", "--numstat", "--", name))
			require.Contains(t, result.ForModel, "(+1 -1)")
		})
	}
}

// allBytes is every byte but NUL and the line ends, as no UTF-8.
func allBytes() string {
	var all []byte
	for b := 0xff; b > 0; b-- {
		if b != '\n' && b != '\r' {
			all = append(all, byte(b))
		}
	}
	return string(all)
}

func TestWhatAnEncodingCannotHoldIsRefused(t *testing.T) {
	r := newRig(t, map[string]string{"latin": "caf\xe9\nb\n", "mixed": "é\xe9\nb\n"})
	before := r.box.Files()
	for patch, want := range map[string]string{
		"*** Update File: latin\n-b\n+世界\n":      `its encoding has no '世'`,
		"*** Update File: mixed\n-b\n+\uFFFDb\n": "could not be shown",
	} {
		result := r.run(t.Context(), call(patch, applyPatch, obj{"patch": patch}))
		require.Equal(t, editors.ItemFailed, result.Status)
		require.Contains(t, result.Error, want)
	}
	require.Equal(t, before, r.box.Files())
}
