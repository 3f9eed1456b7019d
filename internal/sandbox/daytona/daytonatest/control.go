//go:build linux

// This file is the control plane: sandboxes are made, listed, started, stopped and deleted.

package daytonatest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, map[string]any{
		"statusCode": status, "error": http.StatusText(status), "message": fmt.Sprintf(format, args...), "timestamp": time.Now().UTC(), "path": "/",
	})
}

// refuseAs refuses with the usual words.
func refuseAs(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	switch status {
	case http.StatusConflict:
		text = "Sandbox state change in progress"
	case http.StatusTooManyRequests:
		text = "Rate limit exceeded"
	}
	refuse(w, status, "%s", text)
}

// control answers a request to the control plane.
func (s *Server) control(w http.ResponseWriter, r *http.Request, parts []string) {
	op := operation(r.Method, parts)
	if op == "" {
		http.NotFound(w, r)
		return
	}
	if !s.authorized(w, r, "Invalid credentials") {
		return
	}
	if w = s.Strike(w, op, refuseAs); w == nil {
		return
	}
	switch op {
	case "create":
		s.create(w, r)
		return
	case "list":
		s.list(w, r)
		return
	}
	b := s.box(parts[1])
	if b == nil {
		refuse(w, http.StatusNotFound, "Sandbox with ID or name %s not found", parts[1])
		return
	}
	s.onSandbox(w, r, b, op, parts)
}

// operation names a request; see Server.
func operation(method string, parts []string) string {
	if parts[0] != "sandbox" || len(parts) > 5 {
		return ""
	}
	verbs := []string{"start", "stop", "archive", "recover", "last-activity", "autostop", "autoarchive", "autodelete"}
	switch {
	case len(parts) == 1 && method == http.MethodPost:
		return "create"
	case len(parts) == 1 && method == http.MethodGet:
		return "list"
	case len(parts) == 2 && method == http.MethodGet:
		return "get"
	case len(parts) == 2 && method == http.MethodDelete:
		return "delete"
	case len(parts) == 5 && method == http.MethodGet && parts[2] == "ports" && parts[4] == "signed-preview-url":
		return parts[4]
	case len(parts) == 3 && method == http.MethodGet && parts[2] == "toolbox-proxy-url",
		len(parts) == 3 && method == http.MethodPut && parts[2] == "labels",
		len(parts) > 2 && method == http.MethodPost && slices.Contains(verbs, parts[2]):
		return parts[2]
	}
	return ""
}

