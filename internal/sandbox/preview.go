// This file defines how servers that run in sandboxes are reached from outside.

package sandbox

import (
	"context"
	"time"
)

// Previewer is a Backend whose sandboxes' servers can be reached from this machine.
type Previewer interface {
	// Preview returns where a server that listens, now or later, on a port of a sandbox can be reached. It wakes the sandbox
	// and never makes one (ClassNotFound). Ports out of range are ClassInvalid, and where the settings let nobody in,
	// ClassUnsupported says which of them would.
	Preview(ctx context.Context, ref Ref, port int) (Address, error)
}

// Address is where a server in a sandbox can be reached. It may hold secrets: whoever has it gets in.
type Address struct {
	URL    string
	Header map[string]string // what every request must carry
	Until  time.Time         // when it ceases to be good; zero: with the sandbox
}

// CheckPort returns an Error unless the port is one.
func CheckPort(op string, port int) error {
	if port < 1 || port > 65535 {
		return Errorf(ClassInvalid, op, "%d is no port: give one from 1 to 65535", port)
	}
	return nil
}
