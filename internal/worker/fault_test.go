package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/carry"
)

func TestFaultsStrikeOnceAndOnlyWhenAskedFor(t *testing.T) {
	none, err := faultOf("")
	require.NoError(t, err)
	require.Nil(t, none)
	for _, bad := range []string{"carry-opened", "=file", "carry-opened="} {
		_, err := faultOf(bad)
		require.ErrorContains(t, err, FaultVariable)
	}
	file := filepath.Join(t.TempDir(), "struck")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	fault, err := faultOf(carry.StepOpened + "=" + file)
	require.NoError(t, err)
	require.NoError(t, fault(carry.StepOpened), "it has struck before")
	require.NoError(t, fault(carry.StepFilled))
	fault, err = faultOf(carry.StepOpened + "=" + filepath.Join(file, "not-a-directory"))
	require.NoError(t, err)
	require.Error(t, fault(carry.StepOpened))
}
