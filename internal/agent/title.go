// This file has a title made for a session after its first turn, beside whatever it does then.

package agent

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const titleTimeout = 2 * time.Minute

// wantTitle has a title made when the first turn of a session has succeeded, unless the user has named it. The demo model
// has no words for one.
func (s *session) wantTitle(ctx workflow.Context, turn int) {
	if turn != 1 || s.Session.ParentID != "" || s.Session.TitleSource == editors.TitleUser || s.Session.Model == editors.DemoModel {
		return
	}
	s.TitleDue = true
	s.makeTitle(ctx)
}

// makeTitle makes the title that is due, beside the main loop. A session whose title cannot be made keeps the one it has.
func (s *session) makeTitle(ctx workflow.Context) {
	if !s.TitleDue || s.titling || s.draining || s.destroying {
		return
	}
	s.titling = true
	root, cancel := workflow.NewDisconnectedContext(ctx)
	workflow.Go(root, func(ctx workflow.Context) {
		s.aside(ctx, s.askTitle)
		s.titling = false
		cancel()
	})
}

func (s *session) askTitle(ctx workflow.Context) {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), ScheduleToCloseTimeout: titleTimeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var res TitleResult
	err := workflow.ExecuteActivity(actx, ActivityTitle, TitleInput{Sandbox: s.sandbox(), Head: s.Head, Model: s.Session.Model}).Get(actx, &res)
	if ctx.Err() != nil {
		return // the next run makes it
	}
	s.TitleDue = false
	if err != nil {
		workflow.GetLogger(ctx).Info("no title made", "error", err)
		return
	}
	if res.Usage != (editors.Usage{}) {
		s.spendAside(ctx, res.Usage)
	}
	if title := CleanTitle(res.Title); title != "" && s.Session.TitleSource != editors.TitleUser {
		s.Session.Title, s.Session.TitleSource = title, editors.TitleGenerated
		s.sessionUpdated(ctx)
	}
}
