// This file tests that nothing which git runs comes in a repository that is not called ".git".

package checkpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBareRepositoriesCannotMakeGitRunAnything(t *testing.T) {
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	for _, at := range []string{"bare", "deep/in/bare.git", "."} {
		t.Run(at, func(t *testing.T) {
			k := newTaken(t)
			write(t, k.dir, "keep/config", "[mine]")
			write(t, k.dir, "keep/hooks/run", "no repository")
			base := k.take()
			dir := filepath.Join(k.dir, at)
			require.NoError(t, os.MkdirAll(dir, 0o755))
			out, err := exec.Command(git, "init", "-q", "--bare", dir).CombinedOutput()
			require.NoError(t, err, string(out))
			ran := filepath.Join(t.TempDir(), "ran")
			script := filepath.Join(dir, "evil.sh")
			require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755))
			out, err = exec.Command(git, "-C", dir, "config", "alias.harmless", "!"+script).CombinedOutput()
			require.NoError(t, err, string(out))
			write(t, dir, "hooks/post-update", "#!/bin/sh\ntouch "+ran+"\n")
			harmless := func(dir string) { _ = exec.Command(git, "-C", filepath.Join(dir, at), "harmless").Run() }
			harmless(k.dir)
			require.FileExists(t, ran, "git obeys it there")
			require.NoError(t, os.Remove(ran))

			safe, left := k.derive(k.take().ID, DeriveOptions{GitFrom: &base.ID})
			require.Equal(t, []Left{{filepath.Join(at, "config"), gitsOwn}, {filepath.Join(at, "hooks"), gitsOwn}}, left)
			came := k.unpack(safe.ID)
			harmless(came)
			require.NoFileExists(t, ran)
			require.FileExists(t, filepath.Join(came, at, "HEAD"))
			require.FileExists(t, filepath.Join(came, "keep/hooks/run"), "what is no repository comes whole")
			require.FileExists(t, filepath.Join(came, "keep/config"))
		})
	}
}

// What the trusted tree has in such a repository stays, and directories cannot become one in two steps.
func TestBareRepositoriesKeepTheirOwnSettings(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "r/HEAD", "ref: refs/heads/main\n")
	write(t, k.dir, "r/objects/info/packs", "")
	write(t, k.dir, "r/refs/heads/main", "")
	write(t, k.dir, "r/config", "mine")
	write(t, k.dir, "linked/HEAD", "ref: refs/heads/main\n")
	base := k.take()
	write(t, k.dir, "r/config", "evil")
	require.NoError(t, os.Remove(filepath.Join(k.dir, "r/HEAD")))
	write(t, k.dir, "r/hooks/pre-receive", "evil")
	write(t, k.dir, "linked/commondir", "/elsewhere")
	safe, left := k.derive(k.take().ID, DeriveOptions{GitFrom: &base.ID})
	require.Equal(t, []Left{{"linked/commondir", gitsOwn}, {"r/hooks", gitsOwn}}, left)
	came := k.unpack(safe.ID)
	b, err := os.ReadFile(filepath.Join(came, "r/config"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(b))
}
