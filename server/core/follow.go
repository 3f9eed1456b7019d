// This file decides how a session is followed: by the feed of this host, and by Temporal where the feed is not enough.

package core

import (
	"context"
	"errors"
	"time"

	"github.com/sourcegraph/conc"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/feed"
)

const (
	tailPoll    = 250 * time.Millisecond // between two looks at heartbeats while a turn runs
	followAgain = 2 * time.Second        // after following Temporal failed
	checkFeed   = 500 * time.Millisecond // between two looks at whether the feed is connected
)

// watch returns the session's watcher, which stays until as many release calls.
func (c *Core) watch(id string) *watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watchers[id]; w != nil {
		w.users++
		return w.watcher
	}
	w := newWatcher(id, func(ctx context.Context, after *int64) (agent.View, error) {
		v, err := c.view(ctx, id, after)
		if err == nil {
			c.fillEvents(ctx, v)
		}
		return v, err
	}, c.obstacle, c.log.Debug)
	c.watchers[id] = &watched{watcher: w, users: 1}
	w.start(c.ctx, func(ctx context.Context) { c.listen(ctx, w) })
	return w
}

// watched is a watcher and how many attachments use it.
type watched struct {
	*watcher
	users int
}

func (c *Core) release(id string) {
	c.mu.Lock()
	w := c.watchers[id]
	if w == nil {
		c.mu.Unlock()
		return
	}
	w.users--
	last := w.users == 0
	if last {
		delete(c.watchers, id)
	}
	c.mu.Unlock()
	if last {
		w.stop()
	}
}

// watcher returns the session's watcher if somebody is attached.
func (c *Core) watcher(id string) *watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watchers[id]; w != nil {
		return w.watcher
	}
	return nil
}

// ring tells whoever is attached that a session has events up to seq.
func (c *Core) ring(id string, seq int64) {
	if w := c.watcher(id); w != nil {
		w.bell(seq)
	}
}

// listen brings bells and frames to w until ctx ends. The feed is on this host only: with a Temporal that others use,
// any worker may carry the session on, and Temporal is followed too.
func (c *Core) listen(ctx context.Context, w *watcher) {
	var jobs conc.WaitGroup
	defer jobs.Wait()
	f := c.live.feed()
	if f == nil {
		return
	}
	sub := f.Subscribe(w.id)
	jobs.Go(func() {
		<-ctx.Done()
		sub.Close()
	})
	jobs.Go(func() { listenFeed(ctx, w, sub) })
	jobs.Go(func() { c.listenTemporal(ctx, w) })
}

func listenFeed(ctx context.Context, w *watcher, sub *feed.Subscription) {
	frames, bells := sub.Frames(), sub.Bells()
	for frames != nil || bells != nil {
		select {
		case <-ctx.Done():
			return
		case f, open := <-frames:
			if !open {
				frames = nil
				continue
			}
			w.frame(frame{item: f.Item, seq: f.Seq, attempt: f.Attempt, stream: f.Stream, offset: f.Offset, data: f.Data})
		case seq, open := <-bells:
			if !open {
				bells = nil
				continue
			}
			w.bell(seq)
		}
	}
}

// listenTemporal follows Temporal while the feed does not bring everything.
func (c *Core) listenTemporal(ctx context.Context, w *watcher) {
	for ctx.Err() == nil {
		if c.feedSuffices(ctx) {
			w.setBlind(false)
			if !c.whileFeedSuffices(ctx) {
				return
			}
			continue
		}
		round, stop := context.WithCancel(ctx)
		var jobs conc.WaitGroup
		jobs.Go(func() { c.followHistory(round, w) })
		jobs.Go(func() { c.followTails(round, w) })
		c.untilFeedSuffices(ctx)
		stop()
		jobs.Wait()
		w.kick()
	}
}

func (c *Core) feedSuffices(ctx context.Context) bool { return c.live.connected() && c.embedded(ctx) }

// whileFeedSuffices returns true when it no longer does, false when ctx has ended.
func (c *Core) whileFeedSuffices(ctx context.Context) bool {
	for c.live.connected() {
		if !pause(ctx, checkFeed) {
			return false
		}
	}
	return true
}

func (c *Core) untilFeedSuffices(ctx context.Context) {
	for !c.feedSuffices(ctx) && pause(ctx, checkFeed) {
	}
}

// followHistory rings when the workflow's history has grown.
func (c *Core) followHistory(ctx context.Context, w *watcher) {
	for ctx.Err() == nil {
		w.setBlind(true)
		e, err := c.link.engine(w.quietly(ctx))
		if err == nil {
			err = e.Follow(ctx, agent.WorkflowID(w.id), func() {
				w.setBlind(false)
				w.kick()
			})
		}
		switch {
		case errors.Is(err, errWorkflowEnded):
			w.kick()
			<-ctx.Done()
			return
		case ctx.Err() == nil && isSilence(err):
			c.link.lost()
		}
		if !pause(ctx, followAgain) {
			return
		}
	}
}

// followTails reads the output of running items from the heartbeats of their activities.
func (c *Core) followTails(ctx context.Context, w *watcher) {
	for pause(ctx, tailPoll) {
		if !w.running() {
			continue
		}
		e, err := c.link.engine(w.quietly(ctx))
		if err != nil {
			continue
		}
		d, err := e.Describe(ctx, agent.WorkflowID(w.id))
		if err != nil {
			continue
		}
		for _, t := range d.tails {
			w.frame(frame{item: t.ItemID, seq: t.Seq, attempt: t.Attempt, stream: t.Stream, offset: t.Offset, data: []byte(t.Tail)})
		}
	}
}
