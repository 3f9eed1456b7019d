//go:build linux

// This file tests what is asked of Daytona, and what it tells.

package daytona

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
)

func TestList(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Page: 1})
	b := newBackend(t, s)
	for _, spec := range []sandbox.Spec{
		{ID: "b & c=d é", Owner: "one", Realm: "r"},
		{ID: "a", Owner: "other"},
	} {
		_, err := b.Open(t.Context(), spec)
		require.NoError(t, err)
	}
	_, f := b.call(t.Context(), opOpen, "POST", "/sandbox", map[string]any{"labels": map[string]string{"somebody": "else"}}, false)
	require.NoError(t, f.Fault())
	all, err := b.List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "a", all[0].ID)
	require.WithinDuration(t, time.Now(), all[0].Made, patience)
	mine, err := b.List(t.Context(), "one")
	require.NoError(t, err)
	require.Len(t, mine, 1)
	require.Equal(t, "b & c=d é", mine[0].ID)
	require.Equal(t, "r", mine[0].Realm)
	require.Equal(t, "b & c=d é", open(t, newBackend(t, s), "b & c=d é").Ref().ID)
	require.Equal(t, 3, s.Created())
}

// What a sandbox is made of and may do, as Daytona is told.
func TestWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Snapshots: []string{"mine:v1"}})
	b := newBackend(t, s, func(o *Options) {
		o.Offline, o.Timeout, o.Archive, o.Delete, o.Target = true, time.Hour, 90*time.Second, 48*time.Hour, "eu"
		o.Image, o.Resources = "debian:12", Resources{CPU: 2, Memory: 4, Disk: 8}
	})
	require.False(t, b.Capabilities().Network)
	var notes []string
	box, err := b.Open(t.Context(), sandbox.Spec{ID: "s", Workspace: "/home/me/secret project", Notify: func(text string) { notes = append(notes, text) }})
	require.NoError(t, err)
	require.Equal(t, []string{"A new Daytona sandbox is made.", "Daytona is preparing the sandbox, which may take minutes."}, notes)
	asked := s.Sandboxes()[0].Request
	for _, want := range []string{
		`"dockerfileContent":"FROM debian:12\n"`, `"cpu":2`, `"memory":4`, `"disk":8`, `"autoStopInterval":60`, `"autoArchiveInterval":2`,
		`"autoDeleteInterval":2880`, `"target":"eu"`, `"networkBlockAll":true`, `"public":false`, `"name":"` + nameOf("s") + `"`,
	} {
		require.Contains(t, asked, want)
	}
	require.NotContains(t, asked, "secret project", "paths of this machine stay here")
	err = box.Start(t.Context(), "c", sandbox.Command{Script: "true", Network: true})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))

	_, err = b.Open(t.Context(), sandbox.Spec{ID: "other", Image: "snapshot:mine:v1"})
	require.NoError(t, err)
	for _, one := range s.Sandboxes() {
		if one.Labels[cloud.LabelSession] == "other" {
			require.Contains(t, one.Request, `"snapshot":"mine:v1"`)
			require.NotContains(t, one.Request, "cpu")
		}
	}
	for _, bad := range []string{"snapshot:", "a b", "x\nRUN rm -rf /", "-x"} {
		_, err = b.Open(t.Context(), sandbox.Spec{ID: "third", Image: bad})
		require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err), bad)
	}
	require.Len(t, s.Sandboxes(), 2)
}

func TestTooManySandboxes(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Most: 1})
	b := newBackend(t, s)
	box := open(t, b, "s")
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "other"})
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(err))
	require.NoError(t, b.Stop(t.Context(), box.Ref()))
	open(t, b, "other")
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(box.Health(t.Context())), "nor can it be started again")
}

func TestOptions(t *testing.T) {
	key := func() string { return "k" }
	for says, o := range map[string]Options{
		"where the API key is":  {},
		"DAYTONA_API_URL":       {APIKey: key, APIURL: "app.daytona.io"},
		"absolute path":         {APIKey: key, Root: "workspace"},
		"1 minute and 24 hours": {APIKey: key, Timeout: time.Second},
		"between 1 minute and":  {APIKey: key, Timeout: 25 * time.Hour},
		"archived and deleted":  {APIKey: key, Delete: -time.Minute},
		"cannot be negative":    {APIKey: key, Resources: Resources{CPU: -1}},
		"not of both":           {APIKey: key, Snapshot: "a", Image: "b"},
		"no image or snapshot":  {APIKey: key, Image: "a b"},
	} {
		_, err := New(o)
		require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err), says)
		require.ErrorContains(t, err, says)
	}
	b, err := New(Options{APIKey: key, APIURL: "https://daytona.example/api/"})
	require.NoError(t, err)
	require.Equal(t, "https://daytona.example/api", b.opts.APIURL)
}
