// This file makes changes of documents that stand unsaved in the user's editor: in the editor, never on disk behind it.

package tools

import (
	"context"
	"slices"
	"strings"

	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

// Open says where a document is open: its URI there, and by which name the editor takes changes; "": it takes none.
type Open struct {
	URI    string `json:"uri,omitempty"`
	Editor string `json:"editor,omitempty"`
}

// EditorChange is a document as it is to be in the editor; Before is its text as the agent was shown it, Base names the file
// that is behind it, as Unsaved has it, and Open where it is shown now, if that is known.
type EditorChange struct {
	Path          string
	Before, After string
	Base          string
	Open
}

const inEditor = "The change was made in the user's editor, to text that is not saved yet: commands do not see it, and the user may have typed more.\n"

// editorPlan is what is remembered of a change in an editor: one that was begun is not repeated.
type editorPlan struct {
	Done bool `json:"done,omitempty"`
}

// heldFile is a file that an editor shows with unsaved changes, as the agent was shown it: with them if they were known, else
// as it is on disk.
type heldFile struct {
	data []byte
	sum  string // of data, as Edit.Before has it
	text string // that the editor shows of it
	base string
	open Open
}

// behind reads a file whose unsaved changes nobody has sent.
func (o *overlaid) behind(ctx context.Context, name string, open Open) (heldFile, error) {
	content, err := o.Sandbox.ReadFile(ctx, name, 0, patch.MaxFileBytes)
	switch {
	case sandbox.ClassOf(err) == sandbox.ClassNotFound:
		return heldFile{open: open}, nil
	case err != nil:
		return heldFile{}, err
	}
	return heldFile{content.Data, sumOf(content.Data), patch.Text(content.Data), patch.TextSum(content.Data), open}, nil
}

// intoEditor has the editor make edits of the files that it shows unsaved, held, under an effect id.
func (o *overlaid) intoEditor(ctx context.Context, id string, edits []sandbox.Edit, held map[string]heldFile) error {
	first := edits[slices.IndexFunc(edits, func(e sandbox.Edit) bool { _, ok := held[e.Path]; return ok })].Path
	if o.env.Editor == nil {
		return denied(first, "this file has unsaved changes in the user's editor, so nothing was written; ask the user to save it, then try again")
	}
	if len(held) < len(edits) {
		return denied(first, "this file has unsaved changes in the user's editor, so nothing was written; change it by a patch of its own")
	}
	var changes []EditorChange
	for _, e := range edits {
		h := held[e.Path]
		if e.Delete {
			return denied(first, "this file has unsaved changes in the user's editor, so it is not deleted or moved; ask the user to save it, then try again")
		}
		if e.Before != h.sum {
			return &sandbox.Error{Class: sandbox.ClassConflict, Op: "apply patch", Path: e.Path, Message: "the file changed meanwhile"}
		}
		changes = append(changes, EditorChange{e.Path, h.text, textFor(h.text, e.Content), h.base, h.open})
	}
	var plan editorPlan
	key := "editor " + id
	begun, err := loadPlan(ctx, o.env, key, &plan)
	switch {
	case err != nil:
		return err
	case plan.Done:
		o.wrote = true
		return nil
	case begun:
		return &sandbox.Error{Class: sandbox.ClassUnknown, Op: "apply patch", Message: "whether the user's editor has made the change is not known; read the file again"}
	}
	if err := savePlan(ctx, o.env, key, plan); err != nil {
		return err
	}
	if err := o.env.Editor(ctx, id, changes); err != nil {
		return err
	}
	o.wrote = true
	return savePlan(ctx, o.env, key, editorPlan{Done: true})
}

// denied says why a file is not written.
func denied(name, message string) error {
	return &sandbox.Error{Class: sandbox.ClassDenied, Op: "apply patch", Path: name, Message: message}
}

// textFor is what an editor whose text was before has to show so that it saves data.
func textFor(before string, data []byte) string {
	text := patch.Text(data)
	if !strings.Contains(before, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}
