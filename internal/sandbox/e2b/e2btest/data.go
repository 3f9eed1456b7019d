//go:build linux

// This file is the proxy before the sandboxes.

package e2btest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"path"
	"strconv"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const daemonPort = 49983

func newProxy(socket string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "daemon"
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
			panic(http.ErrAbortHandler) // the sandbox was paused or killed meanwhile
		},
	}
}

// data answers a request to a sandbox.
func (s *Server) data(w http.ResponseWriter, r *http.Request, id, port string) {
	b := s.box(id)
	op := path.Base(r.URL.Path)
	switch {
	case r.URL.Path == "/files" && r.Method == http.MethodPost:
		op = "upload"
	case r.URL.Path == "/files":
		op = "download"
	}
	if w = s.Strike(w, op, refuseAs); w == nil {
		return
	}
	if b == nil || !b.is(running) {
		answer(w, http.StatusBadGateway, map[string]any{"sandboxId": id, "message": "The sandbox was not found", "code": http.StatusBadGateway})
		return
	}
	if port != strconv.Itoa(daemonPort) {
		b.server(w, r, port)
		return
	}
	if r.URL.Path != "/health" && r.Header.Get("X-Access-Token") != b.token {
		refuse(w, http.StatusUnauthorized, "unauthorized access, please provide a valid access token or method signing if supported")
		return
	}
	b.carry(w, r)
}

// server answers a request to a server in the sandbox, from who has the token.
func (b *box) server(w http.ResponseWriter, r *http.Request, port string) {
	if r.Header.Get("E2b-Traffic-Access-Token") != b.traffic {
		refuse(w, http.StatusForbidden, "the traffic access token is missing or wrong")
		return
	}
	closed := func(w http.ResponseWriter) {
		answer(w, http.StatusBadGateway, map[string]any{"sandboxId": b.id, "message": "The sandbox is running but port is not open", "port": port, "code": http.StatusBadGateway})
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		closed(w)
		return
	}
	cloudtest.ToPort(n, closed).ServeHTTP(w, r)
}

// carry passes a request on to the daemon, until connections are broken.
func (b *box) carry(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	b.mu.Lock()
	carried := b.carried
	b.mu.Unlock()
	defer context.AfterFunc(carried, cancel)()
	_ = http.NewResponseController(w).EnableFullDuplex() // answers begin before requests have ended
	b.proxy.ServeHTTP(w, r.WithContext(ctx))
}
