// This file asks by OpenAI's Responses API, stateless: nothing is stored there, reasoning comes back encrypted.

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const maxCacheKey = 64 // bytes the provider takes

type responsesWire struct{}

func (*responsesWire) path() string { return "responses" }

func (*responsesWire) provider(end endpoint) string { return providerName(end, APIResponses) }

// providerName names who can read a Raw: a host and a wire.
func providerName(end endpoint, api string) string {
	if end.openAI {
		return "openai/" + api
	}
	return end.host + "/" + api
}

func (w *responsesWire) params(c *call) any {
	p := responses.ResponseNewParams{
		Model: c.req.Model,
		Store: param.NewOpt(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: w.input(c)},
		Tools: responsesTools(c.req.Tools),
	}
	if text := cleanText(c.req.Instructions); text != "" {
		p.Instructions = param.NewOpt(text)
	}
	if len(p.Tools) > 0 && !c.lacks[featParallel] {
		p.ParallelToolCalls = param.NewOpt(true)
	}
	if c.req.CacheKey != "" && !c.lacks[featCacheKey] {
		p.PromptCacheKey = param.NewOpt(cacheKey(c.req.CacheKey))
	}
	if c.req.Effort != "" {
		p.Reasoning.Effort = shared.ReasoningEffort(c.req.Effort)
	}
	if !reasons(c.req.Model) && c.req.Effort == "" {
		return p
	}
	if !c.lacks[featSummary] {
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	}
	if !c.lacks[featEncrypted] {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	return p
}

var reasoner = regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9][0-9])|gpt-oss|codex)`)

var chatOnly = regexp.MustCompile(`-chat(-|$)`)

// reasons says whether a model is known to reason. Others get no reasoning options unless an effort is asked for.
func reasons(id string) bool { return reasoner.MatchString(id) && !chatOnly.MatchString(id) }

// cacheKey fits any key into what the provider takes.
func cacheKey(key string) string {
	if len(key) <= maxCacheKey {
		return cleanText(key)
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func responsesTools(tools []Tool) []responses.ToolUnionParam {
	var out []responses.ToolUnionParam
	for _, t := range tools {
		out = append(out, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: param.NewOpt(cleanText(t.Description)), Parameters: schema(t), Strict: param.NewOpt(false),
		}})
	}
	return out
}

// schema is never nil: a tool without parameters takes an empty object.
func schema(t Tool) map[string]any {
	if t.Parameters == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return t.Parameters
}

func (w *responsesWire) input(c *call) []responses.ResponseInputItemUnionParam {
	provider := w.provider(c.end)
	if c.noRaw {
		provider = ""
	}
	items := []responses.ResponseInputItemUnionParam{}
	for _, e := range pictured(repair(c.req.Input, provider), !c.lacks[featImages]) {
		items = append(items, responsesItem(e))
	}
	return items
}

func responsesItem(e Entry) responses.ResponseInputItemUnionParam {
	switch e.Kind {
	case KindReasoning:
		reasoning := param.Override[responses.ResponseReasoningItemParam](e.Raw)
		return responses.ResponseInputItemUnionParam{OfReasoning: &reasoning}
	case KindCompaction:
		compaction := param.Override[responses.ResponseCompactionItemParam](e.Raw)
		return responses.ResponseInputItemUnionParam{OfCompaction: &compaction}
	case KindToolCall:
		return responses.ResponseInputItemParamOfFunctionCall(e.Arguments, e.CallID, e.Name)
	case KindToolResult:
		return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
			CallID: param.NewOpt(e.CallID),
			Output: responsesOutput(e),
		}}
	case KindAssistant:
		item := responses.ResponseInputItemParamOfMessage(e.Text, responses.EasyInputMessageRoleAssistant)
		var kept keptMessage
		if json.Unmarshal(e.Raw, &kept) == nil && kept.Phase != "" {
			item.OfMessage.Phase = responses.EasyInputMessagePhase(kept.Phase)
		}
		return item
	}
	if len(e.Images) == 0 {
		return responses.ResponseInputItemParamOfMessage(e.Text, responses.EasyInputMessageRoleUser)
	}
	content := responses.ResponseInputMessageContentListParam{{OfInputText: &responses.ResponseInputTextParam{Text: e.Text}}}
	for _, i := range e.Images {
		content = append(content, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
			ImageURL: param.NewOpt(i.url()), Detail: responses.ResponseInputImageDetailAuto,
		}})
	}
	return responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)
}

// responsesOutput is what a call has given: a text, with pictures if there are any.
func responsesOutput(e Entry) responses.ResponseInputItemFunctionCallOutputOutputUnionParam {
	if len(e.Images) == 0 {
		return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: param.NewOpt(e.Text)}
	}
	list := responses.ResponseFunctionCallOutputItemListParam{{OfInputText: &responses.ResponseInputTextContentParam{Text: e.Text}}}
	for _, i := range e.Images {
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{
			ImageURL: param.NewOpt(i.url()), Detail: responses.ResponseInputImageContentDetailAuto,
		}})
	}
	return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfResponseFunctionCallOutputItemArray: list}
}

// keptMessage is the Raw of a message: newer models want to see again whether it was commentary or the final answer.
type keptMessage struct {
	Phase string `json:"phase"`
}

// keptReasoning is the Raw of reasoning: the item as the provider wants it back.
type keptReasoning struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	Summary   []contentPart `json:"summary"`
	Content   []contentPart `json:"content,omitempty"`
	Encrypted string        `json:"encrypted_content,omitempty"`
}
