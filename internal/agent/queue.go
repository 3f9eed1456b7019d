// This file lets users see and change the requests that wait for the running turn.

package agent

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

func (s *session) validateQueue(in QueueInput) error {
	if err := s.open(); err != nil {
		return err
	}
	switch in.Op {
	case "list":
		return nil
	case "edit":
		if err := checkText(AskInput{Text: in.Text, RequestID: in.RequestID}); err != nil {
			return err
		}
		if len(in.Text) > MaxInlineText {
			return refuse(ErrTypeLimit, "An edited request may have %d bytes; remove it and ask again.", MaxInlineText)
		}
	case "remove":
	default:
		return refuse(ErrTypeInvalid, "op is %q; it must be list, remove or edit.", in.Op)
	}
	var before editors.QueueResult
	if s.recall(in.RequestID, &before) || s.queueIndex(in.ItemID) >= 0 {
		return nil
	}
	return refuse(ErrTypeConflict, "Item %s does not wait in the queue (any more).", in.ItemID)
}

func (s *session) queueIndex(itemID string) int {
	for i, a := range s.Queue {
		if a.ItemID == itemID {
			return i
		}
	}
	return -1
}

// editQueue works on the waiting requests. What goes with an edited one stays, and what its new text mentions is added.
func (s *session) editQueue(ctx workflow.Context, in QueueInput) (editors.QueueResult, error) {
	var out editors.QueueResult
	if in.Op != "list" && s.recall(in.RequestID, &out) {
		return out, nil
	}
	i := s.queueIndex(in.ItemID)
	switch {
	case in.Op == "remove" && i >= 0:
		s.Queue = append(append([]Ask(nil), s.Queue[:i]...), s.Queue[i+1:]...)
		s.endItem(ctx, in.ItemID, func(item *editors.Item) { item.Status, item.Queued = editors.ItemInterrupted, false })
	case in.Op == "edit" && i >= 0:
		a := &s.Queue[i]
		a.Text, a.TextRef, a.TextBytes, a.Added = in.Text, "", 0, lacking(a.Context, in.Added)
		if item := s.item(in.ItemID); item != nil {
			item.Text, item.TextBytes, item.Refs = in.Text, 0, nil
			item.Context = describe(slices.Concat(a.Context, a.Added))
		}
	}
	if in.Op != "list" {
		s.emit(ctx, editors.Event{Type: editors.QueueChanged, Queued: s.queued()})
	}
	out = editors.QueueResult{Queued: s.queued(), Seq: s.Seq}
	if in.Op != "list" {
		s.remember(in.RequestID, out)
	}
	return out, nil
}

// lacking returns those parts that a request does not have already. A document that it has unsaved is there as a whole.
func lacking(has, more []editors.Context) []editors.Context {
	var out []editors.Context
	for _, c := range more {
		there := slices.ContainsFunc(has, func(h editors.Context) bool {
			return h.Kind == c.Kind && (c.URI == "" && c.Omitted || h.URI == c.URI && (h.Unsaved || sameRange(h.Range, c.Range)))
		})
		if !there {
			out = append(out, c)
		}
	}
	return out
}

func sameRange(a, b *editors.Range) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
