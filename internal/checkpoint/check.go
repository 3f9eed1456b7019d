// This file looks at everything in the store for damage.

package checkpoint

import (
	"context"
	"maps"
	"slices"

	"sandboxagent/internal/checkpoint/tree"
)

// Checked is what was found out about a store.
type Checked struct {
	Checkpoints int      // that there are
	Damaged     []Damage // sorted by checkpoint
}

// Damage is a checkpoint that is missing or cannot be read whole.
type Damage struct {
	Checkpoint string
	Refs       []Ref // what it is kept for
	Err        error
}

// Check reads everything in the store once and tells what is damaged. What a workspace still has of it, its next checkpoint
// stores again. It costs as much as reading all packs.
func (s *Store) Check(ctx context.Context) (Checked, error) {
	release, err := s.share(ctx)
	if err != nil {
		return Checked{}, classed(opVerify, err)
	}
	defer release()
	ids, err := s.ids()
	if err != nil {
		return Checked{}, classed(opVerify, err)
	}
	refs, err := s.allRefs()
	if err != nil {
		return Checked{}, classed(opVerify, err)
	}
	out := Checked{Checkpoints: len(ids)}
	kept := map[string][]Ref{}
	for _, r := range refs {
		kept[r.Checkpoint] = append(kept[r.Checkpoint], r)
	}
	ids = slices.AppendSeq(ids, maps.Keys(kept)) // also those that are missing
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sound := map[tree.Hash]bool{}
	for _, id := range ids {
		read, err := s.verify(ctx, id, sound)
		if ctx.Err() != nil {
			return out, classed(opVerify, context.Cause(ctx))
		}
		if err != nil {
			out.Damaged = append(out.Damaged, Damage{id, kept[id], err})
			continue
		}
		for _, h := range read {
			sound[h] = true
		}
	}
	return out, nil
}
