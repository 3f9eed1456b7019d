//go:build linux

// This file is the proxy before the sandboxes.

package daytonatest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
)

func newProxy(socket string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "daemon"
			r.Out.Header.Del("Authorization")
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", socket)
			},
			DisableCompression: true,
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the sandbox was stopped or deleted meanwhile
		},
	}
}

// data answers a request to a sandbox.
func (s *Server) data(w http.ResponseWriter, r *http.Request, id, path string) {
	const unknown = "unauthorized: Bearer token is invalid"
	if !s.authorized(w, r, unknown) {
		return
	}
	if w = s.Strike(w, toolboxOperation(r.Method, path), refuseAs); w == nil {
		return
	}
	b := s.box(id)
	switch {
	case b == nil || b.id != id: // a name does not do
		refuse(w, http.StatusUnauthorized, unknown)
	case b.settled() != started:
		refuse(w, http.StatusBadRequest, "bad request: no IP address found. Is the Sandbox started?")
	default:
		r.URL.Path, r.URL.RawPath = path, ""
		b.carry(w, r)
	}
}

// toolboxOperation names a request; see Server.
func toolboxOperation(method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	second := strings.Join(parts[1:], "/")
	switch {
	case second == "execute":
		return "execute"
	case parts[0] == "files" && second == "bulk-upload":
		return "upload"
	case parts[0] == "files" && strings.HasSuffix(second, "download"):
		return "download"
	case parts[0] == "files":
		return "files"
	case strings.HasPrefix(second, "session"):
		return "session"
	case second == "pty" && method == http.MethodPost:
		return "terminals"
	case strings.HasPrefix(second, "pty") && strings.HasSuffix(second, "connect"):
		return "connect"
	case strings.HasPrefix(second, "pty"):
		return "terminal"
	}
	return "info"
}

// carry passes a request on to the daemon, until connections are broken.
func (b *box) carry(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	b.mu.Lock()
	carried, proxy := b.carried, b.proxy
	b.open++
	b.active = b.s.opts.Clock.Now()
	b.changed()
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open--
		b.active = b.s.opts.Clock.Now()
		b.changed()
	}()
	defer context.AfterFunc(carried, cancel)()
	_ = http.NewResponseController(w).EnableFullDuplex() // answers begin before requests have ended
	proxy.ServeHTTP(w, r.WithContext(ctx))
}
