package instructions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFolderIsLookedIntoWithoutASandbox(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "root", "sub/AGENTS.md": "sub", SkillsDir + "/x/SKILL.md": skill("x", "does x"), "file": ""} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "linked"), 0o755))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "linked", FileName)))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "dir", FileName), 0o755))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer func() { _ = root.Close() }()
	set := find(t, new(Cache), Folder(root), "sub", "linked", "dir", "file/x", "gone")
	require.Equal(t, []File{
		{Path: "AGENTS.md", Text: "root"},
		{Path: "dir/AGENTS.md", Problem: "it is not a regular file"},
		{Path: "linked/AGENTS.md", Problem: "it may not be read, or leads outside the workspace"},
		{Path: "sub/AGENTS.md", Text: "sub"},
	}, set.Files)
	require.Equal(t, []Skill{{Path: SkillsDir + "/x/SKILL.md", Name: "x", Description: "does x"}}, set.Skills)
}
