// This file makes a test binary a worker that will be killed in the middle of a command.

package sandboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"sandboxagent/internal/sandbox"
)

// workerEnv is the variable that makes a test binary a worker; it holds its task.
const workerEnv = "SANDBOXTEST_WORKER"

// task is what a worker does: it opens the sandbox, starts the command, says so, and waits to be killed.
type task struct {
	Config  string
	Spec    sandbox.Spec
	ID      string
	Command sandbox.Command
}

// Worker returns at once, unless Run started this process as a worker; then it never returns. Call it first thing in
// TestMain. newBackend makes the backend that Target.Config describes.
func Worker(newBackend func(config string) (sandbox.Backend, error)) {
	text := os.Getenv(workerEnv)
	if text == "" {
		return
	}
	// as under nohup and in the background of a shell: commands must not inherit it
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTSTP)
	fmt.Println(work(text, newBackend))
	select {}
}

func work(text string, newBackend func(config string) (sandbox.Backend, error)) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	backend, err := newBackend(t.Config)
	if err != nil {
		return err
	}
	box, err := backend.Open(context.Background(), t.Spec)
	if err != nil {
		return err
	}
	return box.Start(context.Background(), t.ID, t.Command)
}

// worker returns this test binary as a process that carries out a task.
func worker(t task) (*exec.Cmd, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode task: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find test binary: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	return cmd, nil
}
