// This file removes what was made for sessions that do not exist any more: an activity that was lost for good, or a session
// that somebody ended in Temporal, leaves a container or the folder of a fork behind.

package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

const (
	reapEvery = time.Hour
	// reapFirst lets what the last worker was at begin again before anybody looks.
	reapFirst = 2 * time.Minute
	// reapGrace spares what is younger: the session of a fork begins when its sandbox is made.
	reapGrace = time.Hour

	// releaseGrace spares the checkpoints of sessions whose last one is younger: they cost no more than room on the disk.
	releaseGrace = 24 * time.Hour

	// MethodOrphans lists what nobody seems to need: editors.Empty → OrphansResult.
	MethodOrphans = "orphans"
)

// reap removes orphans now and then until ctx ends.
func (a *Activities) reap(ctx context.Context, s sessions, log *slog.Logger) {
	next := time.NewTimer(reapFirst)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		a.removeOrphans(ctx, s, time.Now().Add(-reapGrace), log)
		a.releaseOrphans(ctx, s, time.Now().Add(-releaseGrace), log)
		next.Reset(reapEvery)
	}
}

// removeOrphans removes those that were made before a time. What somebody is at is left alone.
func (a *Activities) removeOrphans(ctx context.Context, s sessions, before time.Time, log *slog.Logger) {
	found := a.findOrphans(ctx, s)
	for _, problem := range found.Problems {
		log.Info("cannot look for what no session needs", "problem", problem)
	}
	for _, o := range found.Orphans {
		if !o.Removable || o.Made.IsZero() || !o.Made.Before(before) {
			continue
		}
		if err := a.remove(ctx, o); err != nil {
			log.Warn("what no session needs cannot be removed", "kind", o.Kind, "id", o.ID, "reason", o.Reason, "error", err)
			continue
		}
		log.Info("removed what no session needs", "kind", o.Kind, "id", o.ID, "reason", o.Reason)
	}
}

// releaseOrphans lets the checkpoints go that are kept for sessions which do not exist: what a fork left to a parent that had
// ended before it, and what somebody ended in Temporal. They are collected as those that nobody refers to.
func (a *Activities) releaseOrphans(ctx context.Context, s sessions, before time.Time, log *slog.Logger) {
	if a.Checkpoints == nil || a.Realm == "" {
		return
	}
	store, err := a.Checkpoints()
	if err != nil {
		return // which whoever needs it is told
	}
	holders, err := store.Holders()
	if err != nil {
		log.Info("cannot look for checkpoints that no session needs", "error", err)
		return
	}
	for _, h := range holders {
		if h.Realm != a.Realm || !h.Newest.Before(before) {
			continue
		}
		now, err := s.now(ctx, h.Session)
		if err != nil || now.exists {
			continue
		}
		if err := store.Release(h.Session, ""); err != nil {
			log.Warn("checkpoints that no session needs cannot be let go", "session", h.Session, "error", err)
			continue
		}
		log.Info("let checkpoints go that no session needs", "session", h.Session)
	}
}

func (a *Activities) remove(ctx context.Context, o Orphan) error {
	id := o.ID
	if o.Kind == kindFork {
		id = o.SessionID // whose first sandbox works in it
	}
	done, _ := a.held.try(id)
	if done == nil {
		return nil
	}
	defer done()
	if o.Kind == kindFork {
		return a.Forks.Remove(o.SessionID)
	}
	b := a.Backends[editors.BackendKind(o.Kind)]
	return b.Destroy(ctx, sandbox.Ref{Kind: b.Kind(), ID: o.ID, HostID: a.HostID})
}

func (a *Activities) orphans(s sessions) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, _ json.RawMessage) (any, error) { return a.findOrphans(ctx, s), nil }
}
