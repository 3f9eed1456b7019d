// This file writes to commands that run in the background, and looks at what they do.

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

// stdinArgs are the arguments of write_stdin.
type stdinArgs struct {
	CommandID string `json:"command_id"`
	Input     string `json:"input"`
	EOF       bool   `json:"eof"`
	Kill      bool   `json:"kill"`
	YieldMs   int64  `json:"yield_ms"`
	Rows      uint16 `json:"rows"`
	Cols      uint16 `json:"cols"`
}

// sent says how far the input of a call is. A sandbox does not know inputs by id, so the plans remember it: input is written
// at most once.
type sent string

const (
	notSent sent = ""
	sending sent = "sending" // a worker that died left it so: nobody knows whether it arrived
	isSent  sent = "sent"
)

// stdinPlan is what is remembered of a call of write_stdin.
type stdinPlan struct {
	From sandbox.Offsets `json:"from"` // where the output it reports begins
	Sent sent            `json:"sent,omitempty"`
}

// cursorKey is where the plans remember how much of a command's output the model has been told.
func cursorKey(commandID string) string { return "cursor " + commandID }

// stdinKey is where the plans remember a call.
func stdinKey(effectID string) string { return "stdin " + effectID }

// runStdin runs write_stdin.
func runStdin(ctx context.Context, env Env, call Call) (Result, error) {
	var args stdinArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	status, err := env.Sandbox.Wait(ctx, args.CommandID, sandbox.Offsets{}, 0)
	if args.CommandID == "" || sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return Result{}, sandbox.Errorf(sandbox.ClassNotFound, "find command",
			"there is no command %q; use the id that exec_command returned", clip(args.CommandID))
	}
	if err != nil {
		return Result{}, err
	}
	plan, err := loadStdinPlan(ctx, env, call.EffectID, args.CommandID)
	if err != nil {
		return Result{}, err
	}
	note, err := args.act(ctx, env, call.EffectID, plan, status)
	if err != nil {
		return Result{}, err
	}
	return args.look(ctx, env, status.TTY, plan.From, note)
}

// act resizes, writes and kills as asked. The note says what the model must know about it.
func (a stdinArgs) act(ctx context.Context, env Env, effectID string, plan stdinPlan, status sandbox.Status) (note string, err error) {
	if a.Rows != 0 || a.Cols != 0 {
		if err := env.Sandbox.Resize(ctx, a.CommandID, a.Rows, a.Cols); err != nil {
			return "", err
		}
	}
	switch {
	case a.Input == "" && !a.EOF, plan.Sent == isSent:
	case plan.Sent == sending:
		note = "It is unknown whether the input arrived, because the worker died while writing it; it was not written again.\n"
	case status.State != sandbox.StateRunning:
		note = "The input was not written: the command had ended.\n"
	default:
		if err := a.write(ctx, env, effectID, plan); err != nil {
			return "", err
		}
	}
	if a.Kill {
		return note, env.Sandbox.Kill(ctx, a.CommandID)
	}
	return note, nil
}

// write writes the input, remembering before and after that it did.
func (a stdinArgs) write(ctx context.Context, env Env, effectID string, plan stdinPlan) error {
	plan.Sent = sending
	if err := savePlan(ctx, env, stdinKey(effectID), plan); err != nil {
		return err
	}
	err := env.Sandbox.Input(ctx, a.CommandID, []byte(a.Input), a.EOF)
	switch sandbox.ClassOf(err) {
	case "":
		plan.Sent = isSent
	case sandbox.ClassUnknown, sandbox.ClassCanceled:
		return err
	case sandbox.ClassInvalid:
		plan.Sent = notSent
		err = sandbox.Errorf(sandbox.ClassInvalid, "write input",
			"the command takes no input, or no more of it; one that shall take some is started with background, and with tty if it wants a terminal")
	default:
		plan.Sent = notSent
	}
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	if saveErr := savePlan(ctx, env, stdinKey(effectID), plan); err == nil {
		return saveErr
	}
	return err
}

// look waits for output or the end, and reports what came since the last look.
func (a stdinArgs) look(ctx context.Context, env Env, tty bool, from sandbox.Offsets, note string) (Result, error) {
	otherwise, least := defaultPoll, minPoll
	if a.Input != "" || a.EOF || a.Kill {
		otherwise, least = defaultYield, minYield
	}
	f := &follower{env: env, id: a.CommandID, tty: tty, at: from}
	status, err := f.follow(ctx, yield(a.YieldMs, otherwise, least))
	if ctx.Err() != nil {
		status, err = f.now(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	result, err := f.report(ctx, Result{CommandID: a.CommandID}, status, from)
	if err != nil {
		return Result{}, err
	}
	if result.Status == editors.ItemInterrupted {
		result.Status, result.Error = editors.ItemCompleted, "" // the command was killed; the look at it went well
	}
	result.ForModel = note + result.ForModel
	if ctx.Err() != nil && status.State == sandbox.StateRunning {
		result.Status = editors.ItemInterrupted
	}
	return result, rememberLook(ctx, env, a.CommandID, status.Total)
}

// now returns the command's status although ctx has ended.
func (f *follower) now(ctx context.Context) (sandbox.Status, error) {
	if err := detached(ctx); err != nil {
		return sandbox.Status{}, err
	}
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	return f.env.Sandbox.Wait(ctx, f.id, sandbox.Offsets{}, 0)
}

// rememberLook saves up to where the model has been told a command's output.
func rememberLook(ctx context.Context, env Env, commandID string, at sandbox.Offsets) error {
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	return savePlan(ctx, env, cursorKey(commandID), at)
}

// loadStdinPlan returns what is remembered of a call, and remembers where its output begins if it is new.
func loadStdinPlan(ctx context.Context, env Env, effectID, commandID string) (plan stdinPlan, err error) {
	if ok, err := loadPlan(ctx, env, stdinKey(effectID), &plan); ok || err != nil {
		return plan, err
	}
	if _, err := loadPlan(ctx, env, cursorKey(commandID), &plan.From); err != nil {
		return plan, err
	}
	return plan, savePlan(ctx, env, stdinKey(effectID), plan)
}

// savePlan remembers v. A plan that cannot be saved is worth another try by the caller.
func savePlan(ctx context.Context, env Env, key string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = env.Plans.Save(ctx, key, data)
	}
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: "save plan", Message: "what is to be done could not be noted down", Err: err}
	}
	return nil
}

// loadPlan recalls v; ok is false when there is nothing.
func loadPlan(ctx context.Context, env Env, key string, v any) (ok bool, err error) {
	data, ok, err := env.Plans.Load(ctx, key)
	if err != nil {
		return false, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: "load plan", Message: "what was to be done could not be read", Err: err}
	}
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: "load plan", Message: "what was to be done is damaged on disk", Err: fmt.Errorf("decoding: %w", err)}
	}
	return true, nil
}

// clip shortens text for a message.
func clip(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(Head(text, most)) + "…"
}
