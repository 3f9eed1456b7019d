//go:build linux

// This file runs the conformance suite on sandboxes of the stand-in.

package daytona

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
	"sandboxagent/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if daytonatest.Invoked() {
		os.Exit(daytonatest.Daemon())
	}
	sandboxtest.Worker(fromDescription)
	os.Exit(sandboxtest.Main(m))
}

// newBackend makes a backend on a server, which holds nothing of it after the test.
func newBackend(t testing.TB, s *daytonatest.Server, change ...func(*Options)) *Backend {
	t.Helper()
	o := Options{
		APIKey: func() string { return daytonatest.DefaultKey }, APIURL: s.URL, HelperBinary: sandboxtest.Helper(t),
	}
	for _, f := range change {
		f(&o)
	}
	b, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Suite{Open: func(t *testing.T) sandboxtest.Target {
		s := daytonatest.New(t, daytonatest.Options{})
		b := newBackend(t, s)
		return sandboxtest.Target{
			Backend: b, Config: describe(t, b),
			KillHelper: func(t *testing.T, ref sandbox.Ref) {
				require.NoError(t, syscall.Kill(helperOf(t, s, ref.ID), syscall.SIGKILL))
			},
			Processes: func(_ *testing.T, text string) int { return len(cloudtest.Matching(text)) },
			Usage: func(t *testing.T, ref sandbox.Ref) sandboxtest.Usage {
				return sandboxtest.Usage{Memory: peakMemory(t, helperOf(t, s, ref.ID)), Disk: diskUsage(t, filepath.Join(homeOf(t, s, ref.ID), cloud.StateDir))}
			},
			Gone: func(t *testing.T, ref sandbox.Ref) { require.Empty(t, sandboxesOf(s, ref.ID)) },
		}
	}})
}

// describe tells another process how to make the backend; fromDescription does so there.
func describe(t *testing.T, b *Backend) string {
	t.Helper()
	text, err := json.Marshal([]string{b.opts.APIURL, b.opts.Root, b.opts.HelperBinary})
	require.NoError(t, err)
	return string(text)
}

func fromDescription(text string) (sandbox.Backend, error) {
	var d [3]string
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, err
	}
	return New(Options{
		APIKey: func() string { return daytonatest.DefaultKey }, APIURL: d[0], Root: d[1], HelperBinary: d[2],
	})
}

func sandboxesOf(s *daytonatest.Server, id string) (mine []daytonatest.Sandbox) {
	for _, one := range s.Sandboxes() {
		if one.Labels[cloud.LabelSession] == id {
			mine = append(mine, one)
		}
	}
	return mine
}

func homeOf(t *testing.T, s *daytonatest.Server, id string) string {
	t.Helper()
	mine := sandboxesOf(s, id)
	require.Len(t, mine, 1)
	return mine[0].Home
}

// helperOf returns the process id of the helper that serves in a sandbox.
func helperOf(t *testing.T, s *daytonatest.Server, id string) int {
	t.Helper()
	pids := cloudtest.Matching("serve --state " + homeOf(t, s, id) + "/")
	require.Len(t, pids, 1)
	return pids[0]
}

// peakMemory returns the most bytes a process had resident.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return kb << 10
		}
	}
	require.Fail(t, "no VmHWM")
	return 0
}

func diskUsage(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	require.NoError(t, filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			bytes += info.Size()
		}
		return nil
	}))
	return bytes
}
