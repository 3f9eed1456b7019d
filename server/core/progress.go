// This file carries what a command's caller wants to hear while it waits, and what must wait for the caller.

package core

import (
	"context"
	"sync"
)

type progressKey struct{}

// WithProgress returns a context whose command tells report, one sentence at a time, what it waits for when it takes
// long, such as the first start of the worker.
func WithProgress(ctx context.Context, report func(message string)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// progress tells the caller of a command what is waited for.
func progress(ctx context.Context, message string) {
	if report, ok := ctx.Value(progressKey{}).(func(string)); ok && report != nil {
		report(message)
	}
}

type replyKey struct{}

// reply collects what must follow the answer to a command.
type reply struct {
	mu   sync.Mutex
	sent bool
	then []func()
}

// Replying returns a context for one Dispatch and a function to call once its answer has been written. Events that must
// follow the answer, as those of an attach, wait for that call; without Replying they wait for the command to return.
func Replying(ctx context.Context) (context.Context, func()) {
	r := new(reply)
	return context.WithValue(ctx, replyKey{}, r), r.send
}

func (r *reply) send() {
	r.mu.Lock()
	r.sent = true
	then := r.then
	r.then = nil
	r.mu.Unlock()
	for _, f := range then {
		f()
	}
}

// afterReply runs f once the answer has been written, at once when nobody tells.
func afterReply(ctx context.Context, f func()) {
	r, ok := ctx.Value(replyKey{}).(*reply)
	if !ok {
		f()
		return
	}
	r.mu.Lock()
	sent := r.sent
	if !sent {
		r.then = append(r.then, f)
	}
	r.mu.Unlock()
	if sent {
		f()
	}
}
