// This file checks that messages that say nothing are completed, and kept by nobody.

package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// kindsAt tells at a virtual time which items a snapshot has.
func (h *harness) kindsAt(d time.Duration, kinds *[]editors.ItemKind) {
	h.at(d, func() {
		for _, i := range h.view(nil).Items {
			*kinds = append(*kinds, i.Kind)
		}
	})
}

// speechless is a model that says nothing but "done": its first call finds the conversation full, its second asks for a tool,
// with a line end.
func speechless(h *harness) {
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		switch len(h.steps) {
		case 1:
			return ModelStepResult{Head: "sha256:full", Tokens: 182_000, Window: 200_000, Full: true}, nil
		case 2:
			r := calls(reads("c1"))
			r.Message = Text{Inline: "\n\n", Bytes: 2}
			return r, nil
		}
		return says("done"), nil
	}
}

func TestMessagesThatSayNothingAreNotKept(t *testing.T) {
	h := newHarness(t)
	speechless(h)
	h.at(time.Second, func() { h.ask("r1", "work") })
	var kinds []editors.ItemKind
	h.kindsAt(time.Minute, &kinds)
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []editors.ItemKind{editors.UserMessage, editors.Notice, editors.ToolCall, editors.AgentMessage}, kinds)
	require.Len(t, itemsOf(events, editors.AgentMessage), 3, "whoever is attached sees each complete")
}

func TestARunBegunBeforeKeepsMessagesThatSayNothing(t *testing.T) {
	h := newHarness(t)
	h.env.OnGetVersion(forgetsEmptyMessages, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	speechless(h)
	h.at(time.Second, func() { h.ask("r1", "work") })
	var kinds []editors.ItemKind
	h.kindsAt(time.Minute, &kinds)
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []editors.ItemKind{editors.UserMessage, editors.AgentMessage, editors.Notice, editors.AgentMessage, editors.ToolCall, editors.AgentMessage}, kinds)
}

func TestAMessageStoppedBeforeItsFirstWordIsNotKept(t *testing.T) {
	for name, c := range map[string]struct {
		model func(ModelStepInput) (ModelStepResult, error)
		want  []editors.ItemKind
	}{
		"by its call": {
			func(ModelStepInput) (ModelStepResult, error) {
				return ModelStepResult{Head: "sha256:head", Interrupted: true}, nil
			},
			[]editors.ItemKind{editors.UserMessage},
		},
		"before a worker took it": {
			func(ModelStepInput) (ModelStepResult, error) {
				return ModelStepResult{}, temporal.NewCanceledError()
			},
			[]editors.ItemKind{editors.UserMessage},
		},
		"while it thought": {
			func(ModelStepInput) (ModelStepResult, error) {
				return ModelStepResult{Head: "sha256:head", Interrupted: true, Reasoning: Text{Inline: "hm", Bytes: 2}}, nil
			},
			[]editors.ItemKind{editors.UserMessage, editors.Reasoning},
		},
		"after a word": {
			func(ModelStepInput) (ModelStepResult, error) {
				return ModelStepResult{Head: "sha256:head", Interrupted: true, Message: Text{Inline: "Well", Bytes: 4}}, nil
			},
			[]editors.ItemKind{editors.UserMessage, editors.AgentMessage},
		},
		"as it failed": {
			func(ModelStepInput) (ModelStepResult, error) {
				return ModelStepResult{Failure: &ModelFailure{Kind: "noKey", Message: "There is no key."}}, nil
			},
			[]editors.ItemKind{editors.UserMessage, editors.AgentMessage},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.model = c.model
			h.at(time.Second, func() { h.ask("r1", "work") })
			var kinds []editors.ItemKind
			h.kindsAt(time.Minute, &kinds)
			events := h.finish(time.Hour, testSession(editors.ApprovalNever))
			require.Equal(t, c.want, kinds)
			require.Len(t, itemsOf(events, editors.AgentMessage), 1)
		})
	}
}
