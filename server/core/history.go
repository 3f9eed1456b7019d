// This file walks back through a session's items: those its workflow still holds, then the sealed ones in the blob store.

package core

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"sync"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
)

const (
	historyDefault = 50
	maxSegments    = 32 // kept in memory; they never change
)

// historyCursor says that items before Seq are wanted, and in which segment they begin; without one, that the workflow
// may still hold them.
type historyCursor struct {
	Session string `json:"s"`
	Seq     int64  `json:"q"`
	Segment string `json:"b,omitempty"`
}

func (h historyCursor) String() string {
	b, err := json.Marshal(h)
	if err != nil {
		return "" // three plain fields always marshal
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseHistoryCursor(text, sessionID string) (historyCursor, error) {
	var h historyCursor
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err == nil && h.Segment != "" {
		_, err = blob.ParseRef(h.Segment)
	}
	if err != nil || h.Session != sessionID || h.Seq <= 0 {
		return h, editors.Errorf(editors.CodeInvalidParams, "the cursor is not one that this session gave")
	}
	return h, nil
}

func (c *Conn) history(ctx context.Context, p editors.HistoryParams) (editors.HistoryResult, error) {
	if p.SessionID == "" {
		return editors.HistoryResult{}, noSession()
	}
	limit := p.Limit
	if limit <= 0 {
		limit = historyDefault
	}
	limit = min(limit, editors.MaxHistoryPage)
	from := historyCursor{Session: p.SessionID}
	if p.Before != "" {
		var err error
		if from, err = parseHistoryCursor(p.Before, p.SessionID); err != nil {
			return editors.HistoryResult{}, err
		}
	}
	return c.core.history(ctx, from, limit)
}

// history collects a page from its newest item to its oldest.
func (c *Core) history(ctx context.Context, from historyCursor, limit int) (editors.HistoryResult, error) {
	p := page{session: from.Session, before: from.Seq, limit: limit, room: maxAnswer}
	segment := from.Segment
	if segment == "" {
		v, err := c.view(ctx, from.Session, nil)
		if err != nil {
			return editors.HistoryResult{}, err
		}
		if !p.take(v.Items) {
			return c.historyResult(ctx, &p, "", true), nil
		}
		segment = v.Sealed
	}
	for segment != "" && p.limit > 0 {
		s, err := c.segment(ctx, segment)
		if err != nil {
			return editors.HistoryResult{}, asError("reading older items", err)
		}
		if !p.take(s.Items) {
			return c.historyResult(ctx, &p, segment, true), nil
		}
		segment = s.Prev
	}
	return c.historyResult(ctx, &p, segment, segment != ""), nil
}

func (c *Core) historyResult(ctx context.Context, p *page, segment string, more bool) editors.HistoryResult {
	result := editors.HistoryResult{Items: p.items}
	if more {
		result.Before = p.cursor(segment)
	}
	c.fillView(ctx, agent.View{Items: result.Items})
	return result
}

// page is a run of items, oldest first, that grows at its beginning.
type page struct {
	session string
	before  int64 // only items that began before this seq; 0: all
	limit   int   // items that may still come
	room    int   // bytes of JSON that may still come
	items   []editors.Item
}

// take puts the newest of items in front and tells whether all of them that count fitted.
func (p *page) take(items []editors.Item) bool {
	for i := len(items) - 1; i >= 0; i-- {
		if p.before > 0 && items[i].Seq >= p.before {
			continue
		}
		bytes := size(items[i])
		if p.limit == 0 || (bytes > p.room && len(p.items) > 0) {
			return false
		}
		p.limit, p.room = p.limit-1, p.room-bytes
		p.items = append([]editors.Item{items[i]}, p.items...)
	}
	return true
}

// cursor is where the page before this one ends.
func (p *page) cursor(segment string) string {
	seq := p.before
	if len(p.items) > 0 {
		seq = p.items[0].Seq
	}
	if seq == 0 {
		seq = math.MaxInt64
	}
	return historyCursor{Session: p.session, Seq: seq, Segment: segment}.String()
}

// snapshotPage returns the newest items of a view and where the older ones are.
func snapshotPage(sessionID string, v agent.View) (items []editors.Item, before string) {
	p := page{session: sessionID, limit: editors.MaxHistoryPage, room: maxAnswer}
	switch {
	case !p.take(v.Items):
		before = p.cursor("")
	case v.Sealed != "":
		before = p.cursor(v.Sealed)
	}
	return p.items, before
}

// segmentCache keeps the segments read last.
type segmentCache struct {
	mu    sync.Mutex
	kept  map[string]agent.Segment
	order []string
}

func (s *segmentCache) get(ref string) (agent.Segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	segment, ok := s.kept[ref]
	return segment, ok
}

func (s *segmentCache) put(ref string, segment agent.Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.kept[ref]; known {
		return
	}
	if s.kept == nil {
		s.kept = make(map[string]agent.Segment)
	}
	if len(s.order) == maxSegments {
		delete(s.kept, s.order[0])
		s.order = s.order[1:]
	}
	s.kept[ref] = segment
	s.order = append(s.order, ref)
}

func (c *Core) segment(ctx context.Context, ref string) (agent.Segment, error) {
	if s, ok := c.segments.get(ref); ok {
		return s, nil
	}
	store, err := c.blobs.open()
	if err != nil {
		return agent.Segment{}, err
	}
	var s agent.Segment
	if err := blob.GetJSON(ctx, store, blob.Ref(ref), &s); err != nil {
		return agent.Segment{}, err
	}
	c.segments.put(ref, s)
	return s, nil
}
