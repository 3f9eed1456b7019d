// This file tests that keys are found where they belong and stay there.

package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestSecretPrecedence(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.EnvFile, "OPENAI_API_KEY=sk-from-file\nE2B_API_KEY=\"e2b-from-file\"\nPATH=/evil\n")
	s := NewSecrets(p, envOf(OpenAIKey, " sk-from-env\n", DaytonaKey, ""))
	require.Equal(t, "sk-from-env", s.Get(OpenAIKey))
	require.Equal(t, "e2b-from-file", s.Get(E2BKey))
	require.Empty(t, s.Get(DaytonaKey))
	require.Empty(t, s.Get("PATH"))

	require.NoError(t, s.Set(OpenAIKey, "sk-from-editor\n"))
	require.Equal(t, "sk-from-editor", s.Get(OpenAIKey))
	require.NoError(t, s.Set(OpenAIKey, ""))
	require.Equal(t, "sk-from-env", s.Get(OpenAIKey))
}

func TestSecretSetRefusesWhatIsNone(t *testing.T) {
	s := NewSecrets(testPaths(t), nil)
	err := s.Set("AWS_SECRET", "hidden-value")
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
	require.ErrorContains(t, err, "OPENAI_API_KEY, E2B_API_KEY, DAYTONA_API_KEY")
	for _, value := range []string{"hidden\nvalue", strings.Repeat("hidden", 1000)} {
		err = s.Set(OpenAIKey, value)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
		require.NotContains(t, err.Error(), "hidden")
	}
}

func TestEnvFileIsReadAgain(t *testing.T) {
	p := newInstallation(t)
	s := NewSecrets(p, nil)
	require.Empty(t, s.Get(OpenAIKey))
	writeFile(t, p.EnvFile, "OPENAI_API_KEY=sk-first-value\n")
	require.Equal(t, "sk-first-value", s.Get(OpenAIKey))
	writeFile(t, p.EnvFile, "OPENAI_API_KEY=sk-other-value\n")
	later := time.Now().Add(time.Second)
	require.NoError(t, os.Chtimes(p.EnvFile, later, later))
	require.Equal(t, "sk-other-value", s.Get(OpenAIKey))

	writeFile(t, p.EnvFile, "OPENAI_API_KEY='sk-cut-in-the-middle")
	require.Equal(t, "sk-other-value", s.Get(OpenAIKey), "a broken file changes nothing")
	require.Len(t, s.Warnings(), 1)
	require.NotContains(t, s.Warnings()[0].String(), "sk-")
	require.NoError(t, os.Remove(p.EnvFile))
	require.Empty(t, s.Get(OpenAIKey))
	require.Empty(t, s.Warnings())
}

func TestEnvFileOpenToOthersIsWarnedOf(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.EnvFile, "OPENAI_API_KEY=sk-open-to-all\n")
	s := NewSecrets(p, nil)
	require.Empty(t, s.Warnings())
	require.NoError(t, os.Chmod(p.EnvFile, 0o640))
	require.Len(t, s.Warnings(), 1)
	require.Contains(t, s.Warnings()[0].String(), "chmod 600")
	require.Equal(t, "sk-open-to-all", s.Get(OpenAIKey))
	_, warnings, err := Load(p, nil)
	require.NoError(t, err)
	require.Len(t, warnings, 1)
}

func TestRedact(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.EnvFile, "E2B_API_KEY=e2b-from-file\n")
	s := NewSecrets(p, envOf(OpenAIKey, "sk-from-env", DaytonaKey, "short"))
	require.NoError(t, s.Set(OpenAIKey, "sk-from-env-and-longer"))
	require.NoError(t, s.Set(OpenAIKey, "sk-replaced"))
	require.Equal(t,
		"[redacted], [redacted], [redacted]; [redacted]! short",
		s.Redact("sk-from-env, sk-from-env-and-longer, sk-replaced; e2b-from-file! short"))
	require.Equal(t, "nothing here", s.Redact("nothing here"))
	require.NotContains(t, fmt.Sprint(Default()), "sk-")
}

func TestSecretsAreSafeForConcurrentUse(t *testing.T) {
	s := NewSecrets(newInstallation(t), nil)
	var tasks conc.WaitGroup
	for i := range 8 {
		tasks.Go(func() {
			for range 50 {
				_ = s.Set(E2BKey, fmt.Sprintf("e2b-value-%d", i))
				_ = s.Redact("text e2b-value-1")
				_ = s.Get(E2BKey)
				_ = s.Warnings()
			}
		})
	}
	tasks.Wait()
}

func TestWhatIsNamedLikeASecret(t *testing.T) {
	for _, name := range []string{"PATH", "HOME", "KEYBOARD", "TOKENIZERS", "token.limit", ""} {
		require.False(t, looksSecret(name), name)
	}
	for _, name := range []string{
		"OPENAI_API_KEY", "E2B_API_KEY", "DAYTONA_API_KEY", "TEMPORAL_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD",
		"npm_token", "GOOGLE_APPLICATION_CREDENTIALS", "model.api-key",
	} {
		require.True(t, looksSecret(name), name)
	}
}
