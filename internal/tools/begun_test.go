package tools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/blob"
	"sandboxagent/internal/sandbox/fake"
)

func TestBegunTellsWhatMayHaveHadAnEffect(t *testing.T) {
	env := Env{Sandbox: fake.New(map[string]string{"a": "one\n"}), Blobs: blob.NewMem(), Plans: DirPlans{Dir: t.TempDir()}}
	patch := Call{EffectID: "p", Name: applyPatch, Arguments: `{"patch":"*** Begin Patch\n*** Update File: a\n-one\n+two\n*** End Patch"}`}
	read := Call{EffectID: "r", Name: readFile, Arguments: `{"path":"a"}`}
	command := Call{EffectID: "c", Name: execCommand, Arguments: `{"command":"true"}`}
	for _, call := range []Call{patch, read, command} {
		begun, err := Begun(t.Context(), env, call)
		require.NoError(t, err)
		require.False(t, begun, call.Name)
		_, err = Run(t.Context(), env, call)
		require.NoError(t, err)
		begun, err = Begun(t.Context(), env, call)
		require.NoError(t, err)
		require.Equal(t, call.Name != readFile, begun, call.Name)
	}
}
