// This file runs commands that were judged to only read, made of hostile pieces, by real shells: they must change nothing.

package policy

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pieces are what the commands are made of. Whatever shell runs them, they can write nothing but the file pwn, delete
// nothing but what find finds in the current directory, and end by themselves.
var pieces = []string{
	"touch pwn", ">pwn", "tee pwn", "touch pwn", "$(touch pwn)", "`touch pwn`", "-delete", "-fprint pwn", "w pwn", "-o pwn", "-exec touch pwn \\;", "sh -c 'touch pwn'", "{touch,pwn}", "print>\"pwn\"", "\"pwn\"",
	"ls", "cat a", "cat", "echo", "echo hi", "find .", "find . -name a", "sort a", "sed -n", "sed", "awk", "test -v", "[", "]", "xargs", "xargs -I{}", "printf", "uniq a", "date", "head a", "tree", "xxd", "env", "timeout 1", "eval", "sh -c", "bash -c", "command", "time", "nice", "exec", "read x", "set --", "cd d", "tee", "tr a b", "true", "false", ":",
	" ", " ", " ", " ", " ", " ", " ", "\n", "\n", ";", "&", "&&", "||", "|", "|&", "!", "'", "'", "'", "\"", "\"", "\"", "\\", "\\", "\\\n", "\\\\", "#", " #", "$", "$'", "$\"", "$(", ")", ")", "(", "`", "`", "{", "}", ",", "..", "~", "*", "?", "[", "=", "x=", "x=1", "x='touch pwn'", "x=a", "$x", "${x}", "${x:-", "${x#", "${x/", "\"$x\"", "${!x}", "$((", "))", "((", "$[", "[[", "]]", "a[", "=~", "-eq", "-v", "-a", "-n",
	" # \\\n", "#\\\n", "\\\\\\\n", "\\\ntouch pwn", " \\\n-delete", "'\\\n", "<<'EOF'\n\\\nEOF\n", "<<EOF\n\\\nEOF\n", "\\\nEOF\n",
	"<", "<<", "<<-", "<<<", "<<EOF", "<<'EOF'", "<<\"EOF\"", "<<\\EOF", "\nEOF\n", "\nEOF", "EOF", "<(", ">(", ">&", "&>", "2>", "2>&1", ">/dev/null", "</dev/null", "<>", ">|", "if", "then", "else", "fi", "for x in", "do", "done", "case x in", "x)", ";;", ";&", "esac", "while", "function f", "f()", "f", "select x in", "coproc", "x", "a", "p", "e", "1", "s/a/b/", "/x/", "y/", "{print}", "--", "-", "-n", "-I", "-c", "-e", "\t", "\r", "\u00a0", "é", "\u2028", "\\r", "\\n", "\\'", "\\\"", "\\`", "\\$", "\\;", "{}", "+", "@(", "!(", "^", "%",
}

// compose makes a command of pieces, mostly by changing one that reads.
func compose(r *rand.Rand) string {
	var parts []string
	if r.IntN(2) == 0 {
		parts = append(parts, reading[r.IntN(len(reading))])
	}
	for range 1 + r.IntN(9) {
		at := r.IntN(len(parts) + 1)
		parts = append(parts[:at], append([]string{pieces[r.IntN(len(pieces))]}, parts[at:]...)...)
	}
	text := strings.Join(parts, []string{"", " "}[r.IntN(2)])
	if r.IntN(4) == 0 && text != "" {
		at := r.IntN(len(text))
		text = text[:at] + pieces[r.IntN(len(pieces))] + text[at:]
	}
	return text
}

// endless are words of commands in the table that wait for something.
var endless = []string{"tail -f", "until", "while", "sleep", "yes", "urandom", "200000", "/dev/tcp", "ps", "du", "git", ".."}

func runnable(text string) bool {
	for _, w := range endless {
		if strings.Contains(text, w) {
			return false
		}
	}
	return strings.Contains(text, "pwn") || strings.Contains(text, "delete")
}

func TestWhatReadsChangesNothing(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here to compare with")
	}
	shells := []string{bash, "/bin/sh"}
	seconds, _ := strconv.Atoi(os.Getenv("POLICY_SECONDS"))
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	seed := uint64(1)
	if seconds > 0 {
		seed = uint64(time.Now().UnixNano())
	}
	r := rand.New(rand.NewPCG(seed, 2))
	dir, ran := t.TempDir(), 0
	fresh := func() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x a 1\ny b 2\ntouch pwn\n"), 0o600))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "d"), 0o700))
	}
	fresh()
	before := tree(t, dir)
	for ran < 200 || time.Now().Before(until) {
		text := compose(r)
		if !runnable(text) || !onlyReads(judgeText(text, "", "")) {
			continue
		}
		ran++
		for _, shell := range shells {
			runIn(t, dir, shell, text)
			require.Equal(t, before, tree(t, dir), "%s -c %q changed something (seed %d)", shell, text, seed)
		}
	}
	t.Logf("%d commands ran by %d shells", ran, len(shells))
}

func runIn(t *testing.T, dir, shell, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", text)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // it may well fail
}

// tree lists the files of a folder with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			files[path] = ""
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	}))
	return files
}
