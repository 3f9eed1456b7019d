// Package conversation keeps what a model and a session have said to each other in the blob store: a chain of immutable
// nodes, so that a step of a turn costs what it adds, and every earlier head stays valid for forks.
package conversation

import (
	"context"
	"fmt"
	"slices"

	"sandboxagent/internal/blob"
	"sandboxagent/internal/model"
)

const (
	// flattenEvery bounds how many objects a Load reads: a node at this depth holds everything before it too.
	flattenEvery = 64
	// maxFlat bounds such a node; a longer conversation stays a longer chain.
	maxFlat = 4 << 20
)

// node is one link of the chain. Depth counts the nodes behind it, Bytes the text in all of them.
type node struct {
	Prev    blob.Ref      `json:"prev,omitempty"`
	Depth   int           `json:"depth"`
	Bytes   int           `json:"bytes"`
	Entries []model.Entry `json:"entries"`
}

// Load returns the conversation that ends at head, oldest entry first; "" is the empty one.
func Load(ctx context.Context, store blob.Store, head blob.Ref) ([]model.Entry, error) {
	var parts [][]model.Entry
	for ref := head; ref != ""; {
		var n node
		if err := blob.GetJSON(ctx, store, ref, &n); err != nil {
			return nil, fmt.Errorf("load conversation: %w", err)
		}
		parts = append(parts, n.Entries)
		ref = n.Prev
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), nil
}

// Append stores entries behind head and returns the new head. Appending the same entries to the same head gives the same head.
func Append(ctx context.Context, store blob.Store, head blob.Ref, entries []model.Entry) (blob.Ref, error) {
	if len(entries) == 0 {
		return head, nil
	}
	n := node{Prev: head, Entries: entries, Bytes: size(entries)}
	if head != "" {
		var prev node
		if err := blob.GetJSON(ctx, store, head, &prev); err != nil {
			return "", fmt.Errorf("append to conversation: %w", err)
		}
		n.Depth, n.Bytes = prev.Depth+1, n.Bytes+prev.Bytes
	}
	if n.Depth >= flattenEvery && n.Bytes <= maxFlat {
		before, err := Load(ctx, store, head)
		if err != nil {
			return "", err
		}
		n.Prev, n.Depth, n.Entries = "", 0, slices.Concat(before, entries)
	}
	ref, err := blob.PutJSON(ctx, store, n)
	if err != nil {
		return "", fmt.Errorf("append to conversation: %w", err)
	}
	return ref, nil
}

func size(entries []model.Entry) int {
	n := 0
	for _, e := range entries {
		n += len(e.Text) + len(e.Arguments) + len(e.Raw) + 64
	}
	return n
}
