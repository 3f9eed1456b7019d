// This file tells where servers in sandboxes are reached.

package daytona

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	opPreview   = "preview"
	previewTime = time.Hour // for which an address is good; Daytona gives at most 24 h
)

var _ sandbox.Previewer = (*Backend)(nil)

// Preview implements sandbox.Previewer. The address is signed: it needs nothing more, and is good for an hour.
func (b *Backend) Preview(ctx context.Context, ref sandbox.Ref, port int) (sandbox.Address, error) {
	if err := sandbox.CheckPort(opPreview, port); err != nil {
		return sandbox.Address{}, err
	}
	box, err := b.Attach(ctx, ref) // only what runs has addresses
	if err != nil {
		return sandbox.Address{}, err
	}
	defer box.Close()
	i, f := b.locate(ctx, opPreview, ref.ID)
	if f != nil {
		return sandbox.Address{}, f.Err
	}
	until := b.opts.clock.Now().Add(previewTime)
	path := fmt.Sprintf("/sandbox/%s/ports/%d/signed-preview-url?expiresInSeconds=%d", i.ID, port, int(previewTime.Seconds()))
	a, f := b.call(ctx, opPreview, http.MethodGet, path, nil, true)
	if f != nil {
		return sandbox.Address{}, f.Err
	}
	var said struct {
		URL string `json:"url"`
	}
	err = json.Unmarshal(a.Body, &said)
	if u, bad := url.Parse(said.URL); err != nil || bad != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return sandbox.Address{}, strange(opPreview, err).Err
	}
	return sandbox.Address{URL: said.URL, Until: until}, nil
}
