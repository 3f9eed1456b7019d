// This file tries every way of confinement on this machine, and what is said where there is none.

package confine_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

func TestMain(m *testing.M) {
	if helper.Invoked(os.Args) {
		os.Exit(helper.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func probe(t *testing.T, level confine.Level, methods ...confine.Method) (confine.Report, error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	return confine.Probe(t.Context(), confine.Wanted{Level: level, Methods: methods, Program: self, Scratch: t.TempDir()}, confine.Host{Home: home, Env: os.Environ()})
}

func TestProbe(t *testing.T) {
	for _, method := range confine.Methods() {
		for _, level := range []confine.Level{confine.LevelFS, confine.LevelFull} {
			t.Run(string(method)+" "+string(level), func(t *testing.T) {
				report, err := probe(t, level, method)
				if err != nil {
					t.Skipf("not possible here: %v", err)
				}
				require.Equal(t, method, report.Method)
				t.Log(report)
			})
		}
	}
}

func TestProbeRefuses(t *testing.T) {
	_, err := probe(t, "everything")
	require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err))
	_, err = probe(t, confine.LevelFull, confine.Seatbelt)
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "not possible")
	require.ErrorContains(t, err, "bubblewrap")
	require.ErrorContains(t, err, `confinement = "none"`)
	report, err := probe(t, confine.LevelNone)
	require.NoError(t, err)
	require.Equal(t, confine.Nothing, report.Method)
	require.Contains(t, report.String(), "not confined")
}
