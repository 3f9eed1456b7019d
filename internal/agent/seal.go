// This file moves what is old out of the carried state into segments in the blob store.

package agent

import (
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// recordsSeals is the change since which histories have what is sealed when.
const recordsSeals = "records-seals"

// seal moves the oldest completed items out of the carried state into a segment in the blob store.
func (s *session) seal(ctx workflow.Context) {
	for len(s.Items) > keepLiveItems {
		n := s.due(ctx)
		if n == 0 || !s.sealOldest(ctx, n) {
			return
		}
	}
}

// due tells how many of the oldest items are to be sealed now. That is recorded: it follows from sizes, so that another
// wording of a notice would give another answer when a run of an earlier release is replayed.
func (s *session) due(ctx workflow.Context) int {
	if workflow.GetVersion(ctx, recordsSeals, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return s.sealable()
	}
	n := 0
	recorded := workflow.MutableSideEffect(ctx, recordsSeals, func(workflow.Context) any { return s.sealable() }, func(a, b any) bool { return a == b })
	if err := recorded.Get(&n); err != nil {
		workflow.GetLogger(ctx).Warn("items not sealed", "error", err)
	}
	return n
}

// sealable counts the oldest items that are complete and fit into one segment, when there are too many or too large ones.
func (s *session) sealable() int {
	if len(s.Items) <= sealAboveItems && size(s.Items) <= sealAboveBytes && size(s.Turns) <= sealAboveEnds {
		return 0
	}
	n, bytes := 0, 0
	for n < len(s.Items)-keepLiveItems && s.Items[n].Status != editors.ItemInProgress {
		bytes += size(s.Items[n])
		if bytes > maxSealBytes && n > 0 {
			break
		}
		n++
	}
	return n
}

func (s *session) sealOldest(ctx workflow.Context, n int) bool {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), StartToCloseTimeout: sealTimeout,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3},
	})
	newest, ended := s.endedIn(n)
	in := SealInput{Sandbox: s.sandbox(), Segment: Segment{Prev: s.Sealed, Items: s.Items[:n], Turns: ended}}
	var ref string
	if err := workflow.ExecuteActivity(actx, ActivitySeal, in).Get(actx, &ref); err != nil {
		workflow.GetLogger(ctx).Warn("items not sealed", "error", err)
		return false
	}
	s.Sealed, s.SealedTurn = ref, newest
	s.Items = append([]editors.Item(nil), s.Items[n:]...)
	s.Turns = slices.DeleteFunc(slices.Clone(s.Turns), func(e TurnEnd) bool {
		return slices.ContainsFunc(ended, func(sealed TurnEnd) bool { return sealed.ID == e.ID })
	})
	return true
}

// endedIn returns the newest turn of all sealed items when the first n items are sealed too, and the turns whose ends go with
// them: the segments up to there have all of their items, or items of newer turns already, so that a fork has to cut there.
func (s *session) endedIn(n int) (newest int, ended []TurnEnd) {
	newest = s.SealedTurn
	for _, i := range s.Items[:n] {
		newest = max(newest, i.TurnID)
	}
	for _, e := range s.Turns {
		more := slices.ContainsFunc(s.Items[n:], func(i editors.Item) bool { return i.TurnID == e.ID })
		if e.ID < newest || !more {
			ended = append(ended, e)
		}
	}
	return newest, ended
}
