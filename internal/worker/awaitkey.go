// This file waits for keys that only editors know.

package worker

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"sandboxagent/internal/model"
)

const (
	keyTime  = 10 * time.Second // after the start of a worker; servers find it in about one
	keyPause = 100 * time.Millisecond
)

// awaitKey waits for the key of a model in the first seconds of this worker. The worker before it may have had one from an
// editor, which gives it to this one too as soon as it has found it; until then a turn that is under way must not end for
// want of it.
func (a *Activities) awaitKey(ctx context.Context, id string) {
	for time.Now().Before(a.KeysBy) && a.wantsKey(id) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(keyPause):
		}
	}
}

func (a *Activities) wantsKey(id string) bool {
	_, err := a.Models.Get(id)
	var e *model.Error
	return errors.As(err, &e) && e.Kind == model.ErrNoKey
}

// tookOver reports whether somebody may have begun what an activity goes on with: who asks for the first time is told at once
// that there is no key.
func tookOver(ctx context.Context, head string) bool {
	return head != "" || activity.GetInfo(ctx).Attempt > 1
}
