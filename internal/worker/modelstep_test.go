package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

// silent is a Live that nobody listens to.
type silent struct{}

func (silent) Publish(feed.Frame)    {}
func (silent) Forget(string, string) {}

// withModel lets activities speak to a scripted server.
func withModel(t *testing.T, s modeltest.Script) (*Activities, *modeltest.Server) {
	t.Helper()
	server := modeltest.Start(t, s)
	a := newActivities(t)
	a.Live = silent{}
	a.Models = model.New(model.Options{BaseURL: server.URL})
	return a, server
}

func stepOf(texts ...string) agent.ModelStepInput {
	in := agent.ModelStepInput{
		Sandbox: agent.Sandbox{SessionID: "s1", HostID: "host", Folder: "/w", Backend: editors.Backend{Kind: editors.Local}},
		TurnID:  1, ItemID: "i1", Attempt: 1, Model: "scripted",
	}
	for _, text := range texts {
		in.Pending = append(in.Pending, agent.Pending{Kind: "user", Text: text})
	}
	return in
}

func (a *Activities) said(t *testing.T, head string) []model.Entry {
	t.Helper()
	entries, err := conversation.Load(t.Context(), a.Blobs, blob.Ref(head))
	require.NoError(t, err)
	return entries
}

func TestAFailedCallStillKeepsWhatTheModelWasToSee(t *testing.T) {
	a, _ := withModel(t, modeltest.Script{Rules: []modeltest.Rule{{Fault: &modeltest.Fault{Status: 500}}}})
	for _, id := range []string{"scripted", "no-key"} {
		in := stepOf("fix it")
		if in.Model = id; id == "no-key" {
			a.Models = model.New(model.Options{})
		}
		out, err := activityOf[agent.ModelStepResult](t, a.ModelStep, in)
		require.NoError(t, err)
		require.NotNil(t, out.Failure)
		require.NotEmpty(t, out.Head, "else the workflow has to keep what is pending, turn after turn")
		require.Equal(t, []model.Entry{{Kind: model.KindUser, Text: "fix it"}}, a.said(t, out.Head))
	}
}

// lateKey has a key only after it has been asked a few times.
type lateKey struct {
	Models
	missing int
}

func (m *lateKey) Get(id string) (model.Model, error) {
	if m.missing--; m.missing >= 0 {
		return nil, &model.Error{Kind: model.ErrNoKey, Message: "There is no API key."}
	}
	return m.Models.Get(id)
}

// A key that an editor gave to a worker is given to the next one a moment after that has begun.
func TestATurnThatIsTakenOverWaitsForItsKey(t *testing.T) {
	a, _ := withModel(t, modeltest.Script{Rules: []modeltest.Rule{{Respond: modeltest.Answer{Text: "Done."}}}})
	a.KeysBy = time.Now().Add(time.Minute)
	models := a.Models
	late := func() { a.Models = &lateKey{Models: models, missing: 3} }

	late()
	out, err := activityOf[agent.ModelStepResult](t, a.ModelStep, stepOf("begin"))
	require.NoError(t, err)
	require.NotNil(t, out.Failure, "who asks for the first time is told at once")

	late()
	in := stepOf("go on")
	in.Head = out.Head
	out, err = activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	require.Nil(t, out.Failure)

	late()
	a.KeysBy = time.Now()
	out, err = activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	require.NotNil(t, out.Failure, "a worker that has been there for a while has the keys that there are")
}
