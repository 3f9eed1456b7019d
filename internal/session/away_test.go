package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

func wantedIn(kind editors.BackendKind) CreateInput {
	in := wanted(1)
	in.Params.Backend = &editors.Backend{Kind: kind, Image: "code"}
	return in
}

func TestASessionInACloudBeginsWithTheFolder(t *testing.T) {
	h := newHarness(t)
	h.open = func(_ context.Context, in agent.OpenInput) (agent.CarryOutput, error) {
		h.meanwhile(func() { require.Empty(t, h.started, "the sandbox comes first") })
		return agent.CarryOutput{
			Carry:        editors.Carry{Added: 7, Skipped: []editors.Skipped{{Path: ".env", Reason: "looks like a secret"}}},
			CheckpointID: "sent", Base: "base",
		}, nil
	}
	var first, again *reply
	h.at(time.Second, func() {
		first = h.create(wantedIn(editors.E2B))
		again = h.create(wantedIn(editors.E2B))
	})
	h.roll(time.Minute, Input{Owner: "me"})
	require.NoError(t, first.err)
	require.Equal(t, first.result.Session, again.result.Session)
	require.Len(t, h.started, 1)
	require.Len(t, h.opened, 1)

	open := h.opened[0]
	require.Equal(t, editors.Backend{Kind: editors.E2B, Image: "code"}, open.Backend)
	require.Equal(t, editors.Local, open.From.Backend.Kind)
	require.Equal(t, "/w1", open.From.Folder)
	require.Empty(t, open.CheckpointID, "the folder as it is found")
	require.Equal(t, "start", open.Reason)

	state := h.state("session-1")
	require.False(t, state.Starting)
	require.Equal(t, "sent", state.Session.CheckpointID)
	require.Equal(t, "base", state.Base, "what the way home is merged against")
	require.Contains(t, state.Items[0].Text, "1 path left out: .env")
	require.NotEmpty(t, state.Pending, "the model is told too")
}

func TestACloudThatFailsMakesNoSession(t *testing.T) {
	h := newHarness(t)
	h.open = func(context.Context, agent.OpenInput) (agent.CarryOutput, error) {
		return agent.CarryOutput{Failure: &agent.Failure{Code: editors.CodeBackendUnavailable, Message: "E2B does not take the API key"}}, nil
	}
	var r *reply
	h.at(time.Second, func() { r = h.create(wantedIn(editors.Daytona)) })
	h.roll(time.Minute, Input{Owner: "me"})
	require.ErrorContains(t, r.err, "E2B does not take the API key")
	require.Empty(t, h.started)
	require.Empty(t, h.destroyed, "what failed has removed it")
}
