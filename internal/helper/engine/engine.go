// Package engine is the sandbox side of the helper: it runs commands at most once for an id, kills their whole trees,
// keeps their output bounded on disk, and reads and changes files without ever leaving the workspace.
// It is no security boundary: who asks must distrust what it says.
//
// This file holds the engine and the table of its commands.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// SupervisorVerb is the argument with which an engine starts its own program as a supervisor; that program must call Supervise.
const SupervisorVerb = "supervise"

const (
	treeDir      = "checkpoint" // what checkpoints need to remember, in the state directory
	defaultQuota = 2 << 30      // bytes of output kept of ended commands
	maxEnded     = 200          // ended commands kept in memory; the others are read from disk
	killTime     = 3 * time.Second
	shutdownTime = 10 * time.Second
)

// Options say what an engine works on.
type Options struct {
	State  string                // directory of the ledger; private to this sandbox; made if missing
	Root   string                // absolute path of the workspace
	Alias  string                // another path by which requests may call the workspace, also where it does not lead there
	Logger *slog.Logger          // default: none
	Alone  bool                  // this process has no other children: it may kill what a dead supervisor leaves behind
	Quota  int64                 // bytes of output kept of ended commands; default 2 GiB
	Start  func(*exec.Cmd) error // starts the supervisors, which commands inherit from; default (*exec.Cmd).Start
	// Processes is how many processes and threads of this user commands may bring it to; 0: as many as there may be.
	Processes int
}

// Engine does the work of one sandbox. At most one engine may use a state directory at a time.
type Engine struct {
	state, root, realRoot string
	alias                 string
	log                   *slog.Logger
	pool                  *pool
	mark                  string // NAME=value that every command of this sandbox has in its environment
	quota                 *quota
	applying              sync.Mutex
	fault                 func(step string) error // tests: called before every step of Apply
	tree                  *worktree.Tree
	scans                 scans

	mu       sync.Mutex
	commands map[string]*command
	ended    []string // ids of ended commands in memory, oldest first
	closed   bool
}

// New opens the ledger, settles what an earlier engine left unfinished (its running commands are lost, a half-made
// Apply is undone or completed), and returns an engine ready for work.
func New(o Options) (*Engine, error) {
	if !filepath.IsAbs(o.Root) || !filepath.IsAbs(o.State) {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, "open sandbox", "the workspace and state paths must be absolute")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []string{commandsDir, effectsDir, journalDir} {
		if err := os.MkdirAll(filepath.Join(o.State, d), 0o700); err != nil {
			return nil, fmt.Errorf("make state directory: %w", err)
		}
	}
	program, err := selfProgram()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	root := filepath.Clean(o.Root)
	e := &Engine{
		state:    o.State,
		root:     root,
		realRoot: realPath(root),
		alias:    o.Alias,
		log:      o.Logger,
		mark:     markName + "=" + hashID(o.State),
		quota:    &quota{max: o.Quota},
		commands: map[string]*command{},
	}
	if e.quota.max <= 0 {
		e.quota.max = defaultQuota
	}
	if o.Alone {
		becomeSubreaper()
	}
	if err := e.recoverCommands(); err != nil {
		return nil, err
	}
	if err := e.recoverApply(); err != nil {
		return nil, err
	}
	e.tree = worktree.New(worktree.Options{Root: root, State: filepath.Join(o.State, treeDir)})
	if err := e.tree.Recover(context.Background()); err != nil {
		e.log.Error("settle a restore cut short", "error", err) // the next restore tries again
	}
	e.pool = newPool([]string{program, SupervisorVerb}, o)
	return e, nil
}

// live returns the commands of which a process is alive, or soon will be.
func (e *Engine) live() []*command {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*command
	for _, c := range e.commands {
		if c.alive() {
			out = append(out, c)
		}
	}
	return out
}

// Retire refuses new commands from now on if none is alive, and reports whether it does.
func (e *Engine) Retire() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.commands {
		if c.alive() {
			return false
		}
	}
	e.closed = true
	return true
}

// Close kills every command and lets the supervisors go. The ledger stays.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.endScans()
	e.tree.Close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, c := range e.live() {
		wg.Go(func() {
			<-c.ready
			if err := c.kill(ctx, false); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	wg.Wait()
	e.pool.close()
	return failed
}

// find returns a command that was started, from memory or from disk.
func (e *Engine) find(ctx context.Context, op, id string) (*command, error) {
	e.mu.Lock()
	c := e.commands[id]
	e.mu.Unlock()
	if c == nil {
		var err error
		if c, err = e.load(op, id); err != nil {
			return nil, err
		}
		c = e.remember(c)
	}
	return c, c.await(ctx, op)
}

// remember keeps an ended command in memory, unless another request was faster, and forgets the oldest.
func (e *Engine) remember(c *command) *command {
	e.mu.Lock()
	defer e.mu.Unlock()
	if other := e.commands[c.id]; other != nil && other != c {
		return other
	}
	e.commands[c.id] = c
	e.ended = append(e.ended, c.id)
	if len(e.ended) > maxEnded {
		delete(e.commands, e.ended[0])
		e.ended = e.ended[1:]
	}
	return c
}

func canceled(ctx context.Context, op string) error {
	return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: context.Cause(ctx)}
}
