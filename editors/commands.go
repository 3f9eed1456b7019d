// This file is the table of commands: one typed definition each, with its params and result.

package editors

import (
	"encoding/json"
	"reflect"
	"time"
)

// MethodPrefix precedes a command's name in its JSON-RPC method, CommandPrefix in its workspace/executeCommand name.
const (
	MethodPrefix  = "sandboxAgent/"
	CommandPrefix = "sandboxAgent."
)

// Kind says how a command reaches the workflow.
type Kind string

// The kinds of command.
const (
	KindUpdate Kind = "update" // changes something durable and answers
	KindSignal Kind = "signal" // changes something durable, also with no worker up
	KindQuery  Kind = "query"  // reads
	KindLocal  Kind = "local"  // answered by the server or this host's worker, never by a workflow
)

// Command describes one command without its types; Def is the typed form.
type Command struct {
	Name   string
	Kind   Kind
	Doc    string
	Params reflect.Type
	Result reflect.Type
}

// Def is the typed definition of a command.
type Def[P, R any] struct{ Command }

var table []Command

func define[P, R any](name string, kind Kind, doc string) Def[P, R] {
	c := Command{Name: name, Kind: kind, Doc: doc, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}
	table = append(table, c)
	return Def[P, R]{c}
}

// Commands lists all commands in the order of their definition.
func Commands() []Command { return append([]Command(nil), table...) }

// The commands.
var (
	New            = define[NewParams, NewResult]("new", KindUpdate, "Creates a session.")
	Ask            = define[AskParams, AskResult]("ask", KindUpdate, "Asks the agent; starts a turn or queues behind the running one. Answers at once.")
	Steer          = define[SteerParams, SteerResult]("steer", KindUpdate, "Adds a message to the running turn; it reaches the model at its next call.")
	Interrupt      = define[InterruptParams, InterruptResult]("interrupt", KindUpdate, "Ends the running turn, kills its command's whole process tree and keeps partial output.")
	Stop           = define[StopParams, StopResult]("stop", KindUpdate, "Kills one command's whole process tree, of a running call or in the background, and keeps its partial output; the turn goes on.")
	Queue          = define[QueueParams, QueueResult]("queue", KindUpdate, "Lists, edits or removes requests that wait for the running turn.")
	AnswerApproval = define[AnswerApprovalParams, AnswerApprovalResult]("answerApproval", KindUpdate, "Answers an approval; the first answer wins.")
	Rules          = define[RulesParams, RulesResult]("rules", KindUpdate, "Lists or takes back what was allowed for always, in a session and in its workspace.")
	Switch         = define[SwitchParams, SwitchResult]("switch", KindUpdate, "Moves a session to another sandbox, in place: its files go along, and on the way back are merged with what was changed meanwhile. Waits for the running turn.")
	Fork           = define[ForkParams, SessionResult]("fork", KindUpdate, "Makes a session that goes on from the end of a turn of another one, with a workspace of its own; the source is not disturbed.")
	Adopt          = define[AdoptParams, AdoptResult]("adopt", KindUpdate, "Merges what a fork changed into the workspace of the session it was forked from. It can be undone.")
	Title          = define[TitleParams, SessionResult]("title", KindSignal, "Renames a session; a user's title is never overwritten by a generated one.")
	Configure      = define[ConfigureParams, SessionResult]("configure", KindUpdate, "Changes a session's model, reasoning effort, approval mode or budget.")
	Compact        = define[SessionParams, Empty]("compact", KindUpdate, "Shortens what the model is told of the conversation so far, before its next call; history and forks keep all of it.")
	ShowContext    = define[ContextParams, ContextResult]("context", KindLocal, "Tells what the model would see if a question were asked now: each part with an estimate of its tokens. Asks and changes nothing.")
	SetSecret      = define[SetSecretParams, Empty]("setSecret", KindLocal, "Gives this host's worker a key; it stays in its memory.")
	Pause          = define[SessionParams, Empty]("pause", KindUpdate, "Keeps a session for later: its sandbox is stopped where that saves something, and its files stay.")
	Destroy        = define[SessionParams, DestroyResult]("destroy", KindUpdate, "Ends a session, its processes and its sandbox; never the user's folder.")
	Sessions       = define[SessionsParams, SessionsResult]("sessions", KindQuery, "Lists sessions, newest first.")
	Attach         = define[AttachParams, AttachResult]("attach", KindQuery, "Answers with a snapshot or what was missed after a seq; then events flow.")
	Detach         = define[SessionParams, Empty]("detach", KindLocal, "Stops the events of a session.")
	History        = define[HistoryParams, HistoryResult]("history", KindQuery, "Reads older items of a session.")
	ReadOutput     = define[ReadOutputParams, ReadOutputResult]("readOutput", KindQuery, "Reads a range of what an item's preview left out.")
	TakeCheckpoint = define[CheckpointParams, CheckpointResult]("checkpoint", KindLocal, "Takes a checkpoint of the workspace now.")
	Checkpoints    = define[SessionParams, CheckpointsResult]("checkpoints", KindLocal, "Lists the checkpoints of a session, oldest first.")
	Diff           = define[DiffParams, DiffResult]("diff", KindLocal, "Tells what differs between two checkpoints, or a checkpoint and now.")
	ReadFile       = define[ReadFileParams, ReadFileResult]("readFile", KindLocal, "Reads a range of a file as it is in a checkpoint, or now.")
	Preview        = define[PreviewParams, PreviewResult]("preview", KindLocal, "Tells where a server that runs in a session's sandbox can be reached.")
	Restore        = define[RestoreParams, RestoreResult]("restore", KindUpdate, "Brings the workspace back to a checkpoint; what others than the agent changed since stays. It can be undone.")
	Backends       = define[Empty, BackendsResult]("backends", KindLocal, "Lists the backends with reason and remedy where unavailable.")
	Models         = define[Empty, ModelsResult]("models", KindLocal, "Lists the models with reason and remedy where unavailable.")
	MCP            = define[MCPParams, MCPResult]("mcp", KindLocal, "Lists the MCP servers that the user has configured, how they are, and their tools.")
	Doctor         = define[Empty, DoctorResult]("doctor", KindLocal, "Checks the installation and tells what to do about what is wrong.")
)

