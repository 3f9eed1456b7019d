// This file tells what a model would be told, without telling it.

package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/instructions"
	"sandboxagent/internal/model"
)

// MethodContext is the call that lists what a model would be told: agent.PreviewInput → agent.PreviewResult.
const MethodContext = "context"

// tokensOf is about how many tokens a text of so many bytes has.
func tokensOf(bytes int) int64 { return int64(bytes+3) / 4 }

func (a *Activities) showContext(ctx context.Context, params json.RawMessage) (any, error) {
	var in agent.PreviewInput
	if err := json.Unmarshal(params, &in); err != nil || in.Folder == "" {
		return nil, editors.Errorf(editors.CodeInvalidParams, "context takes what was told and a question.")
	}
	p := previewer{a: a, in: in}
	if err := p.list(ctx); err != nil {
		return nil, editors.Errorf(editors.CodeInternal, "What the agent would see cannot be found out: %w", err)
	}
	return agent.PreviewResult{Window: a.window(in.Model, in.TooLong), Parts: p.parts}, nil
}

// previewer lists the parts.
type previewer struct {
	a     *Activities
	in    agent.PreviewInput
	parts []editors.ContextPart
}

func (p *previewer) add(kind, name, detail string, bytes int) {
	p.parts = append(p.parts, editors.ContextPart{Kind: kind, Name: name, Detail: detail, Tokens: tokensOf(bytes)})
}

func (p *previewer) list(ctx context.Context) error {
	before, err := conversation.Load(ctx, p.a.Blobs, blob.Ref(p.in.Head))
	if err != nil {
		return err
	}
	for _, pending := range p.in.Pending {
		contexts, err := p.contexts(ctx, pending)
		if err != nil {
			return err
		}
		e, err := p.a.entry(ctx, p.in.Folder, pending, contexts)
		if err != nil {
			return err
		}
		before = append(before, e)
	}
	sum := sha256.Sum256([]byte(systemPrompt))
	p.add("systemPrompt", "how Sandbox Agent works", "version "+hex.EncodeToString(sum[:4]), len(systemPrompt))
	offer := p.a.offer(ctx, p.in.SessionID)
	for _, t := range definitions(offer) {
		definition, err := json.Marshal(t)
		if err != nil {
			return err
		}
		p.add("tool", t.Name, "", len(definition))
	}
	for _, missing := range offer.Notices {
		p.parts = append(p.parts, editors.ContextPart{Kind: "tool", Name: "MCP", Problem: missing})
	}
	p.conversation(before)
	p.instructions(ctx, before)
	return p.question(ctx)
}

// conversation counts what was said so far.
func (p *previewer) conversation(entries []model.Entry) {
	kinds := []struct {
		name string
		has  func(e model.Entry) bool
	}{
		{"messages of the user", func(e model.Entry) bool { return e.Kind == model.KindUser && e.Provider != conversation.Program }},
		{"messages of the program", func(e model.Entry) bool { return e.Kind == model.KindUser && e.Provider == conversation.Program }},
		{"messages of the agent", func(e model.Entry) bool { return e.Kind == model.KindAssistant }},
		{"tool calls", func(e model.Entry) bool { return e.Kind == model.KindToolCall }},
		{"results of tools", func(e model.Entry) bool { return e.Kind == model.KindToolResult }},
		{"reasoning", func(e model.Entry) bool { return e.Kind == model.KindReasoning }},
		{"what the provider compacted", func(e model.Entry) bool { return e.Kind == model.KindCompaction }},
	}
	for _, k := range kinds {
		var some []model.Entry
		for _, e := range entries {
			if k.has(e) {
				some = append(some, e)
			}
		}
		if len(some) > 0 {
			p.add("conversation", k.name, fmt.Sprint(len(some)), conversation.Bytes(some))
		}
	}
}

