// This file reads what a question mentions, as the tools would.

package tools

import (
	"context"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/images"
	"sandboxagent/internal/mentions"
	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

// There reports whether a file or directory of that name is in the workspace.
func There(ctx context.Context, env Env, name string) bool {
	entry, err := resolve(ctx, env, name)
	return err == nil && (entry.Mode.IsDir() || readable(entry) == nil)
}

// Mentioned returns what a question mentions of the workspace with what it is there: the text of a file or of some of its
// lines, at most left bytes of it, the names in a directory, or a picture. What is too large or no text stays Omitted.
func Mentioned(ctx context.Context, env Env, name string, p editors.Context, left int) (editors.Context, error) {
	entry, err := resolve(ctx, env, name)
	if err != nil {
		return p, err
	}
	if entry.Mode.IsDir() {
		return namesIn(ctx, env, entry, p, left)
	}
	if err := readable(entry); err != nil {
		return p, err
	}
	content, err := env.Sandbox.ReadFile(ctx, entry.Path, 0, patch.MaxFileBytes)
	switch {
	case err != nil:
		return p, err
	case p.Range == nil && images.Type(content.Data) != "":
		return pictured(ctx, env, entry.Path, content.Size, p)
	case content.Size > int64(len(content.Data)) || slices.Contains(content.Data[:min(len(content.Data), 8<<10)], 0):
		return p, nil
	}
	text := patch.Text(content.Data)
	if p.Range != nil {
		lines, where := mentions.Lines(text, p.Range.Start.Line+1, p.Range.End.Line+1)
		text, p.Range = lines, &where
	}
	return withText(p, text, left), nil
}

func withText(p editors.Context, text string, left int) editors.Context {
	text = conversation.Cut(text, mentions.MaxText)
	if p.Omitted = len(text) > left; !p.Omitted {
		p.Text = text
	}
	return p
}

func namesIn(ctx context.Context, env Env, dir sandbox.Entry, p editors.Context, left int) (editors.Context, error) {
	listing, err := env.Sandbox.List(ctx, dir.Path, 1, mentions.MaxNames+1)
	if err != nil {
		return p, err
	}
	var names []string
	for _, e := range listing.Entries[:min(len(listing.Entries), mentions.MaxNames)] {
		name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
		if e.Mode.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	if len(listing.Entries) > mentions.MaxNames || listing.Truncated {
		names = append(names, "…")
	}
	p.URI = strings.TrimSuffix(p.URI, "/") + "/"
	return withText(p, strings.ToValidUTF8(strings.Join(names, "\n"), "\uFFFD"), left), nil
}

func pictured(ctx context.Context, env Env, name string, size int64, p editors.Context) (editors.Context, error) {
	shown, err := picture(ctx, env, name, size)
	if err != nil {
		return p, err
	}
	p.Kind, p.Image, p.Omitted = "image", &shown, false
	return p, nil
}
