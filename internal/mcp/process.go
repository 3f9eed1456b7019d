// This file runs a server that is a program of the user's.

package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxagent/internal/config"
)

const (
	endTime  = 2 * time.Second // for a program to end by itself, and again after a signal
	tailSize = 2 << 10         // bytes kept of what it writes to stderr
)

// passed are the variables that programs get beside those of their configuration.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
}

// process is a program that speaks MCP over its stdin and stdout.
type process struct {
	over   sdk.Transport
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr tail
	exited chan struct{} // closed when it and what it started have ended
}

// startProcess starts a program in a process group of its own.
func startProcess(o *Options, name string, c config.MCPServer) (*process, error) {
	env, err := environment(o, c.Env)
	if err != nil {
		return nil, err
	}
	dir, err := directory(o, name, c)
	if err != nil {
		return nil, err
	}
	file, err := lookUp(o, c.Command)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(file, c.Args...), exited: make(chan struct{})} // without a context: it outlives who starts it, until end
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = env, dir, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = endTime // for what it leaves behind with its stderr
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), childIn.Close(), stdin.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.stdin, p.stdout = childIn, childOut, stdin, stdout
	err = p.cmd.Start()
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, fmt.Errorf("it cannot be started: %w", err)
	}
	p.over = &sdk.IOTransport{Reader: stdout, Writer: stdin, MaxLineLength: maxMessage}
	go p.reap()
	return p, nil
}

func (p *process) transport() sdk.Transport { return p.over }

// reap waits for the program, then ends what it has left running, so that nobody keeps its stdout open.
func (p *process) reap() {
	_ = p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	close(p.exited)
}

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// end ends the program as the protocol asks, its input first, and by force when it does not.
func (p *process) end() {
	_ = p.stdin.Close()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.exited:
		case <-time.After(endTime):
			p.signal(s)
		}
	}
	<-p.exited
	_ = p.stdout.Close()
}

// why adds what the program has written to an error.
func (p *process) why(o *Options, err error) error {
	select { // its output ends a moment before it does
	case <-p.exited:
		err = fmt.Errorf("the program ended (%s)", p.cmd.ProcessState)
	case <-time.After(endTime / 4):
	}
	if said := p.stderr.String(); said != "" {
		return fmt.Errorf("%w; it wrote: %s", err, shown(o.Redact(said), 500))
	}
	return err
}

// environment is what a program gets: harmless variables and those that its configuration names.
func environment(o *Options, own map[string]string) ([]string, error) {
	var env []string
	for _, name := range passed {
		if value, ok := o.Env(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, text := range own {
		value, missing := config.Expand(text, o.Variable)
		if missing != "" {
			return nil, &missingError{missing}
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// missingError says that a variable has no value.
type missingError struct{ name string }

func (e *missingError) Error() string {
	return fmt.Sprintf("the variable %s, which its configuration names, is not set", e.name)
}

// directory is where a program runs. It is never the workspace: programs such as npx run what they find where they are.
func directory(o *Options, name string, c config.MCPServer) (string, error) {
	if c.Dir != "" {
		return home(o, c.Dir), nil
	}
	dir := filepath.Join(o.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make its directory: %w", err)
	}
	return dir, nil
}

func home(o *Options, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		dir, _ := o.Env("HOME")
		return filepath.Join(dir, rest)
	}
	return path
}

// lookUp finds a program, only in the absolute directories of PATH.
func lookUp(o *Options, command string) (string, error) {
	if path := home(o, command); filepath.IsAbs(path) {
		return path, nil
	}
	list, _ := o.Env("PATH")
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, command)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("the program %s was not found in PATH", command)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data[max(0, len(data)-tailSize):]...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-tailSize):])
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
