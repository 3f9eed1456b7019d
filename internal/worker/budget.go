// This file counts what models are told and what that costs.

package worker

import (
	"encoding/json"
	"sync"

	"sandboxagent/editors"
	"sandboxagent/internal/model"
	"sandboxagent/internal/tools"
)

// full tells whether a conversation is too near the window to go on without compacting it: at 80 %, so that there is room for
// an answer and for what a tool says.
func full(tokens, window int64) bool { return tokens > window*8/10 }

// window is how many tokens a model takes. What it has refused as too long counts more than what is known of it.
func (a *Activities) window(id string, tooLong int64) int64 {
	w := a.Models.Facts(id).Window
	if tooLong > 0 {
		w = min(w, tooLong*3/4)
	}
	return w
}

// overhead is about how many tokens every call of a session has besides the conversation: the instructions and the tools.
func (a *Activities) overhead(session string) int64 {
	if a.Servers == nil {
		return ownOverhead()
	}
	return ownOverhead() + int64(a.Servers.Size(session))/4
}

var ownOverhead = sync.OnceValue(func() int64 {
	definitions, err := json.Marshal(tools.Definitions())
	if err != nil {
		return 0
	}
	return int64(len(systemPrompt)+len(definitions)) / 4
})

// usage is what a call has spent.
func (a *Activities) usage(id string, u model.Usage) editors.Usage {
	out := editors.Usage{
		InputTokens: u.InputTokens, CachedTokens: u.CachedTokens, OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens, ModelCalls: 1,
	}
	price := a.Models.Facts(id).Price
	if price == nil || u == (model.Usage{}) { // no usage is told of a call that was cut short
		out.UnpricedCalls = 1
		return out
	}
	out.Cost = price.Cost(u)
	return out
}
