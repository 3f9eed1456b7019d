// Package editors is the contract between the product and its editors: the words, the commands and the events.
// It is the only place where they are defined; JSON Schema, TypeScript and Lua types are generated from it
// (see generate.go), and everything inside the product that names a session, an item or an event uses these types.
//
// The package depends on nothing but the standard library.
package editors

import (
	"math"
	"time"
)

// Name and Version of the product as told to editors.
const (
	Name    = "sandbox-agent"
	Version = "0.1.0"
)

// Limits of the protocol.
const (
	MaxMessageBytes = 1 << 20   // one JSON-RPC message, either way, stays under this
	MaxTextBytes    = 256 << 10 // text of one ask or steer
	MaxTitleRunes   = 200       // also of the summary of a checkpoint
	MaxRequestID    = 128       // bytes
	MaxHistoryPage  = 200       // items
	MaxQueued       = 20        // requests that wait for a running turn
	MaxOutputRead   = 256 << 10
)

// Models that always exist.
const (
	DefaultModel = "gpt-5.6-sol" // where none was chosen
	DemoModel    = "demo"        // needs neither key nor network
)

// BackendKind names a kind of sandbox.
type BackendKind string

// The backends.
const (
	Local   BackendKind = "local"
	Docker  BackendKind = "docker"
	E2B     BackendKind = "e2b"
	Daytona BackendKind = "daytona"
)

// Backend says where a session runs.
type Backend struct {
	Kind          BackendKind `json:"kind"`
	Image         string      `json:"image,omitempty"`         // docker: image; e2b: template; daytona: image, or snapshot:NAME
	WorkspaceRoot string      `json:"workspaceRoot,omitempty"` // local: absolute path other than the open folder
}

// ApprovalMode says when a tool call needs an answer from a person.
type ApprovalMode string

// The approval modes.
const (
	ApprovalAsk      ApprovalMode = "ask"      // ask before anything that is not known to be read-only
	ApprovalAuto     ApprovalMode = "auto"     // run what stays within the sandbox, ask for what leaves it
	ApprovalNever    ApprovalMode = "never"    // never ask: run everything
	ApprovalReadOnly ApprovalMode = "readOnly" // never write, never ask
)

// TitleSource says who chose a session's title.
type TitleSource string

// The title sources. A user's title is never overwritten by another.
const (
	TitleDefault   TitleSource = "default"
	TitleGenerated TitleSource = "generated"
	TitleUser      TitleSource = "user"
)

// Session describes one conversation.
type Session struct {
	ID              string       `json:"id"`
	Title           string       `json:"title"`
	TitleSource     TitleSource  `json:"titleSource"`
	WorkspaceFolder string       `json:"workspaceFolder"` // file URI
	Backend         Backend      `json:"backend"`
	Model           string       `json:"model"`
	Effort          string       `json:"effort,omitempty"` // reasoning effort
	ApprovalMode    ApprovalMode `json:"approvalMode"`
	ParentID        string       `json:"parentId,omitempty"`
	ForkedAtTurn    int          `json:"forkedAtTurn,omitempty"`
	CreatedAt       time.Time    `json:"createdAt"`
	UpdatedAt       time.Time    `json:"updatedAt"`
	State           State        `json:"state"`
	TurnID          int          `json:"turnId"` // the running turn, else the last one; 0 before the first
	CheckpointID    string       `json:"checkpointId,omitempty"`
	HostID          string       `json:"hostId"`
	Epoch           int64        `json:"epoch,omitempty"` // counts the sandboxes the session has had before its present one
	Usage           Usage        `json:"usage"`
	Budget          *Budget      `json:"budget,omitempty"`
	ContextTokens   int64        `json:"contextTokens,omitempty"` // what the model was told so far, about
	ContextWindow   int64        `json:"contextWindow,omitempty"` // tokens that the model takes; compaction begins at 80 % of it
}

// Status is what a session is doing.
type Status string

// The statuses of a session.
const (
	StatusIdle            Status = "idle"
	StatusRunning         Status = "running"
	StatusWaitingApproval Status = "waitingApproval"
	StatusPaused          Status = "paused"
	StatusSwitching       Status = "switching"
	StatusRecovering      Status = "recovering"
	StatusFailed          Status = "failed"
	StatusDestroyed       Status = "destroyed"
)

// State is a session's status and why: the reason always says what is waited for.
type State struct {
	Status Status    `json:"status"`
	Reason string    `json:"reason,omitempty"`
	Remedy string    `json:"remedy,omitempty"`
	Since  time.Time `json:"since"`
}

