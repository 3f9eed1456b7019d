// This file bounds what the network may do to us: time to connect, silence, and the size of one event.

package model

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// maxEvent bounds one event of a stream, and one answer that is not streamed, in bytes. The last event of the Responses API
// repeats the whole answer, so it is larger than maxText and maxArguments together.
const maxEvent = 24 << 20

// readWhole reads an answer that is not streamed. guardedBody alone does not bound it: text may have empty lines.
func readWhole(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxEvent+1))
	if err == nil && len(data) > maxEvent {
		err = tooBig("bytes", maxEvent)
	}
	return data, err
}

// newHTTPClient returns a client with 10 s to connect and no limit on the length of an answer: the watchdog of a call has that.
func newHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: defaultConnectTimeout, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: defaultConnectTimeout,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
	}}
}

// guardedBody resets the watchdog at every byte and refuses an event that is too large. An event ends at an empty line.
type guardedBody struct {
	io.ReadCloser
	alive func()
	line  int // bytes of this line so far
	event int // bytes of this event so far
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.alive()
		if !b.count(p[:n]) {
			return 0, tooBig("bytes in one event", maxEvent)
		}
	}
	return n, err
}

func (b *guardedBody) count(p []byte) bool {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			b.line += len(p)
			b.event += len(p)
			break
		}
		b.line += end
		b.event += end + 1
		if b.line == 0 || (b.line == 1 && end == 1 && p[0] == '\r') {
			b.event = 0
		}
		b.line = 0
		p = p[end+1:]
	}
	return b.event <= maxEvent
}
