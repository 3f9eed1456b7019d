//go:build linux

// This file is the control plane: sandboxes are made, listed, woken, paused and deleted.

package e2btest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	daemonVersion  = "0.6.13"
	defaultTime    = 300 // seconds; 15 by the first version of the interface
	legacyTime     = 15
	maxTime        = 24 * 60 * 60
	defaultPerPage = 100
)

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, map[string]any{"code": status, "message": fmt.Sprintf(format, args...)})
}

// refuseAs refuses with the usual words. Too many requests are told when to come again, too many sandboxes are not.
func refuseAs(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	if status == http.StatusTooManyRequests {
		text = "you have reached the maximum number of concurrent E2B sandboxes"
		if w.Header().Get("Retry-After") != "" {
			text = "Rate limit exceeded"
		}
	}
	refuse(w, status, "%s", text)
}

// control answers a request to the control plane.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	path, newer := strings.CutPrefix(r.URL.Path, "/v2")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	op := operation(r.Method, parts)
	if op == "" || newer && s.opts.Legacy && (op == "create" || op == "connect") {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.Header.Get("X-API-Key") != s.opts.Key {
		refuse(w, http.StatusUnauthorized, "Invalid API key, please visit the documentation to learn how to get one")
		return
	}
	if w = s.Strike(w, op, refuseAs); w == nil {
		return
	}
	var b *box
	if len(parts) > 1 {
		b = s.box(parts[1])
	}
	switch {
	case op == "create":
		s.create(w, r, newer)
		return
	case op == "list":
		s.list(w, r)
		return
	case b == nil || b.is(killed):
		refuse(w, http.StatusNotFound, "Sandbox %q doesn't exist or you don't have access to it", parts[1])
		return
	}
	switch op {
	case "get":
		answer(w, http.StatusOK, b.full())
	case "connect":
		s.connect(w, r, b)
	case "pause":
		s.suspend(w, b)
	case "timeout":
		s.timeout(w, r, b)
	case "delete":
		s.remove(w, b)
	}
}

// operation names a request; see Server.
func operation(method string, parts []string) string {
	if parts[0] != "sandboxes" || len(parts) > 3 {
		return ""
	}
	verb := ""
	if len(parts) == 3 {
		verb = parts[2]
	}
	switch {
	case len(parts) == 1 && method == http.MethodPost:
		return "create"
	case len(parts) == 1 && method == http.MethodGet:
		return "list"
	case len(parts) == 2 && method == http.MethodGet:
		return "get"
	case len(parts) == 2 && method == http.MethodDelete:
		return "delete"
	case method == http.MethodPost && slices.Contains([]string{"connect", "pause", "timeout"}, verb):
		return verb
	}
	return ""
}

type creation struct {
	TemplateID string            `json:"templateID"`
	Timeout    *int              `json:"timeout"`
	Metadata   map[string]string `json:"metadata"`
	EnvVars    map[string]string `json:"envVars"`
	AutoPause  bool              `json:"autoPause"`
	Secure     *bool             `json:"secure"`

	text string
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, newer bool) {
	var c creation
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	c.text = string(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "Error when parsing request: %v", err)
		return
	}
	seconds := defaultTime
	if !newer {
		seconds = legacyTime
	}
	if c.Timeout != nil {
		seconds = *c.Timeout
	}
	switch {
	case newer && c.Secure != nil:
		refuse(w, http.StatusBadRequest, "property \"secure\" is unsupported")
		return
	case !newer && (c.Secure == nil || !*c.Secure):
		refuse(w, http.StatusBadRequest, "the stand-in makes secured sandboxes only")
		return
	case !slices.Contains(s.opts.Templates, c.TemplateID):
		refuse(w, http.StatusNotFound, "template '%s' not found", c.TemplateID)
		return
	case seconds < 1 || seconds > maxTime:
		refuse(w, http.StatusBadRequest, "Timeout must be between 1 and %d seconds", maxTime)
		return
	case s.opts.Most > 0 && s.running() >= s.opts.Most:
		refuse(w, http.StatusTooManyRequests, "you have reached the maximum number of concurrent E2B sandboxes (%d)", s.opts.Most)
		return
	}
	b, err := s.boot(c, time.Duration(seconds)*time.Second)
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]any{"code": 500, "message": err.Error(), "error_code": "sandbox_create_failed"})
		return
	}
	answer(w, http.StatusCreated, b.brief())
}

func (s *Server) running() (n int) {
	for _, b := range s.all() {
		if b.is(running) {
			n++
		}
	}
	return n
}

func (s *Server) connect(w http.ResponseWriter, r *http.Request, b *box) {
	var c struct {
		Timeout *int `json:"timeout"`
	}
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		refuse(w, http.StatusBadRequest, "Error when parsing request: %v", err)
		return
	}
	span := defaultTime * time.Second
	if c.Timeout != nil {
		span = time.Duration(*c.Timeout) * time.Second
	}
	woken, err := s.wake(b, span)
	switch {
	case err != nil:
		refuse(w, http.StatusInternalServerError, "%v", err)
	case woken:
		answer(w, http.StatusCreated, b.brief())
	default:
		answer(w, http.StatusOK, b.brief())
	}
}

func (s *Server) suspend(w http.ResponseWriter, b *box) {
	if !b.is(running) {
		refuse(w, http.StatusConflict, "Error pausing sandbox - sandbox '%s' is already paused", b.id)
		return
	}
	if err := s.pause(b); err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) timeout(w http.ResponseWriter, r *http.Request, b *box) {
	var c struct {
		Timeout int `json:"timeout"`
	}
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Timeout < 0 || c.Timeout > maxTime {
		refuse(w, http.StatusBadRequest, "Timeout is out of range")
		return
	}
	if !b.is(running) {
		refuse(w, http.StatusNotFound, "Sandbox %q not found", b.id)
		return
	}
	b.endAt(s.opts.Clock.Now().Add(time.Duration(c.Timeout)*time.Second), true)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) remove(w http.ResponseWriter, b *box) {
	if err := s.kill(b); err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// list answers with a page of sandboxes, the youngest first.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wanted, err := metadata(q.Get("metadata"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "Error when parsing metadata: %v", err)
		return
	}
	states := strings.FieldsFunc(strings.Join(q["state"], ","), func(c rune) bool { return c == ',' })
	var all []*box
	for _, b := range s.all() {
		if b.matches(wanted, states) {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *box) int { return cmp.Or(b.born.Compare(a.born), strings.Compare(a.id, b.id)) })
	from, _ := strconv.Atoi(q.Get("nextToken"))
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > s.opts.Page {
		limit = s.opts.Page
	}
	from = min(max(from, 0), len(all))
	to := min(from+limit, len(all))
	if to < len(all) {
		w.Header().Set("X-Next-Token", strconv.Itoa(to))
	}
	page := []map[string]any{}
	for _, b := range all[from:to] {
		page = append(page, b.full())
	}
	answer(w, http.StatusOK, page)
}

// metadata decodes the filter, which is encoded twice within the query.
func metadata(text string) (url.Values, error) {
	text, err := url.QueryUnescape(text)
	if err != nil {
		return nil, err
	}
	return url.ParseQuery(text)
}
