// This file takes over which tools of MCP servers a turn's model was told of.

package agent

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/internal/policy"
)

// ExternalTool is a tool of an MCP server, as the model that calls it was told of it.
type ExternalTool struct {
	Server      string `json:"server"`
	Tool        string `json:"tool"`                  // as the server calls it
	ReadOnly    bool   `json:"readOnly,omitempty"`    // the server says that it changes nothing
	Destructive bool   `json:"destructive,omitempty"` // the server says that it may destroy something
}

// judged is the tool as the policy sees it; nil stays nil.
func (e *ExternalTool) judged() *policy.External {
	if e == nil {
		return nil
	}
	return &policy.External{Server: e.Server, ReadOnly: e.ReadOnly, Destructive: e.Destructive}
}

// recordOffer keeps what the model was told of, and tells what the user should know of the servers, once while it is so.
func (s *session) recordOffer(ctx workflow.Context, res ModelStepResult) {
	s.Turn.External = res.External
	var told []string
	for _, text := range res.Notices {
		text = preview(text, 500)
		told = append(told, text)
		if !slices.Contains(s.Notices, text) {
			s.notice(ctx, s.Turn.ID, text)
		}
	}
	s.Notices = told
}
