// Package sandbox defines what a place that runs commands and holds a workspace must offer, alike on every backend.
// The doc comments here are the contract, package sandboxtest is its test, and the backends live in the packages below
// this one. What a backend cannot do its Capabilities say, and the refusal is always ClassUnsupported.
//
// Rules that hold everywhere:
//
//   - Every error is an *Error whose Class alone decides what a caller may do. ClassUnavailable may be retried. ClassUnknown
//     says that the effect may have happened: ask again with the same id. When ctx ends first, the class is ClassCanceled,
//     and what was asked for may happen all the same.
//   - Ids of sandboxes, commands and effects are chosen by the caller: 1 to 256 bytes of valid UTF-8. An id names one thing
//     for as long as the sandbox exists, whoever asks and however often; the arguments of a repetition are ignored.
//   - Sizes and offsets are bytes; negative ones are ClassInvalid, and a length beyond a limit is cut to it.
//   - Names, scripts and output are bytes, not text: nothing is normalised, converted or escaped.
package sandbox

import (
	"context"
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
	Workspace string   // absolute path of the open folder: local works in it, the others begin as a copy of it
	Image     string   // what to make it of, in the backend's terms; default the backend's own. Only a new sandbox heeds it
	Env       []string // additional NAME=value pairs for every command; no secrets
	Realm     string   // where its session is known: the id of a Temporal namespace. Nobody else reaps it
	Empty     bool     // begin with an empty workspace instead of a copy. Only a new sandbox heeds it, and local never does

	// Notify is told, in one sentence each, what takes time or was mended until Open returns. May be nil.
	Notify func(text string) `json:"-"`
}

