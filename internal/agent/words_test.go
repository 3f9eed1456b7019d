// This file tests what people are told things are called.

package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatACheckpointIsCalled(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	require.Equal(t, `"After turn 1"`, called("After turn 1", id))
	require.Equal(t, short(id), called("", id))
	require.Equal(t, short(id), called(`Before restoring "After turn 1"`, id), "names do not name names")
}
