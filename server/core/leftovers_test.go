// This file tests what the doctor says of sandboxes without sessions.

package core

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/workerproc"
)

func TestLeftovers(t *testing.T) {
	core := testCore(t, newFakeEngine())
	require.Empty(t, core.checkLeftovers(t.Context()), "no worker runs")
	release, err := workerproc.Hold(t.Context(), core.opts.Paths.WorkerLock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = release() })
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	answer := "{}"
	hub.Handle(CallOrphans, func(context.Context, editors.Raw) (any, error) { return editors.Raw(answer), nil })

	answer = `[]`
	found := core.checkLeftovers(t.Context())
	require.Equal(t, checkWarning, found[0].Status)
	require.Contains(t, found[0].Detail, "does not tell")

	answer = `{"orphans":[],"problems":["no engine"]}`
	found = core.checkLeftovers(t.Context())
	require.Len(t, found, 1)
	require.Equal(t, checkWarning, found[0].Status, "what was not looked at is not fine")
	require.Contains(t, found[0].Detail, "not looked at: no engine")
	require.NotEmpty(t, found[0].Remedy)

	answer = `{"orphans":[{"kind":"docker","id":"s1","reason":"r"}],"problems":["1","2","3","4","5","6","7"]}`
	found = core.checkLeftovers(t.Context())
	require.Len(t, found, 2)
	require.Equal(t, "not looked at: 1; 2; 3; 4; 5; and 2 more", found[0].Detail)
	require.Contains(t, found[1].Detail, "docker s1 (r)")

	answer = `{"orphans":[]}`
	found = core.checkLeftovers(t.Context())
	require.Len(t, found, 1)
	require.Equal(t, checkOK, found[0].Status)

	answer = `{"orphans":[{"kind":"docker","id":"s1.2","reason":"its session has left it","removable":true}]}`
	found = core.checkLeftovers(t.Context())
	require.Equal(t, checkWarning, found[0].Status)
	require.Equal(t, "no session needs: docker s1.2 (its session has left it)", found[0].Detail)
	require.NotContains(t, found[0].Remedy, "docker rm")

	answer = `{"orphans":[`
	for n := range maxLeftovers + 2 {
		answer += fmt.Sprintf(`{"kind":"fork","id":"/f/%d","reason":"r"},`, n)
	}
	answer = answer[:len(answer)-1] + "]}"
	found = core.checkLeftovers(t.Context())
	require.Contains(t, found[0].Detail, "/f/4 (r), and 2 more")
	require.Contains(t, found[0].Remedy, "docker rm")
}
