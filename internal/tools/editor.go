// This file makes changes of documents that stand unsaved in the user's editor: in the editor, never on disk behind it.

package tools

import (
	"context"
	"strings"

	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

// EditorChange is a document as it is to be in the editor; Before is its text as the agent was shown it.
type EditorChange struct {
	Path          string
	Before, After string
}

const inEditor = "The change was made in the user's editor, to text that is not saved yet: commands do not see it.\n"

// editorPlan is what is remembered of a change in an editor: one that was begun is not repeated.
type editorPlan struct {
	Done bool `json:"done,omitempty"`
}

// intoEditor has the editor make edits of the files that it shows unsaved, held, under an effect id.
func (o *overlaid) intoEditor(ctx context.Context, id string, edits []sandbox.Edit, held map[string]*shownFile) error {
	if o.editor == nil {
		return denied(edits, held, "this file has unsaved changes in the user's editor, so nothing was written; ask the user to save it, then try again")
	}
	if len(held) < len(edits) {
		return denied(edits, held, "this file has unsaved changes in the user's editor, so nothing was written; change it by a patch of its own")
	}
	var changes []EditorChange
	for _, e := range edits {
		s := held[e.Path]
		if e.Delete {
			return denied(edits, held, "this file has unsaved changes in the user's editor, so it is not deleted or moved; ask the user to save it, then try again")
		}
		if e.Before != sumOf(s.data) {
			return &sandbox.Error{Class: sandbox.ClassConflict, Op: "apply patch", Path: e.Path, Message: "the file changed meanwhile"}
		}
		before := o.files[e.Path].Text
		changes = append(changes, EditorChange{e.Path, before, textFor(before, e.Content)})
	}
	var plan editorPlan
	key := "editor " + id
	begun, err := loadPlan(ctx, o.plans, key, &plan)
	switch {
	case err != nil:
		return err
	case plan.Done:
		o.wrote = true
		return nil
	case begun:
		return &sandbox.Error{Class: sandbox.ClassUnknown, Op: "apply patch", Message: "whether the user's editor has made the change is not known; read the file again"}
	}
	if err := savePlan(ctx, o.plans, key, plan); err != nil {
		return err
	}
	if err := o.editor(ctx, id, changes); err != nil {
		return err
	}
	o.wrote = true
	return savePlan(ctx, o.plans, key, editorPlan{Done: true})
}

// denied names the first of the files concerned.
func denied(edits []sandbox.Edit, held map[string]*shownFile, message string) error {
	for _, e := range edits {
		if held[e.Path] != nil {
			return &sandbox.Error{Class: sandbox.ClassDenied, Op: "apply patch", Path: e.Path, Message: message}
		}
	}
	return nil
}

// textFor is what an editor whose text was before has to show so that it saves data.
func textFor(before string, data []byte) string {
	text := patch.Text(data)
	if !strings.Contains(before, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}
