// These tests exist for the moments when the embedded server does not start: its last words must reach the user.

package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), binaryName)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700))
	return path
}

func TestFindBinary(t *testing.T) {
	binary := script(t, "")
	none := environment{}.LookupEnv
	found, err := findBinary(binary, none)
	require.NoError(t, err)
	require.Equal(t, binary, found)
	found, err = findBinary("", environment{BinaryEnv: binary}.LookupEnv)
	require.NoError(t, err)
	require.Equal(t, binary, found)
	t.Setenv("PATH", filepath.Dir(binary))
	t.Chdir(filepath.Dir(binary))
	_, err = findBinary("", none)
	require.ErrorIs(t, err, ErrNoBinary, "a workspace may stand in PATH")
	_, err = findBinary(filepath.Base(binary), none)
	require.ErrorIs(t, err, ErrNoBinary)
	_, err = findBinary(filepath.Dir(binary), none)
	require.ErrorIs(t, err, ErrNoBinary)
}

func TestServerGetsNoSecrets(t *testing.T) {
	given := []string{"OPENAI_API_KEY=x", "PATH=/bin", "TEMPORAL_API_KEY=y", "TZ=UTC", "USER=me", "HOME=/home/me"}
	require.Equal(t, []string{"HOME=/home/me", "PATH=/bin", "TZ=UTC", "USER=me"}, serverEnvironment(given, "/state"))
}

func TestServerOfAUserWithoutAName(t *testing.T) {
	require.Equal(t, []string{"HOME=/state", "USER=" + strconv.Itoa(os.Getuid())}, serverEnvironment([]string{"USER="}, "/state"))
}

func TestFailedStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.log"), []byte("an older story\n"), 0o600))
	var states []EmbeddedStatus
	_, err := StartEmbedded(t.Context(), EmbeddedOptions{
		Binary: script(t, "echo no room left >&2; exit 3"), StateDir: dir,
		OnState: func(s EmbeddedState) { states = append(states, s.Status) },
	})
	require.ErrorContains(t, err, "no room left")
	require.ErrorContains(t, err, "exit status 3")
	require.NotContains(t, err.Error(), "older story")
	require.False(t, errors.Is(err, ErrEmbeddedRefused))
	require.Equal(t, []EmbeddedStatus{EmbeddedStarting, EmbeddedFailed}, states)

	_, err = StartEmbedded(t.Context(), EmbeddedOptions{Binary: script(t, "echo too new >&2; exit 78"), StateDir: dir})
	require.ErrorIs(t, err, ErrEmbeddedRefused)
	require.ErrorContains(t, err, "too new")

	long := script(t, `echo first >&2; printf 'begun %03000d the cause\n' 0 >&2; exit 1`)
	_, err = StartEmbedded(t.Context(), EmbeddedOptions{Binary: long, StateDir: dir})
	require.ErrorContains(t, err, "first\nbegun 000", "what stands before a long line is told")
	require.ErrorContains(t, err, "0 the cause", "and so is its end")
	require.Less(t, len(err.Error()), 1000)
}

func TestStartEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := StartEmbedded(ctx, EmbeddedOptions{
		Binary: script(t, "exec cat >/dev/null"), StateDir: dir,
		OnState: func(EmbeddedState) { cancel() },
	})
	require.ErrorIs(t, err, context.Canceled)
}
