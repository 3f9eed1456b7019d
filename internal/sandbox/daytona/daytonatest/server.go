//go:build linux

// Package daytonatest stands in for Daytona's cloud in tests: its control plane, the proxy before the sandboxes, and the daemon
// in each. Daytona's own JavaScript SDK works against it. What runs in a sandbox really runs on this machine: below a daemon of
// its own, as an ordinary user where the test is root, with a temporary directory as its home. Linux only.
//
// The daemon is the test's own program, so its TestMain begins with:
//
//	if daytonatest.Invoked() {
//		os.Exit(daytonatest.Daemon())
//	}
//
// This file is the server: what it is told, and who answers what.
package daytonatest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

// DefaultKey is the API key that the server takes unless told otherwise.
const DefaultKey = "dtn_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const (
	apiPath     = "/api"
	toolboxPath = "/toolbox"
	defaultPage = 200
)

// Options configure the server. The zero value of a field means the default.
type Options struct {
	Key       string      // default DefaultKey
	Snapshots []string    // beside Daytona's own, which needs no name
	Images    []string    // that can be built; others fail. Default any
	Most      int         // sandboxes that may run at a time; default any number
	Page      int         // sandboxes that a list tells at a time; default 200
	Looks     int         // at a sandbox during which a change of its state is still going on; default 1
	Shell     string      // of terminals; default bash
	Clock     cloud.Clock // by which idle sandboxes are stopped; default the machine's
}

// Server is Daytona on this machine. All methods may be called concurrently. The names of requests, for faults, are create,
// list, get, start, stop, delete, archive, recover, last-activity and toolbox-proxy-url of the control plane, execute, upload,
// download, files, session, terminals (made), connect (to a terminal), terminal (anything else about one) and info of a
// sandbox.
type Server struct {
	cloudtest.Faults
	URL string // of the control plane

	opts Options
	dir  string
	base string
	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	boxes    map[string]*box
	previews map[string]preview // by token
	created  int
}

// New starts a server that ends with the test, and every sandbox with it.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	orElse(&o.Key, DefaultKey)
	orElse(&o.Page, defaultPage)
	orElse(&o.Looks, 1)
	orElse(&o.Shell, "bash")
	if o.Clock == nil {
		o.Clock = cloud.WallClock{}
	}
	dir, err := os.MkdirTemp("", "dtn") // short, as there will be sockets in it
	if err == nil {
		err = os.Chmod(dir, 0o711) // for the user in the sandboxes
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatalf("make a directory for sandboxes: %v", err)
	}
	s := &Server{opts: o, dir: dir, boxes: map[string]*box{}, previews: map[string]preview{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.base, s.URL = s.http.URL, s.http.URL+apiPath
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("end the stand-in of Daytona: %v", err)
		}
	})
	return s
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
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
	ID      string
	Name    string
	State   string // as the control plane would tell after every change has been completed
	Running bool
	Labels  map[string]string
	Home    string // its user's home on this machine
	Daemon  int    // process id of its daemon, of which all its processes descend; 0 when it does not run
	Request string // the JSON that it was made by
}

// Sandboxes returns all sandboxes, running or not: what would have to be paid for.
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

// Stop stops a sandbox as Daytona does with an idle one.
func (s *Server) Stop(id string) error { return s.onBox(id, s.stop) }

// Archive moves a sandbox to an archive as Daytona does with one that is stopped for long.
func (s *Server) Archive(id string) error { return s.onBox(id, s.archive) }

// Kill deletes a sandbox as somebody else with access to the account could.
func (s *Server) Kill(id string) error { return s.onBox(id, s.kill) }

// Break lets a sandbox fail.
func (s *Server) Break(id string, recoverable bool) error {
	return s.onBox(id, func(b *box) error { return s.fail(b, recoverable) })
}

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

// box returns a sandbox by its id or name.
func (s *Server) box(id string) *box {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		if b.id == id || b.Name == id {
			return b
		}
	}
	return nil
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

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if path, is := strings.CutPrefix(r.URL.Path, apiPath+"/"); is {
		s.control(w, r, strings.Split(path, "/"))
		return
	}
	if token, is := strings.CutPrefix(r.URL.Path, previewPath+"/"); is {
		token, _, _ = strings.Cut(token, "/")
		s.server(w, r, token)
		return
	}
	path, is := strings.CutPrefix(r.URL.Path, toolboxPath+"/")
	id, rest, _ := strings.Cut(path, "/")
	if !is {
		http.NotFound(w, r)
		return
	}
	s.data(w, r, id, "/"+rest)
}

// authorized reports whether a request has the key, and refuses it otherwise.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request, complaint string) bool {
	if r.Header.Get("Authorization") == "Bearer "+s.opts.Key {
		return true
	}
	refuse(w, http.StatusUnauthorized, "%s", complaint)
	return false
}