// Usage counts what a turn or a session has spent.
type Usage struct {
	InputTokens     int64   `json:"inputTokens"`
	CachedTokens    int64   `json:"cachedTokens"`
	OutputTokens    int64   `json:"outputTokens"`
	ReasoningTokens int64   `json:"reasoningTokens"`
	ModelCalls      int64   `json:"modelCalls"`
	Cost            float64 `json:"cost"`                    // US dollars, of the calls whose price is known
	UnpricedCalls   int64   `json:"unpricedCalls,omitempty"` // model calls whose price is not known: they are not in cost
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.InputTokens += v.InputTokens
	u.CachedTokens += v.CachedTokens
	u.OutputTokens += v.OutputTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.ModelCalls += v.ModelCalls
	u.Cost = math.Round((u.Cost+v.Cost)*1e6) / 1e6
	u.UnpricedCalls += v.UnpricedCalls
}

// Budget bounds what a session spends. When a bound is reached, the turn waits for an answer: raise it, or stop. A bound that is
// 0 is none, but for TurnCalls.
type Budget struct {
	TurnCalls   int64   `json:"turnCalls,omitempty"`   // model calls of one turn; 0: DefaultTurnCalls
	TurnTokens  int64   `json:"turnTokens,omitempty"`  // input and output of one turn
	TurnCost    float64 `json:"turnCost,omitempty"`    // US dollars of one turn
	TurnSeconds int64   `json:"turnSeconds,omitempty"` // from the begin of one turn
	Tokens      int64   `json:"tokens,omitempty"`      // input and output of the session
	Cost        float64 `json:"cost,omitempty"`        // US dollars of the session
	Seconds     int64   `json:"seconds,omitempty"`     // of all turns of the session
}

// BudgetTool is the tool of an approval that asks whether a turn may go on beyond its budget.
const BudgetTool = "budget"

// PatchTool is the tool of the agent that edits files.
const PatchTool = "apply_patch"

// DefaultTurnCalls is how many model calls a turn makes before it asks whether to go on.
const DefaultTurnCalls = 250

// ItemKind says what an item is.
type ItemKind string

// The kinds of item.
const (
	UserMessage  ItemKind = "userMessage"
	AgentMessage ItemKind = "agentMessage"
	Reasoning    ItemKind = "reasoning"
	ToolCall     ItemKind = "toolCall"
	Notice       ItemKind = "notice"
)

// ItemStatus says how far an item is.
type ItemStatus string

// The statuses of an item. ItemUnknown: it may have run; nobody can tell.
const (
	ItemInProgress  ItemStatus = "inProgress"
	ItemCompleted   ItemStatus = "completed"
	ItemFailed      ItemStatus = "failed"
	ItemInterrupted ItemStatus = "interrupted"
	ItemDenied      ItemStatus = "denied"
	ItemUnknown     ItemStatus = "unknown"
)

// Item is one entry of a turn.
type Item struct {
	ID     string     `json:"id"`
	TurnID int        `json:"turnId"`
	Seq    int64      `json:"seq"` // of the event that started it
	Kind   ItemKind   `json:"kind"`
	Status ItemStatus `json:"status"`
	At     time.Time  `json:"at"`

	// Text of messages, reasoning summaries and notices; of a tool call, what it is about. TextBytes is its full length when Text was cut; the whole is read
	// with readOutput, stream "text".
	Text      string    `json:"text,omitempty"`
	TextBytes int64     `json:"textBytes,omitempty"`
	Queued    bool      `json:"queued,omitempty"`  // user message: waits for the running turn to end
	Steered   bool      `json:"steered,omitempty"` // user message: joined the running turn
	Context   []Context `json:"context,omitempty"` // user message
	Attempt   int       `json:"attempt,omitempty"` // model output: the attempt that completed it

	// Tool calls.

	Tool       string       `json:"tool,omitempty"`
	Arguments  string       `json:"arguments,omitempty"` // JSON text, at most 8 KiB of it
	Cwd        string       `json:"cwd,omitempty"`       // relative to the workspace
	ExitCode   *int         `json:"exitCode,omitempty"`
	DurationMs int64        `json:"durationMs,omitempty"`
	Background bool         `json:"background,omitempty"` // the command went on in the background when the call was over
	StoppedBy  string       `json:"stoppedBy,omitempty"`  // the client whose user stopped the command
	Output     *Output      `json:"output,omitempty"`
	Diff       string       `json:"diff,omitempty"` // unified diff of file changes, at most 16 KiB of it
	DiffBytes  int64        `json:"diffBytes,omitempty"`
	Files      []FileChange `json:"files,omitempty"`
	Error      string       `json:"error,omitempty"` // one sentence

	// Refs into the blob store for what was cut. Editors read it with readOutput and ignore these.
	Refs map[string]string `json:"refs,omitempty"`
}

