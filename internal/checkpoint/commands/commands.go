// Package commands answers the contract's commands on checkpoints, for a session's sandbox or for a plain folder, and
// says what went wrong in the contract's codes.
package commands

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/config"
	"sandboxagent/internal/sandbox"
)

// Bounds of answers, which are one message each.
const (
	maxListed  = 1000      // checkpoints, the newest ones
	maxSkipped = 100       // paths
	maxPaths   = 2000      // of a restore, in each list
	maxPatches = 256 << 10 // bytes
	maxAnswer  = 800 << 10 // bytes of JSON; editors.MaxMessageBytes leaves room for the rest of the message
	shortID    = 12
)

// Subject is what checkpoints are of.
type Subject struct {
	Store *checkpoint.Store
	// Open opens the workspace when it is needed.
	Open     func(ctx context.Context) (checkpoint.Workspace, error)
	Owner    string
	Session  string // or, without session,
	Folder   string // absolute path
	Excludes []string
	Limits   worktree.Limits
	Progress func(worktree.Progress) // may be nil
	Held     map[string]string       // paths with unsaved changes in an editor, with the reason why they stay
	// Comes returns what of a checkpoint may come into the workspace by a restore; it is kept unless keep is false. nil: all.
	Comes func(ctx context.Context, id string, keep bool) (string, error)
}

// Configure applies what the user has configured.
func (s *Subject) Configure(c config.Checkpoint) {
	s.Excludes = c.Excludes()
	s.Limits = worktree.Limits{Files: int(min(c.Files, worktree.MaxSteps)), Bytes: c.Bytes, File: c.FileSize}
}

// List lists the checkpoints, oldest first.
func (s Subject) List(context.Context, editors.SessionParams) (editors.CheckpointsResult, error) {
	out := editors.CheckpointsResult{Checkpoints: []editors.Checkpoint{}}
	refs, err := s.refs()
	if err != nil {
		return out, Error(err)
	}
	for _, r := range refs[max(0, len(refs)-maxListed):] {
		out.Checkpoints = append(out.Checkpoints, describe(r))
	}
	return out, nil
}

func (s Subject) refs() ([]checkpoint.Ref, error) { return s.Store.List(s.Session, s.Folder) }

func describe(r checkpoint.Ref) editors.Checkpoint {
	return editors.Checkpoint{ID: r.Checkpoint, TurnID: r.Turn, ItemID: r.Item, At: r.At, Summary: r.Summary}
}

// Take takes a checkpoint now.
func (s Subject) Take(ctx context.Context, p editors.CheckpointParams) (editors.CheckpointResult, error) {
	if p.Summary == "" {
		p.Summary = "Requested"
	}
	ref := s.ref(checkpoint.Requested, p.Summary)
	if ref.Effect = p.RequestID; ref.Effect == "" {
		ref.Effect = uuid.NewString()
	}
	info, err := s.take(ctx, &ref)
	if err != nil {
		return editors.CheckpointResult{}, Error(err)
	}
	out := editors.CheckpointResult{
		Checkpoint: describe(ref), Files: info.Files, Bytes: info.Bytes, Unchanged: info.Reused, Partial: info.Partial,
		Skipped: []editors.Skipped{}, SkippedAll: len(info.Notes),
	}
	for _, n := range info.Notes[:min(len(info.Notes), maxSkipped)] {
		out.Skipped = append(out.Skipped, editors.Skipped{Path: text(n.Path), Reason: n.Reason.String()})
	}
	return out, nil
}

func (s Subject) ref(reason checkpoint.Reason, summary string) checkpoint.Ref {
	return checkpoint.Ref{Owner: s.Owner, Session: s.Session, Folder: s.Folder, Reason: reason, Summary: summary, At: time.Now()}
}

// take pictures the workspace; without a pin for the moment only.
func (s Subject) take(ctx context.Context, pin *checkpoint.Ref) (checkpoint.Info, error) {
	refs, err := s.refs()
	if err != nil {
		return checkpoint.Info{}, err
	}
	w, err := s.Open(ctx)
	if err != nil {
		return checkpoint.Info{}, err
	}
	o := s.options(refs)
	o.Pin = pin
	return s.Store.Take(ctx, w, o)
}

