// This file connects to the helper of a sandbox and starts it if none serves: exactly one, whoever tries at a time.

package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	readyLine = "ready"
	logName   = "helper.log"
	maxLog    = 1 << 20 // bytes; a longer log starts anew with the next helper
	startTime = 20 * time.Second
	tries     = 10              // to start a helper
	tryTime   = 5 * time.Second // after which it is not tried again
)

// Dial connects to the helper that serves the state directory. If none does, it starts the one that command describes;
// Dial sets its streams and session. The state directory must exist.
func Dial(ctx context.Context, state string, command func() (*exec.Cmd, error)) (net.Conn, error) {
	if conn, err := connect(state); err == nil {
		return conn, nil
	}
	lock, err := Lock(ctx, state)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if conn, err := connect(state); err == nil { // somebody else was faster
		return conn, nil
	}
	if err := startOne(ctx, state, command); err != nil {
		return nil, err
	}
	return connect(state)
}

// startOne starts a helper. What its command was made of may have changed before the helper looked at it, so another is made
// of what is there then.
func startOne(ctx context.Context, state string, command func() (*exec.Cmd, error)) error {
	began := time.Now()
	for try := 1; ; try++ {
		cmd, err := command()
		if err == nil {
			err = start(ctx, state, cmd)
		}
		timeout := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
		if sandbox.ClassOf(err) != sandbox.ClassUnavailable || timeout || try == tries || time.Since(began) > tryTime {
			return err
		}
	}
}

// start runs the helper detached and waits until it is ready.
func start(ctx context.Context, state string, cmd *exec.Cmd) error {
	log, err := openLog(filepath.Join(state, logName))
	if err != nil {
		return err
	}
	defer log.Close()
	ready, theirs, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start helper: %w", err)
	}
	defer ready.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, theirs, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true // neither a signal to the worker's group nor its terminal reaches the helper
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: "start helper", Message: "the helper program cannot be started", Err: err}
	}
	go func() { _ = cmd.Wait() }()

	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ready.Close() })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(ready, 1<<10)).ReadString('\n')
	if err == nil && strings.TrimSpace(line) == readyLine {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: "start helper", Message: "the helper did not start; its log says: " + tail(filepath.Join(state, logName)), Err: err}
}

func openLog(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open helper log: %w", err)
	}
	return f, nil
}

// tail returns the last line of the log.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return "nothing"
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	last := lines[len(lines)-1]
	return last[:min(len(last), 300)]
}

// Bridge copies between the helper's connection and a pair of streams until either side ends.
func Bridge(conn net.Conn, in io.Reader, out io.Writer) error {
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(*net.UnixConn); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(out, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("bridge to the helper: %w", err)
	}
	return nil
}
