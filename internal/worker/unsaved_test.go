package worker

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/tools"
)

// holdFiles holds files until the returned function is called, which waits for the end of it.
func holdFiles(u *HeldFiles, holder string, n int64, files ...string) (release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.Hold(ctx, agent.HoldUnsaved{Holder: holder, N: n, Files: files})
	}()
	return func() { cancel(); <-ended }
}

func TestFilesAreHeldAsLongAsSomebodyHoldsThem(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	var u HeldFiles
	held := func(names ...string) {
		t.Helper()
		want := map[string]string{}
		for _, name := range names {
			want[name] = unsavedReason
		}
		require.Eventually(t, func() bool { return maps.Equal(u.in(dir, nil), want) }, 10*time.Second, time.Millisecond)
	}
	first := holdFiles(&u, "a", 1, path("x"), path("sub/y"), "/elsewhere/z")
	held("x", "sub/y")
	other := holdFiles(&u, "b", 1, path("x"))
	second := holdFiles(&u, "a", 2, path("new"))
	held("x", "new")
	first() // it was superseded, and ends without taking anything away
	held("x", "new")
	holdFiles(&u, "a", 1, path("late"))() // overtaken by what came after it
	held("x", "new")
	holdFiles(&u, "a", 3)() // saved: there is nothing to hold, so it ends by itself
	second()
	held("x")
	require.Equal(t, map[string]string{"x": "mine"}, u.in(dir, map[string]string{"x": "mine"}), "what was known keeps its reason")
	require.Equal(t, map[string]tools.Open{"x": {URI: "file://" + path("x")}}, u.open(dir))
	require.Empty(t, u.in("", nil), "no editor shows what is not on this host's disk")
	other()
	held()
}
