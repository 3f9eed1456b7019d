// This file starts commands: checks, the claim in the ledger, and the order to a supervisor.

package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/creack/pty"

	"sandboxagent/internal/helper/environ"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

// Defaults and limits of a command.
const (
	spawnTime      = 3 * time.Second
	defaultTimeout = 10 * time.Minute
	maxTimeout     = 2 * time.Hour
	defaultCap     = 64 << 20 // bytes per stream
	maxCap         = 1 << 30
	maxArgument    = 128<<10 - 1 // bytes of one argument on Linux
	opStart        = "start command"
)

// Start implements the method of sandbox.Sandbox.
func (e *Engine) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	dir, err := e.check(id, &cmd)
	if err != nil {
		return err
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errShutdown
	}
	c := e.commands[id]
	fresh := c == nil
	if fresh {
		c = newCommand(e, id, cmd.OutputCap)
		e.commands[id] = c
	}
	e.mu.Unlock()
	if fresh { // from here on the outcome must be recorded, whoever still waits for it
		go e.launch(c, cmd, dir)
	}
	return c.await(ctx, opStart)
}

// check validates the command, fills in defaults and returns its directory relative to the workspace.
func (e *Engine) check(id string, cmd *sandbox.Command) (string, error) {
	if err := sandbox.CheckID(opStart, id); err != nil {
		return "", err
	}
	if len(cmd.Argv) > 0 && cmd.Script != "" {
		return "", sandbox.Errorf(sandbox.ClassInvalid, opStart, "give either a script or arguments, not both")
	}
	if len(cmd.Argv) > 0 && cmd.Argv[0] == "" {
		return "", sandbox.Errorf(sandbox.ClassInvalid, opStart, "the program has no name")
	}
	for _, s := range append(append([]string{cmd.Script}, cmd.Argv...), cmd.Env...) {
		if strings.ContainsRune(s, 0) {
			return "", sandbox.Errorf(sandbox.ClassInvalid, opStart, "a command must not contain NUL bytes")
		}
	}
	if cmd.Timeout < 0 || cmd.Timeout > maxTimeout {
		return "", sandbox.Errorf(sandbox.ClassInvalid, opStart, "the timeout must be at most %s", maxTimeout)
	}
	if cmd.OutputCap < 0 || cmd.OutputCap > maxCap {
		return "", sandbox.Errorf(sandbox.ClassInvalid, opStart, "the output limit must be at most %d bytes", maxCap)
	}
	if cmd.Timeout == 0 {
		cmd.Timeout = defaultTimeout
	}
	if cmd.OutputCap == 0 {
		cmd.OutputCap = defaultCap
	}
	return e.rel(opStart, cmd.Dir)
}

// launch runs a new command, or finds it in the ledger.
func (e *Engine) launch(c *command, cmd sandbox.Command, dir string) {
	defer close(c.ready)
	started := time.Now()
	code, failure, err := e.checkDir(dir)
	if err != nil {
		e.refuse(c, err)
		return
	}
	fresh, err := claim(c.dir, record{c.id, wire.Text(cmd.Script), wire.Texts(cmd.Argv), wire.Text(dir), cmd.TTY, cmd.Timeout, cmd.OutputCap, started})
	if err != nil {
		e.refuse(c, fileError(opStart, "", err))
		return
	}
	if !fresh {
		e.adopt(c)
		return
	}
	c.status = sandbox.Status{ID: c.id, State: sandbox.StateRunning, TTY: cmd.TTY, Started: started}
	if failure != "" {
		c.fail(code, failure)
		return
	}
	if err := e.run(c, cmd, dir); err != nil {
		c.fail(codeNotRunnable, err.Error())
	}
}

// refuse gives the id free again: nothing of the command was recorded.
func (e *Engine) refuse(c *command, err error) {
	c.refused = err
	close(c.gone)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.commands, c.id)
}

// adopt makes c what the ledger on disk says.
func (e *Engine) adopt(c *command) {
	old, err := e.load(opStart, c.id)
	if err != nil {
		e.refuse(c, err)
		return
	}
	c.out, c.err, c.status = old.out, old.err, old.status
	close(c.gone)
	e.remember(c)
}

// checkDir returns how the command fails when its directory is missing, or an error when it leads outside.
func (e *Engine) checkDir(dir string) (code int, failure string, err error) {
	root, err := e.openRoot(opStart)
	if err != nil {
		return 0, "", err
	}
	defer root.Close()
	info, err := root.Stat(dir)
	switch err := fileError(opStart, dir, err); {
	case sandbox.ClassOf(err) == sandbox.ClassNotFound:
		return codeNotRunnable, fmt.Sprintf("there is no directory %q", dir), nil
	case err != nil:
		return 0, "", err
	case !info.IsDir():
		return codeNotRunnable, fmt.Sprintf("%q is not a directory", dir), nil
	}
	return 0, "", nil
}

