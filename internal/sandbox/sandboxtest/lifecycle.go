// These cases are about opening, closing and destroying sandboxes.

package sandboxtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var lifecycleCases = []testCase{
	{name: "open again", run: opensAgain},
	{name: "open at the same time", run: opensAtOnce},
	{name: "open refuses", run: refusesToOpen},
	{name: "close keeps everything", run: closesOnly},
	{name: "destroy ends everything", real: true, run: destroysEverything},
	{name: "destroy is final", run: destroysForGood},
	{name: "destroy races with open", run: destroysWhileOpening},
	{name: "two sandboxes know nothing of each other", run: keepsSandboxesApart},
	{name: "what was made is listed", run: listsWhatItMade},
	{name: "begin empty", run: beginsEmpty},
	{name: "environment of the sandbox", run: passesTheEnvironment},
	{name: "where the workspace is", real: true, run: knowsWhereItIs},
	{name: "servers", real: true, run: showsServers},
	{name: "health", run: isHealthy},
	{name: "after the end of a context", run: outlivesContexts},
}

// again opens the sandbox once more, to be closed at the end of the test.
func (e *env) again() sandbox.Sandbox {
	e.Helper()
	box, err := e.Backend.Open(e.Context(), e.Spec)
	require.NoError(e, err)
	e.Cleanup(func() { _ = box.Close() })
	return box
}

func opensAgain(e *env) {
	e.put("f", "x")
	other := e.again()
	require.Equal(e, e.box.Ref(), other.Ref())
	require.Equal(e, e.Backend.Kind(), other.Ref().Kind)
	require.Equal(e, e.Spec.ID, other.Ref().ID)
	f, err := other.ReadFile(e.Context(), "f", 0, 10)
	require.NoError(e, err)
	require.Equal(e, "x", string(f.Data))
	id := e.start(sandbox.Command{Script: "read x; echo got $x", Stdin: true})
	require.NoError(e, other.Input(e.Context(), id, []byte("it\n"), true))
	require.Zero(e, awaitIn(e.T, other, id).ExitCode)
	require.Equal(e, "got it\n", e.read(id, sandbox.Stdout))
}

func knowsWhereItIs(e *env) {
	b, elsewhere := e.Backend.(sandbox.Elsewhere)
	if !elsewhere {
		require.Equal(e, sandbox.KindLocal, e.Backend.Kind(), "only there it is the user's own folder")
		return
	}
	require.Equal(e, e.root(), b.Root(e.box.Ref()))
}

func showsServers(e *env) {
	b, ok := e.Backend.(sandbox.Previewer)
	require.True(e, ok)
	port := freePort(e)
	_, err := b.Preview(e.Context(), e.box.Ref(), 65536)
	e.class(sandbox.ClassInvalid, err)
	to, err := b.Preview(e.Context(), e.box.Ref(), port)
	if sandbox.ClassOf(err) == sandbox.ClassUnsupported {
		require.False(e, e.caps.Network, "nobody gets in only where nobody gets out")
		return
	}
	require.NoError(e, err)
	if e.script("command -v python3").ExitCode != 0 {
		e.Skip("python3 is not installed")
	}
	e.put("page", "served")
	e.start(sandbox.Command{Script: "exec python3 -m http.server $PORT", Env: []string{"PORT=" + strconv.Itoa(port)}, Dir: e.dir, Network: true})
	require.Eventually(e, func() bool { return fetch(e, to, "/page") == "served" }, patience, 50*time.Millisecond)
}

