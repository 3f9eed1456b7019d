//go:build linux

// This file reaches servers in sandboxes, which have this machine's network.

package cloudtest

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
)

// ToPort passes requests on to whoever listens on a port. closed answers when nobody does.
func ToPort(port int, closed func(http.ResponseWriter)) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)})
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { closed(w) }
	return proxy
}
