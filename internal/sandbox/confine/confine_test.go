// This file tests what is said of a confinement.

package confine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLacks(t *testing.T) {
	const sockets = "connecting to abstract sockets of other programs"
	require.Empty(t, lacks(Namespaces, LevelFull, scopedVersion))
	require.Equal(t, []string{"when they were allowed the network, " + sockets}, lacks(Bubblewrap, LevelFull, scopedVersion-1))
	require.Equal(t, []string{sockets}, lacks(Namespaces, LevelFS, scopedVersion-1))
	require.NotContains(t, lacks(Landlock, LevelFS, scopedVersion-1), sockets, "it refuses all unix sockets")
}
