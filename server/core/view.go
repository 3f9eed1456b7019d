// This file reads sessions: their views, and the content that views only refer to.

package core

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
)

const (
	fullText   = 256 << 10 // of an item's text that goes into one event
	fullDiff   = 64 << 10
	maxAnswer  = 640 << 10 // JSON of what an answer holds; a message stays under editors.MaxMessageBytes
	escapedMax = 800 << 10 // JSON of one item: control characters take six bytes
)

// blobs opens this host's store when it is first needed.
type blobs struct {
	dir string

	mu    sync.Mutex
	store blob.Store
}

func (b *blobs) open() (blob.Store, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store == nil {
		store, err := blob.OpenDir(b.dir)
		if err != nil {
			return nil, fmt.Errorf("opening the blob store: %w", err)
		}
		b.store = store
	}
	return b.store, nil
}

// view asks the session's workflow. Its errors are *editors.Error and say who did not answer.
func (c *Core) view(ctx context.Context, id string, after *int64) (agent.View, error) {
	var v agent.View
	err := c.query(ctx, "reading the session", agent.WorkflowID(id), agent.QueryView, agent.ViewRequest{AfterSeq: after}, &v)
	return v, err
}

// page asks for a view, all that follows after if it fits into one answer, else a snapshot.
func (c *Core) page(ctx context.Context, id string, after *int64) (agent.View, error) {
	v, err := c.view(ctx, id, after)
	total := size(v.Events)
	for err == nil && v.More {
		var more agent.View
		if more, err = c.view(ctx, id, &v.Seq); err != nil {
			break
		}
		if total += size(more.Events); total > maxAnswer || more.Snapshot {
			return c.view(ctx, id, nil)
		}
		more.Events = append(v.Events, more.Events...)
		v = more
	}
	return v, err
}

// fillEvents replaces cut texts by whole ones, each event being a message of its own.
func (c *Core) fillEvents(ctx context.Context, v agent.View) {
	for i := range v.Events {
		if item := v.Events[i].Event.Item; item != nil {
			filled := c.filled(ctx, *item, escapedMax)
			v.Events[i].Event.Item = &filled
		}
	}
}

// fillView replaces cut texts by whole ones, the newest first, as far as they fit into one answer.
func (c *Core) fillView(ctx context.Context, v agent.View) {
	room := maxAnswer - size(v.Items) - size(v.Events)
	fill := func(item *editors.Item) {
		if item == nil || room <= 0 {
			return
		}
		before := size(item)
		*item = c.filled(ctx, *item, before+room)
		room -= size(item) - before
	}
	for i := len(v.Items) - 1; i >= 0; i-- {
		fill(&v.Items[i])
	}
	for i := len(v.Events) - 1; i >= 0; i-- {
		fill(v.Events[i].Event.Item)
	}
}

// filled returns the item with its whole text and diff when they are in this host's store and its JSON stays within limit.
func (c *Core) filled(ctx context.Context, item editors.Item, limit int) editors.Item {
	text := item.TextBytes > int64(len(item.Text)) && item.TextBytes <= fullText && item.Refs["text"] != ""
	diff := item.DiffBytes > int64(len(item.Diff)) && item.DiffBytes <= fullDiff && item.Refs["diff"] != ""
	if !text && !diff {
		return item
	}
	store, err := c.blobs.open()
	if err != nil {
		return item
	}
	read := func(stream string, limit int64, into *string) {
		data, err := blob.ReadAll(ctx, store, blob.Ref(item.Refs[stream]), limit)
		if err != nil {
			return // of another host, or gone: the beginning has to do
		}
		*into = string(data)
	}
	full := item
	if text {
		read("text", fullText, &full.Text)
	}
	if diff {
		read("diff", fullDiff, &full.Diff)
	}
	if size(full) > limit {
		return item
	}
	return full
}

// size is the length of v as JSON.
func size(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}
