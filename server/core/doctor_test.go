package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/config"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/workerproc"
)

func TestDoctorLooksAtTheCheckpoints(t *testing.T) {
	core := testCore(t, newFakeEngine())
	dir := core.opts.Paths.CheckpointDir
	look := func() editors.Check {
		checks := core.checkCheckpoints(t.Context())
		require.Len(t, checks, 1)
		require.Contains(t, checks[0].Detail, dir)
		return checks[0]
	}
	require.Contains(t, look().Detail, "none was taken yet")
	require.NoFileExists(t, filepath.Join(dir, "format"), "an examination makes no store")

	_, err := checkpoint.Open(checkpoint.Options{Dir: dir})
	require.NoError(t, err)
	found := look()
	require.Contains(t, found.Detail, "takes 0 of 10240 MiB")
	require.Contains(t, found.Detail, "are free on its disk, of which the last 512")
	require.NotContains(t, found.Detail, "leftovers")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "packs", "tmp-1.pack"), []byte("x"), 0o600))
	require.Contains(t, look().Detail, "of 1 leftovers of interrupted writes 0 remain")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "format"), []byte("of tomorrow"), 0o600))
	found = look()
	require.Equal(t, checkError, found.Status)
	require.Contains(t, found.Detail, "another version")
	require.NotEmpty(t, found.Remedy)
}

func TestDoctorTellsAWarningOnce(t *testing.T) {
	core := testCore(t, newFakeEngine())
	p := core.opts.Paths
	require.NoError(t, os.MkdirAll(p.ConfigDir, 0o700))
	require.NoError(t, os.WriteFile(p.EnvFile, []byte("OPENAI_API_KEY=x\n"), 0o644))
	none := func(string) (string, bool) { return "", false }
	_, warnings, err := config.Load(p, none)
	require.NoError(t, err)
	require.NotEmpty(t, warnings)
	core.opts.Warnings, core.opts.Secrets = warnings, config.NewSecrets(p, none)
	require.Len(t, core.checkConfig(t.Context()), 1)
}

// TestDoctorCallsFineOnlyWhatWasTested: a level that nobody tried is no ✓.
func TestDoctorCallsFineOnlyWhatWasTested(t *testing.T) {
	core := testCore(t, newFakeEngine())
	statuses := func() (found map[string]string) {
		found = map[string]string{}
		for _, c := range core.checkBackends(t.Context()) {
			found[c.Name] = c.Status
			require.True(t, c.Status == checkOK || c.Remedy != "", c.Name)
		}
		return found
	}
	require.Equal(t, map[string]string{"backends": checkWarning, "confinement": checkWarning}, statuses(), "no worker runs")

	release, err := workerproc.Hold(t.Context(), core.opts.Paths.WorkerLock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = release() })
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	answer := `{"backends":[{"kind":"local","available":true},{"kind":"docker","available":false,"remedy":"Start Docker."}]}`
	hub.Handle(CallBackends, func(context.Context, editors.Raw) (any, error) { return editors.Raw(answer), nil })
	require.Equal(t, map[string]string{"backend local": checkOK, "backend docker": checkWarning, "confinement": checkOK}, statuses())

	answer = `{"backends":[{"kind":"local","available":false,"remedy":"Install bubblewrap."}]}`
	require.Equal(t, map[string]string{"backend local": checkError, "confinement": checkError}, statuses())

	core.opts.Config.Local.Confinement = "none"
	require.Equal(t, checkWarning, statuses()["confinement"])
	core.opts.Broken = errors.New("SANDBOX_AGENT_CONFINEMENT=bogus")
	require.Equal(t, checkWarning, statuses()["confinement"])
}
