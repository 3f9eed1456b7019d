// This file finds out which way of confinement works here, by really running something in each.

package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	// JailFlag precedes the jail among the arguments of a helper.
	JailFlag = "--jail"

	probeTime = 20 * time.Second
	trials    = 3
)

// Wanted says what is to be found out.
type Wanted struct {
	Level   Level
	Methods []Method // to try, best first; default Methods()
	Program string   // the helper
	Scratch string   // an existing directory of ours
}

// Probe returns the best way to enforce the level on this machine, having tried it. Where none works, it returns an Error
// that says why and what would help. It never settles for less than what was asked.
func Probe(ctx context.Context, w Wanted, h Host) (Report, error) {
	const op = "confine commands"
	report := Report{Level: w.Level, Method: Nothing}
	switch w.Level {
	case LevelNone:
		return report, nil
	case LevelFS, LevelFull:
	default:
		return report, sandbox.Errorf(sandbox.ClassInvalid, op, "there is no level %q; use one of %s", w.Level, strings.Join(Levels(), ", "))
	}
	if w.Methods == nil {
		w.Methods = Methods()
	}
	for _, method := range w.Methods {
		err := tryOften(ctx, w, method, h)
		if err == nil {
			report.Method, report.Landlock = method, landlockVersion()
			report.Lacks, report.Limits = lacks(method, w.Level, report.Landlock), describeLimits(method)
			return report, nil
		}
		if ctx.Err() != nil {
			return report, &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: err}
		}
		report.Refused = append(report.Refused, explain(method, err))
	}
	return report, sandbox.Errorf(sandbox.ClassUnavailable, op, "commands cannot be confined here (%s), so none is run: %s. "+
		"To run them unconfined all the same, set confinement = \"none\" in the section [local] of config.toml",
		strings.Join(report.Refused, "; "), remedy)
}

// tryOften tries a way of confinement a few times: what is to be covered may change while a sandbox is made.
func tryOften(ctx context.Context, w Wanted, method Method, h Host) (err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	for range trials {
		if err = try(ctx, w, method, h); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// try starts a command in a scratch sandbox, which checks from inside what holds.
func try(ctx context.Context, w Wanted, method Method, h Host) error {
	base, err := os.MkdirTemp(w.Scratch, ".probe-")
	if err != nil {
		return err
	}
	defer Remove(base) //nolint:errcheck // an empty directory at most is left
	p := Policy{Method: method, Network: w.Level.Network(), Program: w.Program, Workspace: filepath.Join(base, "workspace"), Session: filepath.Join(base, "state")}
	p.State = p.Session
	for _, dir := range []string{p.Workspace, p.Session, p.Home(), p.Temp(), NetworkDir(p.Session)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	h.Private = append(slices.Clone(h.Private), w.Scratch)
	cmd, err := Command(p, h, func(string, string) []string { return []string{CheckVerb} })
	if err != nil {
		return err
	}
	return run(ctx, cmd)
}

// run runs a check and returns what it complains about.
func run(ctx context.Context, cmd *exec.Cmd) error {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return errors.New(lastLine(text))
		}
		return fmt.Errorf("the trial did not end well: %w", err)
	}
	return nil
}

func lastLine(text string) string {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return line[:min(len(line), 300)]
}
