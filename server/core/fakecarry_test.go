// This file is what the engine in memory answers to requests that bring workspaces elsewhere.

package core

import (
	"context"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

func (f *fakeEngine) Fork(ctx context.Context, in session.ForkInput) (session.CreateResult, error) {
	if err := f.trouble(ctx, true); err != nil {
		return session.CreateResult{}, err
	}
	f.forks = append(f.forks, in)
	f.mu.Unlock()
	s := f.add(in.SessionID, in.Point.Sandbox.HostID)
	s.view.ParentID, s.view.ForkedAtTurn, s.view.Title, s.view.Backend = in.Params.SessionID, in.Point.Turn.ID, in.Params.Title, *in.Params.Backend
	return session.CreateResult{Session: s.view, Seq: 1}, nil
}

// carry answers an update that brings files somewhere, and others that nobody looks at.
func (s *fakeSession) carry(u update) any {
	switch u.name {
	case agent.UpdateSwitch:
		in := u.arg.(agent.SwitchInput)
		s.view.Backend = in.Backend
		return editors.SwitchResult{Backend: in.Backend, Carry: editors.Carry{Added: 2}, Seq: s.emit(editors.Event{Type: editors.BackendChanged, Backend: &in.Backend})}
	case agent.UpdateRestore:
		return editors.RestoreResult{Restored: []string{"f"}, Undo: "u", Seq: s.emit(editors.Event{Type: editors.CheckpointCreated, Checkpoint: &editors.Checkpoint{ID: "u"}})}
	case agent.UpdateTaken:
		taken := u.arg.(agent.TakenInput).Checkpoint
		return agent.SeqResult{Seq: s.emit(editors.Event{Type: editors.CheckpointCreated, Checkpoint: &taken})}
	case agent.UpdateForkPoint:
		return agent.ForkPoint{Session: s.view, Sandbox: agent.Sandbox{SessionID: s.view.ID, HostID: s.view.HostID}, Turn: agent.TurnEnd{ID: u.arg.(agent.ForkPointInput).TurnID}}
	case agent.UpdateOffer:
		return agent.Offer{ForkID: s.view.ID, ParentID: s.view.ParentID, CheckpointID: "offered"}
	case agent.UpdateAdopt:
		in := u.arg.(agent.AdoptInput)
		return editors.AdoptResult{SessionID: s.view.ID, Undo: "u", Carry: editors.Carry{Theirs: in.Offer.CheckpointID}, Seq: s.emit(editors.Event{Type: editors.CheckpointCreated, Checkpoint: &editors.Checkpoint{ID: "u"}})}
	}
	return agent.SeqResult{Seq: s.seq}
}