// instructions lists what the workspace says to agents, as far as its sandbox is there.
func (p *previewer) instructions(ctx context.Context, before []model.Entry) {
	told := toldIn(before)
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	step := agent.ModelStepInput{Sandbox: p.in.Sandbox}
	if p.in.Question != nil {
		step.Pending = []agent.Pending{*p.in.Question}
	}
	missing := func(why string) {
		part := editors.ContextPart{Kind: "instructions", Name: instructions.FileName, Problem: why}
		p.parts = append(p.parts, part)
	}
	if p.in.SessionID != "" && !p.a.opened.ready(look, p.in.Sandbox, false) {
		missing("the sandbox is not running, so it was not looked for; it is told with the question")
		return
	}
	set, err := p.find(look, append(told.Dirs(), workDirs(step, before)...))
	if err != nil {
		missing("the workspace cannot be looked into: " + plain(err))
		return
	}
	for _, f := range set.Files {
		part := editors.ContextPart{Kind: "instructions", Name: f.Path, Problem: f.Problem}
		if told[f.Path] == f.ID() {
			part.Detail = "told before"
		} else {
			part.Tokens = tokensOf(len(f.Text))
		}
		p.parts = append(p.parts, part)
	}
	_, knows := told[instructions.SkillsDir]
	for _, s := range set.Skills {
		part := editors.ContextPart{Kind: "skill", Name: s.Name, Detail: s.Path, Problem: s.Problem}
		if !knows {
			part.Tokens = tokensOf(len(s.Name) + len(s.Description) + len(s.Path))
		}
		p.parts = append(p.parts, part)
	}
}

// find looks for instructions where the session works; a session that is not there yet will work in its folder.
func (p *previewer) find(ctx context.Context, dirs []string) (instructions.Set, error) {
	if p.in.SessionID != "" {
		return p.a.findInstructions(ctx, p.in.Sandbox, dirs)
	}
	root, err := os.OpenRoot(p.in.Folder)
	if err != nil {
		return instructions.Set{}, err
	}
	defer func() { _ = root.Close() }()
	return p.a.instructed.Find(ctx, "folder "+p.in.Folder, instructions.Folder(root), instructions.Dirs(dirs))
}

// contexts returns what goes with a message, as far as it can be read now.
func (p *previewer) contexts(ctx context.Context, message agent.Pending) ([]editors.Context, error) {
	contexts, err := p.a.contexts(ctx, message)
	return p.a.readMentioned(ctx, p.in.Sandbox, p.in.Folder, contexts, false), err
}

// question lists what would be asked, and what goes with it.
func (p *previewer) question(ctx context.Context) error {
	q := p.in.Question
	if q == nil {
		return nil
	}
	contexts, err := p.contexts(ctx, *q)
	if err != nil {
		return err
	}
	asked, err := p.a.entry(ctx, p.in.Folder, agent.Pending{Kind: q.Kind, Text: q.Text, Ref: q.Ref}, nil)
	if err != nil {
		return err
	}
	if asked.Text != "" {
		p.add("question", "your question", "", len(asked.Text))
	}
	left := maxTold
	for _, c := range contexts {
		p.attached(c, &left)
	}
	return nil
}

// attached lists one thing that goes with a question, as describeContext tells it.
func (p *previewer) attached(c editors.Context, left *int) {
	part := editors.ContextPart{Kind: c.Kind, Name: cmp.Or(strings.TrimSpace(placeOf(p.in.Folder, c)), c.Kind)}
	if c.Mentioned {
		part.Detail = "mentioned"
	}
	bytes := len(describeContext(p.in.Folder, []editors.Context{c}))
	switch {
	case c.Image != nil:
		part.Tokens = imageOf(*c.Image).Tokens()
		bytes = 0
	case c.Omitted && !slices.Contains([]string{"file", "image"}, c.Kind):
		part.Problem = "the editor sent none"
	case c.Omitted:
		part.Problem = "too large, no text or not there yet: it is only named"
	case c.Unsaved && !c.Mentioned && len(c.Text) > *left:
		part.Detail, bytes = "only named; read_file, list and search show what you typed", len(path.Base(c.URI))
	case c.Unsaved && !c.Mentioned:
		*left -= len(c.Text)
	}
	if c.Unsaved {
		part.Kind = "unsaved"
	}
	part.Tokens += tokensOf(bytes)
	p.parts = append(p.parts, part)
}
