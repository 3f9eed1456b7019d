// Package model speaks to language models: OpenAI's Responses API, Chat Completions for compatible servers, and the
// built-in demo model that needs neither key nor network. It knows nothing of sessions, workflows or editors.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Kind names what an Entry of a conversation is.
type Kind string

// The kinds of conversation entries.
const (
	KindUser       Kind = "user"
	KindAssistant  Kind = "assistant"
	KindReasoning  Kind = "reasoning"
	KindToolCall   Kind = "toolCall"
	KindToolResult Kind = "toolResult"
	// KindCompaction stands for what came before it. Only the provider that made it can read its Raw; for others its Text is
	// what is left.
	KindCompaction Kind = "compaction"
)

// Entry is one entry of a conversation, independent of the provider. Our own log of entries is the memory of a session;
// nothing is kept at the provider.
type Entry struct {
	Kind      Kind   `json:"kind"`
	Text      string `json:"text,omitempty"`      // user, assistant, tool result; reasoning: its summary
	CallID    string `json:"callId,omitempty"`    // tool call and result
	Name      string `json:"name,omitempty"`      // tool call: the tool
	Arguments string `json:"arguments,omitempty"` // tool call: JSON text exactly as the model gave it
	// Images are the pictures of a user's message or a tool's result.
	Images []Image `json:"images,omitempty"`
	// Provider and Raw keep what only the provider that made the entry understands (e.g. encrypted reasoning), so that it can
	// be sent back to it; other providers ignore them.
	Provider string          `json:"provider,omitempty"`
	Raw      json.RawMessage `json:"raw,omitempty"`
}

// Tool is a function the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  map[string]any // JSON Schema of the arguments object
}

// Request is one call of a model.
type Request struct {
	Model        string
	Effort       string // reasoning effort: "", low, medium, high, …; passed on as it is
	Instructions string
	Input        []Entry
	Tools        []Tool
	CacheKey     string // the same for all calls of one session: lets the provider reuse its prompt cache
}

// Usage counts tokens.
type Usage struct {
	InputTokens  int64 `json:"inputTokens"`
	CachedTokens int64 `json:"cachedTokens,omitempty"`
	// CacheWriteTokens are those of the input that were written to the prompt cache, where that costs more.
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	OutputTokens     int64 `json:"outputTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`
}

// Response is what a model answered: reasoning, text and tool calls in the order they were made.
type Response struct {
	Entries []Entry
	Usage   Usage
	Model   string // as the provider names it
	// Incomplete says why the answer stops early ("max_output_tokens", "content_filter"); empty when it is whole.
	Incomplete string
}

// Delta is a piece of an answer while it streams.
type Delta struct {
	Entry  int // index, in the Response to be, of the entry it belongs to
	Kind   Kind
	CallID string // tool calls, when known
	Name   string // tool calls, when known
	// Data is text, a reasoning summary, or a piece of a call's arguments. The first Delta of a tool call may have none: it
	// announces the call.
	Data string
}

// Model answers requests. Implementations are safe for concurrent use and make no retries of their own.
type Model interface {
	// Respond calls the model, hands every piece to onDelta as it comes (never concurrently; onDelta must not block), and
	// returns the whole. Every error is an *Error; the Response then holds what had arrived, without tool calls that were not
	// whole: those must not be run.
	Respond(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
}

// Compactor is a Model whose server may be able to compact conversations.
type Compactor interface {
	// Compact returns entries that stand for req.Input in later requests to the same server. An *Error of kind ErrRefused
	// means that the server does not offer it.
	Compact(ctx context.Context, req Request) (Response, error)
}

// Info describes a model that can be chosen.
type Info struct {
	ID        string
	Provider  string // openai, compatible, demo
	Available bool
	Reason    string
	Remedy    string
}

// ErrorKind classifies an Error.
type ErrorKind string

// The kinds of model errors.
const (
	ErrNoKey       ErrorKind = "noKey"
	ErrAuth        ErrorKind = "auth"
	ErrUnreachable ErrorKind = "unreachable" // no connection, DNS, TLS
	ErrRateLimited ErrorKind = "rateLimited"
	ErrOverloaded  ErrorKind = "overloaded" // 5xx
	ErrStalled     ErrorKind = "stalled"    // no event for the idle limit
	ErrCut         ErrorKind = "cut"        // the stream ended before the answer did
	ErrMalformed   ErrorKind = "malformed"
	ErrTooLong     ErrorKind = "tooLong" // the conversation does not fit the model
	ErrRefused     ErrorKind = "refused" // any other 4xx
	ErrQuota       ErrorKind = "quota"   // the account has no credit left
	ErrCanceled    ErrorKind = "canceled"
	ErrUnknown     ErrorKind = "unknownModel"
)

// Error is the one error type of this package. Its text never holds a key.
type Error struct {
	Kind       ErrorKind
	Message    string        // one sentence a person can act on
	Remedy     string        // what to do, may be empty
	Status     int           // HTTP status, 0 if none
	RetryAfter time.Duration // as the provider asked, 0 if it did not
	Retryable  bool
	Err        error // free of secrets too, however deep it is unwrapped

	code, param string // as the provider gave them, for adapting to servers that refuse an option
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
