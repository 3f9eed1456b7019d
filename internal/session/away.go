// This file creates sessions in sandboxes that begin empty: the folder is carried there first, then there is a session.

package session

import (
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// createAway makes the sandbox, fills it from the folder and starts the session. Whatever fails, there is no session then.
func (m *manager) createAway(ctx workflow.Context, in CreateInput, state agent.State) (CreateResult, error) {
	if len(m.forks) >= maxForks {
		return CreateResult{}, refuse(agent.ErrTypeBusy, "%d sessions are being made; wait for one of them.", len(m.forks))
	}
	s := state.Session
	f, made := m.begin(in.RequestID, s)
	defer made()
	home := agent.Sandbox{
		SessionID: s.ID, Owner: m.owner, HostID: in.HostID, Folder: in.Folder, Backend: editors.Backend{Kind: editors.Local},
	}
	box := home
	box.Backend = s.Backend
	out, err := m.fill(ctx, f, "carrying the folder to "+string(s.Backend.Kind), agent.OpenInput{
		Sandbox: box, From: home, Effect: s.ID + "-start", Reason: "start",
	})
	if err != nil {
		return CreateResult{}, err
	}
	state.BeginWith(out)
	if err := m.start(ctx, in.RequestID, state); err != nil {
		m.empty(ctx, agent.DestroyInput{Sandbox: box})
		return CreateResult{}, err
	}
	return CreateResult{Session: state.Session}, nil
}
