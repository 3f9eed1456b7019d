//go:build linux

// This file is the daemon's terminals: an interactive login shell on each, heard and typed to over websockets. Who falls behind
// with listening is dropped, so that the terminal is not held up.

package daytonatest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"github.com/coder/websocket"
	"github.com/creack/pty"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const (
	readSize  = 32 << 10 // bytes of output in one message, at most
	keptSlots = 256      // messages that wait for a listener
	maxTyped  = 64 << 10 // bytes of one message
	killedBy  = 128 + int(syscall.SIGKILL)
)

// terminal is one of the daemon's.
type terminal struct {
	d          *daemon
	id         string
	cwd        string
	envs       map[string]string
	cols, rows uint16

	mu        sync.Mutex // guards the fields below
	cmd       *exec.Cmd
	ptmx      *os.File
	deleted   bool
	listeners map[*listener]bool
	code      int
	ended     chan struct{} // closed after code was set
}

// listener is a websocket that hears a terminal.
type listener struct {
	ws   *websocket.Conn
	out  chan []byte
	slow context.CancelFunc
}

type terminalRequest struct {
	ID   string            `json:"id"`
	Cwd  string            `json:"cwd"`
	Envs map[string]string `json:"envs"`
	Cols uint16            `json:"cols"`
	Rows uint16            `json:"rows"`
	Lazy bool              `json:"lazyStart"`
}

func complain(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, map[string]string{"error": fmt.Sprintf(format, args...)})
}

func (d *daemon) makeTerminal(w http.ResponseWriter, r *http.Request) {
	var q terminalRequest
	if !read(w, r, &q) {
		return
	}
	t, status, complaint := d.addTerminal(q)
	if t == nil {
		complain(w, status, "%s", complaint)
		return
	}
	answer(w, http.StatusCreated, map[string]string{"sessionId": t.id})
}

func (d *daemon) addTerminal(q terminalRequest) (t *terminal, status int, complaint string) {
	orElse(&q.Cols, 80)
	orElse(&q.Rows, 24)
	switch {
	case q.ID == "":
		return nil, http.StatusBadRequest, "session ID is required"
	case q.Cols > 1000 || q.Rows > 1000:
		return nil, http.StatusBadRequest, "invalid value for cols or rows - must be less than 1000"
	}
	t = &terminal{
		d: d, id: q.ID, cwd: q.Cwd, envs: map[string]string{"TERM": "xterm-256color"}, cols: q.Cols, rows: q.Rows,
		listeners: map[*listener]bool{}, ended: make(chan struct{}),
	}
	for name, value := range q.Envs {
		t.envs[name] = value
	}
	d.mu.Lock()
	taken := d.terminals[q.ID] != nil
	if !taken {
		d.terminals[q.ID] = t
	}
	d.mu.Unlock()
	if taken {
		return nil, http.StatusConflict, "PTY session with ID '" + q.ID + "' already exists"
	}
	if !q.Lazy {
		if err := t.start(); err != nil {
			d.dropTerminal(t)
			return nil, http.StatusInternalServerError, "failed to start PTY session"
		}
	}
	return t, 0, ""
}

func (d *daemon) terminal(id string) *terminal {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.terminals[id]
}

func (d *daemon) dropTerminal(t *terminal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.terminals[t.id] == t {
		delete(d.terminals, t.id)
	}
}

func (d *daemon) listTerminals(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []map[string]any{}
	for id := range d.terminals {
		all = append(all, map[string]any{"id": id})
	}
	answer(w, http.StatusOK, map[string]any{"sessions": all})
}

// start starts the shell, once.
func (t *terminal) start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cmd != nil {
		return nil
	}
	cmd := t.d.command(t.cwd, t.envs, t.d.Shell, "-i", "-l")
	var ptmx *os.File
	buried, err := t.d.begin(cmd, func() (err error) {
		ptmx, err = pty.StartWithAttrs(cmd, &pty.Winsize{Rows: t.rows, Cols: t.cols}, &syscall.SysProcAttr{
			Setsid: true, Setctty: true, Credential: cmd.SysProcAttr.Credential,
		})
		return err
	})
	if err != nil {
		return err
	}
	t.cmd, t.ptmx = cmd, ptmx
	go t.pump(ptmx)
	go func() {
		_ = cmd.Wait()
		buried()
		t.mu.Lock()
		t.code = cmd.ProcessState.ExitCode()
		if t.deleted {
			t.code = killedBy
		}
		t.mu.Unlock()
		t.d.dropTerminal(t)
		close(t.ended)
	}()
	return nil
}

