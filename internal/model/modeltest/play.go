// This file sends an answer over HTTP, at the pace and with the faults a rule asks for.

package modeltest

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// player sends one stream.
type player struct {
	w      http.ResponseWriter
	req    *http.Request
	stop   <-chan struct{}
	fault  *Fault
	delay  time.Duration
	wire   string
	buf    bytes.Buffer
	deltas int
}

// play sends frames until they end, the client leaves, or the fault strikes.
func (p *player) play(frames iter.Seq[frame], done bool) {
	p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p.w.WriteHeader(http.StatusOK)
	p.flush()
	for f := range frames {
		if f.delta {
			if p.strikes() || !p.pause() {
				return
			}
			p.deltas++
		}
		if !p.event(f.name, encode(f.data)) {
			return
		}
	}
	if done {
		p.raw("data: [DONE]\n\n")
	}
}

// pause waits between two deltas; false when the client or the server is gone.
func (p *player) pause() bool {
	if p.delay == 0 {
		return p.req.Context().Err() == nil
	}
	timer := time.NewTimer(p.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.req.Context().Done():
	case <-p.stop:
	}
	return false
}

// strikes makes the fault happen if this is its place; true when the stream is over.
func (p *player) strikes() bool {
	f := p.fault
	if f == nil {
		return false
	}
	if p.deltas == 0 {
		p.malformed(f.Malformed)
	}
	switch {
	case reached(f.EndAfterChunks, p.deltas):
		return true
	case reached(f.CutAfterChunks, p.deltas):
		p.cut()
		return true
	case reached(f.StallAfterChunks, p.deltas):
		p.stall()
		return true
	case reached(f.ErrorAfterChunks, p.deltas):
		p.errorEvent(f)
		return true
	}
	return false
}

func reached(at *int, deltas int) bool { return at != nil && *at == deltas }

func (p *player) malformed(kind string) {
	switch kind {
	case "json":
		p.event("response.output_text.delta", []byte(`{"type":"response.output_text.delta","delta":"oo`))
	case "unknown":
		p.event("response.brand_new.event", []byte(`{"type":"response.brand_new.event","delta":{"not":"text"},"item":7}`))
	case "empty":
		p.raw("data:\n\nevent: nothing\n\n")
	case "comment":
		p.raw(": keep-alive\n\n")
	case "longLine":
		part := strings.Repeat("x", 1<<20)
		for p.req.Context().Err() == nil && p.raw(part) {
		}
	}
}

// cut closes the connection without a word.
func (p *player) cut() {
	if conn, _, err := http.NewResponseController(p.w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// stall keeps the connection open and silent until the client leaves.
func (p *player) stall() {
	select {
	case <-p.req.Context().Done():
	case <-p.stop:
	}
}

func (p *player) errorEvent(f *Fault) {
	if p.wire == wireChat {
		p.event("", encode(object{"error": object{"message": f.Message, "code": f.Code}}))
		return
	}
	p.event("error", encode(object{"type": "error", "code": f.Code, "message": f.Message, "param": nil, "sequence_number": p.deltas}))
}

func (p *player) event(name string, data []byte) bool {
	p.buf.Reset()
	if name != "" && p.wire == wireResponses {
		fmt.Fprintf(&p.buf, "event: %s\n", name)
	}
	fmt.Fprintf(&p.buf, "data: %s\n\n", data)
	return p.raw(p.buf.String())
}

func (p *player) raw(text string) bool {
	if _, err := p.w.Write([]byte(text)); err != nil {
		return false
	}
	p.flush()
	return true
}

func (p *player) flush() { _ = http.NewResponseController(p.w).Flush() }

// refuse answers with the status of a fault.
func refuse(w http.ResponseWriter, f *Fault) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.RetryAfterMS > 0 {
		w.Header().Set("Retry-After-Ms", strconv.Itoa(f.RetryAfterMS))
	}
	if len(f.Body) > 0 {
		writeJSON(w, f.Status, f.Body)
		return
	}
	writeError(w, &apiError{status: f.Status, code: f.Code, message: f.Message})
}

func writeError(w http.ResponseWriter, e *apiError) {
	kind := "invalid_request_error"
	if e.status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	message := e.message
	if message == "" {
		message = http.StatusText(e.status)
	}
	writeJSON(w, e.status, object{"error": object{"message": message, "type": kind, "param": orNull(e.param), "code": orNull(e.code)}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}
