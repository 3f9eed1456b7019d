//go:build linux

// This file is the process that is the daemon of one sandbox: it starts commands and holds files.

package e2btest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const (
	daemonEnv   = "E2BTEST_DAEMON" // makes a process a daemon; holds its task
	daemonReady = "ready\n"
	commonID    = 65534 // of the user in the sandboxes, where the test is root
)

// daemonTask is what a daemon is told.
type daemonTask struct {
	Socket, Home, ID, Template string
	Env                        map[string]string
}

// Invoked reports whether this process is to be a daemon.
func Invoked() bool { return os.Getenv(daemonEnv) != "" }

// Daemon is the life of a daemon; it returns the exit code of the process.
func Daemon() int {
	if err := serveDaemon(os.Getenv(daemonEnv)); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in of E2B's daemon:", err)
		return 1
	}
	return 0
}

func serveDaemon(text string) error {
	var task daemonTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	_ = os.Unsetenv(daemonEnv)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	d := &daemon{daemonTask: task, procs: map[int]*proc{}}
	go d.endWithParent()
	go d.reap()
	l, err := net.Listen("unix", task.Socket)
	if err != nil {
		return err
	}
	if _, err := fmt.Print(daemonReady); err != nil {
		return err
	}
	return http.Serve(l, d.routes())
}

// endWithParent ends the daemon and all below it when the test, which holds the other end of its input, is gone.
func (d *daemon) endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, pid := range cloudtest.Descendants(os.Getpid()) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	os.Exit(1)
}

func (d *daemon) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /files", d.upload)
	mux.HandleFunc("GET /files", d.download)
	mux.HandleFunc("POST /process.Process/Start", d.start)
	mux.HandleFunc("POST /process.Process/Connect", d.connect)
	unary(mux, "/process.Process/List", d.list)
	unary(mux, "/process.Process/SendInput", d.sendInput)
	unary(mux, "/process.Process/CloseStdin", d.closeStdin)
	unary(mux, "/process.Process/SendSignal", d.sendSignal)
	unary(mux, "/filesystem.Filesystem/Stat", d.stat)
	unary(mux, "/filesystem.Filesystem/MakeDir", d.makeDir)
	unary(mux, "/filesystem.Filesystem/ListDir", d.listDir)
	unary(mux, "/filesystem.Filesystem/Move", d.move)
	unary(mux, "/filesystem.Filesystem/Remove", d.remove)
	return mux
}

// problem is an error as the Connect protocol tells it.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func problemf(code, format string, args ...any) *problem {
	return &problem{code, fmt.Sprintf(format, args...)}
}

var statuses = map[string]int{
	"not_found": http.StatusNotFound, "already_exists": http.StatusConflict, "invalid_argument": http.StatusBadRequest,
	"failed_precondition": http.StatusBadRequest, "unimplemented": http.StatusNotImplemented,
}

func (p *problem) status() int {
	if status := statuses[p.Code]; status != 0 {
		return status
	}
	return http.StatusInternalServerError
}

// unary answers a call with one request and one answer, both JSON.
func unary[Q any](mux *http.ServeMux, path string, do func(Q) (any, *problem)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			return
		}
		var q Q
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			answer(w, http.StatusBadRequest, problemf("invalid_argument", "%v", err))
			return
		}
		a, p := do(q)
		if p != nil {
			answer(w, p.status(), p)
			return
		}
		answer(w, http.StatusOK, a)
	})
}

// own gives a file to the user of the sandbox.
func own(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Lchown(path, commonID, commonID)
}
