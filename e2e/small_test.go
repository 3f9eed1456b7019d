package e2e

import (
	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

func n(i int) *int { return &i }

// say answers when the last user message contains part.
func say(part, text string) modeltest.Rule {
	return modeltest.Rule{Match: modeltest.Match{LastUser: part, Step: n(0)}, Respond: modeltest.Answer{Text: text}}
}

func rules(groups ...any) modeltest.Script {
	var s modeltest.Script
	for _, g := range groups {
		switch g := g.(type) {
		case modeltest.Rule:
			s.Rules = append(s.Rules, g)
		case []modeltest.Rule:
			s.Rules = append(s.Rules, g...)
		}
	}
	return s
}

func isType(t editors.EventType) func(editors.EventMessage) bool {
	return func(e editors.EventMessage) bool { return e.Event.Type == t }
}

func answers(events []editors.EventMessage) []string {
	var out []string
	for _, e := range events {
		if e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.AgentMessage && e.Event.Item.Text != "" {
			out = append(out, e.Event.Item.Text)
		}
	}
	return out
}
