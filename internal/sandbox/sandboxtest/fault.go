// This file names what can be made to go wrong with a call.

package sandboxtest

// Fault is something that goes wrong with one call.
type Fault struct {
	Op   string // the method of sandbox.Sandbox whose next call it befalls
	Kind FaultKind
	Step int // Crash, DiskFull: how many edits of an Apply were made before
}

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of fault.
const (
	LostReply FaultKind = "lost reply"     // the call does its work and fails with ClassUnknown
	Lost      FaultKind = "lost call"      // the call does nothing and fails with ClassUnavailable
	Duplicate FaultKind = "duplicate call" // the call does its work twice
	Slow      FaultKind = "slow"           // the call waits until its ctx ends, and then does its work all the same
	DiskFull  FaultKind = "disk full"      // the call fails with ClassLimit
	Crash     FaultKind = "crash"          // the sandbox dies in the call, which fails with ClassUnavailable
)
