// This file is the ledger on disk: what makes a command run at most once, also over the death of everything.
//
// commands/<hash of the id>/ holds command.json (written, exclusively and durably, before the command is spawned),
// stdout and stderr (the spools), and exit.json (the status, once ended). A command without exit.json that no engine
// runs is lost: it may have done anything.

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	commandsDir = "commands"
	commandFile = "command.json"
	exitFile    = "exit.json"
	scriptFile  = "script"
	markName    = "SANDBOX_COMMAND"

	lostFailure = "what supervised the command died, so its outcome is unknown"
	recoverTime = 3 * time.Second
)

// record is what command.json holds. Environment and input may hold secrets and are not kept.
type record struct {
	ID        string        `json:"id"`
	Script    wire.Text     `json:"script,omitempty"`
	Argv      []wire.Text   `json:"argv,omitempty"`
	Dir       wire.Text     `json:"dir,omitempty"`
	TTY       bool          `json:"tty,omitempty"`
	Timeout   time.Duration `json:"timeout"`
	OutputCap int64         `json:"outputCap"`
	Started   time.Time     `json:"started"`
}

func hashID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func (e *Engine) commandDir(id string) string { return filepath.Join(e.state, commandsDir, hashID(id)) }

// Knows reports whether the state directory of an engine, which need not run, has a record of a command or of edits.
func Knows(state, id string) bool {
	name := hashID(id)
	for _, path := range []string{filepath.Join(commandsDir, name, commandFile), filepath.Join(effectsDir, name+".json"), filepath.Join(journalDir, name+".json")} {
		if _, err := os.Lstat(filepath.Join(state, path)); err == nil {
			return true
		}
	}
	return false
}

// claim writes the record of a command that is about to run. It reports false when the id was started before.
func claim(dir string, r record) (bool, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("make ledger entry: %w", err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("encode ledger entry: %w", err)
	}
	path := filepath.Join(dir, commandFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = writeSync(f, b)
	}
	if err != nil { // nothing was spawned yet: the id is free again
		_ = os.Remove(path)
		return false, fmt.Errorf("write ledger entry: %w", err)
	}
	return true, nil
}

func writeSync(f *os.File, b []byte) error {
	_, err := f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replaceFile writes a file of the state directory so that it is either the old or the new one, also after a crash.
// Which of the two is certain only after syncDir.
func replaceFile(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	err = writeSync(f, b)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// replaceDurably is replaceFile, certain when it returns.
func replaceDurably(path string, v any) error {
	if err := replaceFile(path, v); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// load reads an ended command from disk.
func (e *Engine) load(op, id string) (*command, error) {
	dir := e.commandDir(id)
	var r record
	err := readJSON(filepath.Join(dir, commandFile), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sandbox.Errorf(sandbox.ClassNotFound, op, "no command %q was started here", id)
	}
	if err != nil { // cut short by a crash: it may or may not have been spawned since
		r = record{ID: id, OutputCap: defaultCap}
	}
	if r.ID != id {
		return nil, sandbox.Errorf(sandbox.ClassCorrupt, op, "the ledger entry belongs to another command")
	}
	st := sandbox.Status{}
	if err := readJSON(filepath.Join(dir, exitFile), &st); err != nil {
		st = sandbox.Status{State: sandbox.StateLost, Failure: lostFailure, TTY: r.TTY, Started: r.Started}
	}
	st.ID, st.Left = id, 0
	c := &command{engine: e, id: id, dir: dir, status: st, ready: closedChan, gone: closedChan}
	if c.out, err = loadSpool(filepath.Join(dir, string(sandbox.Stdout)), r.OutputCap, st.Total.Stdout); err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: op, Message: "the stored output is damaged", Err: err}
	}
	if c.err, err = loadSpool(filepath.Join(dir, string(sandbox.Stderr)), r.OutputCap, st.Total.Stderr); err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: op, Message: "the stored output is damaged", Err: err}
	}
	return c, nil
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// recoverCommands declares lost what an earlier engine was running, kills what is left of it, and counts stored output.
func (e *Engine) recoverCommands() error {
	base := filepath.Join(e.state, commandsDir)
	entries, err := os.ReadDir(base)
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	lost := 0
	for _, entry := range entries {
		dir := filepath.Join(base, entry.Name())
		var st sandbox.Status
		err := readJSON(filepath.Join(dir, exitFile), &st)
		if err == nil {
			e.account(dir, st.Ended)
			continue
		}
		var r record
		if err := readJSON(filepath.Join(dir, commandFile), &r); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir) // claimed but never spawned
			continue
		}
		lost++
		st = sandbox.Status{ID: r.ID, State: sandbox.StateLost, ExitCode: -1, Failure: lostFailure, TTY: r.TTY, Started: r.Started, Ended: time.Now()}
		if err := replaceFile(filepath.Join(dir, exitFile), st); err != nil {
			return err
		}
		e.account(dir, st.Ended)
	}
	if lost > 0 {
		e.log.Warn("commands lost by the death of the helper", "count", lost)
		e.killMarked()
	}
	return nil
}

// killMarked kills what earlier commands of this sandbox left, should their supervisors have died too.
func (e *Engine) killMarked() {
	for end := time.Now().Add(recoverTime); time.Now().Before(end); time.Sleep(sweepPause) {
		left := marked(e.mark)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
