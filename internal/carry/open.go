// This file makes a fresh sandbox that holds the tree of a checkpoint.

package carry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/workspace"
)

const opOpen = "open a sandbox with what was carried"

// Carrier carries workspaces by the checkpoints of one host.
type Carrier struct {
	Store  *checkpoint.Store
	Forks  workspace.Forks
	HostID string // whose the folders of forks are
	// Fault is called before every step with its name; an error makes the step fail. For tests; may be nil.
	Fault func(step string) error
}

// The steps that Carrier.Fault is told of.
const (
	StepDerived  = "carry-derived"  // what travels is a checkpoint of its own
	StepOpened   = "carry-opened"   // the new sandbox is there, empty
	StepFilled   = "carry-filled"   // the tree is in it
	StepVerified = "carry-verified" // it was compared with what was sent
	StepHealthy  = "carry-healthy"  // commands run in it
	StepMerging  = "merge-begin"    // the target is open, and nothing was done to it
	StepMerged   = "merge-end"      // all is done but the answer
)

func (c *Carrier) fault(step string) error {
	if c.Fault == nil {
		return nil
	}
	return c.Fault(step)
}

// Place is a sandbox as it is to be opened.
type Place struct {
	Backend sandbox.Backend
	Spec    sandbox.Spec
}

func (p Place) ref() sandbox.Ref {
	return sandbox.Ref{Kind: p.Backend.Kind(), ID: p.Spec.ID, Workspace: p.Spec.Workspace}
}

func (p Place) local() bool { return p.Backend.Kind() == sandbox.KindLocal }

// Opening asks for a fresh sandbox with the tree of a checkpoint.
type Opening struct {
	To         Place
	From       Origin
	Checkpoint string
	Base       string // the user's own tree that Checkpoint began as; "": it is the user's own
	Taken      string // of a fork, the checkpoint up to which its parent has its changes; "": there is none
	Rules      Rules
	// Session is whose the sandbox will be. An Effect makes repeating the opening harmless.
	Session checkpoint.Ref
	Take    checkpoint.TakeOptions // how workspaces are pictured
	// IntoNonEmpty consents to a local folder that has files: they stay, and what is not among them comes.
	IntoNonEmpty bool
	DryRun       bool     // opens nothing
	Home         string   // the session's own folder: the sandbox may be in it, but neither inside nor around it
	Apart        []string // folders that a local sandbox must have nothing to do with
	Others       []string // and those of other sessions, unless it is in Home
	SamePlace    bool     // the folder is the session's already, whoever else has it
}

// Origin is where a checkpoint was taken.
type Origin struct {
	Local  bool   // on the user's own files
	Folder string // absolute path of the user's folder
}

// Opened is the outcome.
type Opened struct {
	Carry      editors.Carry
	Checkpoint string // the tree of the new sandbox, kept for the session
	Base       string // what of the user's own tree has a counterpart there, kept for the session: what a way back compares with
	Taken      string // what of Opening.Taken has a counterpart there, kept for the session: what an adoption compares with
	LeftBehind int    // paths of the source that have content and are in no checkpoint
	Notes      []string
}

// Open makes the sandbox, fills it, compares it with what was sent and tries a command. The session relies on it only when
// all of that has succeeded; otherwise nothing of it is left.
func (c *Carrier) Open(ctx context.Context, o Opening) (Opened, error) {
	if o.Session.Effect == "" {
		o.Session.Effect = uuid.NewString()
	}
	if err := c.suitable(&o); err != nil {
		return Opened{}, err
	}
	if err := c.apart(ctx, &o); err != nil {
		return Opened{}, err
	}
	t, err := c.travel(ctx, &o)
	if err != nil {
		return Opened{}, c.Store.Blame(ctx, err, o.Checkpoint, o.Base)
	}
	if o.DryRun {
		return t.out, c.planMeeting(ctx, &o, t)
	}
	if err := c.make(ctx, &o, t); err != nil {
		return Opened{}, err
	}
	return t.out, nil
}

// travelling is a tree on its way.
type travelling struct {
	sent   checkpoint.Info
	pinned []checkpoint.Ref
	// repository is the git directory that a .git file of the source names, outside of its folder.
	repository     string
	madeRepository bool
	met            checkpoint.Ref // by which a meeting is undone
	out            Opened
}

