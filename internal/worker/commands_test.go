// This file tests how single commands are stopped and waited for.

package worker

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/mocks"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
	"sandboxagent/internal/tools"
)

// running starts a command in a container of a session that prints a line and then runs until it is ended.
func running(t *testing.T, a *Activities) agent.CommandInput {
	t.Helper()
	in := agent.CommandInput{
		Sandbox:   agent.Sandbox{SessionID: "s", HostID: "host", Backend: editors.Backend{Kind: editors.Docker}},
		CommandID: "s-i3", By: "vscode",
	}
	p := a.containers(t)
	sb, err := p.Open(t.Context(), sandbox.Spec{ID: in.ID()})
	require.NoError(t, err)
	box, ok := sb.(placed).Sandbox.(*fake.Sandbox)
	require.True(t, ok)
	box.Program("serve", func(p *fake.Process) int { p.Print("ready\n"); <-p.Context().Done(); return 0 })
	require.NoError(t, sb.Start(t.Context(), in.CommandID, sandbox.Command{Script: "serve"}))
	t.Cleanup(func() { _ = sb.Kill(t.Context(), in.CommandID) })
	return in
}

func TestACommandIsStoppedForAUserWhoIsRemembered(t *testing.T) {
	a := newActivities(t)
	in := running(t, a)
	end, err := activityOf[agent.CommandEnd](t, a.StopCommand, in)
	require.NoError(t, err)
	require.Equal(t, "vscode", end.StoppedBy)
	require.False(t, end.Already)
	require.Contains(t, end.How, "Stopped by the user (vscode) after")

	in.By = "nvim"
	end, err = activityOf[agent.CommandEnd](t, a.StopCommand, in)
	require.NoError(t, err)
	require.Equal(t, "vscode", end.StoppedBy)
	require.True(t, end.Already)

	end, err = activityOf[agent.CommandEnd](t, a.AwaitCommand, in)
	require.NoError(t, err)
	require.Contains(t, end.How, "Stopped by the user (vscode) after", "who waits for its end learns the same")
}

func TestNobodyWaitsForACommandThatIsNotThere(t *testing.T) {
	a := newActivities(t)
	in := running(t, a)
	in.CommandID = "nobody"
	_, err := activityOf[agent.CommandEnd](t, a.AwaitCommand, in)
	require.ErrorContains(t, err, "nobody")
}

func TestCommandsThatAreWaitedForLeaveRoomForOthers(t *testing.T) {
	a := newActivities(t)
	in := running(t, a)
	a.watched.Store(maxWatched)
	end, err := activityOf[agent.CommandEnd](t, a.AwaitCommand, in)
	require.NoError(t, err)
	require.Equal(t, agent.CommandEnd{Unwatched: true}, end)
	require.EqualValues(t, maxWatched, a.watched.Load())
}

func TestASessionIsToldThatItsCommandIsQuiet(t *testing.T) {
	client := &mocks.Client{}
	var told agent.QuietSignal
	client.On("SignalWorkflow", mock.Anything, "session/s", "", agent.SignalQuiet, mock.Anything).Run(func(args mock.Arguments) {
		told = args.Get(4).(agent.QuietSignal)
	}).Return(nil)
	a := &Activities{Client: client}
	a.tellQuiet(t.Context(), agent.RunToolInput{Sandbox: agent.Sandbox{SessionID: "s"}, ItemID: "i3"}, tools.Quiet{Asks: true})
	require.Equal(t, agent.QuietSignal{ItemID: "i3", Asks: true}, told)
}
