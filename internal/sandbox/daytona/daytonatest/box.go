//go:build linux

// This file is one sandbox: a daemon process, everything that descends from it, and the state that the control plane knows.

package daytonatest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

// The states in which a sandbox stays.
const (
	started  = "started"
	stopped  = "stopped"
	archived = "archived"
	failed   = "error"
	unbuilt  = "build_failed"
	killed   = "destroyed"
)

const (
	defaultStop = 15               // minutes
	stillThere  = 50 * time.Second // after which an open connection counts as activity again
	failure     = "the stand-in was told to let it fail"
)

// box is a sandbox.
type box struct {
	creation
	id   string
	born time.Time
	dir  string
	s    *Server

	mu          sync.Mutex // guards the fields below; held while the state changes
	state       string
	recoverable bool
	before      string // what looks still tell of a change that is going on
	looks       int    // so many of them
	proxy       *httputil.ReverseProxy
	cmd         *exec.Cmd
	leash       io.Closer // the daemon ends when it is closed
	active      time.Time
	open        int           // requests and connections
	moved       chan struct{} // closed when something changed
	carried     context.Context
	drop        context.CancelFunc // ends every connection
}

// boot makes a sandbox and starts its daemon. It returns nil when the name is taken.
func (s *Server) boot(c creation) (*box, error) {
	b := &box{creation: c, id: uuid.NewString(), born: s.opts.Clock.Now(), s: s, state: stopped, moved: make(chan struct{})}
	orElse(&b.Name, b.id)
	b.dir = filepath.Join(s.dir, b.id[:8])
	b.carried, b.drop = context.WithCancel(context.Background())
	s.mu.Lock()
	for _, other := range s.boxes {
		if other.Name == b.Name {
			s.mu.Unlock()
			return nil, nil
		}
	}
	s.boxes[b.id] = b
	s.created++
	s.mu.Unlock()
	if err := b.layOut(); err != nil {
		return nil, err
	}
	if c.BuildInfo != nil && !s.builds(c.BuildInfo.Dockerfile) {
		b.state, b.before, b.looks = unbuilt, "building_snapshot", s.opts.Looks
		return b, nil
	}
	if err := s.start(b); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.before = "creating"
	if c.BuildInfo != nil {
		b.before = "pending_build"
	}
	b.mu.Unlock()
	go s.expire(b)
	return b, nil
}

func (s *Server) builds(dockerfile string) bool {
	image := strings.TrimSpace(strings.TrimPrefix(dockerfile, "FROM "))
	return len(s.opts.Images) == 0 || slices.Contains(s.opts.Images, image)
}

func (b *box) home() string   { return filepath.Join(b.dir, "daytona") }
func (b *box) socket() string { return filepath.Join(b.dir, "daemon") }

func (b *box) layOut() error {
	if err := os.Mkdir(b.dir, 0o711); err != nil {
		return err
	}
	if err := os.Mkdir(b.home(), 0o755); err != nil {
		return err
	}
	return own(b.home())
}

// start starts a sandbox that does not run.
func (s *Server) start(b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == started || b.state == killed {
		return nil
	}
	before := "starting"
	if b.state == archived {
		before = "restoring"
	}
	if err := b.launch(); err != nil {
		return err
	}
	b.become(started, before)
	b.active = s.opts.Clock.Now()
	return nil
}

// launch starts the daemon and waits until it answers.
func (b *box) launch() error {
	task, err := json.Marshal(daemonTask{Socket: b.socket(), Home: b.home(), ID: b.id, Env: b.Env, Shell: b.s.opts.Shell})
	if err != nil {
		return err
	}
	_ = os.Remove(b.socket())
	b.cmd = exec.Command("/proc/self/exe")
	b.cmd.Env = append(os.Environ(), daemonEnv+"="+string(task))
	b.cmd.Stderr = os.Stderr
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if b.leash, err = b.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := b.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != daemonReady {
		return fmt.Errorf("the daemon does not start (does TestMain call Invoked?): %q, %w", line, err)
	}
	b.proxy = newProxy(b.socket())
	return nil
}

// become changes the state; for a few looks the change is still going on.
func (b *box) become(state, before string) {
	b.state, b.before, b.looks = state, before, b.s.opts.Looks
	b.changed()
}

func (b *box) changed() {
	close(b.moved)
	b.moved = make(chan struct{})
}

// halt ends the daemon and all below it.
func (b *box) halt() error {
	b.drop()
	b.carried, b.drop = context.WithCancel(context.Background())
	if b.cmd == nil {
		return nil
	}
	cmd := b.cmd
	b.cmd = nil
	if err := cloudtest.KillTree(cmd.Process.Pid); err != nil {
		return err
	}
	_ = b.leash.Close()
	_ = cmd.Wait()
	return nil
}

