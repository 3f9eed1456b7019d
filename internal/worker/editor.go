// This file gives the agent what the user has in the editor: in words, with the question, and for the tools, while the turn runs.

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/tools"
)

// maxTold bounds the unsaved text that a question itself holds, in bytes; the tools show all of it.
const maxTold = 16 << 10

const unsavedKey = "unsaved" // of the plan that holds an unsavedTexts

// unsavedTexts are the documents that stood unsaved in the editor when a turn's user asked. It is kept beside the plans of the
// session's tools, which need it wherever they run on this host.
type unsavedTexts struct {
	Turn  int                      `json:"turn"`
	Files map[string]tools.Unsaved `json:"files"` // by path
	URIs  map[string]string        `json:"uris,omitempty"`
	// Holder is the server of the editor that asked last.
	Holder string `json:"holder,omitempty"`
}

// contexts returns what the editor sent along with a message.
func (a *Activities) contexts(ctx context.Context, p agent.Pending) ([]editors.Context, error) {
	if p.ContextRef == "" {
		return p.Context, nil
	}
	var contexts []editors.Context
	if err := blob.GetJSON(ctx, a.Blobs, blob.Ref(p.ContextRef), &contexts); err != nil {
		return nil, fmt.Errorf("read the context of a message: %w", err)
	}
	return contexts, nil
}

// noteUnsaved keeps what is unsaved for the tools of the turn that begins, and adds what a later message of it brings.
func (a *Activities) noteUnsaved(ctx context.Context, in agent.ModelStepInput) error {
	now := unsavedTexts{Turn: in.TurnID, Files: map[string]tools.Unsaved{}, URIs: map[string]string{}}
	for _, p := range in.Pending {
		contexts, err := a.contexts(ctx, p)
		if err != nil {
			return err
		}
		for _, c := range contexts {
			if name, ok := inFolder(in.Folder, c.URI); ok && c.Kind == "file" && c.Unsaved {
				now.Files[name] = tools.Unsaved{Text: c.Text, Base: c.Base, Omitted: c.Omitted}
				now.URIs[name], now.Holder = c.URI, c.Holder
			}
		}
	}
	before, err := a.loadUnsaved(ctx, in.SessionID)
	if err != nil {
		return err
	}
	if before.Turn == in.TurnID {
		if len(now.Files) == 0 {
			return nil
		}
		for name, u := range before.Files {
			if _, newer := now.Files[name]; !newer {
				now.Files[name], now.URIs[name] = u, before.URIs[name]
			}
		}
	}
	if len(now.Files) == 0 && len(before.Files) == 0 {
		return nil
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

// unsaved returns what the tools of a session see otherwise than it is on disk, and how that is changed in the editor; nil when
// it cannot be.
func (a *Activities) unsaved(ctx context.Context, session string) (map[string]tools.Unsaved, editFunc, error) {
	u, err := a.loadUnsaved(ctx, session)
	if err != nil || u.Holder == "" {
		return u.Files, nil, err
	}
	return u.Files, a.intoEditor(session), nil
}

// inPlace says whether a sandbox works on the very files that the user's editor has open.
func inPlace(in agent.Sandbox) bool {
	return in.Backend.Kind == editors.Local && folderOf(in) == in.Folder
}

// describeContext puts what the editor sent along into words for the model.
func describeContext(contexts []editors.Context) string {
	var b strings.Builder
	left, unsaved := maxTold, false
	for _, c := range contexts {
		fmt.Fprintf(&b, "\n\n[%s", c.Kind)
		if c.URI != "" {
			fmt.Fprintf(&b, " %s", c.URI)
		}
		if c.Range != nil {
			fmt.Fprintf(&b, " lines %d-%d", c.Range.Start.Line+1, c.Range.End.Line+1)
		}
		unsaved = unsaved || c.Unsaved
		switch {
		case c.Omitted:
			b.WriteString(", unsaved in the editor and too large to be sent: you can only see the older file on disk]")
			continue
		case c.Unsaved && len(c.Text) > left:
			b.WriteString(", unsaved in the editor: read_file and search show what the editor has]")
			continue
		case c.Unsaved:
			left -= len(c.Text)
			b.WriteString(", not saved yet: the file on disk is older")
		}
		b.WriteString("]\n")
		b.WriteString(c.Text)
	}
	if unsaved {
		b.WriteString("\n\n[read_file, list and search show unsaved text as the editor has it; commands see the older files on disk]")
	}
	return b.String()
}
