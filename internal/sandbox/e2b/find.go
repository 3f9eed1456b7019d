// This file finds the sandbox of a session among those of the account and makes it where there is none: exactly one, also when
// answers get lost or several workers try at a time. E2B knows no names, so what belongs to a session carries its id.

package e2b

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// labelKey is a digest of the sandbox's id, to be looked up by.
const labelKey = "sandboxagent.key"

const (
	makeTries = 3 // of making one, each after having looked whether the last one did after all
	lookTries = 4 // for one whose making had an unclear end
	lookPause = 2 * time.Second
)

func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func (b *Backend) labels(spec sandbox.Spec) cloud.Labels {
	labels := cloud.NewLabels(spec, b.opts.clock.Now(), b.opts.Offline)
	labels[labelKey] = keyOf(spec.ID)
	return labels
}

// locate returns what there is of a sandbox, in an order that everybody sees alike.
func (b *Backend) locate(ctx context.Context, op, id string) ([]listed, *cloud.Failure) {
	all, f := b.list(ctx, op, labelKey, keyOf(id))
	if f != nil {
		return nil, f
	}
	all = slices.DeleteFunc(all, func(l listed) bool { return l.Metadata[cloud.LabelSession] != id })
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.SandboxID, b.SandboxID))
	})
	return all, nil
}

// find returns the sandbox and never makes one.
func (b *Backend) find(ctx context.Context, spec sandbox.Spec) (listed, error) {
	all, f := b.locate(ctx, opOpen, spec.ID)
	if f != nil {
		return listed{}, f.Err
	}
	if len(all) == 0 {
		return listed{}, errDestroyed(opOpen)
	}
	return b.choose(ctx, all)
}

// obtain returns the sandbox, made if there is none.
func (b *Backend) obtain(ctx context.Context, spec sandbox.Spec) (listed, error) {
	all, f := b.locate(ctx, opOpen, spec.ID)
	for try := 1; f == nil && len(all) == 0; try++ {
		tell(spec, "A new E2B sandbox is made.")
		all, f = b.make(ctx, spec)
		if f != nil && f.Unclear && !f.Is(sandbox.ClassCanceled) && try < makeTries {
			all, f = b.look(ctx, spec.ID)
		}
	}
	if f != nil {
		return listed{}, f.Err
	}
	return b.choose(ctx, all)
}

func tell(spec sandbox.Spec, text string) {
	if spec.Notify != nil {
		spec.Notify(text)
	}
}

// make makes a sandbox and returns it with those that others made meanwhile.
func (b *Backend) make(ctx context.Context, spec sandbox.Spec) ([]listed, *cloud.Failure) {
	labels := b.labels(spec)
	a, f := b.create(ctx, cmp.Or(spec.Image, b.opts.Template), labels)
	if f != nil {
		b.doubt(spec.ID, f.Unclear)
		return nil, f
	}
	all, f := b.locate(ctx, opOpen, spec.ID)
	if f == nil && slices.ContainsFunc(all, func(l listed) bool { return l.SandboxID == a.id }) {
		return all, nil
	}
	// the list lags behind, or cannot be had: whoever opens the sandbox next sees whether there are more
	return []listed{{SandboxID: a.id, State: stateRunning, Metadata: labels}}, nil
}

// doubt notes that one more sandbox may appear.
func (b *Backend) doubt(id string, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if is {
		b.doubts[id] = true
	}
}

// doubted reports whether one more sandbox may appear, and forgets it.
func (b *Backend) doubted(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	is := b.doubts[id]
	delete(b.doubts, id)
	return is
}

// look looks for a sandbox whose making had an unclear end, for a while, as it may appear late.
func (b *Backend) look(ctx context.Context, id string) (all []listed, f *cloud.Failure) {
	for range lookTries {
		if err := b.opts.sleep(ctx, lookPause); err != nil {
			return nil, &cloud.Failure{Err: cloud.Canceled(opOpen, err)}
		}
		if all, f = b.locate(ctx, opOpen, id); f != nil || len(all) > 0 {
			break
		}
	}
	return all, f
}

// choose returns the sandbox to use and removes others that were made by mistake. One in which somebody has worked is never
// removed, and always preferred.
func (b *Backend) choose(ctx context.Context, all []listed) (listed, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	used, f := b.usage(ctx, all)
	if f == nil && !slices.Contains(used, true) { // whoever made the other is about to use it, perhaps
		if err := b.opts.sleep(ctx, lookPause); err != nil {
			return listed{}, cloud.Canceled(opOpen, err)
		}
		used, f = b.usage(ctx, all)
	}
	if f != nil {
		return listed{}, f.Err
	}
	best := max(slices.Index(used, true), 0)
	for i, l := range all {
		switch {
		case i == best:
		case used[i]:
			b.opts.Logger.Warn("a session has two E2B sandboxes with work in them; the older is used", "used", all[best].SandboxID, "other", l.SandboxID)
		default:
			b.opts.Logger.Info("an E2B sandbox that was made by mistake is removed", "sandbox", l.SandboxID)
			if f := b.remove(ctx, opOpen, l.SandboxID); f != nil {
				return listed{}, f.Err
			}
		}
	}
	return all[best], nil
}

// usage reports which sandboxes are in use.
func (b *Backend) usage(ctx context.Context, all []listed) ([]bool, *cloud.Failure) {
	used := make([]bool, len(all))
	for i, l := range all {
		var f *cloud.Failure
		if used[i], f = b.inUse(ctx, l.SandboxID); f != nil {
			return nil, f
		}
	}
	return used, nil
}

// inUse reports whether somebody has ever begun to work in a sandbox. One that is gone nobody uses.
func (b *Backend) inUse(ctx context.Context, sandboxID string) (used bool, f *cloud.Failure) {
	f = b.retry.Persist(ctx, func() *cloud.Failure {
		a, f := b.connect(ctx, opOpen, sandboxID)
		if f == nil {
			used, f = a.exists(ctx, markPath)
		}
		return f
	})
	if f.Is(sandbox.ClassNotFound) {
		return false, nil
	}
	return used, f
}
