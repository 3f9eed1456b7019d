package agent

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// A sandbox with content that no checkpoint holds is kept until the session ends, whatever turns succeed elsewhere.
func TestWhatIsLeftBehindIsKept(t *testing.T) {
	h := newHarness(t)
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.switchTo("s", toDocker) })
	h.at(2*time.Minute, func() {
		h.carried.merge = func(context.Context, MergeInput) (CarryOutput, error) {
			return CarryOutput{
				Applied: true, LeftBehind: 1, Undo: "undo",
				Carry: editors.Carry{Skipped: []editors.Skipped{{Path: "model.bin", Reason: "larger than the limit"}}, SkippedAll: 1},
			}, nil
		}
		h.switchTo("back", editors.Backend{Kind: editors.Local})
	})
	h.at(3*time.Minute, func() { h.ask("r2", "two") })
	h.at(4*time.Minute, func() {
		require.Equal(t, []int64{1}, h.view(nil).Former, "the reaper leaves it alone")
		for _, d := range h.carried.destroyed {
			require.NotEqual(t, editors.Docker, d.Backend.Kind)
		}
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	notices := noticesOf(events)
	require.Contains(t, notices[len(notices)-1], "model.bin")
	require.Contains(t, notices[len(notices)-1], "is only in that sandbox, which is kept until the session is destroyed")
	gone := map[string]bool{}
	for _, d := range h.carried.destroyed {
		gone[d.ID()] = true
	}
	require.True(t, gone["s1.1"], "with the session")
}