// Ref names an open sandbox so that another process can attach to it. It is small, serialisable and holds no secret.
type Ref struct {
	Kind      Kind   `json:"kind"`
	ID        string `json:"id"`
	HostID    string `json:"hostId,omitempty"`
	Epoch     int64  `json:"epoch,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// Capabilities say in what the sandboxes of a backend fall short of the contract, or differ among backends. The zero value
// is the weakest: whoever makes a Backend sets what holds.
type Capabilities struct {
	// TTY: a command may have a terminal. Without it a Command with TTY set is refused (ClassUnsupported).
	TTY bool
	// ByteExact: scripts, names, input and output may be any bytes. Without it they must be valid UTF-8, and what is not may
	// be replaced.
	ByteExact bool
	// Reattach: commands outlive the process that started them, and any other finds them by their id. Without it they end
	// with that process and are StateLost afterwards.
	Reattach bool
	// KillTree: Kill and Timeout end every process of a command, whatever it forked. Without it those that moved to a session
	// of their own may stay.
	KillTree bool
	// Confinement is what holds commands in: "none", "fs" (they write only in the workspace and a private temporary
	// directory), "fs+net" (and reach no network but their own loopback) or "container".
	Confinement string
	// Network: commands may reach hosts beyond the sandbox.
	Network bool
	// Asks: a Status tells when a command waits for input, as far as the system lets it be seen. Without it it never does.
	Asks bool
}

// Backend makes sandboxes of one kind. All methods may be called concurrently, also from several processes.
type Backend interface {
	// Kind names the backend.
	Kind() Kind
	// Capabilities say what its sandboxes can do. They do not change.
	Capabilities() Capabilities
	// Available returns nil when sandboxes can be made now, else an Error whose message names the reason and the remedy.
	// It makes nothing and is quick enough to be asked for every listing.
	Available(ctx context.Context) error
	// Open returns the sandbox spec.ID, making it if needed, ready for commands. Repeating it, also at the same time, never
	// makes a second one. Opening an ID on another workspace is ClassConflict, a workspace that is missing ClassNotFound, one
	// that must not be worked on ClassInvalid.
	Open(ctx context.Context, spec Spec) (Sandbox, error)
	// Destroy kills every process of the sandbox and removes what the backend made for it: never the user's folder.
	// Repeating it is not an error, nor is destroying what never existed. Open sandboxes of that ID answer ClassNotFound
	// afterwards and never bring it back; Open makes a new one without memory of old ids.
	Destroy(ctx context.Context, ref Ref) error
}

// Sandbox is one live place. All methods may be called concurrently.
//
// Paths are relative to the workspace root ("" and "." are the root itself), use "/", and may be any bytes but NUL. An
// absolute path is taken if it lies in the workspace. Relative links are followed as long as they stay inside, but never
// where an entry is removed or described. A path that leads outside, directly, through links (any absolute one counts) or
// through a loop of links, is ClassDenied; what does not exist is ClassNotFound; a directory in place of a file is
// ClassInvalid; pipes, sockets and devices are ClassDenied, at once.
//
// Reads may be repeated freely. Start, Kill, Resize and Apply may be repeated after any failure. Input may not: ClassUnknown
// says that it may have arrived.
type Sandbox interface {
	// Ref names the sandbox.
	Ref() Ref

	// Start begins the command id, or, if that id was started before, does nothing: a command runs at most once for an id.
	// It returns as soon as the command runs. A command that could not be spawned (no such directory or program) is recorded
	// as exited with code 126 or 127 and a Failure text. One that is refused with an Error leaves no record: the id is free.
	// Refused are: NUL bytes, Script together with Argv, a malformed Env, times and limits out of range (ClassInvalid), a
	// script over 1 MiB (ClassLimit), a directory outside the workspace (ClassDenied).
	Start(ctx context.Context, id string, cmd Command) error
	// Wait returns the status of command id when it has ended, when either stream has more output than after says, when it
	// waits for input, or when atMost has passed, whichever comes first. Unknown ids give ClassNotFound, here and in the methods below.
	Wait(ctx context.Context, id string, after Offsets, atMost time.Duration) (Status, error)
	// Output reads up to n bytes (at most 1 MiB) of a stream of command id from offset. Bytes dropped by the command's output
	// limit are skipped: the returned Chunk says from where it really reads, never before offset. It does not wait: where
	// nothing is there yet, Data is empty.
	Output(ctx context.Context, id string, stream Stream, offset int64, n int) (Chunk, error)
	// Input writes to the command's standard input, at most 1 MiB that the command has not read yet (ClassLimit, nothing is
	// written); eof closes it, or, on a terminal, types Ctrl-D. It does not wait for the command to read. Commands without
	// Stdin or TTY, and those that have ended, refuse it (ClassInvalid).
	Input(ctx context.Context, id string, data []byte, eof bool) error
	// Resize sets the size of the command's terminal, in characters, and tells its foreground processes (SIGWINCH). A command
	// without a terminal, and a size of 0, are ClassInvalid; resizing what has ended does nothing.
	Resize(ctx context.Context, id string, rows, cols uint16) error
	// Kill ends the whole process tree of command id, what it left in the background included, and keeps its output: SIGTERM
	// first, SIGKILL half a second later. When it returns, nothing of it runs. Killing what has ended is no error.
	Kill(ctx context.Context, id string) error
	// Commands lists the commands that still run or have left processes running (Left > 0).
	Commands(ctx context.Context) ([]Status, error)

	// ReadFile reads up to n bytes (at most 8 MiB) of a regular file from offset; beyond the end there is no data.
	ReadFile(ctx context.Context, path string, offset int64, n int) (FileContent, error)
	// Stat describes one entry without following a link at its end.
	Stat(ctx context.Context, path string) (Entry, error)
	// List lists the tree below the directory path, depth levels deep (1, or less, is the directory itself), sorted by path,
	// at most limit entries (20,000 when 0 or more than that). Links, and directories called .git, are listed, not entered.
	List(ctx context.Context, path string, depth, limit int) (Listing, error)
	// Search finds lines (or file names) as the query says, in the order of names, directory by directory.
	Search(ctx context.Context, q Query) (SearchResult, error)
	// Apply makes all edits or none, each file by temporary file and rename, under the effect id: repeating an id returns the
	// recorded outcome. An edit whose Before does not match what is there fails with ClassConflict and changes nothing. At
	// most 1,000 files and 64 MiB (ClassLimit). What is in .git may be refused (ClassDenied): git runs what stands there. Failures of the classes invalid, denied, notFound and conflict are outcomes;
	// after any other the id is free for another try. A sandbox that dies in the middle undoes or completes it before it
	// answers again.
	Apply(ctx context.Context, id string, edits []Edit) error

	// Health returns nil when commands can run.
	Health(ctx context.Context) error
	// Close drops the connection; sandbox and commands live on. Other methods are ClassInvalid afterwards.
	Close() error
}
