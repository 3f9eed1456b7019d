// This file gives the tools what the user has in the editor, while the turn runs.

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/tools"
)

const unsavedKey = "unsaved" // of the plan that holds an unsavedTexts

// unsavedTexts are the documents that stood unsaved in the editor when a turn's user asked. It is kept beside the plans of the
// session's tools, which need it wherever they run on this host.
type unsavedTexts struct {
	Turn  int                    `json:"turn"`
	Files map[string]unsavedText `json:"files"` // by path
}

// unsavedText is one of them, with the editor that has it.
type unsavedText struct {
	tools.Unsaved
	tools.Open
	// Late: it became unsaved after the user asked, and the agent has changed it since. It counts while an editor shows it.
	Late bool `json:"late,omitempty"`
}

// contexts returns what goes with a message.
func (a *Activities) contexts(ctx context.Context, p agent.Pending) ([]editors.Context, error) {
	if p.ContextRef == "" {
		return slices.Concat(p.Context, p.Added), nil
	}
	var contexts []editors.Context
	if err := blob.GetJSON(ctx, a.Blobs, blob.Ref(p.ContextRef), &contexts); err != nil {
		return nil, fmt.Errorf("read the context of a message: %w", err)
	}
	return append(contexts, p.Added...), nil
}

// noteUnsaved keeps what is unsaved for the tools of the turn that begins, and adds what a later message of it brings.
func (a *Activities) noteUnsaved(ctx context.Context, in agent.ModelStepInput) error {
	now := unsavedTexts{Turn: in.TurnID, Files: map[string]unsavedText{}}
	for _, p := range in.Pending {
		contexts, err := a.contexts(ctx, p)
		if err != nil {
			return err
		}
		for _, c := range contexts {
			if name, ok := inFolder(in.Folder, c.URI); ok && c.Kind == "file" && c.Unsaved {
				text := tools.Unsaved{Text: c.Text, Base: c.Base, Omitted: c.Omitted}
				now.Files[name] = unsavedText{Unsaved: text, Open: tools.Open{URI: c.URI, Editor: c.Holder}}
			}
		}
	}
	before, err := a.loadUnsaved(ctx, in.SessionID)
	if err != nil {
		return err
	}
	same := before.Turn == in.TurnID
	if len(now.Files) == 0 && (same || len(before.Files) == 0) {
		return nil
	}
	for name, u := range before.Files {
		if _, newer := now.Files[name]; !newer && (same || u.Late) {
			now.Files[name] = u
		}
	}
	return a.saveUnsaved(ctx, in.SessionID, now)
}

func (a *Activities) saveUnsaved(ctx context.Context, session string, u unsavedTexts) error {
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("note what is unsaved: %w", err)
	}
	return a.plans(session).Save(ctx, unsavedKey, data)
}

func (a *Activities) loadUnsaved(ctx context.Context, session string) (unsavedTexts, error) {
	var u unsavedTexts
	data, ok, err := a.plans(session).Load(ctx, unsavedKey)
	if err != nil || !ok {
		return u, err
	}
	if err := json.Unmarshal(data, &u); err != nil {
		return u, fmt.Errorf("read what is unsaved: %w", err)
	}
	return u, nil
}

// withEditors tells an environment what editors show otherwise than it is on disk, and how that is changed in them.
func (a *Activities) withEditors(ctx context.Context, sb agent.Sandbox, env *tools.Env) error {
	known, err := a.loadUnsaved(ctx, sb.SessionID)
	if err != nil {
		return err
	}
	open := map[string]tools.Open{}
	if sb.Backend.Kind == editors.Local {
		env.Open = func() map[string]tools.Open { return a.HeldFiles.open(folderOf(sb)) }
		open = env.Open()
	}
	env.InPlace, env.Unsaved = inPlace(sb), map[string]tools.Unsaved{}
	for name, u := range known.Files {
		if _, held := open[name]; !u.Late || held {
			env.Unsaved[name] = u.Unsaved
		}
	}
	env.Editor = a.intoEditor(sb.SessionID)
	return nil
}

// inPlace says whether a sandbox works on the very files that the user's editor has open.
func inPlace(in agent.Sandbox) bool {
	return in.Backend.Kind == editors.Local && folderOf(in) == in.Folder
}
