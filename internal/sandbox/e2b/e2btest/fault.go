//go:build linux

// This file makes things go wrong as they do in the cloud.

package e2btest

import (
	"net/http"
	"strconv"
	"time"
)

// Fault is something that goes wrong with a coming request.
type Fault struct {
	// Op is the request: create, list, get, connect, pause, timeout or delete of the control plane, Start, SendInput,
	// SendSignal, Stat, MakeDir, upload, download or health of a sandbox; "" is any.
	Op    string
	After int // so many of them go well before
	Times int // so many go wrong; default 1

	Status     int           // the request is refused with this status,
	Body       string        // this body instead of the cloud's usual one,
	RetryAfter int           // and, if not 0, this header, in seconds
	NotReady   bool          // the sandbox runs, but its daemon does not answer yet
	Lost       bool          // the request is carried out, its answer never arrives
	Cut        int           // the answer breaks off after so many bytes
	Delay      time.Duration // the request waits before it is carried out
	Pause      bool          // the sandbox is paused just before
	Kill       bool          // the sandbox is deleted just before
}

// Inject makes something go wrong.
func (s *Server) Inject(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Pending returns how many faults have not happened yet.
func (s *Server) Pending() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		n += f.Times
	}
	return n
}

// due counts a request and returns what goes wrong with it, if anything.
func (s *Server) due(op string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[op]++
	for _, f := range s.faults {
		switch {
		case f.Times == 0 || f.Op != "" && f.Op != op:
		case f.After > 0:
			f.After--
		default:
			f.Times--
			return f
		}
	}
	return nil
}

// strike lets a request go wrong. It returns where to answer to, nil when that was done.
func (s *Server) strike(w http.ResponseWriter, op string, b *box) http.ResponseWriter {
	f := s.due(op)
	if f == nil {
		return w
	}
	if f.Delay > 0 {
		time.Sleep(f.Delay)
	}
	if b != nil && f.Pause {
		_ = s.pause(b)
	}
	if b != nil && f.Kill {
		_ = s.kill(b)
	}
	switch {
	case f.NotReady:
		answer(w, http.StatusBadGateway, map[string]any{"sandboxId": b.id, "message": "The sandbox is running but port is not open", "port": daemonPort, "code": http.StatusBadGateway})
		return nil
	case f.Status != 0:
		f.refuse(w)
		return nil
	case f.Lost:
		return &cutter{ResponseWriter: w}
	case f.Cut > 0:
		return &cutter{ResponseWriter: w, left: f.Cut}
	}
	return w
}

func (f *Fault) refuse(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	if f.Body != "" {
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return
	}
	text := http.StatusText(f.Status)
	if f.Status == http.StatusTooManyRequests {
		text = "you have reached the maximum number of concurrent E2B sandboxes"
		if f.RetryAfter > 0 {
			text = "Rate limit exceeded"
		}
	}
	refuse(w, f.Status, "%s", text)
}

// cutter breaks the connection when more is written than is left.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) WriteHeader(status int) {
	if c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	if c.left > 0 {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
	}
	panic(http.ErrAbortHandler)
}

// Unwrap lets http.ResponseController through.
func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
