// This file tests which folders other sessions are known to have.

package worker

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

// answering answers a query as Temporal does.
func answering(t *testing.T, c *mocks.Client, workflow string, arg, answer any, err error) {
	t.Helper()
	p, perr := converter.GetDefaultDataConverter().ToPayloads(answer)
	require.NoError(t, perr)
	c.On("QueryWorkflow", mock.Anything, workflow, "", mock.Anything, arg).Return(client.NewValue(p), err)
}

func TestTheFoldersOfOtherSessions(t *testing.T) {
	local := func(root string) editors.Backend { return editors.Backend{Kind: editors.Local, WorkspaceRoot: root} }
	docker := editors.Backend{Kind: editors.Docker}
	c := mocks.NewClient(t)
	first := session.ListRequest{IncludeForks: true, Limit: registryPage}
	second := first
	second.Cursor = "next"
	answering(t, c, session.ManagerID("me"), first, session.ListResult{NextCursor: "next", Sessions: []editors.Session{
		{ID: "mine", HostID: "h", WorkspaceFolder: "file:///mine", Backend: local("")},
		{ID: "far", HostID: "elsewhere", WorkspaceFolder: "file:///far", Backend: local("")},
		{ID: "away", HostID: "h", WorkspaceFolder: "file:///the%20home", Backend: docker},
		{ID: "moved", HostID: "h", WorkspaceFolder: "file:///left", Backend: local("/into")},
	}}, nil)
	answering(t, c, session.ManagerID("me"), second, session.ListResult{Sessions: []editors.Session{
		{ID: "fork", ParentID: "mine", HostID: "h", WorkspaceFolder: "file:///mine", Backend: local("/forks/fork/mine")},
		{ID: "boxed", ParentID: "mine", HostID: "h", WorkspaceFolder: "file:///mine", Backend: docker},
		{ID: "gone", ParentID: "mine", HostID: "h", WorkspaceFolder: "file:///mine", Backend: docker},
	}}, nil)
	answering(t, c, agent.WorkflowID("boxed"), mock.Anything, agent.View{Home: "/chosen"}, nil)
	answering(t, c, agent.WorkflowID("gone"), mock.Anything, agent.View{}, serviceerror.NewNotFound("gone"))
	folders, err := temporalSessions{c}.Folders(t.Context(), "me", "h", "mine")
	require.NoError(t, err)
	require.Equal(t, []string{"/the home", "/into", "/left", "/forks/fork/mine", "/chosen"}, folders)

	answering(t, c, session.ManagerID("nobody"), first, session.ListResult{}, serviceerror.NewNotFound("no registry"))
	folders, err = temporalSessions{c}.Folders(t.Context(), "nobody", "h", "mine")
	require.NoError(t, err)
	require.Empty(t, folders)
	answering(t, c, session.ManagerID("late"), first, session.ListResult{}, serviceerror.NewUnavailable("Temporal is away"))
	_, err = temporalSessions{c}.Folders(t.Context(), "late", "h", "mine")
	require.ErrorContains(t, err, "Temporal is away")
}
