// This file tells this host's worker which files an editor shows with unsaved changes, for as long as it does: nobody's
// restore, switch or adoption writes under them then, whoever asked for it and whenever it comes to be carried out.

package core

import (
	"context"
	"slices"
	"time"

	"sandboxagent/internal/agent"
)

// CallHoldUnsaved lasts as long as the files are to be left alone.
const CallHoldUnsaved = "holdUnsaved" // agent.HoldUnsaved → nothing

const (
	holdTime  = 100 * time.Second // of one call
	holdAgain = time.Minute       // after which the next one takes its place
	holdPause = 200 * time.Millisecond
)

// SetUnsaved tells which files, absolute paths, the editor shows with changes that are not on disk, and by which name Buffers
// takes changes of them; "": it takes none. It does not wait.
func (c *Conn) SetUnsaved(files []string, editor string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.unsaved == nil {
		c.unsaved = make(chan unsaved, 1)
		go c.holdUnsaved(newRequestID(""), c.unsaved)
	}
	select {
	case <-c.unsaved: // not yet told, and out of date
	default:
	}
	c.unsaved <- unsaved{slices.Clone(files[:min(len(files), maxUnsaved)]), editor}
}

// unsaved are the files that an editor shows with unsaved changes.
type unsaved struct {
	files  []string
	editor string
}

// holdUnsaved keeps the worker informed until the connection ends. Each call supersedes the one before.
func (c *Conn) holdUnsaved(holder string, changes <-chan unsaved) {
	again := time.NewTimer(holdAgain)
	defer again.Stop()
	told := agent.HoldUnsaved{Holder: holder}
	end := context.CancelFunc(func() {})
	for {
		select {
		case <-c.ctx.Done():
			end()
			return
		case now := <-changes:
			told.Files, told.Editor = now.files, now.editor
		case <-again.C:
		}
		told.N++
		end() // of trying: what the worker has heard, it keeps until it hears the next
		var ctx context.Context
		ctx, end = context.WithTimeout(c.ctx, holdTime)
		go c.hold(ctx, told)
		if again.Stop(); len(told.Files) > 0 {
			again.Reset(holdAgain)
		}
	}
}

// hold makes one call, again when the connection to the worker is lost.
func (c *Conn) hold(ctx context.Context, told agent.HoldUnsaved) {
	for ctx.Err() == nil {
		if err := c.core.live.await(ctx, CallHoldUnsaved, told, nil); err == nil {
			return
		}
		pause(ctx, holdPause)
	}
}
