// This file confines helpers: it finds out once what this machine can do, and starts them so.

package local

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"time"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// askAgain is after what time it is tried again to confine, where it was not possible.
const askAgain = 10 * time.Second

// probed is what was found out, and when.
type probed struct {
	report confine.Report
	err    error
	at     time.Time
}

// Confinement says how commands are confined, having really tried it the first time it is asked. It fails when what was
// configured cannot be had; then no sandbox is made.
func (b *Backend) Confinement(ctx context.Context) (confine.Report, error) {
	select {
	case <-b.probing:
	case <-ctx.Done():
		return confine.Report{}, &sandbox.Error{Class: sandbox.ClassCanceled, Op: opOpen, Message: "canceled", Err: context.Cause(ctx)}
	}
	defer func() { b.probing <- struct{}{} }()
	if p := b.probed; p != nil && (p.err == nil || time.Since(p.at) < askAgain) {
		return p.report, p.err
	}
	report, err := b.probe(ctx)
	if sandbox.ClassOf(err) != sandbox.ClassCanceled {
		b.probed = &probed{report, err, time.Now()}
	}
	return report, err
}

func (b *Backend) probe(ctx context.Context) (confine.Report, error) {
	program, err := b.helperBinary()
	if err != nil {
		return confine.Report{}, err
	}
	scratch, err := os.MkdirTemp("", "sandbox-agent-probe-")
	if err != nil {
		return confine.Report{}, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "no temporary directory can be made", Err: err}
	}
	defer os.RemoveAll(scratch)
	wanted := confine.Wanted{Level: b.opts.Confinement, Methods: b.opts.Methods, Program: program, Scratch: scratch}
	report, err := confine.Probe(ctx, wanted, b.host())
	if err != nil {
		b.opts.Logger.Warn("commands cannot be confined", "error", err)
		return report, err
	}
	b.opts.Logger.Info("confinement", "holds", report.String())
	return report, nil
}

func (b *Backend) host() confine.Host {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/nonexistent"
	}
	env := os.Environ()
	return confine.Host{Home: home, Homes: confine.AccountHomes(env), Private: append(slices.Clone(b.opts.Private), b.opts.StateDir), Env: env}
}

// guards identifies what the sandbox's helpers must stay shut off from, and the folder they work in. What can only be kept
// from them when it is there is made.
func (b *Backend) guards(r recorded) string {
	if !r.Confinement.Method.Strong() {
		return confine.Guards(confine.Host{Home: "/nonexistent"}, r.Workspace)
	}
	confine.Complete(r.Workspace)
	h := b.host()
	h.Private = nil // ours: nobody replaces them
	return confine.Guards(h, r.Workspace)
}

// confined returns the process of a confined helper.
func (b *Backend) confined(ctx context.Context, r recorded, program, session, state string) (*exec.Cmd, error) {
	network := confine.IsNetworkDir(state) || r.Confinement.Level.Network()
	p := confine.Policy{Method: r.Confinement.Method, Network: network, Workspace: r.Workspace, Session: session, State: state, Program: program}
	host := b.host()
	if err := p.Prepare(ctx, host); err != nil {
		return nil, cannotConfine(err)
	}
	cmd, err := confine.Command(p, host, func(inside, root string) []string {
		return append(helper.ServeArgs(inside, root, b.opts.Idle), "--known-as", r.Workspace, "--of", state)
	})
	if err != nil {
		return nil, cannotConfine(err)
	}
	b.joinGroup(cmd, session)
	return cmd, nil
}

func cannotConfine(err error) error {
	return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the sandbox cannot be confined", Err: err}
}
