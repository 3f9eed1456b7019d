// This file is the way to the helper: the standard streams of a process in the sandbox. Output comes in one lasting answer;
// input goes in requests, one after the other. Both are base64 in JSON, so that any bytes pass.

package e2b

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"sandboxagent/internal/sandbox/cloud"
)

const (
	maxSend      = 1 << 20 // bytes of one request
	maxPending   = 4 << 20 // bytes that wait to be sent
	maxComplaint = 1 << 10 // bytes kept of what the process says on its standard error
	partTime     = 5 * time.Second
	notFound     = 127 // exit code where there is no such program

	// bridgeLife ends what a worker that died has left. A connection that lasts as long is made anew.
	bridgeLife = 4 * time.Hour
)

// stream carries bytes to and from a process in a sandbox.
type stream struct {
	x    *box
	a    access
	p    *process
	out  *io.PipeReader
	in   *io.PipeWriter
	once sync.Once

	mu      sync.Mutex
	change  *sync.Cond
	pending []byte
	err     error // why nothing can be sent any more
}

// bridge runs the helper's bridge in the sandbox and returns the stream to the helper.
func (x *box) bridge(ctx context.Context, a access, at cloud.Place) (*stream, *cloud.Failure) {
	env := map[string]string{"LANG": at.Lang, "PATH": at.Home + "/.local/bin:" + at.Path}
	x.mu.Lock()
	x.calls++
	n := x.calls
	x.mu.Unlock()
	p, f := a.start(ctx, "start helper", program{argv: at.Bridge(x.b.opts.Idle), env: env, tag: x.tag + strconv.Itoa(n), life: bridgeLife, fed: true})
	if f != nil {
		return nil, f
	}
	if n > 1 {
		go x.tidy(a, n)
	}
	s := &stream{x: x, a: a, p: p}
	s.change = sync.NewCond(&s.mu)
	s.out, s.in = io.Pipe()
	go s.receive()
	go s.send()
	return s, nil
}

// receive passes on what the process prints.
func (s *stream) receive() {
	var said bytes.Buffer
	for {
		ev, err := s.p.next()
		switch {
		case err != nil:
			s.end(fmt.Errorf("receive from the sandbox: %w", err))
			return
		case ev.Data != nil:
			said.Write(ev.Data.Stderr[:min(len(ev.Data.Stderr), maxComplaint-said.Len())])
			if _, err := s.in.Write(ev.Data.Stdout); err != nil {
				return // closed
			}
		case ev.End != nil:
			s.end(s.x.parted(ev.End.ExitCode, strings.TrimSpace(said.String())))
			return
		}
	}
}

// parted says why the process ended.
func (x *box) parted(code int, complaint string) error {
	if code == notFound { // somebody removed the program: it is installed anew
		x.forget()
		return errors.New("there is no helper in the sandbox")
	}
	if complaint == "" {
		return io.EOF
	}
	return fmt.Errorf("the connection into the sandbox ended: %s", strings.ToValidUTF8(complaint, "?"))
}

// end stops both directions.
func (s *stream) end(err error) {
	_ = s.in.CloseWithError(err)
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.change.Broadcast()
}

// send passes on what is written, in as few requests as that takes.
func (s *stream) send() {
	for {
		data, ok := s.next()
		if !ok {
			return
		}
		for len(data) > 0 {
			piece := data[:min(len(data), maxSend)]
			if err := s.deliver(piece); err != nil {
				s.end(err)
				s.p.close()
				return
			}
			data = data[len(piece):]
		}
	}
}

// next waits for something to send. It returns false when nothing can be sent any more.
func (s *stream) next() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) == 0 && s.err == nil {
		s.change.Wait()
	}
	data := s.pending
	s.pending = nil
	s.change.Broadcast()
	return data, s.err == nil
}

// deliver sends a piece, again only where it certainly did not arrive.
func (s *stream) deliver(piece []byte) error {
	f := s.x.b.retry.Persist(s.p.ctx, func() *cloud.Failure {
		f := s.a.write(s.p.ctx, s.p.pid, piece)
		if f != nil && (f.Unclear || f.Absent) {
			f.Passes = false
		}
		return f
	})
	if f != nil { // another connection may do
		return fmt.Errorf("send to the sandbox: %s", f.Err.Message)
	}
	return nil
}

// Read returns io.EOF, or what the process complained of, when it has ended.
func (s *stream) Read(p []byte) (int, error) { return s.out.Read(p) }

// Write waits while much is still to be sent.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) >= maxPending && s.err == nil {
		s.change.Wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.pending = append(s.pending, p...)
	s.change.Broadcast()
	return len(p), nil
}

// Close ends the process, not the helper behind it, without waiting for its end.
func (s *stream) Close() error {
	s.once.Do(func() {
		s.drop()
		go s.x.part(s.a, s.p.pid)
	})
	return nil
}

// leave is Close that waits for the end of the process, for a while.
func (s *stream) leave() {
	s.once.Do(func() {
		s.drop()
		s.x.part(s.a, s.p.pid)
	})
}

func (s *stream) drop() {
	s.x.lostStream(s)
	s.end(io.ErrClosedPipe)
	s.p.close()
}

// part ends a process that carried a stream. Where that fails, the next stream does it.
func (x *box) part(a access, pid int) {
	ctx, cancel := context.WithTimeout(context.Background(), partTime)
	defer cancel()
	if f := a.kill(ctx, pid); f != nil {
		x.b.opts.Logger.Debug("end a process in an E2B sandbox", "sandbox", x.id, "error", f.Err)
	}
}

// tidy ends the processes of all streams before the n-th that nobody could end, or that nobody knew of.
func (x *box) tidy(a access, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), partTime)
	defer cancel()
	for pid, tag := range a.tags(ctx) {
		number, mine := strings.CutPrefix(tag, x.tag)
		if i, err := strconv.Atoi(number); mine && err == nil && i < n {
			x.part(a, pid)
		}
	}
}
