// This file lets a handler leave something to do until its answer is on its way.

package lsp

import "context"

// afterwards collects what is to be done after an answer. The zero value is ready.
type afterwards struct{ steps []func() }

type afterwardsKey struct{}

// in returns a context by which afterAnswer finds a.
func (a *afterwards) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, afterwardsKey{}, a)
}

func (a *afterwards) run() {
	for _, step := range a.steps {
		step()
	}
}

// afterAnswer has step run when the answer to the request of ctx has been sent.
func afterAnswer(ctx context.Context, step func()) {
	if a, ok := ctx.Value(afterwardsKey{}).(*afterwards); ok {
		a.steps = append(a.steps, step)
		return
	}
	step()
}