func (s Subject) options(refs []checkpoint.Ref) checkpoint.TakeOptions {
	o := checkpoint.TakeOptions{Excludes: s.Excludes, Limits: s.Limits, Progress: s.Progress}
	if len(refs) > 0 {
		o.Parent = refs[len(refs)-1].Checkpoint
	}
	return o
}

// Diff compares two checkpoints, by default the oldest one and the workspace as it is now.
func (s Subject) Diff(ctx context.Context, p editors.DiffParams) (editors.DiffResult, error) {
	out := editors.DiffResult{Files: []editors.FileDiff{}}
	refs, err := s.refs()
	if err != nil {
		return out, Error(err)
	}
	from, err := s.find(refs, p.From, 0)
	if err != nil {
		return out, Error(err)
	}
	to, err := s.pictured(ctx, p.To)
	if err != nil {
		return out, Error(err)
	}
	d, err := s.Store.Diff(ctx, from, to, checkpoint.DiffOptions{Paths: p.Paths, Patches: true, MaxBytes: maxPatches})
	if err != nil {
		return out, Error(err)
	}
	return bounded(d), nil
}

// find returns the checkpoint of this subject that is meant by an id or its beginning; "" means the one at place.
func (s Subject) find(refs []checkpoint.Ref, id string, place int) (string, error) {
	if len(refs) == 0 {
		return "", editors.Errorf(editors.CodeNotFound, "there is no checkpoint yet").WithRemedy("Take one: sandbox-agent checkpoint")
	}
	if id == "" {
		return refs[place].Checkpoint, nil
	}
	full, err := s.Store.Find(id)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(refs, func(r checkpoint.Ref) bool { return r.Checkpoint == full }) {
		return "", sandbox.Errorf(sandbox.ClassNotFound, "find checkpoint", "checkpoint %.*s belongs to something else", shortID, full)
	}
	return full, nil
}

// bounded makes a diff an answer that fits into a message.
func bounded(d checkpoint.Diff) editors.DiffResult {
	out := editors.DiffResult{Files: []editors.FileDiff{}, Truncated: d.Truncated}
	left := maxAnswer
	for _, f := range d.Files {
		e := editors.FileDiff{
			Path: text(f.Path), Kind: string(f.Kind), OldPath: text(f.OldPath), Binary: f.Binary, Added: f.Added, Removed: f.Removed, Patch: f.Patch,
		}
		if size(e) > left {
			e.Patch, out.Truncated = "", true
		}
		if left -= size(e); left < 0 {
			break
		}
		out.Files = append(out.Files, e)
	}
	return out
}

func size(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return maxAnswer
	}
	return len(b) + 1
}

// Restore brings the workspace back to a checkpoint. What the user changed since the agent last worked stays.
func (s Subject) Restore(ctx context.Context, p editors.RestoreParams) (editors.RestoreResult, error) {
	refs, err := s.refs()
	if err != nil {
		return editors.RestoreResult{}, Error(err)
	}
	if p.CheckpointID == "" {
		return editors.RestoreResult{}, editors.Errorf(editors.CodeInvalidParams, "checkpointId is empty").WithRemedy("List the checkpoints, and name one.")
	}
	id, err := s.find(refs, p.CheckpointID, 0)
	if err != nil {
		return editors.RestoreResult{}, Error(err)
	}
	w, err := s.Open(ctx)
	if err != nil {
		return editors.RestoreResult{}, Error(err)
	}
	pin := s.ref(checkpoint.Undo, "Before restoring "+called(refs, id))
	o := checkpoint.RestoreOptions{Paths: s.relative(p.Paths), DryRun: p.DryRun, EffectID: p.RequestID, Pin: &pin, Take: s.options(refs), Held: s.Held}
	if s.Session != "" { // nobody but the user works on a plain folder
		o.LastSeen, o.Since = checkpoint.LastSeen(refs, id, p.RequestID)
	}
	for _, r := range refs {
		if r.Checkpoint == id && r.Lacks != "" && !slices.Contains(o.Lacks, r.Lacks) {
			o.Lacks = append(o.Lacks, r.Lacks)
		}
	}
	if s.Comes != nil {
		if id, err = s.Comes(ctx, id, !p.DryRun); err != nil {
			return editors.RestoreResult{}, Error(err)
		}
	}
	out, err := s.Store.RestoreOnto(ctx, id, w, o)
	if err != nil {
		return editors.RestoreResult{}, Error(err)
	}
	return answer(out), nil
}

