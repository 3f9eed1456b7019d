// This file tells where servers in sandboxes are reached.

package e2b

import (
	"context"
	"fmt"
	"strconv"

	"sandboxagent/internal/sandbox"
)

const (
	opPreview     = "preview"
	trafficHeader = "e2b-traffic-access-token"
)

var _ sandbox.Previewer = (*Backend)(nil)

// Preview implements sandbox.Previewer. Sandboxes are made so that E2B lets in only who sends the token.
func (b *Backend) Preview(ctx context.Context, ref sandbox.Ref, port int) (sandbox.Address, error) {
	if err := sandbox.CheckPort(opPreview, port); err != nil {
		return sandbox.Address{}, err
	}
	l, err := b.find(ctx, sandbox.Spec{ID: ref.ID})
	if err != nil {
		return sandbox.Address{}, err
	}
	a, f := b.connect(ctx, opPreview, l.SandboxID)
	if f != nil {
		return sandbox.Address{}, f.Err
	}
	to := sandbox.Address{URL: fmt.Sprintf("https://%d-%s.%s", port, a.id, a.domain), Header: map[string]string{}}
	if b.opts.SandboxURL != "" {
		to.URL = b.opts.SandboxURL
		to.Header["E2b-Sandbox-Id"], to.Header["E2b-Sandbox-Port"] = a.id, strconv.Itoa(port)
	}
	if a.traffic != "" {
		to.Header[trafficHeader] = a.traffic
	}
	return to, nil
}
