// This file pictures the workspace for a worker, which pulls event after event; see wire.

package engine

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	objects "sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	maxScans = 4               // at a time
	scanIdle = 2 * time.Minute // without a call; then it is given up
	opScan   = "take a checkpoint"
)

// scans are the pictures under way.
type scans struct {
	mu  sync.Mutex
	all map[string]*scanning
}

// scanning is one picture. It is the worktree.Store that the tree goes into.
type scanning struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	idle     *time.Timer
	events   chan *scanEvent // at most one waits
	progress atomic.Pointer[worktree.Progress]

	putMu   sync.Mutex
	offered map[objects.Hash]bool
	batch   *scanEvent // being filled

	callMu   sync.Mutex // held by one call at a time
	n        int        // of the last event that was answered
	answer   wire.ScanEvent
	body     []byte     // of answer
	waiting  *scanEvent // that the next call answers
	prefix   []byte     // objects wanted of the event before, when answered says so
	answered bool
}

// scanEvent is what a picture waits for an answer to.
type scanEvent struct {
	wire.ScanEvent
	hashes []objects.Hash
	sizes  []int
	data   []byte // of the objects, or the notes
	err    error  // the picture failed
	reply  chan wire.ScanNextArgs
}

func handleScan(_ context.Context, e *Engine, a wire.ScanArgs, _ []byte) (any, []byte, error) {
	if a.ID == "" || len(a.ID) > worktree.MaxChangeID {
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, opScan, "the id must have 1 to %d bytes", worktree.MaxChangeID)
	}
	e.scans.mu.Lock()
	defer e.scans.mu.Unlock()
	if e.scans.all[a.ID] != nil {
		return nil, nil, nil // repeated
	}
	if len(e.scans.all) >= maxScans {
		return nil, nil, sandbox.Errorf(sandbox.ClassUnavailable, opScan, "%d checkpoints are being taken of this sandbox already", maxScans)
	}
	s := &scanning{events: make(chan *scanEvent, 1), offered: map[objects.Hash]bool{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.idle = time.AfterFunc(scanIdle, func() { e.endScan(a.ID) })
	if e.scans.all == nil {
		e.scans.all = map[string]*scanning{}
	}
	e.scans.all[a.ID] = s
	go s.run(e.tree, worktree.ScanOptions{
		Excludes: wire.Strings(a.Excludes), Limits: worktree.Limits{Files: a.Files, Bytes: a.Bytes, File: a.File}, Rehash: a.Rehash,
		Progress: func(p worktree.Progress) { s.progress.Store(&p) },
	})
	return nil, nil, nil
}

func (s *scanning) run(t *worktree.Tree, o worktree.ScanOptions) {
	end := &scanEvent{err: t.Scan(s.ctx, o, s)}
	end.Done = true
	select {
	case s.events <- end:
	case <-s.ctx.Done():
	}
}

// endScan gives a picture up, or forgets one that is done.
func (e *Engine) endScan(id string) {
	e.scans.mu.Lock()
	defer e.scans.mu.Unlock()
	if s := e.scans.all[id]; s != nil {
		s.idle.Stop()
		s.cancel(sandbox.Errorf(sandbox.ClassCanceled, opScan, "canceled"))
		delete(e.scans.all, id)
	}
}

// endScans gives all pictures up.
func (e *Engine) endScans() {
	e.scans.mu.Lock()
	defer e.scans.mu.Unlock()
	for id, s := range e.scans.all {
		s.idle.Stop()
		s.cancel(errShutdown)
		delete(e.scans.all, id)
	}
}

func handleScanEnd(_ context.Context, e *Engine, a wire.IDArgs, _ []byte) (any, []byte, error) {
	e.endScan(a.ID)
	return nil, nil, nil
}

func handleScanNext(ctx context.Context, e *Engine, a wire.ScanNextArgs, _ []byte) (any, []byte, error) {
	e.scans.mu.Lock()
	s := e.scans.all[a.ID]
	e.scans.mu.Unlock()
	if s == nil {
		return nil, nil, sandbox.Errorf(sandbox.ClassUnavailable, opScan, "the checkpoint that was being taken is lost; take it again")
	}
	s.idle.Reset(scanIdle)
	s.callMu.Lock()
	defer s.callMu.Unlock()
	return s.next(ctx, a)
}

func (s *scanning) next(ctx context.Context, a wire.ScanNextArgs) (any, []byte, error) {
	switch {
	case a.N == s.n && a.N > 0:
		return s.answer, s.body, nil // repeated
	case a.N != s.n+1:
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, opScan, "event %d does not follow event %d", a.N, s.n)
	}
	s.body = nil
	if !s.answered {
		s.settle(a)
	}
	select {
	case ev := <-s.events:
		if ev.err != nil {
			return nil, nil, ev.err
		}
		s.put(a.N, ev)
		return s.answer, s.body, nil
	case <-s.ctx.Done():
		return nil, nil, context.Cause(s.ctx)
	case <-ctx.Done():
		return nil, nil, canceled(ctx, opScan)
	}
}

