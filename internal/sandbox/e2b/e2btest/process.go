//go:build linux

// This file is the daemon's process service: processes are started, listed, fed and signalled.

package e2btest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const (
	keepEnd   = 30 * time.Second // how long the end of a process is told
	reapPause = time.Second
)

// daemon is the daemon of one sandbox.
type daemon struct {
	daemonTask

	mu    sync.Mutex // guards the fields below; held while a process is started or reaped
	procs map[int]*proc
}

type config struct {
	Cmd  string            `json:"cmd"`
	Args []string          `json:"args,omitempty"`
	Envs map[string]string `json:"envs,omitempty"`
	Cwd  string            `json:"cwd,omitempty"`
}

type startRequest struct {
	Process config          `json:"process"`
	Tag     string          `json:"tag"`
	Stdin   *bool           `json:"stdin"`
	PTY     json.RawMessage `json:"pty"`
}

// selector names a process.
type selector struct {
	PID int    `json:"pid"`
	Tag string `json:"tag"`
}

// start answers Start: a stream of what the process does.
func (d *daemon) start(w http.ResponseWriter, r *http.Request) {
	var q startRequest
	s := openStream(w, r, &q)
	if s == nil {
		return
	}
	life, problem := lifeOf(r)
	if problem != nil {
		s.finish(problem)
		return
	}
	p, problem := d.spawn(q)
	if problem != nil {
		s.finish(problem)
		return
	}
	if life > 0 { // counted on when the caller has gone
		time.AfterFunc(life, func() { _ = p.cmd.Process.Kill() })
	}
	l := p.listen(r.Context())
	go p.pump(d)
	s.follow(p, l)
}

// lifeOf is how long a process may live by the call's deadline.
func lifeOf(r *http.Request) (time.Duration, *problem) {
	text := r.Header.Get("Connect-Timeout-Ms")
	if text == "" {
		return 0, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) > 10 {
		return 0, problemf("invalid_argument", "invalid timeout %q", text)
	}
	if ms <= 0 {
		return 0, problemf("deadline_exceeded", "the deadline has passed")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// connect answers Connect: the stream from now on.
func (d *daemon) connect(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Process selector `json:"process"`
	}
	s := openStream(w, r, &q)
	if s == nil {
		return
	}
	p, problem := d.find(q.Process)
	if problem != nil {
		s.finish(problem)
		return
	}
	s.follow(p, p.listen(r.Context()))
}

// spawn starts a process as the sandbox's user.
func (d *daemon) spawn(q startRequest) (*proc, *problem) {
	cwd := d.path(q.Process.Cwd)
	switch info, err := os.Stat(cwd); {
	case len(q.PTY) > 0:
		return nil, problemf("unimplemented", "the stand-in has no terminals")
	case err != nil || !info.IsDir():
		return nil, problemf("invalid_argument", "cwd '%s' does not exist", cwd)
	}
	// by way of nice, as the real one does: a program that is missing is a result and no error
	cmd := exec.Command("nice", append([]string{"-n", "0", q.Process.Cmd}, q.Process.Args...)...)
	cmd.Dir, cmd.Env = cwd, d.environ(q.Process.Envs)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: commonID, Gid: commonID}
	}
	p := &proc{tag: q.Tag, conf: q.Process, cmd: cmd, listeners: map[*listener]bool{}, ended: make(chan struct{})}
	return p, p.launch(d, q.Stdin == nil || *q.Stdin)
}

