// This file knows which files an editor shows with changes that are not on disk, so that nothing is written under them.

package core

import (
	"context"

	"sandboxagent/editors"
	"sandboxagent/internal/workspace"
)

const (
	maxUnsaved = 1000 // paths that go with one request
	heldReason = "it has unsaved changes in the editor"
)

type unsavedKey struct{}

// WithUnsaved returns a context whose command leaves the given files alone, absolute paths, because the caller shows them
// with changes that are not on disk.
func WithUnsaved(ctx context.Context, paths []string) context.Context {
	return context.WithValue(ctx, unsavedKey{}, paths)
}

// unsavedIn returns the files below dir that the caller has not saved, by their paths in it, with the reason why they
// stay. Without dir the workspace is not on this host's disk, and no editor shows it.
func unsavedIn(ctx context.Context, dir string) (map[string]string, error) {
	paths, _ := ctx.Value(unsavedKey{}).([]string)
	if dir == "" || len(paths) == 0 {
		return nil, nil
	}
	held := make(map[string]string)
	for _, rel := range workspace.Below(dir, paths) {
		held[rel] = heldReason
	}
	if len(held) > maxUnsaved {
		return nil, editors.Errorf(editors.CodeLimit, "%d documents have unsaved changes; at most %d can be left alone", len(held), maxUnsaved).
			WithRemedy("Save some of them.")
	}
	return held, nil
}
