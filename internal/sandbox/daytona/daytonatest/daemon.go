//go:build linux

// This file is the process that is the daemon of one sandbox: it runs commands and holds files.

package daytonatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const (
	daemonEnv   = "DAYTONATEST_DAEMON" // makes a process a daemon; holds its task
	daemonReady = "ready\n"
	reapPause   = 100 * time.Millisecond
	commonID    = 65534 // of the user in the sandboxes, where the test is root
)

// daemonTask is what a daemon is told.
type daemonTask struct {
	Socket, Home, ID, Shell string
	Env                     map[string]string
}

// Invoked reports whether this process is to be a daemon.
func Invoked() bool { return os.Getenv(daemonEnv) != "" }

// Daemon is the life of a daemon; it returns the exit code of the process.
func Daemon() int {
	if err := serveDaemon(os.Getenv(daemonEnv)); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in of Daytona's daemon:", err)
		return 1
	}
	return 0
}

// daemon is the daemon of one sandbox.
type daemon struct {
	daemonTask

	mu        sync.Mutex // guards the fields below; held while a process is started or reaped
	mine      map[int]bool
	sessions  map[string]*session
	terminals map[string]*terminal
}

func serveDaemon(text string) error {
	d := &daemon{mine: map[int]bool{}, sessions: map[string]*session{}, terminals: map[string]*terminal{}}
	if err := json.Unmarshal([]byte(text), &d.daemonTask); err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	_ = os.Unsetenv(daemonEnv)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	go endWithParent()
	go d.reap()
	l, err := net.Listen("unix", d.Socket)
	if err != nil {
		return err
	}
	if _, err := fmt.Print(daemonReady); err != nil {
		return err
	}
	return http.Serve(l, d.routes())
}

// endWithParent ends the daemon and all below it when the test, which holds the other end of its input, is gone.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, pid := range cloudtest.Descendants(os.Getpid()) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	os.Exit(1)
}

func (d *daemon) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /work-dir", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"dir": d.Home})
	})
	mux.HandleFunc("GET /user-home-dir", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"dir": d.Home})
	})
	mux.HandleFunc("POST /process/execute", d.execute)

	mux.HandleFunc("POST /process/session", d.makeSession)
	mux.HandleFunc("DELETE /process/session/{id}", d.deleteSession)
	mux.HandleFunc("POST /process/session/{id}/exec", d.sessionExec)
	mux.HandleFunc("GET /process/session/{id}/command/{cmd}", d.sessionCommand)
	mux.HandleFunc("GET /process/session/{id}/command/{cmd}/logs", d.sessionLogs)
	mux.HandleFunc("POST /process/session/{id}/command/{cmd}/input", d.sessionInput)

	mux.HandleFunc("POST /process/pty", d.makeTerminal)
	mux.HandleFunc("GET /process/pty", d.listTerminals)
	mux.HandleFunc("GET /process/pty/create-connect", d.makeAndConnect)
	mux.HandleFunc("GET /process/pty/{id}/connect", d.connectTerminal)
	mux.HandleFunc("POST /process/pty/{id}/resize", d.resizeTerminal)
	mux.HandleFunc("DELETE /process/pty/{id}", d.deleteTerminal)

	mux.HandleFunc("POST /files/bulk-upload", d.upload)
	mux.HandleFunc("POST /files/bulk-download", d.downloadAll)
	mux.HandleFunc("GET /files/download", d.download)
	mux.HandleFunc("GET /files", d.listFiles)
	mux.HandleFunc("DELETE /files", d.deleteFile)
	mux.HandleFunc("GET /files/info", d.fileInfo)
	mux.HandleFunc("POST /files/folder", d.makeFolder)
	mux.HandleFunc("POST /files/move", d.moveFile)
	return mux
}

// reap buries orphans: they are nobody's but the daemon's.
func (d *daemon) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		time.Sleep(reapPause) // looking at every process of the machine is dear
		d.mu.Lock()
		for _, p := range cloudtest.Processes() {
			if p.Dead && p.Parent == os.Getpid() && !d.mine[p.PID] {
				_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
			}
		}
		d.mu.Unlock()
	}
}

// command is a program to run as the sandbox's user.
func (d *daemon) command(dir string, env map[string]string, argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.path(dir), d.environ(env)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: commonID, Gid: commonID}
	}
	return cmd
}

// begin starts a process that nobody else may reap, until buried.
func (d *daemon) begin(cmd *exec.Cmd, start func() error) (buried func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	d.mine[pid] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.mine, pid)
	}, nil
}

func (d *daemon) environ(extra map[string]string) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + d.Home, "USER=daytona", "LOGNAME=daytona",
		"DAYTONA_SANDBOX_ID=" + d.ID,
	}
	for _, more := range []map[string]string{d.Env, extra} {
		for name, value := range more {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// own gives a file to the user of the sandbox.
func own(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Lchown(path, commonID, commonID)
}

// read reads the JSON of a request. It returns false when the request was refused.
func read(w http.ResponseWriter, r *http.Request, q any) bool {
	if err := json.NewDecoder(r.Body).Decode(q); err != nil {
		refuse(w, http.StatusBadRequest, "invalid request body: %v", err)
		return false
	}
	return true
}
