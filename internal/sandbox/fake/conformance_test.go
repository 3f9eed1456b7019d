// This file runs the conformance suite on sandboxes in memory.

package fake_test

import (
	"testing"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
	"sandboxagent/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Suite{Open: func(*testing.T) sandboxtest.Target {
		b := fake.NewBackend()
		return sandboxtest.Target{
			Backend: b, Simulated: true,
			Inject: func(ref sandbox.Ref, f fake.Fault) { b.Inject(ref.ID, f) },
		}
	}})
}
