// This file finds the sandbox of a session in the account and makes it where there is none: exactly one, also when answers get
// lost or several workers try at a time, as Daytona gives no two sandboxes the same name.

package daytona

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// The labels of every sandbox that the backend makes.
const (
	LabelOurs    = "sandboxagent"         // "1"
	LabelSession = "sandboxagent.session" // the sandbox's id
	LabelOwner   = "sandboxagent.owner"
	LabelRealm   = "sandboxagent.realm"   // where its session is known; see sandbox.Spec
	LabelMade    = "sandboxagent.made"    // when, in milliseconds since 1970
	LabelOffline = "sandboxagent.offline" // "true": it reaches no internet
)

// nameOf is the name of a sandbox in the account.
func nameOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "sandbox-agent-" + hex.EncodeToString(sum[:16])
}

func (b *Backend) labels(spec sandbox.Spec) map[string]string {
	labels := map[string]string{
		LabelOurs: "1", LabelSession: spec.ID, LabelOwner: spec.Owner, LabelRealm: spec.Realm,
		LabelMade: strconv.FormatInt(b.opts.clock.Now().UnixMilli(), 10),
	}
	if b.opts.Offline {
		labels[LabelOffline] = "true"
	}
	return labels
}

// made is when a sandbox was made, zero where that is not known.
func (i info) made() time.Time {
	ms, err := strconv.ParseInt(i.Labels[LabelMade], 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func (i info) epoch() int64 {
	if at := i.made(); !at.IsZero() {
		return at.UnixMilli()
	}
	return 0
}

// found is a sandbox to be opened.
type found struct {
	info
	fresh bool // it was made just now: there is no work in it
}

// locate returns the sandbox with an id.
func (b *Backend) locate(ctx context.Context, op, id string) (info, *cloud.Failure) {
	i, f := b.get(ctx, op, nameOf(id))
	if f == nil && i.Labels[LabelSession] != id {
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
