// This file runs the conformance suite on the folders of this host.

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Suite{Open: func(t *testing.T) sandboxtest.Target { return target(t, newBackend(t)) }})
}

// target tells the suite how to look at and into a backend.
func target(t *testing.T, b *Backend) sandboxtest.Target {
	return sandboxtest.Target{
		Backend: b, Spec: sandbox.Spec{Workspace: t.TempDir()}, Other: t.TempDir(), Config: b.opts.StateDir,
		KillHelper: func(t *testing.T, ref sandbox.Ref) {
			require.NoError(t, syscall.Kill(helperOf(t, b, ref.ID), syscall.SIGKILL))
		},
		Processes: func(_ *testing.T, text string) int { return len(processes(text)) },
		Usage: func(t *testing.T, ref sandbox.Ref) sandboxtest.Usage {
			return sandboxtest.Usage{Memory: peakMemory(t, helperOf(t, b, ref.ID)), Disk: diskUsage(t, b.stateDir(ref.ID))}
		},
		Gone: func(t *testing.T, ref sandbox.Ref) {
			eventually(t, func() bool { return len(processes(b.stateDir(ref.ID))) == 0 })
			require.NoDirExists(t, b.stateDir(ref.ID))
		},
	}
}

// peakMemory returns the most bytes a process had resident.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	for line := range strings.Lines(content(t, filepath.Join("/proc", strconv.Itoa(pid), "status"))) {
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
