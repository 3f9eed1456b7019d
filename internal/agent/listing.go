// This file keeps a session findable: in Temporal's visibility and in its owner's manager.

package agent

import (
	"crypto/sha256"
	"encoding/hex"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// Signals to the session manager. They are named here because the manager starts agents and not the other way round.
const (
	ManagerSignalChanged = "session_changed" // editors.Session
	ManagerSignalClosed  = "session_closed"  // session id
)

// FolderHash is what visibility knows of a workspace folder.
func FolderHash(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return hex.EncodeToString(sum[:8])
}

func managerID(owner string) string { return "session-manager/" + owner }

// list brings the session's entry in Temporal's visibility up to date, if what it shows has changed.
func (s *session) list(ctx workflow.Context) {
	now := s.Session
	if s.listed.Title == now.Title && s.listed.State.Status == now.State.Status && s.listed.TurnID == now.TurnID &&
		s.listed.Model == now.Model && s.listed.Backend == now.Backend {
		return
	}
	changed := s.listed.ID != "" && (s.listed.Title != now.Title || s.listed.Backend != now.Backend)
	s.listed = now
	if err := workflow.UpsertMemo(ctx, map[string]any{MemoSession: now}); err != nil {
		workflow.GetLogger(ctx).Warn("session memo not updated", "error", err)
	}
	if s.SearchAttributes {
		s.upsertAttributes(ctx)
	}
	if changed {
		s.signalManager(ctx, ManagerSignalChanged, now)
	}
}

func (s *session) upsertAttributes(ctx workflow.Context) {
	keyword := func(name, value string) temporal.SearchAttributeUpdate {
		return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value)
	}
	title := "" // attributes are never encrypted: a title made from a prompt stays out of them
	if s.Session.TitleSource == editors.TitleUser {
		title = preview(s.Session.Title, 200)
	}
	err := workflow.UpsertTypedSearchAttributes(ctx,
		keyword(AttrTitle, title),
		keyword(AttrBackend, string(s.Session.Backend.Kind)),
		keyword(AttrFolder, FolderHash(s.Folder)),
		keyword(AttrState, string(s.Session.State.Status)),
		keyword(AttrOwner, s.Owner),
		keyword(AttrParent, s.Session.ParentID),
		keyword(AttrHost, s.Session.HostID),
	)
	if err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not updated", "error", err)
	}
}

func (s *session) tellManagerClosed(ctx workflow.Context) {
	s.signalManager(ctx, ManagerSignalClosed, s.Session.ID)
}

// signalManager tells the owner's manager; a manager that is gone learns it from visibility when it comes back.
func (s *session) signalManager(ctx workflow.Context, name string, arg any) {
	f := workflow.SignalExternalWorkflow(ctx, managerID(s.Owner), "", name, arg)
	if name == ManagerSignalClosed {
		_ = f.Get(ctx, nil)
	}
}
