// This file handles workspace/executeCommand, by which any LSP client can run the commands.

package lsp

import (
	"context"
	"encoding/json"
	"strings"

	"go.lsp.dev/protocol"

	"sandboxagent/editors"
)

// executeParams are the params of workspace/executeCommand.
type executeParams struct {
	Command   string            `json:"command"`
	Arguments []json.RawMessage `json:"arguments"`
	Token     json.RawMessage   `json:"workDoneToken"`
}

func (c *client) executeCommand(ctx context.Context, raw json.RawMessage) (any, error) {
	var p executeParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "The params of executeCommand cannot be decoded: %w", err)
	}
	name, ours := strings.CutPrefix(p.Command, editors.CommandPrefix)
	if c.requests[editors.MethodPrefix+name] == nil || !ours {
		return nil, editors.Errorf(editors.CodeInvalidParams, "There is no command %q.", clip(p.Command, 100)).
			WithRemedy("Use one of: " + strings.Join(commandNames(), ", ") + ".")
	}
	arguments, err := oneArgument(p.Arguments)
	if err != nil {
		return nil, err
	}
	progress := c.newReporter(p.Token)
	result, err := c.command(c.options.Progress(ctx, progress.report), name, arguments)
	asked, ok := result.(editors.AskResult)
	if ok && err == nil && !c.attached.has(asked.SessionID) {
		afterAnswer(ctx, func() { c.follow(asked, progress) })
		return result, nil
	}
	progress.end("")
	if told := outcome(name, result, arguments); told != "" && err == nil && !c.attached.has(sessionOf(unwrap(arguments))) {
		afterAnswer(ctx, func() { c.show(protocol.MessageTypeInfo, told) })
	}
	return result, err
}

func oneArgument(arguments []json.RawMessage) (json.RawMessage, error) {
	switch len(arguments) {
	case 0:
		return nil, nil
	case 1:
		return arguments[0], nil
	default:
		return nil, editors.Errorf(editors.CodeInvalidParams, "A command takes one object as its argument, not %d.", len(arguments))
	}
}
