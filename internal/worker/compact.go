// This file makes conversations shorter: it cuts old outputs, and when that is not enough has a summary made of the older part.

package worker

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/model"
	"sandboxagent/internal/tools"
)

//go:embed compact.md
var compactPrompt string

const (
	summaryTries = 3
	summaryPause = 2 * time.Second
	maxPause     = 30 * time.Second
)

// CompactConversation returns a shorter conversation that can stand for the one given. That no summary can be made is no
// failure: then the older part is cut without one.
func (a *Activities) CompactConversation(ctx context.Context, in agent.CompactInput) (agent.CompactResult, error) {
	defer a.working()()
	defer beat(ctx, func() any { return nil })()
	entries, err := conversation.Load(ctx, a.Blobs, blob.Ref(in.Head))
	if err != nil {
		return agent.CompactResult{}, err
	}
	cctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	a.awaitKey(cctx, in.Model)
	c := a.compaction(in, entries)
	c.shorten(cctx)
	switch {
	case stopping(ctx):
		return agent.CompactResult{}, workerStopped()
	case ctx.Err() != nil:
		return agent.CompactResult{}, ctx.Err()
	case c.out.How == "":
		return c.out, nil
	}
	c.entries = conversation.Fit(c.entries, c.bytes(c.window/2))
	if c.out.After = c.tokens(c.entries); c.out.After >= c.out.Before {
		return agent.CompactResult{Before: c.out.Before, Usage: c.out.Usage}, nil
	}
	head, err := conversation.Append(ctx, a.Blobs, "", c.entries)
	if err != nil {
		return agent.CompactResult{}, err
	}
	c.out.Head = string(head)
	return c.out, nil
}

// compaction is one conversation that is made shorter.
type compaction struct {
	a       *Activities
	in      agent.CompactInput
	entries []model.Entry
	window  int64
	rate    float64 // bytes per token
	out     agent.CompactResult
}

func (a *Activities) compaction(in agent.CompactInput, entries []model.Entry) *compaction {
	c := &compaction{a: a, in: in, entries: entries, window: a.window(in.Model, in.TooLong), rate: 4}
	if counted := in.Tokens - a.overhead(in.SessionID); counted > 0 {
		c.rate = min(max(float64(conversation.Bytes(entries))/float64(counted), 1), 8)
	}
	c.out.Before = c.tokens(entries)
	return c
}

func (c *compaction) bytes(tokens int64) int { return int(float64(tokens) * c.rate) }

func (c *compaction) tokens(entries []model.Entry) int64 {
	return c.a.overhead(c.in.SessionID) + int64(float64(conversation.Bytes(entries))/c.rate)
}

// shorten does what is needed and says how; it says nothing when there is nothing to leave out.
func (c *compaction) shorten(ctx context.Context) {
	keep := min(c.window/5, c.out.Before/5)
	old, recent := conversation.Split(c.entries, c.bytes(keep))
	if len(old) == 0 {
		if fit := conversation.Fit(recent, c.bytes(c.window/2)); conversation.Bytes(fit) < conversation.Bytes(recent) {
			c.entries, c.out.How = fit, "long outputs were cut"
		}
		return
	}
	trimmed := conversation.Trim(old)
	whole := slices.Concat(trimmed, recent)
	needed := full(c.out.Before, c.window)
	if needed && c.tokens(whole) <= c.window/2 {
		c.entries, c.out.How = whole, "old outputs were cut"
		return
	}
	pins := conversation.PinsOf(old)
	if c.byServer(ctx, pins, trimmed, recent) || ctx.Err() != nil {
		return
	}
	summary, how := c.summarise(ctx, trimmed)
	first, err := pins.Entry(c.in.Place, tools.PlanText(pins.Plan), summary)
	if err != nil || ctx.Err() != nil {
		return
	}
	c.entries, c.out.How = slices.Concat([]model.Entry{first}, recent), how
}

// byServer has the provider compact the older part, where it offers that. What is pinned goes along in words.
func (c *compaction) byServer(ctx context.Context, pins conversation.Pins, old, recent []model.Entry) bool {
	m, err := c.a.Models.Get(c.in.Model)
	if err != nil {
		return false
	}
	compactor, ok := m.(model.Compactor)
	if !ok {
		return false
	}
	res, err := compactor.Compact(ctx, model.Request{Model: c.in.Model, Instructions: systemPrompt, Input: old})
	if err != nil {
		return false
	}
	c.out.Usage.Add(c.a.usage(c.in.Model, res.Usage))
	digest := conversation.Digest(old)
	for i, e := range res.Entries {
		if e.Kind == model.KindCompaction { // what is left of it should the session go to another provider
			res.Entries[i].Text = "<summary>\nThis is from the program that runs you. What you said so far, in part:\n" + digest + "\n</summary>"
		}
	}
	note, err := pins.Entry(c.in.Place, tools.PlanText(pins.Plan), "")
	if err != nil {
		return false
	}
	entries := slices.Concat(res.Entries, []model.Entry{note}, recent)
	if c.tokens(entries) >= min(c.window/2, c.out.Before) {
		return false
	}
	c.entries, c.out.How = entries, "the provider compacted what is older"
	return true
}

// summarise returns a summary of the older part and how it was made; without a model it is what can be said without one.
func (c *compaction) summarise(ctx context.Context, old []model.Entry) (summary, how string) {
	text, err := c.askSummary(ctx, conversation.Transcript(old, c.bytes(c.window*6/10)))
	if err == nil {
		return text, "the model summarised what is older"
	}
	c.out.Failed = err.Error()
	return conversation.Digest(old), "what is older was cut"
}

// askSummary asks the model for a summary of a transcript, again a few times when that may help.
func (c *compaction) askSummary(ctx context.Context, transcript string) (string, error) {
	if c.in.Model == editors.DemoModel {
		return "", errors.New("the demo model makes none.")
	}
	m, err := c.a.Models.Get(c.in.Model)
	if err != nil {
		return "", err
	}
	req := model.Request{
		Model: c.in.Model, Instructions: compactPrompt,
		Input: []model.Entry{{Kind: model.KindUser, Text: "<conversation>\n" + transcript + "\n</conversation>\n\nSummarise this conversation."}},
	}
	for try := 1; ; try++ {
		res, err := m.Respond(ctx, req, nil)
		if res.Usage != (model.Usage{}) {
			c.out.Usage.Add(c.a.usage(c.in.Model, res.Usage))
		}
		if text := strings.TrimSpace(textOf(res, model.KindAssistant)); err == nil && text != "" {
			return conversation.Cut(text, 24<<10), nil
		}
		if err == nil {
			err = errors.New("the model answered nothing.")
		}
		if try == summaryTries || !retryable(err) {
			return "", explained(err)
		}
		await(ctx, min(max(summaryPause, retryAfter(err)), maxPause))
	}
}

// explained is an error of a model as one sentence for people.
func explained(err error) error {
	var e *model.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%s", e.Message)
	}
	return err
}

func retryable(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Retryable
}

func retryAfter(err error) time.Duration {
	var e *model.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// await waits for d, or for the end of ctx.
func await(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