// run hands the command to a supervisor and returns when it was spawned.
func (e *Engine) run(c *command, cmd sandbox.Command, dir string) error {
	abs := filepath.Join(e.root, dir)
	env := environ.Command(os.Environ(), append(cmd.Env, e.mark), abs, cmd.TTY)
	argv, err := e.argv(c, cmd, env)
	if err != nil {
		return err
	}
	std, err := openStreams(c, cmd)
	if err != nil {
		return err
	}
	w, err := e.pool.take()
	if err != nil {
		std.abort()
		return err
	}
	w.run++
	c.mu.Lock()
	c.worker = w
	c.mu.Unlock()
	err = w.ctl.send(order{Run: w.run, Argv: wire.Texts(argv), Env: wire.Texts(env), Dir: wire.Text(abs), TTY: cmd.TTY}, std.theirs[:]...)
	std.closeTheirs()
	if err != nil {
		// the supervisor is dead or dying; its reports say the rest
		_ = w.cmd.Process.Kill()
	}
	c.arm(cmd.Timeout)
	spawned := make(chan struct{})
	go c.follow(w, std, spawned)
	if std.input != nil {
		go c.watchInput(*std.input)
	}
	select {
	case <-spawned:
	case <-time.After(spawnTime): // a command can stop its supervisor before that has reported
	}
	return nil
}

// argv returns what to execute. A script too long for an argument is read by the shell from the ledger entry.
func (e *Engine) argv(c *command, cmd sandbox.Command, env []string) ([]string, error) {
	if len(cmd.Argv) > 0 {
		return cmd.Argv, nil
	}
	shell := "sh"
	if _, _, err := lookPath("bash", env, e.root); err == nil {
		shell = "bash"
	}
	if len(cmd.Script) <= maxArgument {
		return []string{shell, "-c", cmd.Script}, nil
	}
	path := filepath.Join(c.dir, scriptFile)
	if err := os.WriteFile(path, []byte(cmd.Script), 0o600); err != nil {
		return nil, fmt.Errorf("store the script: %w", reason(err))
	}
	return []string{shell, "-c", `__script=$(cat -- "$1") && shift && eval "$__script"`, shell, path}, nil
}

// streams are the descriptors of a command: those it gets and the engine's ends.
type streams struct {
	theirs [stdFiles]*os.File
	toCmd  *os.File // input, nil if none
	out    *os.File
	err    *os.File // nil for a terminal
	tty    bool
	input  *inputFile // what toCmd leads to, nothing if there is none; nil if nobody can tell
}

func openStreams(c *command, cmd sandbox.Command) (*streams, error) {
	s := &streams{tty: cmd.TTY}
	var err error
	if cmd.TTY {
		err = s.openTTY(cmd.Rows, cmd.Cols)
	} else {
		err = s.openPipes(cmd.Stdin)
	}
	if err != nil {
		s.abort()
		return nil, fmt.Errorf("open the command's streams: %w", err)
	}
	if s.toCmd == nil {
		s.input = new(inputFile)
	} else {
		if in, err := identify(s.theirs[0], cmd.TTY); err == nil {
			s.input = &in
		}
		c.input = newFeeder(s.toCmd, cmd.TTY)
	}
	if cmd.TTY {
		c.terminal = s.out
	}
	return s, nil
}

func (s *streams) openTTY(rows, cols uint16) error {
	ours, theirs, err := pty.Open()
	if err != nil {
		return err
	}
	s.out, s.toCmd = ours, ours
	s.theirs = [stdFiles]*os.File{theirs, theirs, theirs}
	if rows == 0 || cols == 0 {
		rows, cols = 24, 80
	}
	return pty.Setsize(ours, &pty.Winsize{Rows: rows, Cols: cols})
}

func (s *streams) openPipes(stdin bool) (err error) {
	if stdin {
		s.theirs[0], s.toCmd, err = os.Pipe()
	} else {
		s.theirs[0], err = os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	}
	if err == nil {
		s.out, s.theirs[1], err = os.Pipe()
	}
	if err == nil {
		s.err, s.theirs[2], err = os.Pipe()
	}
	return err
}

func (s *streams) closeTheirs() {
	for i, f := range s.theirs {
		if f != nil && (i == 0 || f != s.theirs[i-1]) {
			_ = f.Close()
		}
	}
}

// abort closes everything of a command that was not spawned.
func (s *streams) abort() {
	s.closeTheirs()
	for _, f := range []*os.File{s.toCmd, s.out, s.err} {
		if f != nil {
			_ = f.Close()
		}
	}
}
