package worker

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/sandbox"
)

// shown has servers that are reached, or not.
type shown struct {
	*places
	address sandbox.Address
	err     error
}

func (s *shown) Preview(context.Context, sandbox.Ref, int) (sandbox.Address, error) {
	return s.address, s.err
}

func TestWhereServersAreReached(t *testing.T) {
	a := newActivities(t)
	s := &shown{places: newPlaces(t, sandbox.KindE2B)}
	a.Backends[editors.E2B] = s
	call, err := json.Marshal(agent.OnSandbox[editors.PreviewParams]{
		Params:  editors.PreviewParams{SessionID: "s", Port: 80},
		Sandbox: agent.Sandbox{SessionID: "s", Epoch: 1, Backend: editors.Backend{Kind: editors.E2B}},
	})
	require.NoError(t, err)

	s.address = sandbox.Address{URL: "https://there", Header: map[string]string{"b": "2", "a": "1"}}
	got, err := a.preview(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, editors.PreviewResult{URL: "https://there", Headers: []editors.PreviewHeader{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}, got)

	for class, remedy := range map[sandbox.Class]string{sandbox.ClassNotFound: "asking makes a sandbox", sandbox.ClassDenied: ""} {
		s.err = sandbox.Errorf(class, "preview", "not there")
		_, err = a.preview(t.Context(), call)
		var told *editors.Error
		require.True(t, errors.As(err, &told))
		require.Equal(t, "not there", told.Message)
		if remedy == "" {
			require.Empty(t, told.Remedy)
		} else {
			require.Contains(t, told.Remedy, remedy)
		}
	}
}
