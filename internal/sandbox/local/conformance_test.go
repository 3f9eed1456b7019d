// This file runs the conformance suite on the folders of this host.

package local

import (
	"testing"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Suite{Open: func(t *testing.T) sandboxtest.Target {
		b := newBackend(t)
		return sandboxtest.Target{
			Backend: b, Spec: sandbox.Spec{Workspace: t.TempDir()}, Other: t.TempDir(), Config: b.opts.StateDir,
		}
	}})
}