// settle passes the answer to the last event on.
func (s *scanning) settle(a wire.ScanNextArgs) {
	s.answered, s.prefix = true, nil
	ev := s.waiting
	if ev == nil {
		return
	}
	s.waiting = nil
	if ev.reply != nil {
		ev.reply <- a // has room for it
		return
	}
	at := 0
	for i, size := range ev.sizes {
		if i/8 < len(a.Want) && a.Want[i/8]&(1<<(i%8)) != 0 {
			s.prefix = append(s.prefix, ev.data[at:at+size]...)
		}
		at += size
	}
}

// put makes an event the answer to call n.
func (s *scanning) put(n int, ev *scanEvent) {
	s.n, s.answer, s.body, s.waiting = n, ev.ScanEvent, s.prefix, ev
	s.prefix, s.answered = nil, false
	if p := s.progress.Load(); p != nil {
		s.answer.Looked, s.answer.Hashed, s.answer.Read = p.Files, p.Hashed, p.Bytes
	}
	if ev.Picture != nil {
		s.body = append(s.body, ev.data...)
		return
	}
	for i, h := range ev.hashes {
		s.body = append(s.body, h[:]...)
		s.body = binary.BigEndian.AppendUint32(s.body, uint32(ev.sizes[i]))
	}
}

// ask sends a question and waits for the answer.
func (s *scanning) ask(ev *scanEvent) (wire.ScanNextArgs, error) {
	ev.reply = make(chan wire.ScanNextArgs, 1)
	if err := s.send(ev); err != nil {
		return wire.ScanNextArgs{}, err
	}
	select {
	case a := <-ev.reply:
		return a, nil
	case <-s.ctx.Done():
		return wire.ScanNextArgs{}, context.Cause(s.ctx)
	}
}

func (s *scanning) send(ev *scanEvent) error {
	select {
	case s.events <- ev:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// Known implements worktree.Store.
func (s *scanning) Known(id string) bool {
	ev := &scanEvent{}
	ev.Base = id
	a, err := s.ask(ev)
	return err == nil && a.Known
}

// Has implements worktree.Store: nobody knows before it is offered.
func (s *scanning) Has(objects.Hash) bool { return false }

// Put implements worktree.Store: it offers the object, and waits while others are undecided.
func (s *scanning) Put(h objects.Hash, data []byte) error {
	s.putMu.Lock()
	defer s.putMu.Unlock()
	if s.offered[h] {
		return nil
	}
	s.offered[h] = true
	if b := s.batch; b != nil && (len(b.hashes) >= wire.MaxOffers || len(b.data)+len(data) > wire.OfferBytes) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if s.batch == nil {
		s.batch = &scanEvent{}
	}
	s.batch.hashes, s.batch.sizes = append(s.batch.hashes, h), append(s.batch.sizes, len(data))
	s.batch.data = append(s.batch.data, data...)
	return nil
}

// flush sends the objects collected so far. putMu is held.
func (s *scanning) flush() error {
	b := s.batch
	if b == nil {
		return nil
	}
	s.batch = nil
	b.Offers = len(b.hashes)
	return s.send(b)
}

// Commit implements worktree.Store.
func (s *scanning) Commit(p worktree.Picture) (string, error) {
	s.putMu.Lock()
	err := s.flush()
	s.putMu.Unlock()
	if err != nil {
		return "", err
	}
	ev := &scanEvent{data: objects.EncodeNotes(p.Notes)}
	ev.Picture = &wire.Picture{Root: p.Root.String(), Files: p.Files, Dirs: p.Dirs, Links: p.Links, Bytes: p.Bytes}
	a, err := s.ask(ev)
	if err == nil && a.Checkpoint == "" {
		err = sandbox.Errorf(sandbox.ClassCanceled, opScan, "the picture became no checkpoint")
	}
	return a.Checkpoint, err
}