// Empty is the params or result of a command that has none.
type Empty struct{}

// NewParams creates a session.
type NewParams struct {
	RequestID       string       `json:"requestId,omitempty"`
	WorkspaceFolder string       `json:"workspaceFolder,omitempty"` // URI; default: the first folder
	Backend         *Backend     `json:"backend,omitempty"`
	Title           string       `json:"title,omitempty"`
	Model           string       `json:"model,omitempty"`
	ApprovalMode    ApprovalMode `json:"approvalMode,omitempty"`
}

// NewResult is the new session.
type NewResult struct {
	Session Session `json:"session"`
}

// AskParams is a request to the agent.
type AskParams struct {
	RequestID       string    `json:"requestId,omitempty"`
	SessionID       string    `json:"sessionId,omitempty"`       // default: the latest session of the folder, else a new one
	WorkspaceFolder string    `json:"workspaceFolder,omitempty"` // used when sessionId is absent
	Text            string    `json:"text"`
	Context         []Context `json:"context,omitempty"`
	Model           string    `json:"model,omitempty"` // from this turn on
}

// AskResult says where the request went.
type AskResult struct {
	SessionID string `json:"sessionId"`
	TurnID    int    `json:"turnId"`
	ItemID    string `json:"itemId"`
	Queued    bool   `json:"queued"`
	Seq       int64  `json:"seq"` // of the last event it caused
}

// SteerParams adds to the running turn.
type SteerParams struct {
	RequestID      string `json:"requestId,omitempty"`
	SessionID      string `json:"sessionId"`
	ExpectedTurnID int    `json:"expectedTurnId"`
	Text           string `json:"text"`
}

// SteerResult names the item made.
type SteerResult struct {
	ItemID string `json:"itemId"`
	Seq    int64  `json:"seq"`
}

