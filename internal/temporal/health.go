// This file exists to answer "does Temporal work, and does anybody work for it" before a user has to wonder.

package temporal

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Health asks the frontend whether it serves, within ctx. An error that matches ErrUnavailable means no answer.
func Health(ctx context.Context, c client.Client) error {
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("checking Temporal's health: %w", classify(err))
	}
	return nil
}

// pollerLife is how long ago a worker that is there may have polled: a poll waits for a minute at most.
const pollerLife = 70 * time.Second

// Pollers counts the workers that poll taskQueue for workflows or activities and says when one last did, the zero time
// when the server remembers none. A worker that is gone counts for up to pollerLife, so zero is certain and more is not.
func Pollers(ctx context.Context, c client.Client, taskQueue string) (n int, last time.Time, err error) {
	seen := make(map[string]struct{})
	for _, kind := range []enumspb.TaskQueueType{enumspb.TASK_QUEUE_TYPE_WORKFLOW, enumspb.TASK_QUEUE_TYPE_ACTIVITY} {
		resp, err := c.DescribeTaskQueue(ctx, taskQueue, kind)
		if err != nil {
			return 0, time.Time{}, fmt.Errorf("asking who polls task queue %s: %w", taskQueue, classify(err))
		}
		for _, p := range resp.GetPollers() {
			at := p.GetLastAccessTime().AsTime()
			if time.Since(at) < pollerLife {
				seen[p.GetIdentity()] = struct{}{}
			}
			if at.After(last) {
				last = at
			}
		}
	}
	return len(seen), last, nil
}

// classify lets errors.Is(err, ErrUnavailable) find a server that did not answer.
func classify(err error) error {
	if IsUnavailable(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
