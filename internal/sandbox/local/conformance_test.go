// This file runs the conformance suite on the folders of this host.

package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
	"sandboxagent/internal/sandbox/sandboxtest"
)

// jails are the kinds of confinement that the suite runs in. What is not possible here is skipped.
func jails() []description {
	all := []description{{Level: confine.LevelNone}, {Level: confine.LevelFull}}
	if os.Getenv("SANDBOX_TEST_FULL") != "1" {
		return all
	}
	for _, way := range confine.Methods() {
		all = append(all, description{Level: confine.LevelFS, Methods: []confine.Method{way}})
	}
	return all
}

func TestConformance(t *testing.T) {
	for _, jail := range jails() {
		t.Run(jail.String(), func(t *testing.T) {
			sandboxtest.Run(t, sandboxtest.Suite{Open: func(t *testing.T) sandboxtest.Target {
				return target(t, newBackendWith(t, jail.Level, jail.Methods...))
			}})
		})
	}
}

// description is what another process needs to make the same backend.
type description struct {
	State   string
	Level   confine.Level
	Methods []confine.Method
}

// String names the confinement.
func (d description) String() string {
	if len(d.Methods) == 0 {
		return string(d.Level)
	}
	return fmt.Sprint(d.Level, " by ", d.Methods[0])
}

func describe(t *testing.T, b *Backend) string {
	t.Helper()
	text, err := json.Marshal(description{b.opts.StateDir, b.opts.Confinement, b.opts.Methods})
	require.NoError(t, err)
	return string(text)
}

func fromDescription(text string) (sandbox.Backend, error) {
	var d description
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, err
	}
	return New(Options{StateDir: d.State, HelperBinary: selfPath(), HostID: "host", Confinement: d.Level, Methods: d.Methods})
}

// target tells the suite how to look at and into a backend.
func target(t *testing.T, b *Backend) sandboxtest.Target {
	return sandboxtest.Target{
		Backend: b, Spec: sandbox.Spec{Workspace: t.TempDir()}, Other: t.TempDir(), Config: describe(t, b),
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
