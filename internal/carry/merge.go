// This file brings what changed in one workspace onto the files of another.

package carry

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/workspace"
)

// Merging asks to bring what changed from Base to Theirs into a workspace that has files of its own.
type Merging struct {
	To     Place
	From   Origin // where Theirs was taken
	Base   string // checkpoint that both sides go back to; "": an empty folder
	Theirs string // checkpoint
	Rules  Rules  // of what of Theirs may come where the target is not on this machine
	// OnConflict says what becomes of what both sides changed.
	OnConflict checkpoint.OnConflict
	Held       map[string]string // paths that are not to be touched, and why
	// Session is whose the target is; its Summary is that of the checkpoint by which the merge is undone. An Effect makes
	// repeating the merge harmless.
	Session checkpoint.Ref
	Take    checkpoint.TakeOptions
	DryRun  bool
}

// Outcome is that of a merge. When it was not Applied there are conflicts, and nothing was changed.
type Outcome struct {
	Carry   editors.Carry
	Undo    string // checkpoint of the target as it was
	Applied bool
	Notes   []string
	// LeftBehind counts the paths of the source that have content and are in no checkpoint: they are there only.
	LeftBehind int
}

// Merge merges. What comes is kept for the session unless the run is dry, so that what was left out of it can be seen and taken.
func (c *Carrier) Merge(ctx context.Context, m Merging) (Outcome, error) {
	if m.Session.Effect == "" {
		m.Session.Effect = uuid.NewString()
	}
	theirs, left, err := c.comes(ctx, &m)
	if err != nil {
		return Outcome{}, err
	}
	if session, ok := c.Forks.Of(m.To.Spec.Workspace); ok && m.To.local() && !m.DryRun {
		fork := workspace.Fork{Session: session, Owner: m.To.Spec.Owner, HostID: c.HostID, Realm: m.To.Spec.Realm}
		if err := c.Forks.Make(m.To.Spec.Workspace, fork); err != nil {
			return Outcome{}, err
		}
	}
	sb, err := m.To.Backend.Open(ctx, m.To.Spec)
	if err != nil {
		return Outcome{}, err
	}
	defer sb.Close()
	w, done, err := c.workspace(m.To, sb)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	if err := c.fault(StepMerging); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Carry: editors.Carry{Skipped: []editors.Skipped{}, Conflicts: []editors.Skipped{}}}
	undo := m.Session
	o := checkpoint.MergeOptions{
		Base: m.Base, Theirs: theirs, DryRun: m.DryRun, OnConflict: m.OnConflict, Git: checkpoint.GitMerge,
		EffectID: m.Session.Effect, Pin: &undo, Take: m.Take, Held: m.Held,
	}
	if m.sharesRepository() {
		o.Git, o.GitStays = checkpoint.GitLeave, m.commitsStay()
		out.Notes = append(out.Notes, strings.ToUpper(o.GitStays[:1])+o.GitStays[1:]+".")
	}
	merged, err := c.Store.Merge(ctx, w, o)
	if err != nil {
		return Outcome{}, err
	}
	for _, l := range left {
		skip(&out.Carry, l.Path, l.Reason)
	}
	report(&out.Carry, merged)
	source, err := c.Store.Stat(m.Theirs)
	if err != nil {
		return Outcome{}, err
	}
	out.LeftBehind = leftThere(&out.Carry, source.Notes, merged.Kept)
	out.Undo, out.Applied = merged.Undo, merged.Applied
	if !m.DryRun {
		out.Carry.Theirs = theirs
	}
	return out, c.fault(StepMerged)
}

// comes keeps what comes for the session. Nothing that git would run comes out of a container.
func (c *Carrier) comes(ctx context.Context, m *Merging) (theirs string, left []checkpoint.Left, err error) {
	var o checkpoint.DeriveOptions
	if m.Rules.Leaves {
		from, err := c.Store.Stat(m.Theirs)
		if err != nil {
			return "", nil, err
		}
		set, err := m.Rules.Apply(ctx, c.Store, from.Root)
		if err != nil {
			return "", nil, err
		}
		o.Drop = set.Drop
	}
	if m.To.local() && !m.From.Local {
		o.GitFrom = &m.Base
	}
	if !m.DryRun {
		pin := m.Session
		pin.Reason, pin.Summary = checkpoint.Carry, "What came"
		pin.Effect, pin.Lacks = pin.Effect+"/theirs", m.Base
		o.Pin = &pin
	}
	info, left, err := c.Store.Derive(ctx, m.Theirs, o)
	return info.ID, left, err
}

// commitsStay says why the commits of the other side do not come, and how to get them.
func (m *Merging) commitsStay() string {
	why := "commits made elsewhere did not come, since the folder's repository is another folder's too"
	if m.From.Local {
		why += ": git fetch " + m.From.Folder + " HEAD brings them"
	}
	return why
}

// sharesRepository tells whether the target is a linked work tree or a submodule, whose repository lies elsewhere.
func (m *Merging) sharesRepository() bool {
	if !m.To.local() {
		return false
	}
	info, err := os.Lstat(filepath.Join(m.To.Spec.Workspace, gitName))
	return err == nil && info.Mode().IsRegular()
}
