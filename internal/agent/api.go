// Package agent holds AgentWorkflow, one session's durable conversation: turns, items, approvals, queue.
// It decides and records; it does no I/O. What it asks of the world goes through the activities named here.
package agent

import (
	"fmt"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// Names under which the workflow and its handlers are registered; they are part of stored histories and never change.
const (
	WorkflowName = "AgentWorkflow"

	UpdateAsk       = "ask"              // AskInput → editors.AskResult
	UpdateSteer     = "steer"            // AskInput with ExpectedTurnID → editors.SteerResult
	UpdateInterrupt = "interrupt"        // editors.InterruptParams → editors.InterruptResult
	UpdateStop      = "stop_command"     // editors.StopParams → editors.StopResult
	UpdateQueue     = "queue"            // QueueInput → editors.QueueResult
	UpdateAnswer    = "answer_approval"  // editors.AnswerApprovalParams → editors.AnswerApprovalResult
	UpdateForget    = "forget_rule"      // editors.RulesParams → editors.RulesResult: those of the session that are gone
	UpdateConfigure = "configure"        // editors.ConfigureParams → editors.SessionResult
	UpdateCompact   = "compact"          // editors.SessionParams → SeqResult
	UpdatePause     = "pause"            // editors.SessionParams → SeqResult
	UpdateDestroy   = "destroy"          // editors.SessionParams → DestroyOutput
	UpdateSwitch    = "switch_backend"   // SwitchInput → editors.SwitchResult
	UpdateRestore   = "restore"          // RestoreInput → editors.RestoreResult
	UpdateTaken     = "checkpoint_taken" // TakenInput → SeqResult
	UpdateForkPoint = "fork_point"       // ForkPointInput → ForkPoint
	UpdateAdopt     = "adopt"            // AdoptInput → editors.AdoptResult; of the parent
	UpdateOffer     = "offer"            // OfferInput → Offer; of a fork
	SignalRename    = "rename_session"   // RenameSignal
	SignalAdopted   = "adopted"          // AdoptedSignal, to a fork
	SignalQuiet     = "command_quiet"    // QuietSignal, from the worker that runs a call
	QueryView       = "view"             // ViewRequest → View
	QueryRules      = "rules"            // nothing → []policy.Rule: what is allowed for the session
)

// AgentQueue is the task queue of workflows; HostQueue that of one host's activities.
const AgentQueue = "agent"

// HostQueue returns the task queue for activities that must run on the given host.
func HostQueue(hostID string) string { return "host/" + hostID }

const idPrefix = "session/"

// WorkflowID returns the workflow id of a session.
func WorkflowID(sessionID string) string { return idPrefix + sessionID }

// SessionID returns the session id of a workflow id, and whether it is one.
func SessionID(workflowID string) (string, bool) { return strings.CutPrefix(workflowID, idPrefix) }

// Search attributes of a session's workflow. Prompts and paths never go there: the folder is hashed (FolderHash).
const (
	AttrTitle   = "SandboxTitle"
	AttrBackend = "SandboxBackend"
	AttrFolder  = "SandboxFolder"
	AttrState   = "SandboxState"
	AttrOwner   = "SandboxOwner"
	AttrParent  = "SandboxParent"
	AttrHost    = "SandboxHost"
)

// MemoSession is the memo key that holds the editors.Session as of the last change worth listing.
const MemoSession = "session"

// Application error types that updates fail with; the text is one sentence for the user. ErrorCode maps them.
const (
	ErrTypeConflict  = "conflict"
	ErrTypeNotFound  = "notFound"
	ErrTypeInvalid   = "invalidParams"
	ErrTypeBusy      = "busy"
	ErrTypeLimit     = "limit"
	ErrTypeDraining  = "draining" // the run is about to continue as new; try again at once
	ErrTypeDestroyed = "destroyed"
	// The others are the editors.Code of a Failure.

	// ErrTypeWorkerStopped is what an activity fails with when its worker shuts down: it may be run again under the same ids.
	ErrTypeWorkerStopped = "workerStopped"
)

// Limits of one session.
const (
	MaxQueued      = editors.MaxQueued
	MaxQueuedBytes = 256 << 10
	MaxInlineText  = 8 << 10   // longer texts are passed by blob reference
	MaxEventPage   = 200       // events in one View
	MaxPageBytes   = 192 << 10 // of one View
)

// AskInput is an ask or a steer. A text over MaxInlineText is in the blob TextRef and Text holds its beginning.
type AskInput struct {
	RequestID      string            `json:"requestId"`
	Text           string            `json:"text"`
	TextRef        string            `json:"textRef,omitempty"`
	TextBytes      int64             `json:"textBytes,omitempty"`
	Context        []editors.Context `json:"context,omitempty"`    // texts bounded to MaxInlineText in all
	ContextRef     string            `json:"contextRef,omitempty"` // blob: []editors.Context, when the texts are longer
	Added          []editors.Context `json:"added,omitempty"`      // what a waiting text mentions since it was edited; bounded as Context
	Model          string            `json:"model,omitempty"`
	ExpectedTurnID int               `json:"expectedTurnId,omitempty"` // steer
	By             string            `json:"by,omitempty"`
}

// QueueInput works on the waiting requests. Added is what an edited text mentions, with texts of up to MaxInlineText in all.
type QueueInput struct {
	editors.QueueParams
	Added []editors.Context `json:"added,omitempty"`
}

// RenameSignal renames a session.
type RenameSignal struct {
	RequestID string `json:"requestId"`
	Title     string `json:"title"`
}

// DestroyOutput says what is left of a session that has ended, in one sentence; "" for nothing.
type DestroyOutput struct {
	Remains string `json:"remains,omitempty"`
	Seq     int64  `json:"seq"`
}

// SeqResult says up to which seq a change's events go.
type SeqResult struct {
	Seq int64 `json:"seq"`
}

// TakenInput tells a session of a checkpoint that was taken at a user's request. Repeating its RequestID tells nothing more.
type TakenInput struct {
	RequestID  string             `json:"requestId"`
	Checkpoint editors.Checkpoint `json:"checkpoint"`
}

// ViewRequest asks for events after AfterSeq, or for a snapshot when it is nil, too old or from the future.
type ViewRequest struct {
	AfterSeq *int64 `json:"afterSeq,omitempty"`
}

// View is a consistent look at a session. It has Events (possibly none) when AfterSeq could be continued, else Items.
// With More set, ask again with the last event's seq.
type View struct {
	Session   editors.Session         `json:"session"`
	Seq       int64                   `json:"seq"` // of the last event there is; of the last one in Events when More
	Events    []editors.EventMessage  `json:"events,omitempty"`
	More      bool                    `json:"more,omitempty"`
	Snapshot  bool                    `json:"snapshot,omitempty"`
	Items     []editors.Item          `json:"items,omitempty"`
	Sealed    string                  `json:"sealed,omitempty"` // blob of the newest Segment of older items
	Approvals []editors.Approval      `json:"approvals"`
	Queued    []editors.QueuedMessage `json:"queued"`

	Background []editors.BackgroundCommand `json:"background"`

	Former []int64 `json:"former,omitempty"` // epochs of the sandboxes that the session has left and may still need

	// For the dry run of a switch; see State.

	Home     string `json:"home,omitempty"`
	Base     string `json:"base,omitempty"`
	ForkBase string `json:"forkBase,omitempty"`
}

// Segment is a sealed run of older items in the blob store, oldest first; Prev is the segment before it.
type Segment struct {
	Prev  string         `json:"prev,omitempty"`
	Items []editors.Item `json:"items"`
	Turns []TurnEnd      `json:"turns,omitempty"` // the turns whose last item is here
}

// TurnEnd is where a fork can begin: what there was when a turn had ended.
type TurnEnd struct {
	ID           int       `json:"id"`
	Head         string    `json:"head,omitempty"`    // the conversation
	Pending      []Pending `json:"pending,omitempty"` // what the model had not seen yet
	Cut          bool      `json:"cut,omitempty"`     // Pending was too long to keep: nothing can be forked from here
	CheckpointID string    `json:"checkpointId,omitempty"`
	NextItem     int       `json:"nextItem,omitempty"` // the items of the turns up to this one have lower numbers
}

// Activity names.
const (
	ActivityModelStep      = "ModelStep"           // ModelStepInput → ModelStepResult
	ActivityCompact        = "CompactConversation" // CompactInput → CompactResult
	ActivityTitle          = "SuggestTitle"        // TitleInput → TitleResult
	ActivityRunTool        = "RunTool"             // RunToolInput → RunToolResult
	ActivitySeal           = "SealItems"           // SealInput → string (blob ref of the Segment)
	ActivityCheckpoint     = "TakeCheckpoint"      // CheckpointInput → CheckpointOutput
	ActivityPing           = "Ping"                // nothing → nothing: a worker of the host is there
	ActivityDestroySandbox = "DestroySandbox"      // DestroyInput

	ActivityOpenCarried   = "OpenCarried"   // OpenInput → CarryOutput
	ActivityMergeInto     = "MergeInto"     // MergeInput → CarryOutput
	ActivityRestore       = "Restore"       // RestoreTask → RestoreOutput
	ActivityFindForkPoint = "FindForkPoint" // FindInput → ForkPoint
	ActivityEnsureSandbox = "EnsureSandbox" // Sandbox → EnsureOutput
	ActivityStopSandbox   = "StopSandbox"   // Sandbox → nothing
	ActivityStopCommand   = "StopCommand"   // CommandInput → CommandEnd
	ActivityAwaitCommand  = "AwaitCommand"  // CommandInput → CommandEnd
	ActivityKeepRule      = "KeepRule"      // KeepRuleInput → nothing
)

// Sandbox tells an activity where the session's commands run.
type Sandbox struct {
	SessionID string          `json:"sessionId"`
	Owner     string          `json:"owner"`
	HostID    string          `json:"hostId"`
	Folder    string          `json:"folder"` // absolute path
	Backend   editors.Backend `json:"backend"`
	Epoch     int64           `json:"epoch,omitempty"`
}

// ID names the sandbox to its backend: a session that moved has another one, also on the same backend. The dot keeps it from
// being the id of another session.
func (s Sandbox) ID() string {
	if s.Epoch == 0 {
		return s.SessionID
	}
	return fmt.Sprintf("%s.%d", s.SessionID, s.Epoch)
}

// Pending is a conversation entry not yet in the conversation's blobs.
type Pending struct {
	Kind       string            `json:"kind"` // model.KindUser or model.KindToolResult
	Text       string            `json:"text,omitempty"`
	Ref        string            `json:"ref,omitempty"`        // blob of the text, instead of Text
	ContextRef string            `json:"contextRef,omitempty"` // blob of []editors.Context
	Context    []editors.Context `json:"context,omitempty"`
	Added      []editors.Context `json:"added,omitempty"` // beside these
	CallID     string            `json:"callId,omitempty"`
	Images     []editors.Image   `json:"images,omitempty"` // of a tool's result
	Note       bool              `json:"note,omitempty"`   // nobody asked it: it tells the model what changed around it
}

// RunToolInput runs one tool call under an effect id: repeating it finds the first run again, never repeats its effect.
type RunToolInput struct {
	Sandbox
	ItemID   string      `json:"itemId"`
	ItemSeq  int64       `json:"itemSeq"`
	EffectID string      `json:"effectId"`
	Attempt  int         `json:"attempt"`
	Call     CallRequest `json:"call"`
	Stop     bool        `json:"stop,omitempty"` // the turn was interrupted: end what runs under the effect id and report
}

// RunToolResult is the outcome of a tool call: what the item shows, and the blob with what the model gets.
type RunToolResult struct {
	Status     editors.ItemStatus   `json:"status"`
	ModelRef   string               `json:"modelRef"`
	ExitCode   *int                 `json:"exitCode,omitempty"`
	Cwd        string               `json:"cwd,omitempty"`
	Output     *editors.Output      `json:"output,omitempty"`
	Diff       string               `json:"diff,omitempty"`
	DiffBytes  int64                `json:"diffBytes,omitempty"`
	Files      []editors.FileChange `json:"files,omitempty"`
	Error      string               `json:"error,omitempty"`
	Refs       map[string]string    `json:"refs,omitempty"`
	Images     []editors.Image      `json:"images,omitempty"` // that the model is shown
	DurationMs int64                `json:"durationMs"`
	CommandID  string               `json:"commandId,omitempty"` // that it started, or looked at
	Running    bool                 `json:"running,omitempty"`   // which goes on in the background
	StoppedBy  string               `json:"stoppedBy,omitempty"` // or was stopped by the user of this client
}

// KeepRuleInput asks to remember what was allowed for a workspace. Repeating it is harmless.
type KeepRuleInput struct {
	Sandbox
	Rule policy.Rule `json:"rule"`
	By   string      `json:"by"`
	At   time.Time   `json:"at"`
}

// SealInput asks to seal items.
type SealInput struct {
	Sandbox
	Segment Segment `json:"segment"`
}

// CheckpointInput asks for a picture of the workspace, once under its effect id.
type CheckpointInput struct {
	Sandbox
	TurnID  int    `json:"turnId"`
	ItemID  string `json:"itemId,omitempty"`
	Summary string `json:"summary"`
	Effect  string `json:"effect"`
	// Reason is what it is kept for: "" the agent's work, else switch, fork or offer. Only the agent's work is what the agent
	// has seen.
	Reason string `json:"reason,omitempty"`
	// KeepFor is another session for which it is kept instead, unless nothing differs from the checkpoint Unless.
	KeepFor string `json:"keepFor,omitempty"`
	Unless  string `json:"unless,omitempty"`
	// Lacks is, of a session away from home, the checkpoint that notes what did not travel there.
	Lacks string `json:"lacks,omitempty"`
}

// CheckpointOutput is the checkpoint, none where the worker keeps none, or why there is none.
type CheckpointOutput struct {
	Checkpoint *editors.Checkpoint `json:"checkpoint,omitempty"`
	Files      int                 `json:"files,omitempty"`
	Bytes      int64               `json:"bytes,omitempty"`   // of all files
	Missing    []editors.Skipped   `json:"missing,omitempty"` // what it lacks because it could not be read, the first ones
	MissingAll int                 `json:"missingAll,omitempty"`
	Code       editors.Code        `json:"code,omitempty"` // of Failure
	Failure    string              `json:"failure,omitempty"`
}

// DestroyInput asks to remove a sandbox. Repeating it is harmless. The user's folder always stays.
type DestroyInput struct {
	Sandbox
	// Former: the session goes on in another sandbox, so its checkpoints, plans and own directory stay.
	Former bool `json:"former,omitempty"`
	// Home is the own directory of a fork that ends, which goes with it if it is below the place of forks.
	Home string `json:"home,omitempty"`
}

// HeartbeatTail is the heartbeat detail of a running model or tool call: the end of what it has produced so far. An editor
// that has no feed reads it from Temporal's description of the workflow.
type HeartbeatTail struct {
	ItemID  string `json:"itemId"`
	Seq     int64  `json:"seq"` // of the item's start
	Attempt int    `json:"attempt"`
	Stream  string `json:"stream"`
	Offset  int64  `json:"offset"` // of Tail's first byte in the stream
	Tail    string `json:"tail"`
}
