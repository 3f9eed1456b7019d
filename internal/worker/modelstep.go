// This file makes a model call for a session: the conversation comes from the blob store, the answer streams to the feed.

package worker

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/model"
	"sandboxagent/internal/tools"
)

//go:embed prompt.md
var systemPrompt string

const (
	storeTime = 20 * time.Second // to keep an answer whose call was cancelled
	maxText   = 8 << 20          // of one message or argument text read back from the store
)

// ModelStep calls the model once. What can go wrong with the model is a value in the result; an error means that the
// worker could not do its part.
func (a *Activities) ModelStep(ctx context.Context, in agent.ModelStepInput) (agent.ModelStepResult, error) {
	defer a.working()()
	defer a.keepAwake(in.Sandbox)()
	live := &liveText{live: a.Live, in: in}
	defer beat(ctx, live.tail)()
	defer a.Live.Forget(in.SessionID, in.ItemID)
	if tookOver(ctx, in.Head) {
		a.awaitKey(ctx, in.Model)
	}
	offer := a.offer(ctx, in.SessionID)
	told, err := a.conversation(ctx, in)
	if err != nil {
		return agent.ModelStepResult{}, err
	}
	if in.Compact || !in.Compacted && full(told.tokens, told.window) {
		out := told.result()
		out.Full = true
		return out, nil
	}
	mctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	m, err := a.Models.Get(in.Model)
	if err != nil {
		return told.failure(err), nil
	}
	res, err := m.Respond(mctx, model.Request{
		Model: in.Model, Effort: in.Effort, Instructions: systemPrompt, Input: conversation.WithImages(ctx, a.Blobs, told.entries), Tools: definitions(offer),
		CacheKey: in.SessionID,
	}, live.delta)
	keep, stop := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer stop()
	switch {
	case err == nil:
		out, err := a.answer(keep, in.Model, told, res, false)
		if err == nil {
			err = a.recordOffer(keep, offer, &out)
		}
		out.Confinement = a.confinement(in.Sandbox)
		if len(out.Calls) > 0 {
			out.Permissions = a.permissions(in.Sandbox, in.Permissions)
		}
		return out, err
	case stopping(ctx):
		return agent.ModelStepResult{}, workerStopped()
	case ctx.Err() != nil:
		return a.answer(keep, in.Model, told, partial(res), true)
	}
	out := told.failure(err)
	out.Message, err = a.inline(keep, textOf(res, model.KindAssistant))
	return out, err
}

// told is what a model is told by a call.
type told struct {
	head    blob.Ref
	entries []model.Entry
	tokens  int64 // about
	window  int64
}

// result holds what a call says of the conversation, whatever comes of it.
func (t told) result() agent.ModelStepResult {
	return agent.ModelStepResult{Head: string(t.head), Tokens: t.tokens, Window: t.window}
}

// conversation loads what was said and adds what the model has not seen; the result is stored before the call.
func (a *Activities) conversation(ctx context.Context, in agent.ModelStepInput) (told, error) {
	before, err := conversation.Load(ctx, a.Blobs, blob.Ref(in.Head))
	if err != nil {
		return told{}, err
	}
	var added []model.Entry
	for _, p := range in.Pending {
		contexts, err := a.contexts(ctx, p)
		if err != nil {
			return told{}, err
		}
		e, err := a.entry(ctx, in.Folder, p, a.readMentioned(ctx, in.Sandbox, in.Folder, contexts, len(before) == 0))
		if err != nil {
			return told{}, err
		}
		added = append(added, e)
	}
	if err := a.noteUnsaved(ctx, in); err != nil {
		return told{}, err
	}
	added = a.withInstructions(ctx, in, before, added)
	t := told{entries: append(before, added...), window: a.window(in.Model, in.TooLong)}
	t.tokens = a.overhead(in.SessionID) + conversation.Tokens(t.entries)
	if in.Tokens > 0 {
		t.tokens = in.Tokens + conversation.Tokens(added)
	}
	t.head, err = conversation.Append(ctx, a.Blobs, blob.Ref(in.Head), added)
	return t, err
}

// entry puts a message, or a result, into the words of a conversation, with what goes along.
func (a *Activities) entry(ctx context.Context, folder string, p agent.Pending, contexts []editors.Context) (model.Entry, error) {
	text := p.Text
	if p.Ref != "" {
		data, err := blob.ReadAll(ctx, a.Blobs, blob.Ref(p.Ref), maxText)
		if err != nil {
			return model.Entry{}, fmt.Errorf("read a message: %w", err)
		}
		text = string(data)
	}
	e := model.Entry{Kind: model.Kind(p.Kind), CallID: p.CallID, Text: text + describeContext(folder, contexts), Images: pictures(contexts)}
	for _, i := range p.Images {
		e.Images = append(e.Images, imageOf(i))
	}
	if p.Note {
		e.Provider = conversation.Program
	}
	return e, nil
}

