// This file lets what runs in a sandbox outlive a change of what its helpers are shut off from. A helper cannot be shut off
// from more while it runs, so that what is begun after a change is begun by another one, an heir, with a ledger of its own.
// The sandbox is all of them together.

package local

import (
	"context"
	"os"
	"slices"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

const (
	// maxHeirs is how many changes the commands of one sandbox can outlive at a time. With one more the first helper ends,
	// and what it runs with it.
	maxHeirs = 8
	nobody   = -1
)

// stateOf is the state directory of a helper: 0 is the first, whose directory is the sandbox's.
func stateOf(session string, heir int) string {
	if heir == 0 {
		return session
	}
	return confine.HeirDir(session, heir)
}

// states returns the state directories of the helpers that a sandbox has had, the first one's first. Beside each may be that of
// a helper that has the network.
func states(session string) []string {
	all := []string{session}
	for n := 1; n <= maxHeirs; n++ {
		dir := stateOf(session, n)
		if _, err := os.Lstat(dir); err == nil {
			all = append(all, dir)
		}
	}
	return all
}

// rest ends the helpers that run no command, all but the one that begins them, and with them what their commands have left in
// the background. It returns one that can begin commands anew, as it shuts them off from what there is then.
func (b *Backend) rest(ctx context.Context, session string, but int) (heir int, err error) {
	heir = nobody
	for n := maxHeirs; n >= 0; n-- {
		state := stateOf(session, n)
		if n == but || b.runs(ctx, state) {
			continue
		}
		if err := b.stopOne(ctx, state); err != nil {
			return 0, err
		}
		heir = n
	}
	if but != nobody {
		return but, nil
	}
	if heir == nobody {
		b.opts.Logger.Warn("commands end because what they must not reach has changed too often while they ran", "state", session)
		return 0, b.stopOne(ctx, session)
	}
	if err := os.MkdirAll(stateOf(session, heir), 0o700); err != nil {
		return 0, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the state directory cannot be made", Err: err}
	}
	return heir, nil
}

// runs reports whether a command has not ended yet. A helper that is there and does not say so may well have one.
func (b *Backend) runs(ctx context.Context, state string) bool {
	return slices.ContainsFunc([]string{state, confine.NetworkDir(state)}, func(state string) bool {
		c := reach(state)
		defer c.Close()
		all, err := c.Commands(ctx)
		if err != nil {
			return sandbox.ClassOf(err) != sandbox.ClassNotFound
		}
		return slices.ContainsFunc(all, func(st sandbox.Status) bool { return st.State == sandbox.StateRunning })
	})
}
