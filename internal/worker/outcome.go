// This file says how an activity ended: with a result, a failure that is a value, or the end of this process.

package worker

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/sandbox"
)

// ended returns the error of an activity that came to no result because the worker stops or it was cancelled; nil when
// neither is so.
func ended(ctx context.Context) error {
	switch {
	case stopping(ctx):
		return workerStopped()
	case ctx.Err() != nil:
		return temporal.NewCanceledError()
	}
	return nil
}

// failureOf says an error as a value for the workflow: one sentence, and what can be done about it.
func failureOf(err error) *agent.Failure {
	var e *editors.Error
	if !errors.As(commands.Error(err), &e) {
		return &agent.Failure{Code: editors.CodeInternal, Message: err.Error()}
	}
	f := &agent.Failure{Code: e.Code, Message: e.Message, Remedy: e.Remedy}
	var known *sandbox.Error
	if f.Remedy == "" && errors.As(err, &known) && known.Path == "" {
		f.Message, f.Remedy = cutRemedy(e.Message)
	}
	return f
}

// cutRemedy parts a message that names the remedy behind a colon. What is in parentheses is somebody else's words.
func cutRemedy(message string) (what, remedy string) {
	depth := 0
	for i, c := range message {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ':' && depth == 0 && strings.HasPrefix(message[i:], ": "):
			return message[:i], sentence(message[i+2:])
		}
	}
	return message, ""
}

func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}
