// This file applies patches to the workspace, once, whatever dies meanwhile.

package tools

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

// applyTime is how long applying may take. It is not interrupted: it is short, and half a wait would leave its outcome open.
const applyTime = time.Minute

// patchArgs are the arguments of apply_patch.
type patchArgs struct {
	Patch string `json:"patch"`
}

// patchPlan is what is remembered of a patch before it is applied: a worker that runs the call again after that cannot
// compute it any more, because the files may already be changed. Once it is applied only the result is kept.
type patchPlan struct {
	Edits  []sandbox.Edit    `json:"edits,omitempty"`
	Saw    map[string]string `json:"saw,omitempty"` // what the model then knows of the files; see saw
	Result Result            `json:"result"`
	Done   bool              `json:"done,omitempty"`
}

func patchKey(effectID string) string { return "patch " + effectID }

// runPatch runs apply_patch. If a file changes between being read and being written, the patch is computed once more from
// what is there then: it applies if it still fits exactly one place.
func runPatch(ctx context.Context, env Env, call Call) (Result, error) {
	var args patchArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	parsed, err := parsePatch(env, args.Patch)
	if err != nil {
		return Result{}, err
	}
	result, err := applyOnce(ctx, env, call.EffectID, parsed)
	if sandbox.ClassOf(err) == sandbox.ClassConflict {
		result, err = applyOnce(ctx, env, call.EffectID+"/2", parsed)
	}
	return result, err
}

// parsePatch reads a patch and makes its paths relative to the workspace.
func parsePatch(env Env, text string) (patch.Patch, error) {
	if strings.TrimSpace(text) == "" {
		return patch.Patch{}, sandbox.Errorf(sandbox.ClassInvalid, "apply patch", "the patch is empty")
	}
	parsed, err := patch.Parse(text)
	if err != nil {
		return parsed, err
	}
	for i := range parsed.Files {
		f := &parsed.Files[i]
		f.Path = relative(env, f.Path)
		if f.MoveTo != "" {
			f.MoveTo = relative(env, f.MoveTo)
		}
	}
	return parsed, nil
}

