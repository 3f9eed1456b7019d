package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func loadText(t *testing.T, text string) (Config, []Warning, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c := Default()
	warnings, err := loadFile(&c, path)
	return c, warnings, err
}

func TestWindowsAndPricesOfModels(t *testing.T) {
	c, warnings, err := loadText(t, `
[models."gpt-5.6-sol"]
window = 1050000
[models.mine]
input = 1
output = 2.5
colour = "red"
[models.cached]
input = 1
cached_input = 0.1
output = 2
`)
	require.NoError(t, err)
	require.Equal(t, map[string]Model{
		"gpt-5.6-sol": {Window: 1_050_000},
		"mine":        {Price: &Price{Input: 1, Cached: 1, Output: 2.5}},
		"cached":      {Price: &Price{Input: 1, Cached: 0.1, Output: 2}},
	}, c.Models)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].Message, "colour of model mine")
	for _, wrong := range []string{"window = 100", "window = \"big\"", "input = 1", "output = -1\ninput = 1", "input = \"1\"\noutput = 1"} {
		_, _, err := loadText(t, "[models.mine]\n"+wrong+"\n")
		require.ErrorContains(t, err, "of model mine must be", wrong)
	}
	_, _, err = loadText(t, "[models.mine]\napi_key = \"x\"\n")
	require.ErrorContains(t, err, "is a secret")
	_, _, err = loadText(t, "[models]\nmine = 1\n")
	require.ErrorContains(t, err, "must be a table")
}