// InterruptParams ends the running turn.
type InterruptParams struct {
	RequestID string `json:"requestId,omitempty"`
	SessionID string `json:"sessionId"`
	TurnID    int    `json:"turnId"`
}

// InterruptResult says what became of the turn.
type InterruptResult struct {
	TurnID int        `json:"turnId"`
	Status TurnStatus `json:"status"`
	Seq    int64      `json:"seq"`
}

// QueueParams works on the waiting requests.
type QueueParams struct {
	RequestID string `json:"requestId,omitempty"`
	SessionID string `json:"sessionId"`
	Op        string `json:"op" enum:"list,remove,edit"`
	ItemID    string `json:"itemId,omitempty"`
	Text      string `json:"text,omitempty"`
}

// QueueResult is the queue as it is now.
type QueueResult struct {
	Queued []QueuedMessage `json:"queued"`
	Seq    int64           `json:"seq"`
}

// AnswerApprovalParams answers an approval.
type AnswerApprovalParams struct {
	RequestID  string   `json:"requestId,omitempty"`
	SessionID  string   `json:"sessionId"`
	ApprovalID string   `json:"approvalId"`
	Decision   Decision `json:"decision" enum:"allow,allowAlways,deny"`
	Feedback   string   `json:"feedback,omitempty"`
	Pattern    string   `json:"pattern,omitempty"` // allowAlways: what to allow; default: what was offered
	Scope      Scope    `json:"scope,omitempty"`   // allowAlways: where; default: session
	By         string   `json:"by,omitempty"`      // the client's name; filled in by the server when absent
}

// AnswerApprovalResult says whose answer counts.
type AnswerApprovalResult struct {
	ApprovalID string   `json:"approvalId"`
	Decision   Decision `json:"decision"`
	DecidedBy  string   `json:"decidedBy"`
	Already    bool     `json:"already"`           // somebody else was first
	Pattern    string   `json:"pattern,omitempty"` // what is allowed for always
	Scope      Scope    `json:"scope,omitempty"`   // where
	Seq        int64    `json:"seq"`
}

// RulesParams lists what was allowed for always, or takes it back. With sessionId it is about the session and its workspace,
// else about the workspace.
type RulesParams struct {
	RequestID       string `json:"requestId,omitempty"`
	SessionID       string `json:"sessionId,omitempty"`
	WorkspaceFolder string `json:"workspaceFolder,omitempty"` // used when sessionId is absent; default: the first folder
	Op              string `json:"op" enum:"list,remove"`
	Pattern         string `json:"pattern,omitempty"` // remove: exactly as it is listed
	Scope           Scope  `json:"scope,omitempty"`   // only there; default: in both
}

// RulesResult is what is allowed, or, after a removal, what no longer is.
type RulesResult struct {
	Rules []Rule `json:"rules"`
	Seq   int64  `json:"seq,omitempty"` // of the session
}

// Rule is what was allowed for always.
type Rule struct {
	Scope   Scope       `json:"scope"`
	Tool    string      `json:"tool"`
	Pattern string      `json:"pattern"`
	Backend BackendKind `json:"backend,omitempty"` // of a workspace's: in sandboxes of which kind
	By      string      `json:"by,omitempty"`
	At      *time.Time  `json:"at,omitempty"`
}

// TitleParams renames a session.
type TitleParams struct {
	RequestID string `json:"requestId,omitempty"`
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
}

// SessionResult is a session as it is now.
type SessionResult struct {
	Session Session `json:"session"`
	Notice  string  `json:"notice,omitempty"` // of a fork: what the user should know of how it begins, in a sentence
	Seq     int64   `json:"seq"`
}

// DestroyResult tells what is left of a session that is destroyed.
type DestroyResult struct {
	// Remains says in a sentence what could not be removed yet, and why; the worker removes it when it can. "": nothing is left.
	Remains string `json:"remains,omitempty"`
}