// freePort returns a port on which nobody listens on this machine, which some sandboxes share.
func freePort(e *env) int {
	e.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(e, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// fetch returns what is at an address, "" while there is nothing.
func fetch(e *env, at sandbox.Address, path string) string {
	r, err := http.NewRequestWithContext(e.Context(), http.MethodGet, at.URL+path, nil)
	require.NoError(e, err)
	for name, value := range at.Header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

func opensAtOnce(e *env) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			box, err := e.Backend.Open(context.Background(), e.Spec)
			if err != nil {
				e.Error(err)
				return
			}
			defer box.Close()
			if err := box.Start(context.Background(), "once", sh("echo run >> count")); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	e.await("once")
	require.Equal(e, "run\n", e.get("count"))
}

func refusesToOpen(e *env) {
	for name, id := range map[string]string{"no id": "", "long id": strings.Repeat("x", sandbox.MaxID+1), "id of any bytes": "a\xff"} {
		spec := e.Spec
		spec.ID = id
		_, err := e.Backend.Open(e.Context(), spec)
		e.class(sandbox.ClassInvalid, err, name)
	}
	if e.Other != "" {
		spec := e.Spec
		spec.Workspace = e.Other
		_, err := e.Backend.Open(e.Context(), spec)
		e.class(sandbox.ClassConflict, err, "another workspace")
		spec.ID, spec.Workspace = "other", e.Other+"/none"
		_, err = e.Backend.Open(e.Context(), spec)
		e.class(sandbox.ClassNotFound, err, "no workspace")
	}
	require.NoError(e, e.box.Health(e.Context()), "the sandbox that is open does not mind")
}

func closesOnly(e *env) {
	id := e.start(sandbox.Command{Script: "echo one; read x; echo two", Stdin: true})
	e.awaitOutput(id, "one")
	require.NoError(e, e.box.Close())
	require.NoError(e, e.box.Close())
	e.class(sandbox.ClassInvalid, e.box.Health(e.Context()), "closed")
	e.class(sandbox.ClassInvalid, e.box.Start(e.Context(), "x", sh("true")), "closed")
	e.box = e.again()
	e.awaitOutput(id, "one")
	require.NoError(e, e.box.Input(e.Context(), id, []byte("\n"), true))
	require.Zero(e, e.await(id).ExitCode)
	require.Equal(e, "one\ntwo\n", e.read(id, sandbox.Stdout), "it went on")
}

func destroysEverything(e *env) {
	e.put("mine", "x")
	id, mark := e.startHostile(0)
	e.awaitOutput(id, "started")
	background := e.start(marked("setsid sleep $M >/dev/null 2>&1 & echo", mark))
	e.await(background)
	require.GreaterOrEqual(e, e.processes(mark), 7)
	require.NoError(e, e.Backend.Destroy(e.Context(), e.box.Ref()))
	if e.Processes != nil {
		require.Zero(e, e.Processes(e.T, mark))
	}
	if e.Gone != nil {
		e.Gone(e.T, e.box.Ref())
	}
}

func destroysForGood(e *env) {
	ctx, ref := e.Context(), e.box.Ref()
	require.NoError(e, e.box.Start(ctx, "c", sh("echo one")))
	e.await("c")
	require.NoError(e, e.Backend.Destroy(ctx, ref))
	require.NoError(e, e.Backend.Destroy(ctx, ref))
	require.NoError(e, e.Backend.Destroy(ctx, sandbox.Ref{Kind: e.Backend.Kind(), ID: "never"}))
	e.class(sandbox.ClassNotFound, e.box.Health(ctx), "a stale sandbox does not bring it back")
	e.class(sandbox.ClassNotFound, e.box.Start(ctx, "d", sh("true")))
	if e.Gone != nil {
		e.Gone(e.T, ref)
	}
	e.box = e.again()
	_, err := e.box.Wait(ctx, "c", sandbox.Offsets{}, 0)
	e.class(sandbox.ClassNotFound, err, "the new one remembers nothing")
	require.NoError(e, e.box.Start(ctx, "c", sh("echo two")))
	e.await("c")
	require.Equal(e, "two\n", e.read("c", sandbox.Stdout))
}

func destroysWhileOpening(e *env) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			box, err := e.Backend.Open(context.Background(), e.Spec)
			if err == nil {
				_ = box.Health(context.Background())
				_ = box.Close()
			}
		})
		wg.Go(func() {
			if err := e.Backend.Destroy(context.Background(), e.box.Ref()); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(e, e.Backend.Destroy(e.Context(), e.box.Ref()))
	e.box = e.again()
	require.Equal(e, "fine\n", e.script("echo fine").out)
}

func keepsSandboxesApart(e *env) {
	spec := e.Spec
	spec.ID += " (other)"
	if e.Other != "" {
		spec.Workspace = e.Other
	}
	box, err := e.Backend.Open(e.Context(), spec)
	require.NoError(e, err)
	other := *e
	other.box, other.Spec = box, spec
	e.Cleanup(func() { other.destroy(box.Ref()) })
	for _, one := range []*env{e, &other} {
		require.NoError(e, one.box.Start(e.Context(), "same id", sh("echo "+itoa(len(one.Spec.ID))+" > f; cat f")))
	}
	for _, one := range []*env{e, &other} {
		one.await("same id")
		require.Equal(e, itoa(len(one.Spec.ID))+"\n", one.read("same id", sandbox.Stdout))
	}
	require.NoError(e, e.Backend.Destroy(e.Context(), box.Ref()))
	require.Equal(e, itoa(len(e.Spec.ID))+"\n", e.succeed("cat f"), "the other one's end changes nothing here")
}

func passesTheEnvironment(e *env) {
	require.NoError(e, e.box.Close())
	e.Spec.Env = []string{"A=sandbox", "B=sandbox"}
	e.box = e.again()
	r := e.run(sandbox.Command{Script: `echo "$A $B"`, Env: []string{"B=command"}})
	require.Equal(e, "sandbox command\n", r.out)
}

func isHealthy(e *env) {
	require.NoError(e, e.Backend.Available(e.Context()))
	require.NoError(e, e.box.Health(e.Context()))
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	e.class(sandbox.ClassCanceled, e.box.Health(ctx))
	caps := e.Backend.Capabilities()
	require.Contains(e, []string{"none", "fs", "fs+net", "container"}, caps.Confinement)
	require.Equal(e, caps, e.Backend.Capabilities())
}

func outlivesContexts(e *env) {
	ctx, cancel := context.WithCancel(e.Context())
	id := e.id()
	require.NoError(e, e.box.Start(ctx, id, sandbox.Command{Script: "read x; echo $x", Stdin: true}))
	cancel()
	require.NoError(e, e.box.Input(e.Context(), id, []byte("on\n"), true))
	require.Zero(e, e.await(id).ExitCode, "a command does not end with the context it was started with")
	e.class(sandbox.ClassCanceled, e.box.Start(ctx, e.id(), sh("true")))
	e.class(sandbox.ClassCanceled, e.box.Apply(ctx, e.id(), []sandbox.Edit{{Path: "f", Content: []byte("x")}}))
}

// beginsEmpty opens a sandbox that is not to begin as a copy, also of a folder that is not there.
func beginsEmpty(e *env) {
	if e.Backend.Kind() == sandbox.KindLocal {
		e.Skip("this backend works in the folder itself")
	}
	dir := e.TempDir()
	require.NoError(e, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for n, workspace := range []string{dir, filepath.Join(dir, "none")} {
		spec := e.Spec
		spec.ID, spec.Workspace, spec.Empty = fmt.Sprintf("%s.empty%d", e.Spec.ID, n), workspace, true
		box, err := e.Backend.Open(e.Context(), spec)
		require.NoError(e, err)
		e.Cleanup(func() { _ = e.Backend.Destroy(context.Background(), box.Ref()) })
		l, err := box.List(e.Context(), "", 1, 0)
		require.NoError(e, err)
		require.Empty(e, l.Entries)
		spec.Empty = false // heeded by a new sandbox only
		again, err := e.Backend.Open(e.Context(), spec)
		require.NoError(e, err)
		l, err = again.List(e.Context(), "", 1, 0)
		require.NoError(e, err)
		require.Empty(e, l.Entries)
		require.NoError(e, again.Close())
		require.NoError(e, box.Close())
	}
}

func listsWhatItMade(e *env) {
	backend, ok := e.Backend.(sandbox.Lister)
	if !ok {
		e.Skip("this backend cannot tell what it has made")
	}
	spec := e.Spec
	spec.ID, spec.Owner, spec.Realm = e.Spec.ID+".listed", "somebody", "a realm"
	listed := func(owner string) (mine []sandbox.Found) {
		e.Helper()
		all, err := backend.List(e.Context(), owner)
		require.NoError(e, err)
		for _, f := range all {
			if f.ID == spec.ID {
				mine = append(mine, f)
			}
		}
		return mine
	}
	box, err := e.Backend.Open(e.Context(), spec)
	require.NoError(e, err)
	require.NoError(e, box.Close())
	found := listed("")
	require.Len(e, found, 1)
	require.Equal(e, "somebody", found[0].Owner)
	require.Equal(e, "a realm", found[0].Realm)
	require.Equal(e, e.Backend.Kind(), found[0].Kind)
	require.False(e, found[0].Made.IsZero())
	require.Len(e, listed("somebody"), 1)
	require.Empty(e, listed("nobody"))
	require.NoError(e, e.Backend.Destroy(e.Context(), found[0].Ref))
	require.Empty(e, listed(""))
}
