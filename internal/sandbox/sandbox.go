// Package sandbox defines what a place that runs commands and holds a workspace must offer, alike on every backend.
// The doc comments here are the contract; the backends live in the packages below this one.
package sandbox

import (
	"context"
	"io/fs"
	"time"
)

// Kind names a backend.
type Kind string

// The kinds of backend.
const (
	KindLocal   Kind = "local"
	KindDocker  Kind = "docker"
	KindE2B     Kind = "e2b"
	KindDaytona Kind = "daytona"
)

// Spec asks a backend for a sandbox.
type Spec struct {
	ID        string   // chosen by the session; opening the same ID again returns the same sandbox
	Owner     string   // who it belongs to, for listing and reaping
	Workspace string   // local: absolute path of the open folder
	Env       []string // additional NAME=value pairs for every command; no secrets
}

// Ref names an open sandbox so that another process can attach to it. It is small, serialisable and holds no secret.
type Ref struct {
	Kind      Kind   `json:"kind"`
	ID        string `json:"id"`
	HostID    string `json:"hostId,omitempty"`
	Epoch     int64  `json:"epoch,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// Backend makes sandboxes of one kind. All methods may be called concurrently.
type Backend interface {
	// Kind names the backend.
	Kind() Kind
	// Available returns nil when sandboxes can be made now, else an Error whose message names the reason and the remedy.
	Available(ctx context.Context) error
	// Open returns the sandbox spec.ID, making it if needed. Repeating it never makes a second one.
	Open(ctx context.Context, spec Spec) (Sandbox, error)
	// Destroy kills every process of the sandbox and removes what the backend made for it: never the user's folder.
	// Repeating it is not an error, nor is destroying what never existed.
	Destroy(ctx context.Context, ref Ref) error
}

// Sandbox is one live place. All methods may be called concurrently. Every path is relative to the workspace root,
// uses "/", and may be any bytes but NUL; a path that leads outside, directly or through links, is refused with ClassDenied.
type Sandbox interface {
	Ref() Ref

	// Start begins the command id, or, if that id was started before, does nothing: a command runs at most once for an id.
	// It returns as soon as the command runs. A command that could not be spawned (no such directory or program) is recorded
	// as exited with code 126 or 127 and a Failure text.
	Start(ctx context.Context, id string, cmd Command) error
	// Wait returns the status of command id when it has ended, when more output than after is there, or when ctx or
	// the duration ends, whichever comes first. Unknown ids give ClassNotFound.
	Wait(ctx context.Context, id string, after Offsets, atMost time.Duration) (Status, error)
	// Output reads up to n bytes (at most 1 MiB) of a stream of command id from offset, byte-exact. Bytes dropped by the
	// command's output limit are skipped: the returned Chunk says from where it really reads.
	Output(ctx context.Context, id string, stream Stream, offset int64, n int) (Chunk, error)
	// Input writes to the command's standard input; eof closes it. Commands started without Stdin refuse it (ClassInvalid).
	Input(ctx context.Context, id string, data []byte, eof bool) error
	// Kill ends the whole process tree of command id, whatever it forked, and keeps its output. Killing what has ended is no error.
	Kill(ctx context.Context, id string) error
	// Commands lists the commands of the ledger that still run or have left processes running (Left > 0).
	Commands(ctx context.Context) ([]Status, error)

	// ReadFile reads up to n bytes (at most 8 MiB) of a regular file from offset.
	ReadFile(ctx context.Context, path string, offset int64, n int) (FileContent, error)
	// Stat describes one entry without following a link at its end.
	Stat(ctx context.Context, path string) (Entry, error)
	// List lists the tree below path, depth levels deep (1: the directory itself), sorted by path, at most limit entries.
	List(ctx context.Context, path string, depth, limit int) (Listing, error)
	// Search finds lines (or file names) as the query says.
	Search(ctx context.Context, q Query) (SearchResult, error)
	// Apply makes all edits or none, each file by temporary file and rename, under the effect id: repeating an id returns
	// the recorded outcome. An edit whose Before does not match what is there now fails with ClassConflict and changes nothing.
	Apply(ctx context.Context, id string, edits []Edit) error

	// Health returns nil when commands can run.
	Health(ctx context.Context) error
	// Close drops the connection; sandbox and commands live on.
	Close() error
}

// Stream names an output stream.
type Stream string

// The output streams of a command. A TTY command has only Stdout.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Command is what to run.
type Command struct {
	Script    string        `json:"script,omitempty"` // run by the shell; exclusive with Argv
	Argv      []string      `json:"argv,omitempty"`
	Dir       string        `json:"dir,omitempty"` // relative to the workspace; default its root
	Env       []string      `json:"env,omitempty"` // additional NAME=value pairs
	Stdin     bool          `json:"stdin,omitempty"`
	TTY       bool          `json:"tty,omitempty"`
	Rows      uint16        `json:"rows,omitempty"`
	Cols      uint16        `json:"cols,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`   // default 10 min, at most 2 h; the tree is killed
	OutputCap int64         `json:"outputCap,omitempty"` // bytes kept per stream (head and tail halves); default 64 MiB
}

