// This file carries all that a workspace may hold into a container and into another folder, and compares.

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// carried is what of a picture must be the same in another place: all but which inode it is and when a directory changed.
func carried(picture map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range picture {
		fields := strings.SplitN(text, " ", 5) // mode, links, time, inode, and the rest
		kept := append([]string{fields[0], fields[1], fields[2]}, fields[4:]...)
		if strings.HasPrefix(fields[0], "d") {
			kept = fields[:1]
		}
		out[name] = strings.Join(kept, " ")
	}
	return out
}

func TestARoundTripKeepsEverything(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules())
	horrors(t, i.work)
	require.NoError(t, os.Remove(filepath.Join(i.work, "unreadable")), "which is refused")
	require.NoError(t, os.RemoveAll(filepath.Join(i.work, ".git")), "which is no repository")
	before := picture(t, i.work)
	id := i.session()
	var there, back, home editors.SwitchResult
	i.ok(&there, "switch", "--session", id, "docker")
	require.Len(t, there.Carry.Skipped, 2)
	require.Equal(t, editors.Skipped{Path: "fifo", Reason: "a pipe"}, there.Carry.Skipped[0])
	require.Equal(t, "socket", there.Carry.Skipped[1].Path)

	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	i.ok(&back, "switch", "--session", id, "--into", elsewhere, "local")
	want := carried(before)
	delete(want, "fifo")
	delete(want, "socket")
	require.Equal(t, want, carried(picture(t, elsewhere)))

	i.ok(&home, "switch", "--session", id, "local")
	require.Zero(t, home.Carry.Changes(), "%+v", home.Carry)
	require.Equal(t, before, picture(t, i.work), "nothing was touched, and what never left is still there")
}

func TestTheAgentsCommitsComeHome(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(
		run("commit", `git -c user.name=a -c user.email=a@example.org commit -qam "by the agent" && git log --oneline | wc -l`, "Committed."),
		run("hook", `echo true > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.editor true; echo done`, "Hooked."),
	))
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.org"}, args...)...)
		cmd.Dir, cmd.Env = i.work, append(os.Environ(), "HOME="+i.home, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	i.write("text", numbered(5))
	git("add", ".")
	git("commit", "-qm", "by the user")
	i.write("text", numbered(6))
	settings := i.read(".git/config")
	id := i.session()
	i.ok(nil, "switch", "--session", id, "docker")
	require.Equal(t, "2\n", i.done(id, "commit"))
	i.done(id, "hook")

	var back editors.SwitchResult
	i.ok(&back, "switch", "--session", id, "local")
	require.Equal(t, "by the agent\nby the user", git("log", "--format=%s"))
	require.Empty(t, git("status", "--porcelain"))
	require.Equal(t, settings, i.read(".git/config"), "what git runs or follows stays")
	require.NoFileExists(t, filepath.Join(i.work, ".git/hooks/pre-commit"))
	git("fsck", "--strict")
}
