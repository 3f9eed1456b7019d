//go:build linux

// Package e2btest stands in for E2B's cloud in tests: its control plane, the proxy before the sandboxes, and the daemon in each.
// E2B's own JavaScript SDK works against it. What runs in a sandbox really runs on this machine: below a daemon of its own, as
// an ordinary user where the test is root, with a temporary directory as its home. Linux only.
//
// The daemon is the test's own program, so its TestMain begins with:
//
//	if e2btest.Invoked() {
//		os.Exit(e2btest.Daemon())
//	}
//
// This file is the server: what it is told, and who answers what.
package e2btest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

// DefaultKey is the API key that the server takes unless told otherwise.
const DefaultKey = "e2b_0123456789abcdef0123456789abcdef01234567"

// Root is where workspaces should be: the root directory of these sandboxes is this machine's.
const Root = "~/workspace"

// Options configure the server. The zero value of a field means the default.
type Options struct {
	Key       string      // default DefaultKey
	Templates []string    // default "base"
	Most      int         // sandboxes that may run at a time; default any number
	Page      int         // sandboxes that a list tells at a time; default 100
	Legacy    bool        // only the first version of the interface to make and wake sandboxes
	Clock     cloud.Clock // by which sandboxes expire; default the machine's
}

// Server is E2B on this machine. All methods may be called concurrently. The names of requests, for faults, are create, list,
// get, connect, pause, timeout and delete of the control plane, Start, SendInput, SendSignal, Stat, MakeDir, upload, download
// and health of a sandbox.
type Server struct {
	cloudtest.Faults
	URL string // of the control plane and of every sandbox

	opts Options
	dir  string
	http *httptest.Server

	mu      sync.Mutex // guards the fields below
	boxes   map[string]*box
	created int
}

// New starts a server that ends with the test, and every sandbox with it.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Key == "" {
		o.Key = DefaultKey
	}
	if len(o.Templates) == 0 {
		o.Templates = []string{"base"}
	}
	if o.Page == 0 {
		o.Page = defaultPerPage
	}
	if o.Clock == nil {
		o.Clock = cloud.WallClock{}
	}
	dir, err := os.MkdirTemp("", "e2b") // short, as there will be sockets in it
	if err == nil {
		err = os.Chmod(dir, 0o711) // for the user in the sandboxes
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatalf("make a directory for sandboxes: %v", err)
	}
	s := &Server{opts: o, dir: dir, boxes: map[string]*box{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("end the stand-in of E2B: %v", err)
		}
	})
	return s
}

func (s *Server) close() error {
	var errs []error
	for _, b := range s.all() {
		errs = append(errs, s.kill(b))
	}
	s.http.CloseClientConnections()
	s.http.Close()
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// Sandbox is what the server has of a sandbox.
type Sandbox struct {
	ID       string
	Running  bool // else it is paused
	Metadata map[string]string
	Home     string // its user's home on this machine
	Daemon   int    // process id of its daemon, of which all its processes descend
	End      time.Time
	Request  string // the JSON that it was made by
}

// Sandboxes returns all sandboxes, running or paused: what would have to be paid for.
func (s *Server) Sandboxes() []Sandbox {
	var out []Sandbox
	for _, b := range s.all() {
		out = append(out, b.describe())
	}
	return out
}

// Created returns how many sandboxes were ever made.
func (s *Server) Created() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// Pause pauses a sandbox as somebody else with access to the account could.
func (s *Server) Pause(id string) error { return s.onBox(id, s.pause) }

// Kill deletes a sandbox as somebody else with access to the account could.
func (s *Server) Kill(id string) error { return s.onBox(id, s.kill) }

// Cut breaks all connections to a sandbox.
func (s *Server) Cut(id string) error {
	return s.onBox(id, func(b *box) error {
		b.cut()
		return nil
	})
}

func (s *Server) onBox(id string, do func(*box) error) error {
	b := s.box(id)
	if b == nil {
		return fmt.Errorf("there is no sandbox %q", id)
	}
	return do(b)
}

func (s *Server) box(id string) *box {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boxes[id]
}

func (s *Server) all() []*box {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*box
	for _, b := range s.boxes {
		out = append(out, b)
	}
	return out
}

var ownHost = regexp.MustCompile(`^(\d+)-([a-z0-9]+)\.`)

// serve tells the two planes apart as the cloud's host names do.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	id, port := r.Header.Get("E2b-Sandbox-Id"), r.Header.Get("E2b-Sandbox-Port")
	if m := ownHost.FindStringSubmatch(r.Host); m != nil {
		port, id = m[1], m[2]
	}
	switch {
	case id == "" && port == "":
		s.control(w, r)
	case id == "" || port == "":
		http.Error(w, "missing header", http.StatusBadRequest)
	default:
		s.data(w, r, id, port)
	}
}
