//go:build linux

// This file is one sandbox: a daemon process, everything that descends from it, and the state that the control plane knows.

package e2btest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

type state string

const (
	running state = "running"
	paused  state = "paused"
	killed  state = "killed"
)

// box is a sandbox.
type box struct {
	creation
	id      string
	token   string
	traffic string // the token for other ports
	born    time.Time
	dir     string
	proxy   *httputil.ReverseProxy
	cmd     *exec.Cmd
	leash   io.Closer // the daemon ends when it is closed

	mu      sync.Mutex // guards the fields below; held while the state changes
	state   state
	end     time.Time
	moved   chan struct{} // closed when end or state changed
	carried context.Context
	drop    context.CancelFunc // ends every connection
}

func newID() string { return "i" + strings.ToLower(rand.Text())[:20] }

// boot makes a sandbox and starts its daemon.
func (s *Server) boot(c creation, span time.Duration) (*box, error) {
	b := &box{creation: c, id: newID(), token: rand.Text(), traffic: rand.Text(), born: s.opts.Clock.Now(), state: running, moved: make(chan struct{})}
	b.dir = filepath.Join(s.dir, b.id)
	b.end = b.born.Add(span)
	b.carried, b.drop = context.WithCancel(context.Background())
	if err := b.layOut(); err != nil {
		return nil, err
	}
	if err := b.start(); err != nil {
		return nil, err
	}
	b.proxy = newProxy(b.socket())
	s.mu.Lock()
	s.boxes[b.id] = b
	s.created++
	s.mu.Unlock()
	go s.expire(b)
	return b, nil
}

func (b *box) home() string   { return filepath.Join(b.dir, "user") }
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

// start starts the daemon and waits until it answers.
func (b *box) start() error {
	task, err := json.Marshal(daemonTask{Socket: b.socket(), Home: b.home(), ID: b.id, Template: b.TemplateID, Env: b.EnvVars})
	if err != nil {
		return err
	}
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
	return nil
}

func (b *box) is(want state) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == want
}

func (b *box) describe() Sandbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Sandbox{ID: b.id, Running: b.state == running, Metadata: b.Metadata, Home: b.home(), Daemon: b.cmd.Process.Pid, End: b.end, Request: b.text}
}

// brief is what making and waking answer.
func (b *box) brief() map[string]any {
	return map[string]any{
		"sandboxID": b.id, "templateID": b.TemplateID, "clientID": "c", "envdVersion": daemonVersion, "envdAccessToken": b.token,
		"trafficAccessToken": b.traffic, "domain": nil,
	}
}

// full is what lists tell.
func (b *box) full() map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return map[string]any{
		"sandboxID": b.id, "templateID": b.TemplateID, "clientID": "c", "state": string(b.state), "metadata": b.Metadata,
		"startedAt": b.born.UTC().Format(time.RFC3339Nano), "endAt": b.end.UTC().Format(time.RFC3339Nano),
		"cpuCount": 2, "memoryMB": 512, "diskSizeMB": 1024, "envdVersion": daemonVersion,
	}
}

func (b *box) matches(metadata url.Values, states []string) bool {
	for name := range metadata {
		if b.Metadata[name] != metadata.Get(name) {
			return false
		}
	}
	return len(states) == 0 && !b.is(killed) || slices.ContainsFunc(states, func(s string) bool { return b.is(state(s)) })
}

// endAt sets when the sandbox expires; unless it may shorten its life, only to a later time.
func (b *box) endAt(end time.Time, shorten bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if shorten || end.After(b.end) {
		b.end = end
		b.changed()
	}
}

func (b *box) changed() {
	close(b.moved)
	b.moved = make(chan struct{})
}

// expire pauses or kills the sandbox when its time is over.
func (s *Server) expire(b *box) {
	for {
		b.mu.Lock()
		left, at, moved := b.end.Sub(s.opts.Clock.Now()), b.state, b.moved
		b.mu.Unlock()
		switch {
		case at == killed:
			return
		case at == paused:
			<-moved
			continue
		case left <= 0 && b.AutoPause:
			_ = s.pause(b)
			continue
		case left <= 0:
			_ = s.kill(b)
			return
		}
		select {
		case <-s.opts.Clock.After(left):
		case <-moved:
		}
	}
}

// cut breaks all connections.
func (b *box) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cutLocked()
}

func (b *box) cutLocked() {
	b.drop()
	b.carried, b.drop = context.WithCancel(context.Background())
}

// pause stops everything in a sandbox where it is.
func (s *Server) pause(b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != running {
		return nil
	}
	b.state = paused
	b.cutLocked()
	b.changed()
	return cloudtest.Freeze(b.cmd.Process.Pid)
}

// wake lets a paused sandbox go on, and gives any sandbox time.
func (s *Server) wake(b *box, span time.Duration) (woken bool, err error) {
	b.endAt(s.opts.Clock.Now().Add(span), false)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != paused {
		return false, nil
	}
	b.state = running
	b.changed()
	return true, cloudtest.Thaw(b.cmd.Process.Pid)
}

// kill ends a sandbox for good.
func (s *Server) kill(b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == killed {
		return nil
	}
	b.state = killed
	b.cutLocked()
	b.changed()
	s.mu.Lock()
	delete(s.boxes, b.id)
	s.mu.Unlock()
	if err := cloudtest.KillTree(b.cmd.Process.Pid); err != nil {
		return err
	}
	_ = b.leash.Close()
	_ = b.cmd.Wait()
	return os.RemoveAll(b.dir)
}
