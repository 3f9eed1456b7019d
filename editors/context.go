// This file holds the types of the command that tells what the agent will see.

package editors

// ContextParams are a question that is not asked. Without sessionId it is about the session that would be asked: the folder's
// latest, else a new one.
type ContextParams struct {
	SessionID       string    `json:"sessionId,omitempty"`
	WorkspaceFolder string    `json:"workspaceFolder,omitempty"` // used when sessionId is absent; default: the first folder
	New             bool      `json:"new,omitempty"`             // as a new session would see it
	Text            string    `json:"text,omitempty"`
	Context         []Context `json:"context,omitempty"`
	Model           string    `json:"model,omitempty"`
}

// ContextResult is what the model would be told by the next call, in the order in which it is told.
type ContextResult struct {
	SessionID string        `json:"sessionId,omitempty"` // absent: it would be a new one
	Model     string        `json:"model"`
	Tokens    int64         `json:"tokens"` // of all parts, about
	Window    int64         `json:"window"` // tokens that the model takes; compaction begins at 80 % of it
	Parts     []ContextPart `json:"parts"`
}

// ContextPart is one thing that the model is told. Instructions and skills that it was told before are part of the
// conversation: their tokens are counted there.
type ContextPart struct {
	Kind   string `json:"kind" enum:"systemPrompt,tool,conversation,instructions,skill,question,file,selection,diagnostics,text,image,unsaved"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"` // in words
	Tokens int64  `json:"tokens"`
	// Problem is why the model is not told it, or not all of it.
	Problem string `json:"problem,omitempty"`
}
