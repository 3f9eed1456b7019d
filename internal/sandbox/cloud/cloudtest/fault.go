//go:build linux

// This file makes requests go wrong as they do in clouds.

package cloudtest

import (
	"net/http"
	"sync"
	"time"
)

// Fault is something that goes wrong with a coming request.
type Fault struct {
	Op    string // the request, as the stand-in names it; "" is any
	After int    // so many of them go well before
	Times int    // so many go wrong; default 1

	Status int           // the request is refused with this status,
	Body   string        // this body instead of the cloud's usual one,
	Header http.Header   // and these headers
	Lost   bool          // the request is carried out, its answer never arrives
	Cut    int           // the answer breaks off after so many bytes
	Delay  time.Duration // the request waits before it is carried out
	Do     func()        // is called just before, e.g. to delete the sandbox
}

// Faults counts requests and makes some of them go wrong. The zero value is ready to use.
type Faults struct {
	mu       sync.Mutex
	faults   []*Fault
	requests map[string]int
}

// Inject makes something go wrong.
func (s *Faults) Inject(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Pending returns how many faults have not happened yet.
func (s *Faults) Pending() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		n += f.Times
	}
	return n
}

// Requests returns how many requests of a kind came.
func (s *Faults) Requests(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[op]
}

// due counts a request and returns what goes wrong with it, if anything.
func (s *Faults) due(op string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		s.requests = map[string]int{}
	}
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

// Strike lets a request go wrong, if it is to. It returns where to answer to, nil when that was done; refuse answers as the
// cloud does.
func (s *Faults) Strike(w http.ResponseWriter, op string, refuse func(w http.ResponseWriter, status int)) http.ResponseWriter {
	f := s.due(op)
	if f == nil {
		return w
	}
	if f.Delay > 0 {
		time.Sleep(f.Delay)
	}
	if f.Do != nil {
		f.Do()
	}
	switch {
	case f.Status != 0:
		for name, values := range f.Header {
			w.Header()[name] = values
		}
		if f.Body == "" {
			refuse(w, f.Status)
			return nil
		}
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return nil
	case f.Lost:
		return &cutter{ResponseWriter: w}
	case f.Cut > 0:
		return &cutter{ResponseWriter: w, left: f.Cut}
	}
	return w
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
