// This file takes checkpoints through the helper and changes the workspace as a restore asks for. What the helper says
// is bounded, and every object is checked against its name.

package client

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	opScan   = "take a checkpoint"
	opChange = "restore"

	endTime = 5 * time.Second
)

// Scan pictures the workspace into store, which gets only the objects that it lacks.
func (c *Client) Scan(ctx context.Context, o worktree.ScanOptions, store worktree.Store) error {
	args := wire.ScanArgs{
		ID: uuid.NewString(), Excludes: wire.Texts(o.Excludes), Files: o.Limits.Files, Bytes: o.Limits.Bytes, File: o.Limits.File, Rehash: o.Rehash,
	}
	if _, err := c.call(ctx, wire.OpScan, args, nil, nil); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_, _ = c.call(ctx, wire.OpScanEnd, wire.IDArgs{ID: args.ID}, nil, nil) // it ends by itself, later
	}()
	s := &scan{store: store, opts: o, answer: wire.ScanNextArgs{ID: args.ID}}
	for {
		s.answer.N++
		var ev wire.ScanEvent
		body, err := c.call(ctx, wire.OpScanNext, s.answer, nil, &ev)
		if err != nil {
			return err
		}
		if done, err := s.event(ev, body); done || err != nil {
			return err
		}
	}
}

// scan is the worker's side of a picture being taken.
type scan struct {
	store  worktree.Store
	opts   worktree.ScanOptions
	answer wire.ScanNextArgs // to the last event
	wanted []offer
	bytes  int64 // of objects that came
}

type offer struct {
	hash tree.Hash
	size int
}

func (s *scan) event(ev wire.ScanEvent, body []byte) (done bool, err error) {
	if s.opts.Progress != nil {
		s.opts.Progress(worktree.Progress{Files: ev.Looked, Hashed: ev.Hashed, Bytes: ev.Read})
	}
	if body, err = s.receive(body); err != nil {
		return false, err
	}
	s.answer = wire.ScanNextArgs{ID: s.answer.ID, N: s.answer.N}
	switch {
	case ev.Done:
		return true, nil
	case ev.Base != "":
		s.answer.Known = s.store.Known(ev.Base)
	case ev.Picture != nil:
		s.answer.Checkpoint, err = s.commit(*ev.Picture, body)
	default:
		err = s.offers(ev.Offers, body)
	}
	return false, err
}

// receive takes the wanted objects from the beginning of a body.
func (s *scan) receive(body []byte) (rest []byte, err error) {
	for _, w := range s.wanted {
		if w.size > len(body) {
			return nil, lie(opScan, "an object cut short")
		}
		object := body[:w.size]
		body = body[w.size:]
		if tree.Sum(object) != w.hash {
			return nil, lie(opScan, "an object that is not what its name says")
		}
		if err := s.store.Put(w.hash, object); err != nil {
			return nil, err
		}
	}
	s.wanted = s.wanted[:0]
	return body, nil
}

// offers decides which objects are wanted.
func (s *scan) offers(n int, body []byte) error {
	if n <= 0 || n > wire.MaxOffers || len(body) != n*wire.OfferSize {
		return lie(opScan, "a malformed offer")
	}
	want := make([]byte, (n+7)/8)
	for i := range n {
		var o offer
		b := body[i*wire.OfferSize:]
		copy(o.hash[:], b)
		o.size = int(binary.BigEndian.Uint32(b[len(o.hash):]))
		if o.size > tree.MaxObject {
			return lie(opScan, "an object that is too large")
		}
		if s.store.Has(o.hash) {
			continue
		}
		want[i/8] |= 1 << (i % 8)
		s.wanted = append(s.wanted, o)
		s.bytes += int64(o.size)
	}
	if s.bytes > s.most() {
		return sandbox.Errorf(sandbox.ClassLimit, opScan, "the sandbox sends more than the limit of %d MiB", s.most()>>20)
	}
	s.answer.Want = want
	return nil
}

// most is how many bytes of objects may come: files within the limit, read again when they change, and directories.
func (s *scan) most() int64 {
	limit := s.opts.Limits.Bytes
	if limit <= 0 {
		limit = worktree.DefaultBytes
	}
	return 2*limit + 256<<20
}

func (s *scan) commit(p wire.Picture, body []byte) (string, error) {
	root, err := tree.ParseHash(p.Root)
	if err != nil || p.Files < 0 || p.Dirs < 0 || p.Links < 0 || p.Bytes < 0 {
		return "", lie(opScan, "a malformed picture")
	}
	notes, err := tree.DecodeNotes(body)
	if err != nil {
		return "", lie(opScan, "malformed notes")
	}
	return s.store.Commit(worktree.Picture{Root: root, Notes: notes, Files: p.Files, Dirs: p.Dirs, Links: p.Links, Bytes: p.Bytes})
}

// Begin implements worktree.Changer.
func (c *Client) Begin(ctx context.Context, ch worktree.Change) (worktree.Begun, error) {
	var r wire.Begun
	body, err := c.call(ctx, wire.OpChange, struct{}{}, worktree.EncodeSteps(&ch), &r)
	if err != nil {
		return worktree.Begun{}, err
	}
	b := worktree.Begun{FoldsCase: r.FoldsCase, FoldsForm: r.FoldsForm}
	if r.Made {
		o, err := decodeOutcome(body)
		if err != nil {
			return b, err
		}
		b.Outcome = &o
	}
	return b, nil
}

func decodeOutcome(body []byte) (worktree.Outcome, error) {
	var o wire.Outcome
	if err := json.Unmarshal(body, &o); err != nil || len(o.Kept) > worktree.MaxSteps {
		return worktree.Outcome{}, lie(opChange, fmt.Sprintf("a malformed outcome: %v", err))
	}
	return worktree.FromWire(&o), nil
}

// Put implements worktree.Changer.
func (c *Client) Put(ctx context.Context, id string, pieces []worktree.Piece) error {
	args := wire.ChangePutArgs{ID: id, Pieces: make([]wire.Piece, len(pieces))}
	var body []byte
	for i, p := range pieces {
		args.Pieces[i] = wire.Piece{Step: p.Step, Offset: p.Offset, Size: len(p.Data), Last: p.Last}
		body = append(body, p.Data...)
	}
	_, err := c.call(ctx, wire.OpChangePut, args, body, nil)
	return err
}

// Commit implements worktree.Changer.
func (c *Client) Commit(ctx context.Context, id string) (worktree.Outcome, error) {
	body, err := c.call(ctx, wire.OpChangeCommit, wire.IDArgs{ID: id}, nil, nil)
	if err != nil {
		return worktree.Outcome{}, err
	}
	return decodeOutcome(body)
}

// Abort implements worktree.Changer.
func (c *Client) Abort(ctx context.Context, id string) error {
	_, err := c.call(ctx, wire.OpChangeAbort, wire.IDArgs{ID: id}, nil, nil)
	return err
}
