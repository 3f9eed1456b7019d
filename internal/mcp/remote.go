// This file reaches a server by streamable HTTP.

package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxagent/internal/config"
)

const (
	headerTime = 30 * time.Second // for a connection and its TLS
	maxRetries = 2                // of a stream that was cut
)

// remote is a server at a URL.
type remote struct {
	over sdk.Transport
	http *http.Transport
}

func reachRemote(o *Options, c config.MCPServer) (*remote, error) {
	headers := http.Header{}
	for name, text := range c.Headers {
		value, missing := config.Expand(text, o.Variable)
		if missing != "" {
			return nil, &missingError{missing}
		}
		headers.Set(name, value)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSHandshakeTimeout = headerTime
	client := &http.Client{Transport: &trip{base: base, headers: headers}, CheckRedirect: sameHost}
	return &remote{http: base, over: &sdk.StreamableClientTransport{
		Endpoint: c.URL, HTTPClient: client, MaxRetries: maxRetries, MaxEventSize: maxMessage,
	}}, nil
}

func (r *remote) transport() sdk.Transport { return r.over }

func (r *remote) end() { r.http.CloseIdleConnections() }

func (r *remote) why(_ *Options, err error) error { return err }

// sameHost keeps the headers, which may hold keys, from other hosts.
func sameHost(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return errors.New("it sends us to another host; write the final address as its url")
	}
	if len(via) > 5 {
		return errors.New("it sends us in circles")
	}
	return nil
}

// trip makes one HTTP request with the configured headers.
type trip struct {
	base    http.RoundTripper
	headers http.Header
}

func (t *trip) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range t.headers {
		req.Header[name] = values
	}
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		_ = res.Body.Close()
		return nil, &deniedError{res.StatusCode}
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // whose events are bounded one by one
		res.Body = struct {
			io.Reader
			io.Closer
		}{&bounded{res.Body, maxMessage}, res.Body}
	}
	return res, nil
}

// deniedError says that the server wants to know who asks.
type deniedError struct{ status int }

func (e *deniedError) Error() string {
	return fmt.Sprintf("it wants to be told who asks (HTTP status %d %s)", e.status, http.StatusText(e.status))
}

// bounded fails when more is read than left.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it answers with more than %d MiB", maxMessage>>20)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