// launch starts the process with its streams on pipes.
func (p *proc) launch(d *daemon, fed bool) *problem {
	var err error
	if fed {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		p.stdout, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		p.stderr, err = p.cmd.StderrPipe()
	}
	if err != nil {
		return problemf("internal", "%v", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := p.cmd.Start(); err != nil {
		return problemf("invalid_argument", "error starting process: %v", err)
	}
	p.pid = p.cmd.Process.Pid
	d.procs[p.pid] = p
	return nil
}

func (d *daemon) environ(extra map[string]string) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + d.Home, "USER=user", "LOGNAME=user",
		"E2B_SANDBOX=true", "E2B_SANDBOX_ID=" + d.ID, "E2B_TEMPLATE_ID=" + d.Template,
	}
	for _, more := range []map[string]string{d.Env, extra} {
		for name, value := range more {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (d *daemon) find(s selector) (*proc, *problem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.procs {
		if p.pid == s.PID || s.Tag != "" && p.tag == s.Tag {
			return p, nil
		}
	}
	return nil, problemf("not_found", "process with pid %d not found", s.PID)
}

// living finds a process that has not ended.
func (d *daemon) living(s selector) (*proc, *problem) {
	p, problem := d.find(s)
	if problem == nil && p.hasEnded() {
		return nil, problemf("not_found", "process with pid %d not found", s.PID)
	}
	return p, problem
}

func (d *daemon) list(struct{}) (any, *problem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []map[string]any
	for _, p := range d.procs {
		if !p.hasEnded() {
			all = append(all, map[string]any{"config": p.conf, "pid": p.pid, "tag": p.tag})
		}
	}
	if all == nil {
		return struct{}{}, nil
	}
	return map[string]any{"processes": all}, nil
}

type inputRequest struct {
	Process selector `json:"process"`
	Input   struct {
		Stdin []byte `json:"stdin"`
	} `json:"input"`
}

func (d *daemon) sendInput(q inputRequest) (any, *problem) {
	p, problem := d.living(q.Process)
	if problem != nil {
		return nil, problem
	}
	if p.stdin == nil {
		return nil, problemf("internal", "error writing to stdin: stdin not enabled or closed")
	}
	if _, err := p.stdin.Write(q.Input.Stdin); err != nil {
		return nil, problemf("internal", "error writing to stdin: %v", err)
	}
	return struct{}{}, nil
}

func (d *daemon) closeStdin(q inputRequest) (any, *problem) {
	p, problem := d.living(q.Process)
	if problem == nil && p.stdin != nil {
		_ = p.stdin.Close()
	}
	return struct{}{}, problem
}

type signalRequest struct {
	Process selector `json:"process"`
	Signal  string   `json:"signal"`
}

func (d *daemon) sendSignal(q signalRequest) (any, *problem) {
	signals := map[string]syscall.Signal{"SIGNAL_SIGTERM": syscall.SIGTERM, "SIGNAL_SIGKILL": syscall.SIGKILL}
	sig, ok := signals[q.Signal]
	if !ok {
		return nil, problemf("unimplemented", "invalid signal: %s", q.Signal)
	}
	p, problem := d.living(q.Process)
	if problem != nil {
		return nil, problem
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, problemf("internal", "error sending signal: %v", err)
	}
	return struct{}{}, nil
}

// reap buries orphans now and then: they are nobody's but the daemon's.
func (d *daemon) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		time.Sleep(reapPause) // looking at all processes of the machine takes its time
		d.mu.Lock()
		for _, p := range cloudtest.Processes() {
			if p.Dead && p.Parent == os.Getpid() && d.procs[p.PID] == nil {
				_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
			}
		}
		d.mu.Unlock()
	}
}

// proc is a process that was started by a call.
type proc struct {
	pid            int
	tag            string
	conf           config
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr io.Reader
	ended          chan struct{} // closed after end was set
	end            map[string]any

	mu        sync.Mutex
	listeners map[*listener]bool
}

func (p *proc) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// pump passes on what the process does until it and everybody who holds its output has ended.
func (p *proc) pump(d *daemon) {
	var streams sync.WaitGroup
	streams.Go(func() { p.copy("stdout", p.stdout) })
	streams.Go(func() { p.copy("stderr", p.stderr) })
	streams.Wait()
	_ = p.cmd.Wait()
	st := p.cmd.ProcessState
	end := map[string]any{"status": st.String()}
	if st.Exited() {
		end["exited"] = true
	}
	if code := st.ExitCode(); code != 0 {
		end["exitCode"], end["error"] = code, st.String()
	}
	p.end = end
	close(p.ended)
	time.AfterFunc(keepEnd, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.procs, p.pid)
	})
}

func (p *proc) copy(name string, r io.Reader) {
	buf := make([]byte, chunkSize)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			p.tell(map[string]any{"data": map[string][]byte{name: buf[:n:n]}})
			buf = make([]byte, chunkSize)
		}
		if err != nil {
			return
		}
	}
}
