// This file makes a title for a session from how it began.

package worker

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/model"
)

//go:embed title.md
var titlePrompt string

const (
	titleTime  = 90 * time.Second
	titleInput = 6 << 10 // bytes of the conversation that a title is made of
	titleRunes = 80
)

// SuggestTitle asks a cheap model for a title. It fails when there is none; nobody needs to know.
func (a *Activities) SuggestTitle(ctx context.Context, in agent.TitleInput) (agent.TitleResult, error) {
	defer a.working()()
	ctx, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	entries, err := conversation.Load(ctx, a.Blobs, blob.Ref(in.Head))
	if err != nil {
		return agent.TitleResult{}, err
	}
	id := a.Models.Cheap(in.Model)
	a.awaitKey(ctx, id)
	m, err := a.Models.Get(id)
	if err != nil {
		return agent.TitleResult{}, err
	}
	res, err := m.Respond(ctx, model.Request{
		Model: id, Instructions: titlePrompt,
		Input: []model.Entry{{Kind: model.KindUser, Text: "<conversation>\n" + conversation.Transcript(entries, titleInput) + "\n</conversation>"}},
	}, nil)
	if err != nil {
		return agent.TitleResult{}, err
	}
	return agent.TitleResult{Title: titleOf(textOf(res, model.KindAssistant)), Usage: a.usage(id, res.Usage)}, nil
}

// titleOf is the first line of an answer without the quotes and marks that models like to add; "" when that is no title.
func titleOf(answer string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(answer), "\n")
	line = strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, "#* "), "Title:"))
	line = strings.TrimRight(strings.Trim(line, "\"'`*“”«» "), ".")
	if len([]rune(line)) > titleRunes {
		return ""
	}
	return line
}