// make does what leaves traces, and takes them away when it fails for good.
func (c *Carrier) make(ctx context.Context, o *Opening, t *travelling) error {
	d := c.directory(o)
	err := c.fill(ctx, o, t, d)
	if err == nil || stopped(ctx) {
		return err // what is there is found again by the next try
	}
	return also(err, c.clear(ctx, o, t, d))
}

// also adds to an error what could not be taken away. What is only out of reach now goes by itself, when it is within reach.
func also(err, left error) error {
	if left == nil || sandbox.ClassOf(left) == sandbox.ClassUnavailable {
		return err
	}
	e := &sandbox.Error{Class: sandbox.ClassOf(err), Op: opOpen, Message: err.Error(), Err: err}
	var known *sandbox.Error
	if errors.As(err, &known) {
		e.Message = known.Message
	}
	e.Message += "; what was made for it is left: " + left.Error()
	return e
}

// ErrStopped is the cause of a context that ends because this process does: what was begun will be continued.
var ErrStopped = errors.New("the worker is stopping")

func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrStopped) }

// fill opens the sandbox and does everything to it.
func (c *Carrier) fill(ctx context.Context, o *Opening, t *travelling, d *directory) error {
	if err := d.make(); err != nil {
		return err
	}
	o.To.Spec.Empty = true
	sb, err := o.To.Backend.Open(ctx, o.To.Spec)
	if err != nil {
		return err
	}
	defer sb.Close()
	w, done, err := c.workspace(o.To, sb)
	if err != nil {
		return err
	}
	defer done()
	if err := c.fault(StepOpened); err != nil {
		return err
	}
	if err := c.bring(ctx, o, t, w); err != nil {
		return err
	}
	if err := c.fault(StepVerified); err != nil {
		return err
	}
	if err := try(ctx, sb, o.Session.Effect); err != nil {
		return err
	}
	return c.fault(StepHealthy)
}

// workspace returns the files of an open sandbox. Those of a local one are reached past it: it holds in place, by mounts that
// nothing can be renamed across, what git runs.
func (c *Carrier) workspace(p Place, sb sandbox.Sandbox) (checkpoint.Workspace, func(), error) {
	if !p.local() {
		w, err := checkpoint.Of(sb)
		return w, func() {}, err
	}
	folder, err := c.Store.Folder(p.Spec.Workspace)
	if err != nil {
		return nil, nil, err
	}
	return folder, folder.Close, nil
}

// fillOf names the effect that fills the workspace. The folder's journal knows it, so that what another try has put there is
// known from what somebody else has.
func fillOf(o *Opening) string { return o.Session.Effect + "/fill" }

// bring puts the tree into the workspace and compares.
func (c *Carrier) bring(ctx context.Context, o *Opening, t *travelling, w checkpoint.Workspace) error {
	err := c.Store.RestoreEmpty(ctx, t.sent.ID, w, fillOf(o))
	if sandbox.ClassOf(err) == sandbox.ClassConflict && o.To.local() {
		return c.meet(ctx, o, t, w)
	}
	if err != nil {
		return noRoom(o, t, err)
	}
	if err := c.fault(StepFilled); err != nil {
		return err
	}
	now, err := c.Store.Take(ctx, w, t.take(o))
	if err != nil {
		return err
	}
	if err := c.compare(ctx, t, now); err != nil {
		return err
	}
	if now.Root != t.sent.Root {
		if err := c.arrived(o, t, now); err != nil {
			return err
		}
	}
	return t.ownRepository(o)
}

// arrived keeps the tree of the new sandbox where it is not the one that was sent.
func (c *Carrier) arrived(o *Opening, t *travelling, now checkpoint.Info) error {
	pin := o.Session
	pin.Checkpoint, t.out.Checkpoint, pin.Lacks = now.ID, now.ID, t.sent.ID
	t.pinned = append(t.pinned, pin)
	return c.Store.Pin(pin)
}

