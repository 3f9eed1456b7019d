// This file takes out of a folder again what a restore has put into it while it was empty.

package checkpoint

import (
	"context"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
)

// TakeBack undoes the RestoreEmpty of an effect: what is in the tree that put returns, and is still as it is there, goes; what
// somebody has changed or added meanwhile stays. It does nothing, and asks for no tree, unless the folder's journal says that
// this effect was the last to change it, so that a folder that had files before never loses one.
func (s *Store) TakeBack(ctx context.Context, put func() tree.Hash, w *worktree.Tree, effectID string) error {
	filled, err := w.Filled(effectID)
	if err != nil || !filled {
		return classed(opRestore, err)
	}
	all, err := s.differences(ctx, put(), tree.Empty)
	if err != nil {
		return classed(opRestore, err)
	}
	back := worktree.Change{ID: effectID + "/back"}
	for _, d := range all {
		back.Steps = append(back.Steps, worktree.Step{Path: d.path, Before: d.before})
	}
	worktree.Sort(back.Steps)
	_, err = s.apply(ctx, w, back, tree.Empty)
	return err
}
