// Package sandboxtest is the test of the contract of package sandbox: the same cases for every backend, or what its
// capabilities say instead. A backend's own test calls Run:
//
//	func TestMain(m *testing.M) {
//		sandboxtest.Worker(func(config string) (sandbox.Backend, error) { … }) // only where commands outlive the worker
//		os.Exit(m.Run())
//	}
//
//	func TestConformance(t *testing.T) {
//		sandboxtest.Run(t, sandboxtest.Suite{Open: func(t *testing.T) sandboxtest.Target { … }})
//	}
//
// Sizes are moderate unless SANDBOX_TEST_FULL=1. Where no sandbox can be made, the backend's test skips; the suite does not.
//
// This file is the entry point.
package sandboxtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

// Suite says what to test.
type Suite struct {
	// Open makes a backend for one test, with nothing in it, and a workspace for it, empty. It cleans up by t.Cleanup, after
	// the suite has destroyed what it opened. It is called a dozen times, also at the same time.
	Open func(t *testing.T) Target
}

// Target is what one test works on. Only Backend is required.
type Target struct {
	Backend sandbox.Backend
	Spec    sandbox.Spec // what to open; the suite gives the ID unless one is set
	// Other is another workspace that could be opened; empty where a backend has no folders to choose from.
	Other string
	// Simulated: commands are simulated, in this process, by a shell with few programs. Cases that need real ones are left out.
	Simulated bool
	// Config is what Worker needs to make the same backend in another process.
	Config string
	// KillHelper kills what supervises the commands of the sandbox, at once and without warning.
	KillHelper func(t *testing.T, ref sandbox.Ref)
	// Processes counts the processes with text in their command line, looking from outside the sandboxes.
	Processes func(t *testing.T, text string) int
	// Usage measures what the sandbox takes beside its commands.
	Usage func(t *testing.T, ref sandbox.Ref) Usage
	// Gone fails the test unless nothing is left of a sandbox that was destroyed.
	Gone func(t *testing.T, ref sandbox.Ref)
	// Inject makes something go wrong with a coming call; nil where nothing can be made to.
	Inject func(ref sandbox.Ref, f fake.Fault)
}

// Usage is what a sandbox takes.
type Usage struct {
	Memory int64 // most bytes its helper had resident
	Disk   int64 // bytes of its state
}

// Run runs every case.
func Run(t *testing.T, s Suite) {
	for _, c := range bulkCases { // first, because they look at how much memory this process uses
		t.Run("bulk/"+c.name, func(t *testing.T) { runAlone(t, s, c) })
	}
	for _, g := range shared {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			runShared(t, s, g)
		})
	}
	for _, g := range alone {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			if g.name == faultsName && s.Open(t).Inject == nil {
				t.Skip("nothing can be made to go wrong here")
			}
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					runAlone(t, s, c)
				})
			}
		})
	}
}

// shared are the cases that share a sandbox, each in a directory of its own and beside the others.
var shared = []group{
	{"exec", execCases},
	{"output", outputCases},
	{"input", inputCases},
	{"terminal", terminals()},
	{"asks", asksCases},
	{"kill", killCases},
	{"paths", pathCases},
	{"files", fileCases},
	{"apply", applyCases},
}

// alone are the cases that get a sandbox of their own.
var alone = []group{
	{"lifecycle", lifecycleCases},
	{"once", onceCases},
	{faultsName, faultCases},
}

type group struct {
	name  string
	cases []testCase
}

// testCase is one thing that must hold.
type testCase struct {
	name string
	real bool // needs real processes and programs
	run  func(e *env)
}

func (c testCase) skip(t *testing.T, target Target) {
	if c.real && target.Simulated {
		t.Skip("needs real processes")
	}
}

func runShared(t *testing.T, s Suite, g group) {
	first := open(t, s.Open(t))
	var dirs []string
	for i := range g.cases {
		dirs = append(dirs, fmt.Sprintf("case%d", i))
	}
	first.succeed("mkdir -p " + strings.Join(dirs, " "))
	for i, c := range g.cases {
		t.Run(c.name, func(t *testing.T) {
			c.skip(t, first.Target)
			t.Parallel()
			e := *first
			e.T, e.dir = t, dirs[i]
			c.run(&e)
		})
	}
}

func runAlone(t *testing.T, s Suite, c testCase) {
	target := s.Open(t)
	c.skip(t, target)
	c.run(open(t, target))
}

// open opens the sandbox of a target, which is destroyed at the end of the test.
func open(t *testing.T, target Target) *env {
	t.Helper()
	if target.Spec.ID == "" {
		target.Spec.ID = "sandbox of " + t.Name()
	}
	box, err := target.Backend.Open(t.Context(), target.Spec)
	require.NoError(t, err)
	e := &env{T: t, Target: target, box: box, caps: target.Backend.Capabilities(), ids: new(counter)}
	t.Cleanup(func() { e.destroy(box.Ref()) })
	return e
}

// full reports whether the slow suites were asked for.
func full() bool { return os.Getenv("SANDBOX_TEST_FULL") == "1" }