// pump tells what the terminal prints.
func (t *terminal) pump(ptmx *os.File) {
	buf := make([]byte, readSize)
	for {
		n, err := ptmx.Read(buf)
		if n > 0 {
			t.tell(append([]byte(nil), buf[:n]...))
		}
		if err != nil {
			return
		}
	}
}

func (t *terminal) tell(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.listeners {
		select {
		case l.out <- data:
		default:
			l.slow()
		}
	}
}

func (d *daemon) makeAndConnect(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number := func(name string) uint16 {
		n, _ := strconv.ParseUint(q.Get(name), 10, 16)
		return uint16(n)
	}
	t, status, complaint := d.addTerminal(terminalRequest{ID: q.Get("id"), Cwd: q.Get("cwd"), Cols: number("cols"), Rows: number("rows"), Lazy: true})
	if t == nil {
		complain(w, status, "%s", complaint)
		return
	}
	t.attach(w, r)
}

func (d *daemon) connectTerminal(w http.ResponseWriter, r *http.Request) {
	t := d.terminal(r.PathValue("id"))
	if t == nil {
		t = &terminal{d: d}
	}
	t.attach(w, r)
}

// attach lets a websocket hear the terminal and type to it.
func (t *terminal) attach(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{"X-Daytona-Pty-Exit-Control"}})
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxTyped)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if t.listeners == nil || t.start() != nil {
		control(ctx, ws, map[string]any{"status": "error", "error": "Failed to connect to PTY session: not found"})
		return
	}
	l := &listener{ws: ws, out: make(chan []byte, keptSlots)}
	l.slow = sync.OnceFunc(func() { go func() { _ = ws.Close(websocket.StatusPolicyViolation, "slow consumer") }() })
	t.mu.Lock()
	t.listeners[l] = true
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.listeners, l)
	}()
	control(ctx, ws, map[string]any{"status": "connected"})
	go t.tellTo(ctx, l)
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			return
		}
		if _, err := t.ptmx.Write(data); err != nil {
			return
		}
	}
}

func control(ctx context.Context, ws *websocket.Conn, m map[string]any) {
	m["type"] = "control"
	if text, err := json.Marshal(m); err == nil {
		_ = ws.Write(ctx, websocket.MessageText, text)
	}
}

// tellTo tells a listener what the terminal prints, and how it ended.
func (t *terminal) tellTo(ctx context.Context, l *listener) {
	for {
		select {
		case data := <-l.out:
			if l.ws.Write(ctx, websocket.MessageBinary, data) != nil {
				return
			}
			continue
		case <-ctx.Done():
			return
		case <-t.ended:
		}
		for len(l.out) > 0 {
			if l.ws.Write(ctx, websocket.MessageBinary, <-l.out) != nil {
				return
			}
		}
		t.goodbye(ctx, l.ws)
		return
	}
}

func (t *terminal) goodbye(ctx context.Context, ws *websocket.Conn) {
	t.mu.Lock()
	code := t.code
	t.mu.Unlock()
	if ws.Subprotocol() != "" {
		control(ctx, ws, map[string]any{"status": "exited", "exitCode": code})
	}
	if code == 0 {
		_ = ws.Close(websocket.StatusNormalClosure, `{"exitCode":0}`)
		return
	}
	_ = ws.Close(websocket.StatusInternalError, fmt.Sprintf(`{"exitCode":%d,"exitReason":"non-zero exit"}`, code))
}

func (d *daemon) resizeTerminal(w http.ResponseWriter, r *http.Request) {
	var q terminalRequest
	t := d.terminal(r.PathValue("id"))
	switch {
	case !read(w, r, &q):
	case t == nil:
		complain(w, http.StatusGone, "PTY session not found")
	case t.ptmx == nil || pty.Setsize(t.ptmx, &pty.Winsize{Cols: q.Cols, Rows: q.Rows}) != nil:
		complain(w, http.StatusInternalServerError, "PTY file descriptor is not available")
	default:
		answer(w, http.StatusOK, map[string]any{"id": t.id, "cols": q.Cols, "rows": q.Rows})
	}
}

// deleteTerminal ends a terminal and everything that descends from its shell.
func (d *daemon) deleteTerminal(w http.ResponseWriter, r *http.Request) {
	t := d.terminal(r.PathValue("id"))
	if t == nil {
		complain(w, http.StatusNotFound, "PTY session not found")
		return
	}
	d.dropTerminal(t)
	t.mu.Lock()
	t.deleted = true
	if t.cmd != nil && runs(t.cmd.Process) {
		_ = cloudtest.KillTree(t.cmd.Process.Pid)
		_ = t.ptmx.Close()
	}
	t.mu.Unlock()
	answer(w, http.StatusOK, map[string]string{"message": "PTY session deleted"})
}