// ConfigureParams changes a session's settings; absent fields stay.
type ConfigureParams struct {
	RequestID    string       `json:"requestId,omitempty"`
	SessionID    string       `json:"sessionId"`
	Model        string       `json:"model,omitempty"`
	Effort       string       `json:"effort,omitempty"`
	ApprovalMode ApprovalMode `json:"approvalMode,omitempty"`
	Budget       *Budget      `json:"budget,omitempty"` // replaces the whole budget; an empty one lifts all bounds but that of calls
}

// SetSecretParams gives the worker a key; an empty value forgets it.
type SetSecretParams struct {
	Name  string `json:"name" enum:"OPENAI_API_KEY,E2B_API_KEY,DAYTONA_API_KEY"`
	Value string `json:"value"`
}

// SessionParams names a session.
type SessionParams struct {
	RequestID string `json:"requestId,omitempty"`
	SessionID string `json:"sessionId"`
}

// SessionsParams filters the list of sessions.
type SessionsParams struct {
	WorkspaceFolder string `json:"workspaceFolder,omitempty"`
	IncludeForks    *bool  `json:"includeForks,omitempty"` // default true
	Search          string `json:"search,omitempty"`       // in titles, case folded
	Cursor          string `json:"cursor,omitempty"`
	Limit           int    `json:"limit,omitempty"` // default 50, at most 200
}

// SessionsResult is a page of sessions.
type SessionsResult struct {
	Sessions   []Session `json:"sessions"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// AttachParams attaches to a session.
type AttachParams struct {
	SessionID string `json:"sessionId"`
	AfterSeq  *int64 `json:"afterSeq,omitempty"` // absent: a snapshot
}

// AttachResult is a snapshot, which has Items, or what was missed, which has Events; there is always one of them, be it empty.
type AttachResult struct {
	Session          Session         `json:"session"`
	State            State           `json:"state"`
	Seq              int64           `json:"seq"`
	Items            []Item          `json:"items,omitzero"`   // the latest ones; Before tells whether there are older
	Before           string          `json:"before,omitempty"` // cursor for history
	Events           []EventMessage  `json:"events,omitzero"`
	PendingApprovals []Approval      `json:"pendingApprovals"`
	Queued           []QueuedMessage `json:"queued"`
	// Background are the commands that go on in the background, oldest first.
	Background []BackgroundCommand `json:"background"`
}

// HistoryParams reads older items.
type HistoryParams struct {
	SessionID string `json:"sessionId"`
	Before    string `json:"before,omitempty"` // cursor; absent: the latest
	Limit     int    `json:"limit,omitempty"`  // default 50, at most MaxHistoryPage
}

// HistoryResult is a page of items, oldest first.
type HistoryResult struct {
	Items  []Item `json:"items"`
	Before string `json:"before,omitempty"` // cursor of the page before; absent at the beginning
}

// ReadOutputParams reads a range.
type ReadOutputParams struct {
	SessionID string `json:"sessionId"`
	ItemID    string `json:"itemId"`
	Stream    string `json:"stream" enum:"stdout,stderr,text,diff,arguments"`
	Offset    int64  `json:"offset"`
	Limit     int    `json:"limit,omitempty"` // default and at most MaxOutputRead
}

// ReadOutputResult is a range of output.
type ReadOutputResult struct {
	Data     string `json:"data"`
	Encoding string `json:"encoding" enum:"utf8,base64"` // of Data
	Offset   int64  `json:"offset"`                      // where Data begins
	End      int64  `json:"end"`                         // where it ends
	Total    int64  `json:"total"`
}

// BackendsResult lists the backends.
type BackendsResult struct {
	Backends []BackendInfo `json:"backends"`
}

// ModelsResult lists the models.
type ModelsResult struct {
	Models       []ModelInfo `json:"models"`
	DefaultModel string      `json:"defaultModel"`
}

// DoctorResult tells the state of the installation.
type DoctorResult struct {
	Checks []Check `json:"checks"`
}

// Check is one finding of the doctor.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status" enum:"ok,warning,error"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Method returns the command's JSON-RPC method.
func (c Command) Method() string { return MethodPrefix + c.Name }

// Raw is a params or result object not yet decoded.
type Raw = json.RawMessage
