// This file finds the end of a turn among a session's sealed items.

package worker

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/carry"
)

// FindForkPoint completes the fork point of a turn whose end is sealed.
func (a *Activities) FindForkPoint(ctx context.Context, in agent.FindInput) (agent.ForkPoint, error) {
	defer a.working()()
	defer beat(ctx, func() any { return "" })()
	tctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	point, err := a.findForkPoint(tctx, in)
	if err == nil {
		return point, nil
	}
	if ended := ended(ctx); ended != nil {
		return agent.ForkPoint{}, ended
	}
	return agent.ForkPoint{}, err
}

func (a *Activities) findForkPoint(ctx context.Context, in agent.FindInput) (agent.ForkPoint, error) {
	for ref := in.Point.Sealed; ref != ""; {
		var segment agent.Segment
		if err := blob.GetJSON(ctx, a.Blobs, blob.Ref(ref), &segment); err != nil {
			return agent.ForkPoint{}, fmt.Errorf("read older items: %w", err)
		}
		if at := slices.IndexFunc(segment.Turns, func(e agent.TurnEnd) bool { return e.ID == in.TurnID }); at >= 0 {
			return cutAt(in.Point, segment, segment.Turns[at]), nil
		}
		if len(segment.Turns) > 0 && segment.Turns[len(segment.Turns)-1].ID < in.TurnID {
			break // older ones have earlier turns
		}
		ref = segment.Prev
	}
	return agent.ForkPoint{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf("There is no turn %d.", in.TurnID), agent.ErrTypeNotFound, nil)
}

// cutAt completes a point by the segment in which its turn ends: what is older stays sealed, the rest up to that end goes on
// in the fork. What the point has itself belongs to the same turns and follows.
func cutAt(p agent.ForkPoint, s agent.Segment, end agent.TurnEnd) agent.ForkPoint {
	items := slices.DeleteFunc(slices.Clone(s.Items), func(i editors.Item) bool { return !belongs(i, end) })
	later := slices.DeleteFunc(slices.Clone(p.Items), func(i editors.Item) bool { return !belongs(i, end) })
	turns := slices.DeleteFunc(slices.Clone(s.Turns), func(e agent.TurnEnd) bool { return e.ID > end.ID })
	p.Turn, p.Sealed, p.Items, p.Turns = end, s.Prev, slices.Concat(items, later), turns
	return p
}

// belongs tells whether an item was there when the turn had ended.
func belongs(i editors.Item, end agent.TurnEnd) bool {
	var n int
	if _, err := fmt.Sscanf(i.ID, "i%d", &n); err != nil || end.NextItem == 0 {
		return i.TurnID <= end.ID
	}
	return n < end.NextItem && i.TurnID <= end.ID
}