// applyOnce applies a patch under an effect id, or returns what came of it before.
func applyOnce(ctx context.Context, env Env, id string, parsed patch.Patch) (Result, error) {
	var plan patchPlan
	known, err := loadPlan(ctx, env, patchKey(id), &plan)
	if err != nil || plan.Done {
		return plan.Result, err
	}
	if !known {
		if plan, err = planPatch(ctx, env, parsed); err != nil {
			return Result{}, err
		}
		if len(plan.Edits) == 0 {
			return plan.Result, nil
		}
		if err := savePlan(ctx, env, patchKey(id), plan); err != nil {
			return Result{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTime)
	defer cancel()
	if err := env.Sandbox.Apply(ctx, id, plan.Edits); err != nil {
		return Result{}, err
	}
	if o, ok := env.Sandbox.(*overlaid); ok && o.wrote {
		plan.Result.ForModel += inEditor
	}
	for path, sum := range plan.Saw {
		saw(ctx, env, path, sum)
	}
	// From here on the plan only saves work: without it, the sandbox would give the recorded outcome again.
	_ = savePlan(ctx, env, patchKey(id), patchPlan{Result: plan.Result, Done: true})
	return plan.Result, nil
}

// planPatch computes what a patch changes and what will be said of it.
func planPatch(ctx context.Context, env Env, parsed patch.Patch) (patchPlan, error) {
	files := filesOf{ctx: ctx, env: env, seen: map[string]string{}, now: map[string][]byte{}}
	changes, err := patch.Apply(parsed, files.read)
	if err != nil {
		return files.refused(err)
	}
	result := Result{Status: editors.ItemCompleted}
	if len(changes) == 0 {
		result.ForModel = "The patch changes nothing: the files are so already.\n"
		return patchPlan{Result: result}, nil
	}
	var edits []sandbox.Edit
	var summary strings.Builder
	for _, c := range changes {
		edits = append(edits, editOf(c))
		result.Files = append(result.Files, editors.FileChange{Path: c.Path, Kind: changeKind(c)})
		summary.WriteString(files.summarize(c))
	}
	text, left := headLines(summary.String(), MaxModelBytes-notesRoom)
	result.ForModel = "Done:\n" + text
	if left > 0 {
		result.ForModel += fmt.Sprintf("and %d more files\n", left)
	}
	result.showDiff(ctx, env, patch.Diff(changes))
	return patchPlan{Edits: edits, Saw: files.saw(changes), Result: result}, nil
}

// showDiff previews a diff and keeps it if the preview cuts it.
func (r *Result) showDiff(ctx context.Context, env Env, diff string) {
	r.DiffBytes = int64(len(diff))
	text := valid(diff)
	r.Diff, _ = headLines(text, MaxDiffBytes)
	if r.Diff == "" { // a single line that is longer
		r.Diff = Head(text, MaxDiffBytes)
	}
	if r.Diff != diff {
		r.keep(ctx, env, "diff", []byte(diff))
	}
}

// filesOf reads the files that a patch names.
type filesOf struct {
	ctx  context.Context
	env  Env
	seen map[string]string // hashes of those that have changed since the model saw them: as it saw them
	now  map[string][]byte // what is in the files
}

// read is the function that patch.Apply takes.
func (f filesOf) read(name string) (patch.File, error) {
	entry, err := f.env.Sandbox.Stat(f.ctx, name)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return patch.File{}, fmt.Errorf("reading %s: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return patch.File{}, err
	}
	refuse := func(class sandbox.Class, why string) (patch.File, error) {
		return patch.File{}, &sandbox.Error{Class: class, Op: "apply patch", Path: name, Message: why}
	}
	switch {
	case entry.Mode.IsDir():
		return refuse(sandbox.ClassInvalid, "this is a directory")
	case entry.Mode&fs.ModeSymlink != 0:
		return refuse(sandbox.ClassInvalid, "this is a link to "+show(entry.Target)+"; patch that file instead")
	case !entry.Mode.IsRegular():
		return refuse(sandbox.ClassInvalid, "this is not a regular file")
	case entry.Size > patch.MaxFileBytes:
		return refuse(sandbox.ClassLimit, "the file is too large to be patched; change it by a command instead")
	}
	content, err := f.env.Sandbox.ReadFile(f.ctx, name, 0, patch.MaxFileBytes)
	if err != nil {
		return patch.File{}, err
	}
	if content.Size > int64(len(content.Data)) {
		return refuse(sandbox.ClassConflict, "the file grows while it is read; try again")
	}
	stale := f.stale(name, content.Data)
	return patch.File{Data: content.Data, Mode: content.Mode.Perm(), Exact: stale}, nil
}

// editOf makes the edit for a change, guarded by what the file was when it was read.
func editOf(c patch.Change) sandbox.Edit {
	e := sandbox.Edit{Path: c.Path}
	if c.Before != nil {
		e.Before = sumOf(c.Before.Data)
	}
	if c.After == nil {
		e.Delete = true
		return e
	}
	e.Content, e.Mode = c.After.Data, c.After.Mode
	return e
}

func changeKind(c patch.Change) string {
	switch {
	case c.Before == nil:
		return "added"
	case c.After == nil:
		return "removed"
	}
	return "changed"
}

// summarize says in one line what became of a file; of a move, only its target says something.
func summarize(c patch.Change) string {
	switch {
	case c.After == nil && c.MovedTo != "":
		return ""
	case c.After == nil:
		return "Deleted " + show(c.Path) + "\n"
	case c.From != "":
		return "Moved " + show(c.From) + " to " + show(c.Path) + "\n"
	case c.Before == nil:
		return "Created " + show(c.Path) + count(c) + "\n"
	}
	return "Updated " + show(c.Path) + count(c) + "\n"
}

// count says how many lines a change adds and removes.
func count(c patch.Change) string {
	added, removed := 0, 0
	diff := c.Diff()
	header := strings.Index(diff, "\n@@ ")
	if header < 0 {
		return ""
	}
	for line := range strings.Lines(diff[header+1:]) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return " (+" + strconv.Itoa(added) + " -" + strconv.Itoa(removed) + ")"
}
