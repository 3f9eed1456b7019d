// This file tells where servers in containers are reached.

package docker

import (
	"context"
	"net"
	"runtime"
	"strconv"
	"strings"

	"sandboxagent/internal/sandbox"
)

const opPreview = "preview"

var _ sandbox.Previewer = (*Backend)(nil)

// Preview implements sandbox.Previewer: containers of an engine on this machine can be reached by their own addresses.
func (b *Backend) Preview(ctx context.Context, ref sandbox.Ref, port int) (sandbox.Address, error) {
	if err := sandbox.CheckPort(opPreview, port); err != nil {
		return sandbox.Address{}, err
	}
	x, err := b.find(ctx, ref)
	if err == nil {
		err = x.open(ctx, nil)
	}
	if err != nil {
		return sandbox.Address{}, err
	}
	e, err := b.engine()
	if err != nil {
		return sandbox.Address{}, err
	}
	if runtime.GOOS != "linux" || !strings.HasPrefix(e.DaemonHost(), "unix:") {
		return sandbox.Address{}, sandbox.Errorf(sandbox.ClassUnsupported, opPreview, "containers on another machine cannot be reached: use an engine that runs on this one")
	}
	c, err := e.inspect(ctx, b.names(ref.ID).container)
	if err != nil {
		return sandbox.Address{}, e.failed(opPreview, err)
	}
	if c.NetworkSettings == nil {
		return sandbox.Address{}, sandbox.Errorf(sandbox.ClassUnavailable, opPreview, "the Docker engine does not tell the container's address")
	}
	for _, network := range c.NetworkSettings.Networks {
		if network.IPAddress != "" {
			return sandbox.Address{URL: "http://" + net.JoinHostPort(network.IPAddress, strconv.Itoa(port))}, nil
		}
	}
	return sandbox.Address{}, sandbox.Errorf(sandbox.ClassUnsupported, opPreview,
		"the container has no network, so nobody can reach a server in it: set docker.network to \"bridge\" and start a new session")
}
