//go:build linux

// This file lets whoever has a signed address reach a server in a sandbox.

package daytonatest

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

const previewPath = "/preview"

// preview is what a signed address stands for.
type preview struct {
	box   *box
	port  int
	until time.Time
}

// sign answers with an address that needs no key.
func (s *Server) sign(w http.ResponseWriter, r *http.Request, b *box, text string) {
	port, err := strconv.Atoi(text)
	span, bad := strconv.Atoi(r.URL.Query().Get("expiresInSeconds"))
	if err != nil || bad != nil || port < 1 || port > 65535 || span < 1 || span > 86400 {
		refuse(w, http.StatusBadRequest, "invalid port or time")
		return
	}
	token := strings.ToLower(rand.Text())
	s.mu.Lock()
	s.previews[token] = preview{b, port, s.opts.Clock.Now().Add(time.Duration(span) * time.Second)}
	s.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"sandboxId": b.id, "port": port, "token": token, "url": s.base + previewPath + "/" + token})
}

// server answers a request to a signed address.
func (s *Server) server(w http.ResponseWriter, r *http.Request, token string) {
	s.mu.Lock()
	p, known := s.previews[token]
	s.mu.Unlock()
	switch {
	case !known || s.opts.Clock.Now().After(p.until):
		refuse(w, http.StatusUnauthorized, "the address is not good any more")
	case p.box.settled() != started:
		refuse(w, http.StatusBadRequest, "bad request: no IP address found. Is the Sandbox started?")
	default:
		p.box.touch()
		closed := func(w http.ResponseWriter) { refuse(w, http.StatusBadGateway, "nothing listens on port %d", p.port) }
		http.StripPrefix(previewPath+"/"+token, cloudtest.ToPort(p.port, closed)).ServeHTTP(w, r)
	}
}
