// This file tells where servers that commands have started are reached.

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

const opPreview = "preview"

var _ sandbox.Previewer = (*Backend)(nil)

// Preview implements sandbox.Previewer. Commands that may use the network share this machine's; the others have a loopback of
// their own, which nobody else reaches.
func (b *Backend) Preview(_ context.Context, ref sandbox.Ref, port int) (sandbox.Address, error) {
	if err := sandbox.CheckPort(opPreview, port); err != nil {
		return sandbox.Address{}, err
	}
	state := b.stateDir(ref.ID)
	if _, err := os.Stat(state); err != nil {
		return sandbox.Address{}, &sandbox.Error{Class: sandbox.ClassNotFound, Op: opPreview, Message: "nothing was ever run there", Err: err}
	}
	onNetwork := func(state string) bool {
		_, err := os.Stat(filepath.Join(confine.NetworkDir(state), "commands"))
		return err == nil
	}
	if !b.opts.Confinement.Network() && !slices.ContainsFunc(states(state), onNetwork) {
		return sandbox.Address{}, sandbox.Errorf(sandbox.ClassUnsupported, opPreview,
			"no command here was allowed the network, and nobody reaches a server without it: have the agent start the server with network access")
	}
	return sandbox.Address{URL: fmt.Sprintf("http://localhost:%d", port)}, nil
}
