// This file finds the sandbox of a session in the account and makes it where there is none: exactly one, also when answers get
// lost or several workers try at a time, as Daytona gives no two sandboxes the same name.

package daytona

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// nameOf is the name of a sandbox in the account.
func nameOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "sandbox-agent-" + hex.EncodeToString(sum[:16])
}

// found is a sandbox to be opened.
type found struct {
	info
	fresh bool // it was made just now: there is no work in it
}

// locate returns the sandbox with an id.
func (b *Backend) locate(ctx context.Context, op, id string) (info, *cloud.Failure) {
	i, f := b.get(ctx, op, nameOf(id))
	if f == nil && i.Labels[cloud.LabelSession] != id {
		return info{}, cloud.Fail(sandbox.ClassConflict, op, "somebody else's sandbox has the name "+nameOf(id)+" in Daytona: rename or remove it there", nil)
	}
	return i, f
}

// find returns the sandbox and never makes one.
func (b *Backend) find(ctx context.Context, spec sandbox.Spec) (found, *cloud.Failure) {
	i, f := b.locate(ctx, opOpen, spec.ID)
	return found{info: i}, f
}

// obtain returns the sandbox, made if there is none. What had an unclear end is looked for before it is tried again; if it
// appears later still, its name is taken.
func (b *Backend) obtain(ctx context.Context, spec sandbox.Spec) (found, *cloud.Failure) {
	fresh := false
	for try := 1; ; try++ {
		i, f := b.locate(ctx, opOpen, spec.ID)
		if f == nil || !f.Is(sandbox.ClassNotFound) {
			return found{i, fresh}, f
		}
		if !fresh {
			tell(spec, "A new Daytona sandbox is made.")
		}
		i, f = b.create(ctx, spec)
		if f == nil {
			return found{i, true}, nil
		}
		if mentions(f.Said, "failed to start") { // it was made, and its state says why it failed
			f.Passes, f.Unclear = true, true
		}
		fresh = true // whoever made it, it was after we had looked
		if !f.Unclear && !f.Moving {
			return found{}, f
		}
		if f, again := b.retry.Wait(ctx, f, try); !again {
			return found{}, f
		}
	}
}

func tell(spec sandbox.Spec, text string) {
	if spec.Notify != nil {
		spec.Notify(text)
	}
}
