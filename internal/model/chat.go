// This file asks by Chat Completions, the wire that Ollama, vLLM, llama.cpp and most other servers speak.

package model

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

type chatWire struct {
	reasoningField string      // where this server's deltas carry reasoning
	finished       bool        // a finish reason has come
	ids            []string    // of the tool calls so far
	current        map[int]int // server's index of a tool call (noIndex: none given) → the call its next piece belongs to
}

func (*chatWire) path() string { return "chat/completions" }

func (*chatWire) provider(end endpoint) string { return providerName(end, APIChat) }

func (w *chatWire) params(c *call) any {
	p := openai.ChatCompletionNewParams{Model: c.req.Model, Messages: w.messages(c)}
	for _, t := range c.req.Tools {
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: param.NewOpt(cleanText(t.Description)), Parameters: schema(t),
		}))
	}
	if c.req.Effort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(c.req.Effort)
	}
	if !c.lacks[featUsage] {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if c.end.openAI { // strict servers refuse what they do not know
		p.Store = param.NewOpt(false)
		if c.req.CacheKey != "" && !c.lacks[featCacheKey] {
			p.PromptCacheKey = param.NewOpt(cacheKey(c.req.CacheKey))
		}
	}
	return p
}

func (w *chatWire) messages(c *call) []openai.ChatCompletionMessageParamUnion {
	b := chatBuilder{}
	if text := cleanText(c.req.Instructions); text != "" {
		b.out = append(b.out, openai.SystemMessage(text))
	}
	provider := w.provider(c.end)
	if c.lacks[featReasoning] || c.noRaw {
		provider = ""
	}
	entries := pictured(repair(c.req.Input, provider), !c.lacks[featImages])
	turn := lastUser(entries)
	for i, e := range entries {
		if e.Kind != KindReasoning || i > turn { // reasoning of earlier turns is of no use to these models
			b.take(e)
		}
	}
	b.flush()
	return b.out
}

func lastUser(entries []Entry) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Kind == KindUser {
			return i
		}
	}
	return -1
}

// chatBuilder gathers what a model said in one run into one message, and user messages in a row into one: many chat templates
// insist that roles alternate.
type chatBuilder struct {
	out   []openai.ChatCompletionMessageParamUnion
	users []string
	shown []Image // for the next user message: results of tools take none
	said  []string
	calls []openai.ChatCompletionMessageToolCallUnionParam
	field string
	think []string
}

func (b *chatBuilder) take(e Entry) {
	if e.Kind == KindUser || e.Kind == KindToolResult {
		b.flushAssistant()
	}
	if e.Kind != KindUser && (e.Kind != KindToolResult || len(b.users) > 0) {
		b.flushUser()
	}
	b.shown = append(b.shown, e.Images...)
	switch e.Kind {
	case KindUser:
		b.users = append(b.users, e.Text)
	case KindAssistant:
		b.said = append(b.said, e.Text)
	case KindReasoning:
		var kept keptChatReasoning
		if json.Unmarshal(e.Raw, &kept) == nil && kept.Field != "" {
			b.field = kept.Field
			b.think = append(b.think, e.Text)
		}
	case KindToolCall:
		b.calls = append(b.calls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID:       e.CallID,
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: e.Name, Arguments: e.Arguments},
		}})
	case KindToolResult:
		b.out = append(b.out, openai.ToolMessage(e.Text, e.CallID))
	}
}

func (b *chatBuilder) flush() {
	b.flushAssistant()
	b.flushUser()
}

func (b *chatBuilder) flushUser() {
	text := strings.Join(b.users, "\n\n")
	switch {
	case len(b.shown) > 0:
		parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(cmp.Or(text, "[the images of the results above]"))}
		for _, i := range b.shown {
			parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: i.url()}))
		}
		b.out = append(b.out, openai.UserMessage(parts))
	case len(b.users) > 0:
		b.out = append(b.out, openai.UserMessage(text))
	}
	b.users, b.shown = nil, nil
}

func (b *chatBuilder) flushAssistant() {
	if len(b.said)+len(b.calls) == 0 {
		return
	}
	m := openai.ChatCompletionAssistantMessageParam{ToolCalls: b.calls}
	if len(b.said) > 0 {
		m.Content.OfString = param.NewOpt(strings.Join(b.said, "\n\n"))
	}
	if b.field != "" {
		m.SetExtraFields(map[string]any{b.field: strings.Join(b.think, "\n\n")})
	}
	b.out = append(b.out, openai.ChatCompletionMessageParamUnion{OfAssistant: &m})
	b.said, b.calls, b.think, b.field = nil, nil, nil, ""
}

// keptChatReasoning is the Raw of reasoning by this wire: the field in which the server gave it and wants it back.
type keptChatReasoning struct {
	Field string `json:"field"`
}
