package agent

import (
	"context"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
)

const mockAny = mock.Anything

// pause lasts until the activity is cancelled, which it learns by heartbeats, or a while of real time.
func pause(ctx context.Context) error {
	end := time.NewTimer(300 * time.Millisecond)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-time.After(5 * time.Millisecond):
			activity.RecordHeartbeat(ctx, "alive")
		}
	}
}
