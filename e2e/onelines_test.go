// This test is of what an edit of one line leaves of a file: all other bytes.

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model/modeltest"
)

func TestAnEditOfOneLineIsAOneLineDiff(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"crlf.txt": "one\r\ntwo\r\nthree\r\n", "bom.txt": "\uFEFFone\ntwo\nthree\n", "bomcrlf.txt": "\uFEFFone\r\ntwo\r\nthree\r\n",
		"noeol.txt": "one\ntwo\nthree", "noeolcrlf.txt": "one\r\ntwo\r\nthree", "latin1.txt": "caf\xe9\ntwo\nna\xefve\n", "mixed.txt": "one\r\ntwo\nthree\r\n",
	}
	var calls []modeltest.ToolCall
	for name := range files {
		for tool, arguments := range map[string]map[string]string{
			"read_file":   {"path": name},
			"apply_patch": {"patch": "*** Update File: " + name + "\n-two\n+2\n"},
		} {
			data, err := json.Marshal(arguments)
			require.NoError(t, err)
			calls = append(calls, modeltest.ToolCall{Name: tool, Arguments: data})
		}
	}
	i := newInstall(t, rules(steps("edit", calls...)))
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", i.work, "-c", "user.name=n", "-c", "user.email=e", "-c", "core.autocrlf=false"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	git("init", "-q")
	for name, text := range files {
		i.write(name, text)
	}
	git("add", "-A")
	git("commit", "-qm", "before")
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "edit")
	require.Zero(t, s.wait(), s.describe())
	for name, text := range files {
		require.Equal(t, strings.Replace(text, "two", "2", 1), i.read(name), "%q", name)
		require.Equal(t, "1\t1\t"+name+"\n", git("diff", "--numstat", "--", name))
	}
}