// compare fails unless the new workspace holds what was sent. Times, and which files are hard links of each other, are
// told where the file system does not keep them.
func (c *Carrier) compare(ctx context.Context, t *travelling, now checkpoint.Info) error {
	if now.Root == t.sent.Root {
		return nil
	}
	const most = 256 // repositories that were completed
	d, err := c.Store.Diff(ctx, t.sent.ID, now.ID, checkpoint.DiffOptions{MaxFiles: most, Patches: true})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(d.Files, func(f checkpoint.FileDiff) bool { return !completed(f) })
	switch {
	case at < 0 && !d.Truncated && len(d.Files) == 0:
		t.out.Notes = append(t.out.Notes, "The new sandbox does not keep all times and hard links of files.")
		return nil
	case at < 0 && !d.Truncated:
		return nil
	}
	return &sandbox.Error{
		Class: sandbox.ClassConflict, Op: opOpen, Path: d.Files[max(at, 0)].Path,
		Message: "the new sandbox does not hold what was sent: something changed it meanwhile, or its file system cannot hold it",
	}
}

// completed tells whether a difference is what a local sandbox makes when it is opened: what git obeys, empty, so that it can
// be held in place.
func completed(f checkpoint.FileDiff) bool {
	if _, ok := repo.Of(f.Path); !ok || f.Kind != checkpoint.Added {
		return false
	}
	switch path.Base(f.Path) {
	case "hooks":
		return strings.HasSuffix(f.Path, "/")
	case "config", "config.worktree":
		return f.Added == 0 && !f.Binary
	}
	return false
}

const tryTime = 30 * time.Second

// try runs a command that does nothing.
func try(ctx context.Context, sb sandbox.Sandbox, effect string) error {
	if err := sb.Health(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	id := "carry-" + tree.Sum([]byte(effect)).String()
	if err := sb.Start(ctx, id, sandbox.Command{Script: "exit 0", Timeout: tryTime}); err != nil {
		return err
	}
	for {
		st, err := sb.Wait(ctx, id, sandbox.Offsets{}, tryTime)
		switch {
		case err != nil:
			return err
		case st.State == sandbox.StateRunning:
			continue
		case st.State == sandbox.StateLost: // with the worker that tried before
			return nil
		case st.ExitCode != 0:
			return sandbox.Errorf(sandbox.ClassUnavailable, opOpen, "commands do not run in the new sandbox: %s (exit status %d)", st.Failure, st.ExitCode)
		}
		return nil
	}
}

// clear takes away what a failed opening has made. ctx may have ended.
func (c *Carrier) clear(ctx context.Context, o *Opening, t *travelling, d *directory) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTime)
	defer cancel()
	for _, pin := range t.pinned {
		_ = c.Store.Unpin(pin) // destroying the session does it again
	}
	if err := o.To.Backend.Destroy(ctx, o.To.ref()); err != nil {
		return err
	}
	if err := c.takeBack(ctx, o, t); err != nil {
		return err
	}
	if err := c.part(ctx, o, t); err != nil {
		return err
	}
	return d.remove()
}

const clearTime = 2 * time.Minute

// takeBack takes out of a local folder what was put into it here, and nothing else.
func (c *Carrier) takeBack(ctx context.Context, o *Opening, t *travelling) error {
	if !o.To.local() {
		return nil
	}
	if _, err := os.Lstat(o.To.Spec.Workspace); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	folder, err := c.Store.Folder(o.To.Spec.Workspace)
	if err != nil {
		return err
	}
	defer folder.Close()
	return c.Store.TakeBack(ctx, func() tree.Hash { return c.put(ctx, o, t, folder) }, folder, fillOf(o))
}

// put is the tree that is in the folder because of this opening: what was sent and, when nobody else has been there, what
// opening a sandbox and making a repository have added.
func (c *Carrier) put(ctx context.Context, o *Opening, t *travelling, w checkpoint.Workspace) tree.Hash {
	now, err := c.Store.Take(ctx, w, t.take(o))
	if err != nil || c.compare(ctx, t, now) != nil {
		return t.sent.Root
	}
	if t.madeRepository {
		take := o.Take
		take.Pin, take.Parent = nil, now.ID
		if all, err := c.Store.Take(ctx, w, take); err == nil {
			now = all
		}
	}
	return now.Root
}

// take says how the new workspace is pictured. A repository that is made for it was not sent.
func (t *travelling) take(o *Opening) checkpoint.TakeOptions {
	take := o.Take
	take.Parent, take.Pin = t.sent.ID, nil
	if t.repository != "" {
		take.Excludes = append(slices.Clone(take.Excludes), "/"+gitName, "/"+gitUnfinished)
	}
	return take
}
