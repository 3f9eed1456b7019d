// This file names what workflows and the activities that call models pass each other. All of it is bounded: texts that may be
// long are in blobs.

package agent

import (
	"time"

	"sandboxagent/editors"
)

// ModelStepInput is one model call. Head is the conversation so far, Pending what is to be added before the call.
type ModelStepInput struct {
	Sandbox
	TurnID  int       `json:"turnId"`
	ItemID  string    `json:"itemId"` // the agentMessage item its deltas belong to
	ItemSeq int64     `json:"itemSeq"`
	Attempt int       `json:"attempt"`
	Head    string    `json:"head,omitempty"`
	Pending []Pending `json:"pending,omitempty"`
	Model   string    `json:"model"`
	Effort  string    `json:"effort,omitempty"`

	Permissions string `json:"permissions,omitempty"` // hash of those that the session knows

	Tokens  int64 `json:"tokens,omitempty"`  // about what Head holds; 0: nobody has told
	TooLong int64 `json:"tooLong,omitempty"` // tokens that this model has refused as too many
	// Compact makes the result Full whatever the length, Compacted never.
	Compact   bool `json:"compact,omitempty"`
	Compacted bool `json:"compacted,omitempty"`
}

// ModelStepResult is what the model answered. A failure that the workflow must explain is a value, not an activity error.
type ModelStepResult struct {
	Head        string        `json:"head"` // the conversation with Pending and the answer
	Reasoning   Text          `json:"reasoning"`
	Message     Text          `json:"message"`
	Calls       []CallRequest `json:"calls,omitempty"`
	Usage       editors.Usage `json:"usage"`
	Incomplete  string        `json:"incomplete,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Failure     *ModelFailure `json:"failure,omitempty"`
	Confinement string        `json:"confinement,omitempty"` // what keeps commands: none, fs, fs+net or container
	Permissions *Permissions  `json:"permissions,omitempty"` // of the calls, unless they are as the session knows them
	External    string        `json:"external,omitempty"`    // blob: what the model was told of the tools of MCP servers
	Notices     []string      `json:"notices,omitempty"`     // what the user should know of these, a sentence each

	Tokens int64 `json:"tokens,omitempty"` // about what Head holds
	Window int64 `json:"window,omitempty"` // tokens that the model takes
	Full   bool  `json:"full,omitempty"`   // the model was not called: the conversation has to be compacted first
}

// CompactInput asks to make a conversation shorter. It must hold all that is pending.
type CompactInput struct {
	Sandbox
	Head    string `json:"head"`
	Model   string `json:"model"`
	Tokens  int64  `json:"tokens"`            // about what Head holds
	TooLong int64  `json:"tooLong,omitempty"` // as in ModelStepInput
	Place   string `json:"place"`             // where files and commands are, in words
}

// CompactResult is the shorter conversation. The longer one stays valid.
type CompactResult struct {
	Head   string        `json:"head"`
	Before int64         `json:"before"` // tokens, about
	After  int64         `json:"after"`
	How    string        `json:"how"`              // in words; "" when there was nothing to leave out
	Failed string        `json:"failed,omitempty"` // why there is no summary
	Usage  editors.Usage `json:"usage"`
}

// TitleInput asks for a title for a conversation.
type TitleInput struct {
	Sandbox
	Head  string `json:"head"`
	Model string `json:"model"`
}

// TitleResult is a title, "" when there is none.
type TitleResult struct {
	Title string        `json:"title"`
	Usage editors.Usage `json:"usage"`
}

// Text is a text with its beginning inline and the whole in a blob when it is long.
type Text struct {
	Inline string `json:"inline,omitempty"`
	Ref    string `json:"ref,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// CallRequest is a tool call the model made. Arguments over MaxInlineText are in the blob Ref and Arguments holds their beginning.
type CallRequest struct {
	CallID    string `json:"callId"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Ref       string `json:"ref,omitempty"`
	Subject   string `json:"subject,omitempty"` // one line for people: the command, or the files
	Network   bool   `json:"network,omitempty"` // with Ref: the command asks for the network

	External *ExternalTool `json:"external,omitempty"` // whose tool it is, if it is none of ours
}

// FailureTooLong is the Kind of a failure because of the conversation's length; the same as model.ErrTooLong.
const FailureTooLong = "tooLong"

// ModelFailure says why a model call failed and whether to try again.
type ModelFailure struct {
	Kind       string        `json:"kind"`
	Message    string        `json:"message"`
	Remedy     string        `json:"remedy,omitempty"`
	Retryable  bool          `json:"retryable,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}