func (s *Server) onSandbox(w http.ResponseWriter, r *http.Request, b *box, op string, parts []string) {
	changes := map[string]func(*box) error{"start": s.start, "stop": s.stop, "archive": s.archive, "recover": s.start, "delete": s.kill}
	switch op {
	case "get":
		answer(w, http.StatusOK, b.look())
	case "toolbox-proxy-url":
		answer(w, http.StatusOK, map[string]string{"url": s.base + toolboxPath})
	case "signed-preview-url":
		s.sign(w, r, b, parts[3])
	case "last-activity":
		b.touch()
		w.WriteHeader(http.StatusCreated)
	case "labels":
		var q struct {
			Labels map[string]string `json:"labels"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			refuse(w, http.StatusBadRequest, "%v", err)
			return
		}
		b.relabel(q.Labels)
		answer(w, http.StatusOK, q)
	case "autostop", "autoarchive", "autodelete":
		n, err := strconv.Atoi(parts[len(parts)-1])
		if err != nil || op == "autostop" && n < 0 {
			refuse(w, http.StatusBadRequest, "%s interval must be a non-negative integer", op)
			return
		}
		b.after(op, n)
		answer(w, http.StatusOK, b.full())
	default:
		s.change(w, b, op, changes[op])
	}
}

// change begins a change of a sandbox's state.
func (s *Server) change(w http.ResponseWriter, b *box, op string, do func(*box) error) {
	if b.changing() {
		refuseAs(w, http.StatusConflict)
		return
	}
	state := b.settled()
	switch {
	case op == "start" && state == started:
		answer(w, http.StatusOK, b.full())
		return
	case op == "start" && state == failed, op == "archive" && state != stopped, op == "stop" && state != started, op == "recover" && state != failed:
		refuse(w, http.StatusBadRequest, "Sandbox is in %s state", state)
		return
	case op == "start" && s.opts.Most > 0 && s.running() >= s.opts.Most:
		s.overLimit(w)
		return
	}
	if err := do(b); err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	answer(w, http.StatusOK, b.full())
}

func (s *Server) overLimit(w http.ResponseWriter) {
	refuse(w, http.StatusBadRequest, "Total CPU limit exceeded. Maximum allowed: %d.", s.opts.Most)
}

func (s *Server) running() (n int) {
	for _, b := range s.all() {
		if b.settled() == started {
			n++
		}
	}
	return n
}

type creation struct {
	Name        string            `json:"name"`
	Snapshot    string            `json:"snapshot"`
	Env         map[string]string `json:"env"`
	Labels      map[string]string `json:"labels"`
	Target      string            `json:"target"`
	CPU         int               `json:"cpu"`
	Memory      int               `json:"memory"`
	Disk        int               `json:"disk"`
	AutoStop    *int              `json:"autoStopInterval"`
	AutoArchive *int              `json:"autoArchiveInterval"`
	AutoDelete  *int              `json:"autoDeleteInterval"`
	BuildInfo   *struct {
		Dockerfile string `json:"dockerfileContent"`
	} `json:"buildInfo"`

	text string
}

// wrong says why a sandbox cannot be made, if it cannot.
func (c *creation) wrong(s *Server) string {
	switch {
	case c.BuildInfo != nil && c.Snapshot != "":
		return "Cannot specify both snapshot and build info"
	case c.BuildInfo == nil && c.CPU+c.Memory+c.Disk > 0:
		return "Cannot specify Sandbox resources when using a snapshot"
	case c.Snapshot != "" && !slices.Contains(s.opts.Snapshots, c.Snapshot):
		return fmt.Sprintf("Snapshot %s not found. Did you add it through the Daytona Dashboard?", c.Snapshot)
	case c.AutoStop != nil && *c.AutoStop < 0:
		return "Auto-stop interval must be a non-negative integer"
	}
	return ""
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var c creation
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	c.text = string(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "%v", err)
		return
	}
	if complaint := c.wrong(s); complaint != "" {
		refuse(w, http.StatusBadRequest, "%s", complaint)
		return
	}
	if s.opts.Most > 0 && s.running() >= s.opts.Most {
		s.overLimit(w)
		return
	}
	b, err := s.boot(c)
	switch {
	case err != nil:
		refuse(w, http.StatusInternalServerError, "%v", err)
	case b == nil:
		refuse(w, http.StatusConflict, "Sandbox with name %s already exists", c.Name)
	default:
		answer(w, http.StatusOK, b.full())
	}
}

// list answers with a page of sandboxes, the youngest first.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var labels map[string]string
	if text := q.Get("labels"); text != "" {
		if err := json.Unmarshal([]byte(text), &labels); err != nil {
			refuse(w, http.StatusBadRequest, "Invalid labels JSON format")
			return
		}
	}
	var all []*box
	for _, b := range s.all() {
		if b.matches(labels) && strings.HasPrefix(b.Name, q.Get("name")) {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *box) int { return cmp.Or(b.born.Compare(a.born), strings.Compare(a.id, b.id)) })
	from, _ := strconv.Atoi(q.Get("cursor"))
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > s.opts.Page {
		limit = s.opts.Page
	}
	from = min(max(from, 0), len(all))
	to := min(from+limit, len(all))
	var next *string
	if to < len(all) {
		text := strconv.Itoa(to)
		next = &text
	}
	items := []map[string]any{}
	for _, b := range all[from:to] {
		i := b.full()
		delete(i, "env")
		items = append(items, i)
	}
	answer(w, http.StatusOK, map[string]any{"items": items, "nextCursor": next})
}
