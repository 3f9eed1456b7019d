package buffers

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// calling reaches a desk as a server does through the feed.
func calling(d *Desk) func(context.Context, string, any, any) error {
	return func(ctx context.Context, method string, params, result any) error {
		switch p := params.(type) {
		case Taker:
			raw, err := json.Marshal(d.Take(ctx, p.Holder))
			if err != nil {
				return err
			}
			return json.Unmarshal(raw, result)
		case Answer:
			d.Answer(p)
		}
		return ctx.Err()
	}
}

func TestAnEditReachesItsEditorAndItsAnswerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		ctx, cancel := context.WithCancel(t.Context())
		for _, holder := range []string{"a", "b"} {
			go Serve(ctx, calling(&d), holder, func(_ context.Context, e Edit) Answer {
				return Answer{Applied: holder == "a", Reason: holder + " " + e.Files[0].URI}
			})
		}
		for _, holder := range []string{"b", "a", "b"} {
			got, err := d.Do(t.Context(), holder, Edit{ID: "1", Files: []File{{URI: "u"}}})
			require.NoError(t, err)
			require.Equal(t, Answer{ID: "1", Applied: holder == "a", Reason: holder + " u"}, got)
		}
		cancel()
		synctest.Wait()
		require.Empty(t, d.holders)
		require.Empty(t, d.answers)
	})
}

func TestAnEditorThatIsGoneOrSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		_, err := d.Do(t.Context(), "a", Edit{ID: "1"})
		require.ErrorIs(t, err, ErrNobody)
		go d.Take(t.Context(), "a")
		_, err = d.Do(t.Context(), "a", Edit{ID: "2"})
		require.ErrorIs(t, err, ErrUnknown)
		d.Answer(Answer{ID: "2", Applied: true}) // nobody waits any more
		require.Empty(t, d.holders)
	})
}

func TestServingGoesOnWhenTheWorkerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		failures := 3
		ctx, cancel := context.WithCancel(t.Context())
		go Serve(ctx, func(ctx context.Context, method string, params, result any) error {
			if failures--; failures >= 0 {
				return errors.New("away")
			}
			return calling(&d)(ctx, method, params, result)
		}, "a", func(context.Context, Edit) Answer { return Answer{Applied: true} })
		got, err := d.Do(t.Context(), "a", Edit{ID: "1"})
		require.NoError(t, err)
		require.True(t, got.Applied)
		cancel()
		synctest.Wait()
	})
}
