//go:build linux

// This file is how the daemon tells of processes: as a stream of framed messages, to whoever is connected and nobody else.

package e2btest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	chunkSize   = 32 << 10 // bytes of output in one event
	slots       = 64       // events that wait for a slow reader
	defaultPing = 90       // seconds
	maxRequest  = 16 << 20 // bytes
)

// listener is somebody who is connected to a process.
type listener struct {
	events chan map[string]any
	ctx    context.Context
}

// listen begins to hear what a process does.
func (p *proc) listen(ctx context.Context) *listener {
	l := &listener{events: make(chan map[string]any, slots), ctx: ctx}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[l] = true
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.listeners, l)
	})
	return l
}

// tell passes an event on. A listener that does not listen holds the process up.
func (p *proc) tell(ev map[string]any) {
	p.mu.Lock()
	var all []*listener
	for l := range p.listeners {
		all = append(all, l)
	}
	p.mu.Unlock()
	for _, l := range all {
		select {
		case l.events <- ev:
		case <-l.ctx.Done():
		}
	}
}

// stream is the answer of a streamed call.
type stream struct {
	w    http.ResponseWriter
	ping time.Duration
}

// openStream reads the one message of a request. It returns nil when the request was refused.
func openStream(w http.ResponseWriter, r *http.Request, q any) *stream {
	if r.Header.Get("Content-Type") != "application/connect+json" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return nil
	}
	ping := defaultPing
	if text := r.Header.Get("Keepalive-Ping-Interval"); text != "" {
		if ping, _ = strconv.Atoi(text); ping <= 0 {
			os.Exit(2) // as the real one does
		}
	}
	s := &stream{w: w, ping: time.Duration(ping) * time.Second}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	w.Header().Set("Content-Type", "application/connect+json")
	w.WriteHeader(http.StatusOK)
	if err != nil || len(body) < 5 || json.NewDecoder(bytes.NewReader(body[5:])).Decode(q) != nil {
		s.finish(problemf("invalid_argument", "the request is malformed"))
		return nil
	}
	return s
}

func (s *stream) frame(flags byte, message any) bool {
	text, err := json.Marshal(message)
	if err != nil {
		return false
	}
	head := binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(text)))
	if _, err := s.w.Write(append(head, text...)); err != nil {
		return false
	}
	return http.NewResponseController(s.w).Flush() == nil
}

func (s *stream) event(ev map[string]any) bool {
	return s.frame(0, map[string]any{"event": ev})
}

// finish ends the stream, with a problem if there is one.
func (s *stream) finish(p *problem) {
	if p == nil {
		s.frame(2, struct{}{})
		return
	}
	s.frame(2, map[string]any{"error": p})
}

// follow tells what a process does until it ends or nobody listens any more.
func (s *stream) follow(p *proc, l *listener) {
	if !s.event(map[string]any{"start": map[string]int{"pid": p.pid}}) {
		return
	}
	tick := time.NewTicker(s.ping)
	defer tick.Stop()
	for {
		select {
		case ev := <-l.events:
			if !s.event(ev) {
				return
			}
		case <-tick.C:
			if !s.event(map[string]any{"keepalive": struct{}{}}) {
				return
			}
		case <-l.ctx.Done():
			return
		case <-p.ended:
			s.rest(l)
			s.event(map[string]any{"end": p.end})
			s.finish(nil)
			return
		}
	}
}

// rest tells what was heard before the end.
func (s *stream) rest(l *listener) {
	for {
		select {
		case ev := <-l.events:
			s.event(ev)
		default:
			return
		}
	}
}
