// This file is the server: routes, keys, the choice of the rule, and the record of what was asked.

package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	maxBody     = 64 << 20
	maxRecorded = 1000
)

// Recorded is a request as it came.
type Recorded struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// HasKey says whether there was a bearer key; Authorization is the header itself, never shown by the /requests address.
	HasKey        bool            `json:"hasKey"`
	Authorization string          `json:"-"`
	Header        http.Header     `json:"-"`
	Body          json.RawMessage `json:"body,omitempty"`
	Rule          string          `json:"rule,omitempty"`  // the rule that answered
	Error         string          `json:"error,omitempty"` // why it was refused by the rules of the API
}

// Server is a scripted model server. It is an http.Handler for /v1/… ; GET /requests shows what was recorded.
type Server struct {
	// URL is the base URL for clients ("http://127.0.0.1:1234/v1"); set by Start.
	URL string

	script Script
	stop   chan struct{}
	once   sync.Once

	mu       sync.Mutex
	calls    int
	fired    map[int]int // rule → faults so far
	requests []Recorded
}

// NewServer returns a handler for a script. Close ends the answers that stall.
func NewServer(s Script) *Server {
	return &Server{script: s, stop: make(chan struct{}), fired: map[int]int{}}
}

// Start serves a script on a loopback port until the test ends.
func Start(t testing.TB, s Script) *Server {
	t.Helper()
	server := NewServer(s)
	http1 := httptest.NewServer(server)
	server.URL = http1.URL + "/v1"
	t.Cleanup(func() {
		server.Close()
		http1.Close()
	})
	return server
}

// Close ends the answers that stall or pause.
func (s *Server) Close() { s.once.Do(func() { close(s.stop) }) }

// Requests returns what was asked so far (the last 1000), in order.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimPrefix(req.URL.Path, "/v1")
	if path == "/requests" {
		writeJSON(w, http.StatusOK, s.Requests())
		return
	}
	key := req.Header.Get("Authorization")
	rec := Recorded{
		Method: req.Method, Path: req.URL.Path, Authorization: key, Header: req.Header.Clone(), HasKey: strings.HasPrefix(key, "Bearer "),
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	if err != nil {
		return
	}
	if json.Valid(body) {
		rec.Body = body
	}
	switch {
	case s.script.Key != "" && key != "Bearer "+s.script.Key:
		said := "Incorrect API key provided: " + strings.TrimPrefix(key, "Bearer ") + "." // the real API shows it in part
		s.refuse(w, rec, &apiError{status: http.StatusUnauthorized, code: "invalid_api_key", message: said})
	case path == "/models" && req.Method == http.MethodGet:
		s.record(rec)
		writeJSON(w, http.StatusOK, s.models())
	case path == "/responses" && s.speaks(wireResponses):
		s.answer(w, req, rec, wireResponses, body)
	case path == "/responses/compact" && s.script.Compacts:
		s.compact(w, rec, body)
	case path == "/chat/completions" && s.speaks(wireChat):
		s.answer(w, req, rec, wireChat, body)
	default:
		s.record(rec)
		http.NotFound(w, req)
	}
}

func (s *Server) speaks(wire string) bool {
	return len(s.script.Wires) == 0 || slices.Contains(s.script.Wires, wire)
}

func (s *Server) modelIDs() []string {
	if len(s.script.Models) == 0 {
		return []string{"scripted"}
	}
	return s.script.Models
}

func (s *Server) models() object {
	data := []object{}
	for _, id := range s.modelIDs() {
		data = append(data, object{"id": id, "object": "model", "created": 1750000000, "owned_by": "scripted"})
	}
	return object{"object": "list", "data": data}
}

func (s *Server) record(rec Recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == maxRecorded {
		s.requests = s.requests[1:]
	}
	s.requests = append(s.requests, rec)
}

func (s *Server) refuse(w http.ResponseWriter, rec Recorded, e *apiError) {
	rec.Error = e.message
	s.record(rec)
	writeError(w, e)
}

func (s *Server) answer(w http.ResponseWriter, req *http.Request, rec Recorded, wire string, body []byte) {
	if req.Method != http.MethodPost {
		s.refuse(w, rec, &apiError{status: http.StatusMethodNotAllowed, message: "Only POST is allowed."})
		return
	}
	r, e := parseRequest(wire, body)
	if e == nil {
		e = s.quirky(r, body)
	}
	if e != nil {
		s.refuse(w, rec, e)
		return
	}
	rule, index, fault := s.choose(r)
	if index < 0 {
		s.refuse(w, rec, invalid("", "No rule of the script matches: %q (step %d).", r.lastUser(), r.step()))
		return
	}
	rec.Rule = rule.Name
	s.record(rec)
	s.respond(w, req, r, rule, fault)
}

// quirky refuses what the script says this server refuses.
func (s *Server) quirky(r *request, body []byte) *apiError {
	if s.script.Strict && !slices.Contains(s.modelIDs(), r.model) {
		said := "The model '" + r.model + "' does not exist or you do not have access to it."
		return &apiError{status: http.StatusNotFound, code: "model_not_found", param: "model", message: said}
	}
	if s.script.Quirks.NoImages && bytes.Contains(body, []byte(`"image_url"`)) {
		return &apiError{status: http.StatusInternalServerError, message: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}
	}
	var fields any
	_ = json.Unmarshal(body, &fields)
	for _, name := range s.script.Quirks.Refuse {
		if !present(fields, strings.Split(name, ".")) {
			continue
		}
		if s.script.Quirks.Vague {
			return invalid("", "bad request")
		}
		e := invalid(name, "Unsupported parameter: '%s'.", name)
		e.code = "unsupported_parameter"
		return e
	}
	return nil
}

// present looks for a dotted name, through lists too.
func present(v any, name []string) bool {
	if len(name) == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		inner, has := v[name[0]]
		return has && present(inner, name[1:])
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return present(e, name) })
	}
	return false
}

// choose returns the rule that answers, and its fault if it still has to happen; index -1 when none matches.
func (s *Server) choose(r *request) (rule Rule, index int, fault *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	for i, rule := range s.script.Rules {
		if !rule.Match.matches(r, s.calls) {
			continue
		}
		if f := rule.Fault; f != nil && (f.Times == 0 || s.fired[i] < f.Times) {
			s.fired[i]++
			return rule, i, f
		}
		return rule, i, nil
	}
	return Rule{}, -1, nil
}

func (s *Server) respond(w http.ResponseWriter, req *http.Request, r *request, rule Rule, fault *Fault) {
	if fault != nil && fault.Status != 0 {
		refuse(w, fault)
		return
	}
	p := &player{w: w, req: req, stop: s.stop, fault: fault, delay: time.Duration(rule.Chunking.DelayMS) * time.Millisecond, wire: r.wire}
	if fault != nil && reached(fault.StallAfterChunks, -1) {
		p.stall()
		return
	}
	q := s.script.Quirks
	f := fill(rule.Respond, r, q)
	chunk := rule.Chunking.Bytes
	if chunk <= 0 {
		chunk = 16
	}
	switch {
	case r.wire == wireResponses && r.stream && !q.NoStream:
		p.play(responsesFrames(f, r.model, chunk, fault), false)
	case r.wire == wireResponses:
		writeJSON(w, http.StatusOK, responseObject(f, r.model, "completed", outputs(f)))
	case r.stream && !q.NoStream:
		p.play(chatFrames(f, r, q, chunk, fault), !q.NoDone)
	default:
		writeJSON(w, http.StatusOK, chatObject(f, r.model, q))
	}
}
