// This file names the operations of the protocol and the shapes of their arguments and results.

package wire

import (
	"encoding/json"
	"io/fs"
	"time"

	"sandboxagent/internal/sandbox"
)

// The operations. Where an operation has a body, its line says so.
const (
	OpPing     = "ping"
	OpStart    = "start" // body: the script
	OpWait     = "wait"
	OpOutput   = "output" // reply body: the bytes
	OpInput    = "input"  // body: the bytes
	OpResize   = "resize"
	OpKill     = "kill"
	OpCommands = "commands"
	OpRead     = "read" // reply body: the bytes
	OpStat     = "stat"
	OpList     = "list"
	OpSearch   = "search"
	OpApply    = "apply"    // body: the contents of the edits, one after the other
	OpShutdown = "shutdown" // kills every command, then the helper leaves
)

// Bounds of arguments.
const (
	MaxScript = 1 << 20 // bytes
	MaxOutput = 1 << 20 // bytes of one Output
	MaxRead   = 8 << 20 // bytes of one ReadFile
	MaxInput  = 1 << 20 // bytes of input not yet taken by the command
	MaxEdits  = 1000
)

// Hello opens a connection, from the worker to the helper.
type Hello struct {
	Protocol int    `json:"protocol"`
	Build    string `json:"build,omitempty"`   // identity of the helper program the worker would start
	Replace  bool   `json:"replace,omitempty"` // a helper of another build or protocol shall leave if nothing runs
}

// Welcome answers Hello.
type Welcome struct {
	Protocol int    `json:"protocol"`
	Build    string `json:"build,omitempty"`
	Leaving  bool   `json:"leaving,omitempty"` // the helper gives way: start the other one
	Error    *Error `json:"error,omitempty"`   // why it will not talk
}

// Request asks for an operation.
type Request struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Reply answers a Request.
type Reply struct {
	Error  *Error          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// StartArgs are sandbox.Command without its script, which is the body.
type StartArgs struct {
	ID        string        `json:"id"`
	Argv      []Text        `json:"argv,omitempty"`
	Dir       Text          `json:"dir,omitempty"`
	Env       []Text        `json:"env,omitempty"`
	Stdin     bool          `json:"stdin,omitempty"`
	TTY       bool          `json:"tty,omitempty"`
	Rows      uint16        `json:"rows,omitempty"`
	Cols      uint16        `json:"cols,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
	OutputCap int64         `json:"outputCap,omitempty"`
}

// IDArgs name a command.
type IDArgs struct {
	ID string `json:"id"`
}

// WaitArgs are the arguments of OpWait.
type WaitArgs struct {
	ID     string          `json:"id"`
	After  sandbox.Offsets `json:"after"`
	AtMost time.Duration   `json:"atMost"`
}

// OutputArgs are the arguments of OpOutput.
type OutputArgs struct {
	ID     string         `json:"id"`
	Stream sandbox.Stream `json:"stream"`
	Offset int64          `json:"offset"`
	N      int            `json:"n"`
}

// OutputResult is sandbox.Chunk without its data.
type OutputResult struct {
	Offset int64 `json:"offset"`
	Total  int64 `json:"total"`
	EOF    bool  `json:"eof,omitempty"`
}

// InputArgs are the arguments of OpInput.
type InputArgs struct {
	ID  string `json:"id"`
	EOF bool   `json:"eof,omitempty"`
}

// ResizeArgs are the arguments of OpResize.
type ResizeArgs struct {
	ID   string `json:"id"`
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// PathArgs are the arguments of the operations on one path.
type PathArgs struct {
	Path   Text  `json:"path"`
	Offset int64 `json:"offset,omitempty"`
	N      int   `json:"n,omitempty"`
	Depth  int   `json:"depth,omitempty"`
	Limit  int   `json:"limit,omitempty"`
}

// ReadResult is sandbox.FileContent without its data.
type ReadResult struct {
	Size int64       `json:"size"`
	Mode fs.FileMode `json:"mode"`
	Hash string      `json:"hash,omitempty"`
}

// Entry is sandbox.Entry with names of any bytes.
type Entry struct {
	Path   Text        `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	Size   int64       `json:"size"`
	Mtime  time.Time   `json:"mtime"`
	Target Text        `json:"target,omitempty"`
}

// ListResult is sandbox.Listing.
type ListResult struct {
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

// SearchArgs are sandbox.Query.
type SearchArgs struct {
	Path    Text `json:"path,omitempty"`
	Pattern Text `json:"pattern,omitempty"`
	Literal bool `json:"literal,omitempty"`
	Glob    Text `json:"glob,omitempty"`
	Hidden  bool `json:"hidden,omitempty"`
	Limit   int  `json:"limit,omitempty"`
}

// Match is sandbox.Match with names and lines of any bytes.
type Match struct {
	Path Text `json:"path"`
	Line int  `json:"line,omitempty"`
	Text Text `json:"text,omitempty"`
}

// SearchResult is sandbox.SearchResult.
type SearchResult struct {
	Matches   []Match `json:"matches"`
	Truncated bool    `json:"truncated,omitempty"`
	Skipped   int     `json:"skipped,omitempty"`
}

// ApplyArgs are the arguments of OpApply.
type ApplyArgs struct {
	ID    string `json:"id"`
	Edits []Edit `json:"edits"`
}

// Edit is sandbox.Edit; the content is Size bytes of the body.
type Edit struct {
	Path   Text        `json:"path"`
	Before string      `json:"before"`
	Delete bool        `json:"delete,omitempty"`
	Size   int         `json:"size,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
}
