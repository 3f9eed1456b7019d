// This file defines what running a tool takes and gives, and runs the tool that a call names.

// Package tools holds the tools that the model may call: their definitions, their limits, and how they run in a sandbox.
// It knows nothing of workflows, approvals or editors' connections; whether a call may run is decided before it comes here.
package tools

import (
	"context"
	"errors"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/sandbox"
)

// Limits of what a tool gives back.
const (
	MaxModelBytes   = 12 << 10  // of Result.ForModel, but for read_file
	MaxReadBytes    = 256 << 10 // of Result.ForModel for read_file
	MaxPreviewBytes = 2 << 10   // of each of Output.Head and Output.Tail
	MaxDiffBytes    = 16 << 10  // of Result.Diff
	MaxArguments    = 8 << 10   // bytes; longer arguments are kept under Refs["arguments"]
	MaxKeptOutput   = 64 << 20  // bytes kept of each output stream
)

const maxError = 4 << 10 // bytes of Result.Error

// ErrDetach as the cause of ctx's cancellation makes Run leave a running command alone and return at once with an error:
// a worker that stops hands the command over that way. Run with the same effect id, anywhere, finds it again.
var ErrDetach = errors.New("detached from the running command")

// Call is one call of a tool.
type Call struct {
	EffectID  string // names the effect for ever: repeating it never repeats the effect
	Name      string
	Arguments string // JSON text as the model gave it
}

// Env is where a call runs. Sandbox, Blobs and Plans are required.
type Env struct {
	Sandbox sandbox.Sandbox
	Blobs   blob.Store
	Plans   Plans

	// Unsaved is what the user's editor shows otherwise than the files are, by path; InPlace says that the sandbox's files are
	// those that the editor has open, and not a copy of them. May be empty.
	Unsaved map[string]Unsaved
	InPlace bool
	// Open tells which of the sandbox's files editors show with unsaved changes now, by path. They are never written behind an
	// editor's back. nil: there are none.
	Open func() map[string]Open
	// Editor makes changes of unsaved documents in the editor that shows them: of all or, with an error, of none. Its error is of
	// class unknown when nobody can tell. nil: they cannot be made.
	Editor func(ctx context.Context, id string, changes []EditorChange) error

	// OnOutput gets live output of commands (stream is "stdout" or "stderr"), in order, never concurrently; it must be
	// quick. Pieces never split a character. After a re-attachment the output comes again from its beginning; what the
	// command produced faster than it could be passed on is skipped with a note. May be nil.
	OnOutput func(stream string, data []byte)
	// OnQuiet is told when a command that is waited for prints nothing for long, waits for input, or prints again; a few times
	// at most. It must be quick. May be nil.
	OnQuiet func(Quiet)
	// Beat is called once a second while Run works, from another goroutine. May be nil.
	Beat func()
}

// Result is the outcome of a call.
type Result struct {
	// ForModel is what the model is told: valid UTF-8 of at most MaxModelBytes (read_file: MaxReadBytes).
	ForModel string `json:"forModel"`
	// Status is completed for a call that ran, whatever its exit code; failed when it could not or timed out; interrupted
	// when ctx was canceled; unknown when nobody can tell whether it ran to its end.
	Status   editors.ItemStatus `json:"status"`
	ExitCode *int               `json:"exitCode,omitempty"`
	Output   *editors.Output    `json:"output,omitempty"`
	// Refs are blob references of what a preview cuts: stdout, stderr, diff, arguments.
	Refs map[string]string `json:"refs,omitempty"`
	// Images are shown to the model beside ForModel.
	Images    []editors.Image      `json:"images,omitempty"`
	Diff      string               `json:"diff,omitempty"` // at most MaxDiffBytes, cut at a line
	DiffBytes int64                `json:"diffBytes,omitempty"`
	Files     []editors.FileChange `json:"files,omitempty"`
	Error     string               `json:"error,omitempty"` // one sentence
	Cwd       string               `json:"cwd,omitempty"`   // relative to the workspace
	CommandID string               `json:"commandId,omitempty"`
	Running   bool                 `json:"running,omitempty"`   // the command goes on in the background
	StoppedBy string               `json:"stoppedBy,omitempty"` // the name of the user's client that stopped the command
	Duration  time.Duration        `json:"duration"`
}

// Run runs a call and waits for its end. What went wrong with the call itself is told in the Result. An error is returned
// only when the caller should act: it is a *sandbox.Error of class unavailable (retry), unknown (run again under the same
// effect id, which re-attaches) or canceled (a call without a command, whose effect did not happen). When ctx ends, a running
// foreground command is killed with everything it started and the Result, of status interrupted, holds its partial output;
// Run may then take up to 30 seconds longer. A command in the background lives on when a look at it is interrupted.
func Run(ctx context.Context, env Env, call Call) (Result, error) {
	started := time.Now()
	defer startBeat(env.Beat)()
	env = env.overlay()
	result, err := dispatch(ctx, env, call)
	if err != nil {
		if err := callersError(ctx, err); err != nil {
			return Result{}, err
		}
		result = failed(err)
	}
	keepArguments(ctx, env, call, &result)
	result.ForModel = valid(result.ForModel)
	if result.Duration == 0 {
		result.Duration = time.Since(started)
	}
	return result, nil
}

// dispatch runs the tool that the call names.
func dispatch(ctx context.Context, env Env, call Call) (Result, error) {
	switch call.Name {
	case execCommand:
		return runExec(ctx, env, call)
	case writeStdin:
		return runStdin(ctx, env, call)
	case readFile:
		return runRead(ctx, env, call)
	case list:
		return runList(ctx, env, call)
	case search:
		return runSearch(ctx, env, call)
	case applyPatch:
		return runPatch(ctx, env, call)
	case updatePlan:
		return runPlan(call)
	}
	return Result{}, sandbox.Errorf(sandbox.ClassInvalid, "run tool", "there is no tool %q; the tools are %s", call.Name, names())
}

// callersError returns err as an error that the caller must act on, or nil when it is to be told to the model.
func callersError(ctx context.Context, err error) error {
	switch sandbox.ClassOf(err) {
	case sandbox.ClassUnavailable, sandbox.ClassUnknown, sandbox.ClassCanceled:
		return err
	}
	if ctx.Err() != nil {
		return &sandbox.Error{Class: sandbox.ClassCanceled, Op: "run tool", Message: "the call was canceled", Err: err}
	}
	return nil
}

// failed is the result of a call that could not be done.
func failed(err error) Result {
	text := Head(sentence(err), maxError)
	return Result{ForModel: "Error: " + text, Status: editors.ItemFailed, Error: text}
}

// keepArguments stores arguments that are too long for an item.
func keepArguments(ctx context.Context, env Env, call Call, result *Result) {
	if len(call.Arguments) > MaxArguments {
		result.keep(ctx, env, "arguments", []byte(call.Arguments))
	}
}

// keep stores data and notes its reference, or says in the result that it could not be kept.
func (r *Result) keep(ctx context.Context, env Env, name string, data []byte) {
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	ref, err := blob.PutAll(ctx, env.Blobs, data)
	r.kept(name, ref, err)
}

// kept notes where something is stored, or that it could not be: the outcome of the call stays what it is.
func (r *Result) kept(name string, ref blob.Ref, err error) {
	if err != nil {
		if r.Error == "" {
			r.Error = "the whole " + name + " could not be kept: " + err.Error()
		}
		return
	}
	if r.Refs == nil {
		r.Refs = map[string]string{}
	}
	r.Refs[name] = string(ref)
}
