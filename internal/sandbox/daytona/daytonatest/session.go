//go:build linux

// This file is the daemon's sessions: a shell that lives on between commands, which run in it one after the other.

package daytonatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const glance = 10 * time.Millisecond

// session is a shell.
type session struct {
	dir   string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	mu    sync.Mutex // held while a command is given to the shell
}

func (d *daemon) session(id string) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[id]
}

func (d *daemon) makeSession(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ID string `json:"sessionId"`
	}
	if !read(w, r, &q) {
		return
	}
	if q.ID == "" || d.session(q.ID) != nil {
		refuse(w, http.StatusConflict, "conflict: session already exists")
		return
	}
	dir := filepath.Join(d.Home, ".daytona", "sessions", uuid.NewString())
	err := makeParents(filepath.Join(dir, "x"))
	s := &session{dir: dir, cmd: d.command("", nil, "bash")}
	s.cmd.SysProcAttr.Setpgid = true
	if err == nil {
		s.stdin, err = s.cmd.StdinPipe()
	}
	var buried func()
	if err == nil {
		buried, err = d.begin(s.cmd, s.cmd.Start)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	go func() {
		_ = s.cmd.Wait()
		buried()
	}()
	d.mu.Lock()
	d.sessions[q.ID] = s
	d.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
}

func (d *daemon) deleteSession(w http.ResponseWriter, r *http.Request) {
	s := d.session(r.PathValue("id"))
	if s == nil {
		refuse(w, http.StatusNotFound, "not found: session not found")
		return
	}
	d.mu.Lock()
	delete(d.sessions, r.PathValue("id"))
	d.mu.Unlock()
	if runs(s.cmd.Process) {
		_ = cloudtest.KillTree(s.cmd.Process.Pid)
	}
	_ = os.RemoveAll(s.dir)
	w.WriteHeader(http.StatusNoContent)
}

// run gives a command to the shell.
func (s *session) run(id, command string, fed bool) error {
	dir := filepath.Join(s.dir, id)
	if err := makeParents(filepath.Join(dir, "x")); err != nil {
		return err
	}
	input := "/dev/null"
	if fed {
		input = filepath.Join(dir, "in")
		if err := errors.Join(syscall.Mkfifo(input, 0o600), own(input)); err != nil {
			return err
		}
		input = "<" + input // kept open for writing too, so that it does not end
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := fmt.Fprintf(s.stdin, "{ %s\n} <>%s >%s/out 2>%s/err\necho $? >%s/code.tmp; mv %s/code.tmp %s/code\n",
		command, strings.TrimPrefix(input, "<"), dir, dir, dir, dir, dir)
	return err
}

func (s *session) code(id string) *int {
	text, err := os.ReadFile(filepath.Join(s.dir, id, "code"))
	if err != nil {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil
	}
	return &n
}

func (s *session) output(id string) (out, err []byte) {
	out, _ = os.ReadFile(filepath.Join(s.dir, id, "out"))
	err, _ = os.ReadFile(filepath.Join(s.dir, id, "err"))
	return out, err
}

// wait waits for the end of a command.
func (s *session) wait(ctx context.Context, id string) bool {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for s.code(id) == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (d *daemon) sessionExec(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Command string `json:"command"`
		Async   bool   `json:"runAsync"`
	}
	s := d.session(r.PathValue("id"))
	if !read(w, r, &q) {
		return
	}
	if s == nil {
		refuse(w, http.StatusInternalServerError, "failed to execute command: not found: session not found")
		return
	}
	id := uuid.NewString()
	if err := s.run(id, q.Command, q.Async); err != nil {
		refuse(w, http.StatusInternalServerError, "failed to execute command: %v", err)
		return
	}
	if q.Async {
		answer(w, http.StatusAccepted, map[string]any{"cmdId": id})
		return
	}
	if s.wait(r.Context(), id) {
		out, err := s.output(id)
		answer(w, http.StatusOK, map[string]any{"cmdId": id, "exitCode": s.code(id), "output": string(out) + string(err), "stdout": string(out), "stderr": string(err)})
	}
}

// known returns the session of a request, unless it or its command is not known.
func (d *daemon) known(w http.ResponseWriter, r *http.Request) *session {
	s := d.session(r.PathValue("id"))
	if s != nil {
		if _, err := os.Stat(filepath.Join(s.dir, r.PathValue("cmd"))); !errors.Is(err, fs.ErrNotExist) {
			return s
		}
	}
	refuse(w, http.StatusNotFound, "not found: command not found")
	return nil
}

func (d *daemon) sessionCommand(w http.ResponseWriter, r *http.Request) {
	s := d.known(w, r)
	if s == nil {
		return
	}
	c := map[string]any{"id": r.PathValue("cmd"), "command": ""}
	if code := s.code(r.PathValue("cmd")); code != nil {
		c["exitCode"] = *code
	}
	answer(w, http.StatusOK, c)
}

func (d *daemon) sessionInput(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Data string `json:"data"`
	}
	s := d.known(w, r)
	if s == nil || !read(w, r, &q) {
		return
	}
	f, err := os.OpenFile(filepath.Join(s.dir, r.PathValue("cmd"), "in"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		refuse(w, http.StatusGone, "command has finished")
		return
	}
	defer f.Close()
	if !strings.HasSuffix(q.Data, "\n") {
		q.Data += "\n"
	}
	if _, err := io.WriteString(f, q.Data); err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *daemon) sessionLogs(w http.ResponseWriter, r *http.Request) {
	s := d.known(w, r)
	if s == nil {
		return
	}
	id := r.PathValue("cmd")
	if r.URL.Query().Get("follow") != "true" {
		out, err := s.output(id)
		answer(w, http.StatusOK, map[string]string{"output": string(out) + string(err), "stdout": string(out), "stderr": string(err)})
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	s.follow(ws.CloseRead(r.Context()), ws, id)
}

// follow tells the lines of both streams, each with a marker, until the command ends.
func (s *session) follow(ctx context.Context, ws *websocket.Conn, id string) {
	var told [2]int
	for {
		over := s.code(id) != nil
		out, err := s.output(id)
		for i, text := range [][]byte{out, err} {
			text = text[told[i]:]
			if !over {
				text = text[:bytes.LastIndexByte(text, '\n')+1]
			}
			told[i] += len(text)
			for line := range bytes.Lines(text) {
				marked := append(bytes.Repeat([]byte{byte(i + 1)}, 3), line...)
				if ws.Write(ctx, websocket.MessageBinary, marked) != nil {
					return
				}
			}
		}
		if over {
			_ = ws.Close(websocket.StatusNormalClosure, "")
			return
		}
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return
		}
	}
}