// Summary says what a checkpoint of this subject is of, "" where there is none of that id.
func (s Subject) Summary(id string) string {
	refs, err := s.refs()
	if err != nil {
		return ""
	}
	full, err := s.find(refs, id, 0)
	if err != nil {
		return ""
	}
	return summaryOf(refs, full)
}

// summaryOf is what the checkpoint was taken for first.
func summaryOf(refs []checkpoint.Ref, id string) string {
	at := slices.IndexFunc(refs, func(r checkpoint.Ref) bool { return r.Checkpoint == id })
	if at < 0 {
		return ""
	}
	return refs[at].Summary
}

// called is what people know a checkpoint by.
func called(refs []checkpoint.Ref, id string) string {
	if summary := summaryOf(refs, id); summary != "" && !strings.Contains(summary, " restoring ") {
		return strconv.Quote(summary)
	}
	return id[:shortID]
}

// relative makes paths below a plain folder relative to it; others are for the store to judge.
func (s Subject) relative(paths []string) []string {
	var out []string
	for _, path := range paths {
		if rel, err := filepath.Rel(s.Folder, path); s.Folder != "" && filepath.IsAbs(path) && err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		out = append(out, path)
	}
	return out
}

func answer(r checkpoint.Restored) editors.RestoreResult {
	out := editors.RestoreResult{Restored: []string{}, Files: []editors.FileChange{}, Kept: []string{}, Conflicts: []string{}, Undo: r.Undo}
	left := maxAnswer
	fits := func(bytes, listed int) bool {
		left -= bytes
		ok := left >= 0 && listed < maxPaths
		out.Truncated = out.Truncated || !ok
		return ok
	}
	for _, k := range r.Kept {
		list, path := &out.Kept, text(k.Path)
		if k.Conflict {
			list = &out.Conflicts
		}
		if !fits(2*size(path)+size(k.Reason), len(*list)) {
			continue
		}
		*list = append(*list, path)
		if out.Reasons == nil {
			out.Reasons = map[string]string{}
		}
		out.Reasons[path] = k.Reason
	}
	for _, f := range r.Files {
		change := editors.FileChange{Path: text(f.Path), Kind: string(f.Kind)}
		if !fits(size(change)+size(change.Path), len(out.Files)) {
			continue
		}
		out.Files = append(out.Files, change)
		out.Restored = append(out.Restored, change.Path)
	}
	return out
}

// text makes a path what JSON can hold.
func text(path string) string { return strings.ToValidUTF8(path, "\ufffd") }

var codes = map[sandbox.Class]editors.Code{
	sandbox.ClassInvalid: editors.CodeInvalidParams, sandbox.ClassDenied: editors.CodeDenied, sandbox.ClassNotFound: editors.CodeNotFound,
	sandbox.ClassConflict: editors.CodeConflict, sandbox.ClassLimit: editors.CodeLimit, sandbox.ClassUnavailable: editors.CodeBackendUnavailable,
	sandbox.ClassCorrupt: editors.CodeCorruptCheckpoint, sandbox.ClassUnsupported: editors.CodeUnsupported, sandbox.ClassCanceled: editors.CodeCancelled,
}

// Error says an error of the sandbox layer in the contract's codes.
func Error(err error) error {
	var known *editors.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	code, ok := codes[sandbox.ClassOf(err)]
	if !ok {
		code = editors.CodeInternal
	}
	e := editors.Errorf(code, "%w", err)
	var s *sandbox.Error
	if errors.As(err, &s) && s.Message != "" {
		e.Message, e.Detail = s.Message, err.Error()
		if s.Path != "" {
			e.Message = strconv.Quote(s.Path) + ": " + s.Message
		}
	}
	return e
}
