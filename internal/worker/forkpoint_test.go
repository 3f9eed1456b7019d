package worker

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
)

// sealed stores segments of two turns each, every turn of two items, and returns the newest one.
func sealed(t *testing.T, a *Activities, turns int) (newest string) {
	t.Helper()
	for first := 1; first <= turns; first += 2 {
		s := agent.Segment{Prev: newest}
		for id := first; id < first+2; id++ {
			s.Items = append(s.Items, item(2*id-1, id), item(2*id, id))
			s.Turns = append(s.Turns, agent.TurnEnd{ID: id, CheckpointID: fmt.Sprint("c", id), NextItem: 2*id + 1})
		}
		ref, err := blob.PutJSON(context.Background(), a.Blobs, s)
		require.NoError(t, err)
		newest = string(ref)
	}
	return newest
}

func item(n, turn int) editors.Item { return editors.Item{ID: fmt.Sprint("i", n), TurnID: turn} }

func TestForkPointsInSealedItems(t *testing.T) {
	a := newActivities(t)
	point := agent.ForkPoint{Sealed: sealed(t, a, 6), NextItem: 20, Seq: 99, Items: []editors.Item{item(13, 7)}, Turns: []agent.TurnEnd{{ID: 7}}}
	for turn := 1; turn <= 6; turn++ {
		p, err := activityOf[agent.ForkPoint](t, a.FindForkPoint, agent.FindInput{Point: point, TurnID: turn})
		require.NoError(t, err)
		require.Equal(t, turn, p.Turn.ID)
		require.Equal(t, fmt.Sprint("c", turn), p.Turn.CheckpointID)
		require.Equal(t, turn, p.Items[len(p.Items)-1].TurnID, "nothing later comes along")
		require.Equal(t, fmt.Sprint("i", 2*turn), p.Items[len(p.Items)-1].ID)
		require.Equal(t, turn, p.Turns[len(p.Turns)-1].ID)
		require.Equal(t, turn <= 2, p.Sealed == "", "what is older stays sealed")
		require.Equal(t, []int64{20, 99}, []int64{int64(p.NextItem), p.Seq})
	}
	for _, turn := range []int{0, 7, 100} {
		_, err := activityOf[agent.ForkPoint](t, a.FindForkPoint, agent.FindInput{Point: point, TurnID: turn})
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, agent.ErrTypeNotFound, app.Type())
	}
	late := point // items of the turn that were not sealed follow
	late.Items = []editors.Item{item(12, 6), item(13, 7)}
	p, err := activityOf[agent.ForkPoint](t, a.FindForkPoint, agent.FindInput{Point: late, TurnID: 6})
	require.NoError(t, err)
	require.Equal(t, "i12", p.Items[len(p.Items)-1].ID)
}
