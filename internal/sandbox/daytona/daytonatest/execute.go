//go:build linux

// This file runs commands whose output is told when they have ended, as Daytona's daemon does: by a shell that reads them.

package daytonatest

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *daemon) execute(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Command string            `json:"command"`
		Cwd     string            `json:"cwd"`
		Envs    map[string]string `json:"envs"`
		Timeout int               `json:"timeout"`
	}
	if !read(w, r, &q) {
		return
	}
	for name := range q.Envs {
		if !variable.MatchString(name) {
			refuse(w, http.StatusBadRequest, "invalid environment variable name: %s", name)
			return
		}
	}
	if strings.TrimSpace(q.Command) == "" {
		refuse(w, http.StatusBadRequest, "empty command")
		return
	}
	var out bytes.Buffer
	cmd := d.command(q.Cwd, q.Envs, "bash")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(q.Command), &out, &out
	cmd.SysProcAttr.Setpgid = true
	buried, err := d.begin(cmd, cmd.Start)
	if err != nil {
		answer(w, http.StatusOK, map[string]any{"exitCode": -1, "result": err.Error()})
		return
	}
	defer buried()
	var late atomic.Bool
	if q.Timeout > 0 {
		defer time.AfterFunc(time.Duration(q.Timeout)*time.Second, func() {
			late.Store(true)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}).Stop()
	}
	_ = cmd.Wait() // also for everybody who holds its output
	if late.Load() {
		answer(w, http.StatusRequestTimeout, map[string]any{"statusCode": http.StatusRequestTimeout, "message": "command execution timeout", "code": "REQUEST_TIMEOUT"})
		return
	}
	answer(w, http.StatusOK, map[string]any{"exitCode": cmd.ProcessState.ExitCode(), "result": out.String()})
}

// path is where a path of a request is: absolute, or from the directory that the daemon works in.
func (d *daemon) path(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return d.Home + "/" + p
}

// runs reports whether a process lives.
func runs(p *os.Process) bool { return p != nil && p.Signal(syscall.Signal(0)) == nil }
