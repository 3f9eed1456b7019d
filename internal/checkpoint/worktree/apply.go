// This file drives a change from its content to its outcome, wherever the tree is.

package worktree

import (
	"context"
	"sync"
	"time"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Changer is a tree that can be changed: a Tree, or one reached through a helper.
type Changer interface {
	// Begin prepares a change, or finds it begun.
	Begin(ctx context.Context, c Change) (Begun, error)
	// Put gives content of steps; it may be called concurrently for different steps. Like Commit it fails with
	// ClassNotFound when the change is not begun, or not any more.
	Put(ctx context.Context, id string, pieces []Piece) error
	// Commit makes the change.
	Commit(ctx context.Context, id string) (Outcome, error)
	// Abort gives a change up that is not committed.
	Abort(ctx context.Context, id string) error
}

// Content gives the content of a file, piece by piece in order, pieces of zeros left out. What it passes to put is not
// used after put returns.
type Content func(e *tree.Entry, put func(offset int64, data []byte) error) error

const (
	putWorkers = 3
	putBytes   = 1 << 20 // collected before they are put
	putPieces  = 500
	abortTime  = 10 * time.Second
	applyTries = 3
)

// Apply makes a change. check, if not nil, may refuse after it is known what the file system takes. When the change is
// lost on the way, because the helper died or somebody cleared the folder up, it begins again under the same id.
func Apply(ctx context.Context, to Changer, c Change, content Content, check func(Begun) error) (Outcome, error) {
	for try := 1; ; try++ {
		begun, err := to.Begin(ctx, c)
		if err != nil || begun.Outcome != nil {
			return *orEmpty(begun.Outcome), err
		}
		o, err := finish(ctx, to, &c, begun, content, check)
		if sandbox.ClassOf(err) != sandbox.ClassNotFound || try == applyTries {
			return o, err
		}
	}
}

// finish gives a change that is begun its content and commits it.
func finish(ctx context.Context, to Changer, c *Change, begun Begun, content Content, check func(Begun) error) (Outcome, error) {
	var err error
	if check != nil {
		err = check(begun)
	}
	if err == nil {
		err = putAll(ctx, to, c, content)
	}
	if err == nil {
		return to.Commit(ctx, c.ID)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_ = to.Abort(ctx, c.ID) // who begins the next change aborts what is left
	return Outcome{}, err
}

// putAll gives all content, a few files at a time.
func putAll(ctx context.Context, to Changer, c *Change, content Content) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	steps := make(chan int)
	var wg sync.WaitGroup
	for range putWorkers {
		wg.Go(func() {
			b := batch{ctx: ctx, to: to, id: c.ID}
			for i := range steps {
				err := b.add(c, i, content)
				if err != nil {
					cancel(err)
					return
				}
			}
			if err := b.flush(); err != nil {
				cancel(err)
			}
		})
	}
	for i := range c.Steps {
		if !c.Steps[i].NeedsContent() {
			continue
		}
		select {
		case steps <- i:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(steps)
	wg.Wait()
	return context.Cause(ctx)
}

// batch collects pieces.
type batch struct {
	ctx    context.Context
	to     Changer
	id     string
	pieces []Piece
	bytes  int
}

func (b *batch) add(c *Change, i int, content Content) error {
	e := c.Steps[i].After
	err := content(e, func(offset int64, data []byte) error {
		whole := offset == 0 && int64(len(data)) == e.Size
		if whole && len(data) < putBytes {
			data = append([]byte(nil), data...) // sent later
		}
		b.pieces, b.bytes = append(b.pieces, Piece{Step: i, Offset: offset, Data: data, Last: whole}), b.bytes+len(data)
		if whole && b.bytes < putBytes && len(b.pieces) < putPieces {
			return nil
		}
		return b.flush()
	})
	if err != nil {
		return err
	}
	if last := len(b.pieces) - 1; last >= 0 && b.pieces[last].Step == i || !e.Chunked && e.Size > 0 {
		return nil
	}
	b.pieces = append(b.pieces, Piece{Step: i, Offset: e.Size, Last: true})
	return nil
}

func (b *batch) flush() error {
	if len(b.pieces) == 0 {
		return nil
	}
	err := b.to.Put(b.ctx, b.id, b.pieces)
	b.pieces, b.bytes = b.pieces[:0], 0
	return err
}