// answer stores what the model said and turns it into what the workflow needs.
func (a *Activities) answer(ctx context.Context, id string, t told, res model.Response, interrupted bool) (agent.ModelStepResult, error) {
	out := t.result()
	out.Interrupted, out.Incomplete, out.Usage = interrupted, res.Incomplete, a.usage(id, res.Usage)
	head, err := conversation.Append(ctx, a.Blobs, t.head, res.Entries)
	if err != nil {
		return out, err
	}
	out.Head = string(head)
	out.Tokens += conversation.Tokens(res.Entries)
	if counted := res.Usage.InputTokens + res.Usage.OutputTokens; res.Usage.InputTokens > 0 {
		out.Tokens = counted
	}
	if out.Reasoning, err = a.inline(ctx, textOf(res, model.KindReasoning)); err != nil {
		return out, err
	}
	if out.Message, err = a.inline(ctx, textOf(res, model.KindAssistant)); err != nil {
		return out, err
	}
	budget := maxCallBytes
	for _, e := range res.Entries {
		if e.Kind != model.KindToolCall {
			continue
		}
		call, err := a.call(ctx, e, &budget)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, call)
	}
	return out, nil
}

// maxCallBytes bounds the arguments of all calls of one answer that travel inline.
const maxCallBytes = 24 << 10

func (a *Activities) call(ctx context.Context, e model.Entry, budget *int) (agent.CallRequest, error) {
	c := agent.CallRequest{CallID: e.CallID, Tool: e.Name, Arguments: e.Arguments}
	c.Subject = tools.Subject(tools.Call{Name: e.Name, Arguments: e.Arguments})
	if len(e.Arguments) <= min(agent.MaxInlineText, *budget) {
		*budget -= len(e.Arguments)
		return c, nil
	}
	ref, err := blob.PutAll(ctx, a.Blobs, []byte(e.Arguments))
	if err != nil {
		return c, fmt.Errorf("store the arguments of a call: %w", err)
	}
	c.Ref, c.Arguments, c.Network = string(ref), tools.Head(e.Arguments, 200), tools.AsksForNetwork(tools.Call{Name: e.Name, Arguments: e.Arguments})
	return c, nil
}

// partial is what is worth keeping of an answer that was cut: its text. Calls without results would confuse the model.
func partial(res model.Response) model.Response {
	var kept []model.Entry
	for _, e := range res.Entries {
		if e.Kind == model.KindAssistant && strings.TrimSpace(e.Text) != "" {
			e.Raw, e.Provider = nil, ""
			kept = append(kept, e)
		}
	}
	res.Entries = kept
	return res
}

func textOf(res model.Response, kind model.Kind) string {
	var parts []string
	for _, e := range res.Entries {
		if e.Kind == kind && e.Text != "" {
			parts = append(parts, e.Text)
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, "\n\n"), "�")
}

// failure explains why there is no answer. The head holds what the model was to see, so that the workflow need not keep it.
func (t told) failure(err error) agent.ModelStepResult {
	out := t.result()
	var e *model.Error
	if !errors.As(err, &e) {
		out.Failure = &agent.ModelFailure{Kind: "internal", Message: "The model call failed: " + err.Error()}
		return out
	}
	out.Failure = &agent.ModelFailure{
		Kind: string(e.Kind), Message: e.Message, Remedy: e.Remedy, Retryable: e.Retryable, RetryAfter: e.RetryAfter,
	}
	return out
}

// liveText passes an answer on while it streams, and remembers its end for editors without a feed.
type liveText struct {
	live Live
	in   agent.ModelStepInput

	mu     sync.Mutex
	text   []byte
	offset int64 // of text's end
}

const maxTail = 8 << 10

func (l *liveText) delta(d model.Delta) {
	var stream string
	switch d.Kind {
	case model.KindAssistant:
		stream = "text"
	case model.KindReasoning:
		stream = "reasoning"
	default:
		return // arguments are shown when the call starts
	}
	data := []byte(d.Data)
	l.live.Publish(feed.Frame{Session: l.in.SessionID, Item: l.in.ItemID, Seq: l.in.ItemSeq, Attempt: l.in.Attempt, Stream: stream, Data: data})
	if stream != "text" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offset += int64(len(data))
	l.text = append(l.text, data...)
	if len(l.text) > maxTail {
		l.text = append([]byte(nil), l.text[len(l.text)-maxTail:]...)
	}
}

func (l *liveText) tail() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return agent.HeartbeatTail{
		ItemID: l.in.ItemID, Seq: l.in.ItemSeq, Attempt: l.in.Attempt, Stream: "text",
		Offset: l.offset - int64(len(l.text)), Tail: strings.ToValidUTF8(string(l.text), ""),
	}
}