// Output previews what a command printed; the rest is read with readOutput.
type Output struct {
	Head       string `json:"head"`
	Tail       string `json:"tail,omitempty"`
	TotalBytes int64  `json:"totalBytes"`
	Stream     string `json:"stream" enum:"stdout,stderr"` // which one the preview shows
}

// FileChange names a file that was changed. Merged: both sides' changes are in it.
type FileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind" enum:"added,changed,removed,merged"`
}

// Context is something of the editor that goes with a question.
type Context struct {
	// Kind file is also a directory. An image is read from URI, a file's or "data:image/png;base64,…".
	Kind  string `json:"kind" enum:"file,selection,diagnostics,text,image"`
	URI   string `json:"uri,omitempty"`
	Range *Range `json:"range,omitempty"`
	Text  string `json:"text,omitempty"`
	// Mentioned: the question is about it. The server sets it for what the question's text mentions as @path, @path:3-10,
	// @selection or @diagnostics, and reads the text of a file that has none; what is long is cut to head and tail.
	Mentioned bool `json:"mentioned,omitempty"`
	// Image is what the server has made of an image.
	Image *Image `json:"image,omitempty"`
	// Unsaved: Text is what the editor shows; the file on disk is older. The agent's tools then see Text, unless it is Omitted,
	// because it is too large, or the file is no longer the one that Base names (made by the server; "": there is none).
	// Omitted without Unsaved: it was mentioned, but is not there, too large or no text.
	Unsaved bool   `json:"unsaved,omitempty"`
	Omitted bool   `json:"omitted,omitempty"`
	Base    string `json:"base,omitempty"`
	// Holder is the server that has the document of the editor, and passes changes on to it.
	Holder string `json:"holder,omitempty"`
}

// Image is a picture as models are shown it: scaled down, and kept on the session's host.
type Image struct {
	Ref    string `json:"ref"`  // in the blob store
	Type   string `json:"type"` // e.g. image/png
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Bytes  int64  `json:"bytes"`
	Name   string `json:"name,omitempty"` // e.g. its file's
}

// Range is a range of a document in LSP positions (UTF-16).
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Position is an LSP position.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Approval is a durable question: may this tool call run?
type Approval struct {
	ID        string    `json:"id"`
	ItemID    string    `json:"itemId"`
	TurnID    int       `json:"turnId"`
	Tool      string    `json:"tool"`
	Subject   string    `json:"subject"`           // what would run, e.g. the command
	Reason    string    `json:"reason"`            // why it is asked
	Options   []string  `json:"options"`           // decisions offered
	Pattern   string    `json:"pattern,omitempty"` // what allowAlways would allow; resolved: what it allows
	Scope     Scope     `json:"scope,omitempty"`   // resolved by allowAlways: where
	At        time.Time `json:"at"`
	Decision  Decision  `json:"decision,omitempty"`
	DecidedBy string    `json:"decidedBy,omitempty"`
	Feedback  string    `json:"feedback,omitempty"`
}

// Decision answers an approval.
type Decision string

// The decisions. DecisionWithdrawn: the turn ended first.
const (
	DecisionAllow       Decision = "allow"
	DecisionAllowAlways Decision = "allowAlways"
	DecisionDeny        Decision = "deny"
	DecisionWithdrawn   Decision = "withdrawn"
)

// Scope says where something is allowed for always.
type Scope string

// The scopes. A workspace's rules are kept on its host, outside of the folder.
const (
	ScopeSession   Scope = "session"
	ScopeWorkspace Scope = "workspace"
)

// QueuedMessage is a request that waits for the running turn to end.
type QueuedMessage struct {
	ItemID string    `json:"itemId"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
}

// TurnStatus says how a turn ended.
type TurnStatus string

// The ends of a turn.
const (
	TurnCompleted   TurnStatus = "completed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnFailed      TurnStatus = "failed"
)

// BackendInfo says whether a backend can be used on this host.
type BackendInfo struct {
	Kind      BackendKind `json:"kind"`
	Available bool        `json:"available"`
	Reason    string      `json:"reason,omitempty"`
	Remedy    string      `json:"remedy,omitempty"`
}

// ModelInfo says whether a model can be used.
type ModelInfo struct {
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
	Remedy    string `json:"remedy,omitempty"`
}