// State says where a command is in its life.
type State string

// The states of a command. StateLost means that the outcome is unknown: what supervised it died.
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
	ID       string    `json:"id"`
	State    State     `json:"state"`
	ExitCode int       `json:"exitCode"`           // 128+n when ended by signal n
	Signal   string    `json:"signal,omitempty"`   // name of the signal that ended it, e.g. "SIGKILL"
	TimedOut bool      `json:"timedOut,omitempty"` // ended by its Timeout
	Killed   bool      `json:"killed,omitempty"`   // ended by Kill
	Failure  string    `json:"failure,omitempty"`  // why it could not be spawned, or was lost
	Limit    string    `json:"limit,omitempty"`    // why output beyond the command's own limit is missing, e.g. a full disk
	Left     int       `json:"left,omitempty"`     // processes it left running in the background
	Total    Offsets   `json:"total"`              // bytes produced so far, dropped ones included
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
}

// Chunk is a range of an output stream.
type Chunk struct {
	Data   []byte
	Offset int64 // where Data begins; more than asked when bytes were dropped
	Total  int64 // bytes produced so far
	EOF    bool  // the command has ended and Data reaches the end; what it left running may still append
}

// FileContent is a range of a file with what identifies the whole.
type FileContent struct {
	Data []byte
	Size int64
	Mode fs.FileMode
	Hash string // sha256 hex of the whole file; only set when Data is the whole file
}

// Entry describes one file system entry.
type Entry struct {
	Path   string      `json:"path"` // relative to the workspace
	Mode   fs.FileMode `json:"mode"` // type and permission bits
	Size   int64       `json:"size"`
	Mtime  time.Time   `json:"mtime"`
	Target string      `json:"target,omitempty"` // of a symbolic link
}

// Listing is the answer of List.
type Listing struct {
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

// Query asks Search for lines that match, or for files by name when Pattern is empty.
type Query struct {
	Path    string `json:"path,omitempty"`    // directory or file to search below
	Pattern string `json:"pattern,omitempty"` // RE2
	Literal bool   `json:"literal,omitempty"` // Pattern is plain text
	Glob    string `json:"glob,omitempty"`    // doublestar pattern on the path relative to Path, e.g. "**/*.go"
	Hidden  bool   `json:"hidden,omitempty"`  // also below .git and other dot directories, and files git ignores
	Limit   int    `json:"limit,omitempty"`   // matches; default 200
}

// Match is one matching line, or one file when Line is 0.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"` // the line, at most 500 bytes
}

// SearchResult is the answer of Search.
type SearchResult struct {
	Matches   []Match `json:"matches"`
	Truncated bool    `json:"truncated,omitempty"`
	Skipped   int     `json:"skipped,omitempty"` // binary, unreadable or over-large files passed over
}

// Edit is one file's change within Apply. Before guards it: the sha256 hex of the file's content as last seen, "" when
// the file must not exist, or "*" for whatever is there.
type Edit struct {
	Path    string      `json:"path"`
	Before  string      `json:"before"`
	Delete  bool        `json:"delete,omitempty"`
	Content []byte      `json:"content,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"` // permission bits for a new file; an existing file keeps its own
}
