// This file defines commands: what to run, what became of it, and what it printed.

package sandbox

import "time"

// Stream names an output stream.
type Stream string

// The output streams of a command. A TTY command has only Stdout.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Command is what to run: a script for the shell (bash where there is one, else sh) or, if Argv is not empty, a program
// with its arguments. An empty script succeeds.
type Command struct {
	Script    string        `json:"script,omitempty"` // at most 1 MiB; exclusive with Argv
	Argv      []string      `json:"argv,omitempty"`
	Dir       string        `json:"dir,omitempty"`       // relative to the workspace; default its root
	Env       []string      `json:"env,omitempty"`       // additional NAME=value pairs; of one name the last counts
	Stdin     bool          `json:"stdin,omitempty"`     // takes Input; otherwise standard input is empty
	Network   bool          `json:"network,omitempty"`   // may use the network also where commands have none; somebody allowed it
	TTY       bool          `json:"tty,omitempty"`       // runs on a terminal of its own and takes Input; TERM is set
	Rows      uint16        `json:"rows,omitempty"`      // of the terminal; default 24 by 80
	Cols      uint16        `json:"cols,omitempty"`      //
	Timeout   time.Duration `json:"timeout,omitempty"`   // then the tree is killed; default 10 min, at most 2 h
	OutputCap int64         `json:"outputCap,omitempty"` // bytes kept per stream (head and tail halves); default 64 MiB, at most 1 GiB
}

// State says where a command is in its life.
type State string

// The states of a command. It is exited when it has ended itself, though processes it started may be left. StateLost means
// that the outcome is unknown: what supervised it died. An ended command keeps its state, output and record.
const (
	StateRunning State = "running"
	StateExited  State = "exited"
	StateLost    State = "lost"
)

// Offsets are byte positions in the two streams.
type Offsets struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

// Status is the ledger's record of one command.
type Status struct {
	ID       string `json:"id"`
	State    State  `json:"state"`
	ExitCode int    `json:"exitCode"`           // 128+n when ended by signal n
	Signal   string `json:"signal,omitempty"`   // name of the signal that ended it, e.g. "SIGKILL"
	TimedOut bool   `json:"timedOut,omitempty"` // ended by its Timeout
	Killed   bool   `json:"killed,omitempty"`   // ended by Kill
	Failure  string `json:"failure,omitempty"`  // why it could not be spawned, or was lost
	Limit    string `json:"limit,omitempty"`    // why output beyond the command's own limit is missing, e.g. a full disk
	Left     int    `json:"left,omitempty"`     // processes it left running in the background
	TTY      bool   `json:"tty,omitempty"`      // it runs, or ran, on a terminal
	// WaitsSince is since when all its processes sleep until it is given input, which is found out within a few seconds. Zero:
	// they do not, or nobody can tell (Capabilities.Asks).
	WaitsSince time.Time `json:"waitsSince,omitzero"`
	Total      Offsets   `json:"total"` // bytes produced so far, dropped ones included
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
}

// Chunk is a range of an output stream.
type Chunk struct {
	Data   []byte
	Offset int64 // where Data begins; more than asked when bytes were dropped
	Total  int64 // bytes produced so far
	EOF    bool  // the command has ended and Data reaches the end; what it left running may still append
}
