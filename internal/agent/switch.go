// This file moves a session to another sandbox. The session is in the new one only when everything has succeeded; until
// then, and after whatever failure, it is in the old one.

package agent

import (
	"fmt"
	"path"
	"strings"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

func (s *session) validateSwitch(in SwitchInput) error {
	if s.known(opKey(UpdateSwitch, in.RequestID)) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := checkSwitch(in); err != nil {
		return err
	}
	if err := s.checkApart(in.Backend); err != nil {
		return err
	}
	if err := s.expectLastTurn(in.ExpectedTurnID); err != nil {
		return err
	}
	if f := s.alreadyIn(s.place(in.Backend)); f != nil && len(s.Ops) == 0 {
		return f.Refusal()
	}
	return s.admitOp(in.RequestID, in)
}

func checkSwitch(in SwitchInput) error {
	if in.DryRun {
		return refuse(ErrTypeInvalid, "A dry run is asked of the session's worker.")
	}
	if err := CheckBackend(in.Backend); err != nil {
		return err
	}
	return checkOnConflict(in.OnConflict)
}

// CheckBackend returns an error for a place that cannot be meant.
func CheckBackend(b editors.Backend) error {
	switch b.Kind {
	case editors.Local, editors.Docker, editors.E2B, editors.Daytona:
	default:
		return refuse(ErrTypeInvalid, "backend.kind is %q; it must be local, docker, e2b or daytona.", b.Kind)
	}
	switch {
	case b.Kind == editors.Local && b.Image != "":
		return refuse(ErrTypeInvalid, "backend.image has no meaning for local.")
	case b.Kind != editors.Local && b.WorkspaceRoot != "":
		return refuse(ErrTypeInvalid, "backend.workspaceRoot has a meaning for local only.")
	case b.WorkspaceRoot != "" && !path.IsAbs(b.WorkspaceRoot):
		return refuse(ErrTypeInvalid, "backend.workspaceRoot %q is not an absolute path.", b.WorkspaceRoot)
	}
	return nil
}

// checkApart refuses a local folder in or around the session's own, or that of the session it was forked from. What else is
// in the way is known where the folders are.
func (s *State) checkApart(b editors.Backend) error {
	if b.Kind != editors.Local || s.isHome(b) {
		return nil
	}
	dir := path.Clean(first(s.place(b).WorkspaceRoot, s.Folder))
	for _, folder := range []string{s.home(), path.Clean(s.Folder)} {
		if contains(folder, dir) || contains(dir, folder) {
			return refuse(ErrTypeConflict, "The folder %s overlaps with a folder that is in use, %s: choose a folder of its own.", dir, folder)
		}
	}
	return nil
}

// contains tells whether a clean path is dir or below it.
func contains(dir, inner string) bool {
	return inner == dir || strings.HasPrefix(inner, strings.TrimSuffix(dir, "/")+"/")
}

func checkOnConflict(c editors.OnConflict) error {
	switch c {
	case "", editors.ConflictFail, editors.ConflictMine, editors.ConflictTheirs:
		return nil
	}
	return refuse(ErrTypeInvalid, "onConflict is %q; it must be fail, mine or theirs.", c)
}

// expectLastTurn refuses what was meant for the time after turn id; 0 means whenever.
func (s *session) expectLastTurn(id int) error {
	switch {
	case id == 0:
		return nil
	case s.Turn != nil:
		return refuse(ErrTypeConflict, "Turn %d is running.", s.Turn.ID)
	case s.Session.TurnID != id:
		return refuse(ErrTypeConflict, "Turn %d is not the last one: turn %d is.", id, s.Session.TurnID)
	}
	return nil
}

// switchBackend moves the session at once and says what was carried, or says that it does so when the running turn has ended.
func (s *session) switchBackend(ctx workflow.Context, in SwitchInput) (editors.SwitchResult, error) {
	op := Op{Key: opKey(UpdateSwitch, in.RequestID), Switch: &in}
	if !s.known(op.Key) && (s.Turn != nil || len(s.Queue) > 0) {
		op.Told = true
		op = s.addOp(op)
		answer := editors.SwitchResult{Backend: s.Session.Backend, Queued: true, AfterTurnID: op.After}
		s.remember(op.Key, outcome[editors.SwitchResult]{Result: answer, Seq: s.Seq})
	}
	out, err := perform[editors.SwitchResult](ctx, s, op)
	out.Result.Seq = out.Seq
	return out.Result, err
}

// home is the directory on its host that is the session's own.
func (s *State) home() string {
	if s.Home != "" {
		return path.Clean(s.Home)
	}
	return path.Clean(s.Folder)
}

// place is b, with one spelling for each place: the session's own directory, above all, has the one that it began with.
func (s *State) place(b editors.Backend) editors.Backend {
	if b.Kind != editors.Local {
		return b
	}
	root := path.Clean(b.WorkspaceRoot)
	if b.WorkspaceRoot == "" {
		root = s.home()
	}
	if b.WorkspaceRoot = root; root == path.Clean(s.Folder) {
		b.WorkspaceRoot = ""
	}
	return b
}

// isHome tells whether a place is the session's own directory.
func (s *State) isHome(b editors.Backend) bool {
	return b.Kind == editors.Local && s.place(b) == s.place(editors.Backend{Kind: editors.Local})
}

func (s *State) alreadyIn(b editors.Backend) *Failure {
	if s.place(s.Session.Backend) != b {
		return nil
	}
	return &Failure{Code: editors.CodeConflict, Message: fmt.Sprintf("The session runs in %s already.", s.placeName(b))}
}

// placeName says where a backend is, for people.
func (s *State) placeName(b editors.Backend) string {
	switch {
	case b.Kind == editors.Local && b.WorkspaceRoot != "":
		return "the folder " + b.WorkspaceRoot
	case b.Kind == editors.Local:
		return "the folder " + s.Folder
	case b.Image != "":
		return fmt.Sprintf("%s (image %s)", b.Kind, b.Image)
	}
	return string(b.Kind)
}

// gitBase is the user's own tree that the workspace began as, "" where the workspace is that tree.
func (s *State) gitBase() string {
	switch {
	case s.isHome(s.Session.Backend):
		return ""
	case s.Base != "":
		return s.Base
	}
	return s.GitBase
}

// newSandbox is the sandbox that the session would have in another place. None before had its name.
func (s *State) newSandbox(b editors.Backend) Sandbox {
	s.LastEpoch = max(s.LastEpoch, s.Session.Epoch) + 1
	next := s.sandbox()
	next.Backend, next.Epoch = b, s.LastEpoch
	return next
}

// moveTo carries out a switch.
func (s *session) moveTo(ctx workflow.Context, op Op) (editors.SwitchResult, *Failure) {
	to := s.place(op.Switch.Backend)
	name := s.placeName(to)
	result := editors.SwitchResult{Backend: s.Session.Backend}
	taken, out, target, f := s.bring(ctx, op, to)
	result.Carry, result.Undo = cutCarry(out.Carry), out.Undo
	switch {
	case s.destroying:
		return result, f
	case f != nil:
		s.notice(ctx, s.Session.TurnID, fmt.Sprintf("The session stays in %s; it could not move to %s: %s", s.placeName(s.place(s.Session.Backend)), name, f.sentence()))
		return result, f
	}
	allowed := len(s.Rules)
	s.leaveBackground(ctx)
	s.arrive(ctx, target, taken, out)
	s.told(ctx, op, out, allowed > len(s.Rules))
	result.Backend = s.Session.Backend
	return result, nil
}

// bring pictures the workspace and makes it be in another place too. The session has not moved by that.
func (s *session) bring(ctx workflow.Context, op Op, to editors.Backend) (editors.Checkpoint, CarryOutput, Sandbox, *Failure) {
	none, name := CarryOutput{}, s.placeName(to)
	if f := s.alreadyIn(to); f != nil {
		return editors.Checkpoint{}, none, Sandbox{}, f
	}
	if !s.inFolder() {
		s.setState(ctx, editors.StatusSwitching, "Looking for the sandbox that is to be left.")
		if f := s.ensure(ctx); f != nil {
			return editors.Checkpoint{}, none, Sandbox{}, f
		}
	}
	s.setState(ctx, editors.StatusSwitching, "Taking a checkpoint before moving to "+name+".")
	taken, f := s.pictureFor(ctx, op, "switch", "Before moving to "+name)
	if f != nil {
		return editors.Checkpoint{}, none, Sandbox{}, f
	}
	s.setState(ctx, editors.StatusSwitching, fmt.Sprintf("Carrying %s to %s…", filesOf(taken.Files), name))
	target, what := s.newSandbox(to), "moving to "+name
	var out CarryOutput
	if s.isHome(to) && s.Base != "" {
		out, f = s.carry(ctx, what, ActivityMergeInto, MergeInput{
			Sandbox: target, From: s.sandbox(), Base: s.Base, Theirs: taken.Checkpoint.ID, OnConflict: op.Switch.OnConflict, Held: op.Switch.Held,
			Effect: s.effect(op, ""), TurnID: s.Session.TurnID, Summary: "Before coming back from " + s.placeName(s.place(s.Session.Backend)),
		})
		if f == nil && !out.Applied {
			conflicts := ConflictFailure(what, out.Carry)
			f = &conflicts
		}
	} else {
		base := s.gitBase()
		if s.isHome(s.Session.Backend) {
			base = taken.Checkpoint.ID
		}
		out, f = s.carry(ctx, what, ActivityOpenCarried, OpenInput{
			Sandbox: target, From: s.sandbox(), CheckpointID: taken.Checkpoint.ID, Base: base, Taken: s.taken(), IntoNonEmpty: op.Switch.IntoNonEmpty,
			Effect: s.effect(op, ""), Reason: "switch", TurnID: s.Session.TurnID,
		})
	}
	if f != nil {
		s.doom(ctx, target) // what failed has removed it, unless it was lost
	}
	return *taken.Checkpoint, out, target, f
}

// arrive makes a sandbox that has everything the session's present one. The one before is kept until a turn has succeeded here.
func (s *session) arrive(ctx workflow.Context, target Sandbox, taken editors.Checkpoint, out CarryOutput) {
	left, wasHome := s.sandbox(), s.isHome(s.Session.Backend)
	aside := &s.Former
	if keepsLeftovers(left, out) {
		aside = &s.Keeping
	}
	*aside = append(*aside, left)
	if drop := len(*aside) - maxFormer; drop > 0 {
		s.doom(ctx, (*aside)[:drop]...)
		*aside = append([]Sandbox(nil), (*aside)[drop:]...)
	}
	s.Session.Backend, s.Session.Epoch, s.Stopped = target.Backend, target.Epoch, false
	switch {
	case s.isHome(target.Backend) && s.Base != "":
		s.Base, s.ForkTaken = "", ""
	case wasHome:
		s.Base, s.ForkTaken = first(out.Base, taken.ID), out.Taken
	default:
		s.rebase(out)
	}
	s.holds(out, "What came to "+s.placeName(target.Backend))
	if left.Backend.Kind != target.Backend.Kind {
		s.Confinement, s.Rules = "", nil // what was allowed there was not allowed here
	}
	s.Permissions = Permissions{}
	b := s.Session.Backend
	s.emit(ctx, editors.Event{Type: editors.BackendChanged, Backend: &b})
	s.sessionUpdated(ctx)
}

// keepsLeftovers tells whether a sandbox that was left has content that is nowhere else. A local folder is never removed.
func keepsLeftovers(left Sandbox, out CarryOutput) bool {
	return out.LeftBehind > 0 && left.Backend.Kind != editors.Local
}

// leftovers says where what was left behind is.
func (s *session) leftovers(out CarryOutput) string {
	if n := len(s.Keeping); n > 0 && keepsLeftovers(s.Keeping[n-1], out) {
		return fmt.Sprintf("; what was left out there with content (%s) is only in that sandbox, which is kept until the session is destroyed", count(out.LeftBehind, "path"))
	}
	return ""
}

// holds remembers the checkpoint of what a sandbox holds after a carry, if it is known.
func (s *State) holds(out CarryOutput, what string) {
	if out.CheckpointID != "" {
		s.Session.CheckpointID, s.Pictured = out.CheckpointID, what
	}
}

// rebase remembers that part of what was carried from home did not travel on: on the way back, and to the parent of a fork, it
// must not look removed.
func (s *State) rebase(out CarryOutput) {
	if s.Base != "" && out.Base != "" {
		s.Base = out.Base
	}
	if out.Taken != "" {
		s.ForkTaken = out.Taken
	}
}

// told says in the conversation, to the user and to the model, where the session is and what has come along.
func (s *session) told(ctx workflow.Context, op Op, out CarryOutput, askAgain bool) {
	name := s.placeName(s.place(s.Session.Backend))
	if out.Undo != "" {
		s.tellPicture(ctx, out.Undo, "Before coming back to "+name)
	}
	carried := came(out.Carry)
	if out.Undo == "" {
		carried = carriedAll(out.Carry)
	}
	carried += leftOut(out.Carry) + s.leftovers(out) + undecided(out.Carry)
	if out.CheckpointID == "" {
		s.pictureAfter(ctx, op, "switch", "After moving to "+name)
	}
	text := fmt.Sprintf("Now runs in %s: %s; %s", name, carried, doesNotTravel)
	if askAgain {
		text += "; what you always allowed there is asked again here"
	}
	s.notice(ctx, s.Session.TurnID, text+undoHint(out.Undo))
	s.note("The session has moved: files and commands are now in "+name+", and no longer where they were.",
		"Of the workspace, "+carried+".",
		"What was installed or started elsewhere is not here: "+doesNotTravel+". Look at what is there before you rely on it.",
		strings.Join(firstOf(out.Notes, maxTold, maxName), " "))
}
