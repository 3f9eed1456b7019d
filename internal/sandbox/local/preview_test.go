// This file tests which servers are told to be reachable.

package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

func TestPreviewNeedsTheNetwork(t *testing.T) {
	b := newBackend(t)
	_, err := b.Preview(t.Context(), sandbox.Ref{ID: "s1"}, 3000)
	require.Equal(t, sandbox.ClassNotFound, class(err))
	sb := open(t, b, "s1", t.TempDir())
	_, _ = script(t, sb, "without", "true")
	_, err = b.Preview(t.Context(), sb.Ref(), 3000)
	require.Equal(t, sandbox.ClassUnsupported, class(err))
	require.ErrorContains(t, err, "with network access")
	_, _ = run(t, sb, "with", sandbox.Command{Script: "true", Network: true})
	at, err := b.Preview(t.Context(), sb.Ref(), 3000)
	require.NoError(t, err)
	require.Equal(t, sandbox.Address{URL: "http://localhost:3000"}, at)

	free := newBackendWith(t, confine.LevelFS)
	sb = open(t, free, "s1", t.TempDir())
	at, err = free.Preview(t.Context(), sb.Ref(), 1)
	require.NoError(t, err)
	require.Equal(t, "http://localhost:1", at.URL)
}