// stop ends everything in a sandbox; its files stay.
func (s *Server) stop(b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != started {
		return nil
	}
	b.become(stopped, "stopping")
	b.active = s.opts.Clock.Now()
	return b.halt()
}

func (s *Server) archive(b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopped {
		b.become(archived, "archiving")
	}
	return nil
}

func (s *Server) fail(b *box, recoverable bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.become(failed, failed)
	b.looks, b.recoverable = 0, recoverable
	return b.halt()
}

// kill ends a sandbox for good.
func (s *Server) kill(b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == killed {
		return nil
	}
	b.state = killed
	b.changed()
	s.mu.Lock()
	delete(s.boxes, b.id)
	s.mu.Unlock()
	if err := b.halt(); err != nil {
		return err
	}
	return os.RemoveAll(b.dir)
}

// expire stops the sandbox, and deletes it, when it was idle for long.
func (s *Server) expire(b *box) {
	for {
		b.mu.Lock()
		state, left, moved := b.state, b.left(), b.moved
		b.mu.Unlock()
		switch {
		case state == killed:
			return
		case left == 0 && state == started:
			_ = s.stop(b)
			continue
		case left == 0:
			_ = s.kill(b)
			return
		case left < 0:
			<-moved
			continue
		}
		select {
		case <-s.opts.Clock.After(left):
		case <-moved:
		}
	}
}

// left returns how long the sandbox may go on as it is, less than 0 for ever.
func (b *box) left() time.Duration {
	now := b.s.opts.Clock.Now()
	interval := defaultStop
	switch {
	case b.state == started && b.AutoStop != nil:
		interval = *b.AutoStop
	case b.state != started && (b.AutoDelete == nil || *b.AutoDelete < 0):
		return -1
	case b.state != started:
		interval = *b.AutoDelete
	}
	switch {
	case b.state == started && interval == 0:
		return -1
	case b.state == started && b.open > 0:
		b.active = now
		return min(stillThere, time.Duration(interval)*time.Minute)
	}
	return max(0, b.active.Add(time.Duration(interval)*time.Minute).Sub(now))
}

// touch notes that somebody uses the sandbox.
func (b *box) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = b.s.opts.Clock.Now()
	b.changed()
}

func (b *box) relabel(labels map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Labels = labels
}

// after sets an interval, in minutes.
func (b *box) after(which string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch which {
	case "autostop":
		b.AutoStop = &n
	case "autoarchive":
		b.AutoArchive = &n
	case "autodelete":
		b.AutoDelete = &n
	}
	b.changed()
}

// cut breaks all connections.
func (b *box) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop()
	b.carried, b.drop = context.WithCancel(context.Background())
}

func (b *box) settled() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *box) changing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks > 0
}

func (b *box) describe() Sandbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := Sandbox{
		ID: b.id, Name: b.Name, State: b.state, Running: b.state == started, Labels: maps.Clone(b.Labels), Home: b.home(), Request: b.text,
	}
	if b.cmd != nil {
		d.Daemon = b.cmd.Process.Pid
	}
	return d
}

// look tells of the sandbox and brings a change that is going on nearer to its end.
func (b *box) look() map[string]any {
	out := b.full()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = max(0, b.looks-1)
	return out
}

// full is what the control plane tells of a sandbox.
func (b *box) full() map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.state
	if b.looks > 0 {
		state = b.before
	}
	out := map[string]any{
		"id": b.id, "organizationId": "o", "name": b.Name, "target": "us", "snapshot": b.Snapshot, "user": "daytona", "env": b.Env,
		"labels": b.Labels, "public": false, "networkBlockAll": false, "cpu": max(1, b.CPU), "gpu": 0, "memory": max(1, b.Memory), "disk": max(3, b.Disk),
		"state": state, "desiredState": b.state, "autoStopInterval": b.AutoStop, "autoArchiveInterval": b.AutoArchive, "autoDeleteInterval": b.AutoDelete,
		"createdAt": b.born.UTC(), "updatedAt": b.born.UTC(), "lastActivityAt": b.active.UTC(), "toolboxProxyUrl": b.s.base + toolboxPath,
	}
	if state == failed || state == unbuilt {
		out["desiredState"], out["errorReason"], out["recoverable"] = started, failure, b.recoverable
	}
	return out
}

func (b *box) matches(labels map[string]string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, value := range labels {
		if b.Labels[name] != value {
			return false
		}
	}
	return true
}
