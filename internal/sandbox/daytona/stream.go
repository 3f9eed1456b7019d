// This file is the way to the helper: two terminals in the sandbox, one for each direction. Daytona's daemon drops a terminal's
// listener who falls behind, so what comes out comes in pieces, each asked for by a line and closed by a mark; so many are
// asked for as there is room for.

package daytona

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	pieceSize = 64 << 10 // bytes
	// window is how many pieces may be on their way or unread: 256 KiB, which the daemon sends in 64 to 128 messages. It
	// keeps 256 of them for a listener.
	window = 4

	pingTime     = 15 * time.Second // between signs of life; when there is no answer for two, the connection is dead
	writeTime    = 30 * time.Second // of one message
	drainTime    = 5 * time.Second  // in which the last piece comes after the end of the bridge
	partTime     = 5 * time.Second
	maxComplaint = 1 << 10 // bytes kept of what the bridge says on its standard error

	// bridgeLife ends what a worker that died has left. A connection that lasts as long is made anew.
	bridgeLife = 4 * time.Hour
)

// The scripts of the two terminals; pipe leads from the first to the second.
const (
	intoScript = `(sleep "$life"; kill -9 $$) </dev/null >/dev/null 2>&1 &
exec `
	outScript = `exec 3<"$pipe"
rm -f "$pipe"
while IFS= read -r line; do
dd bs=` + pieceText + ` count=1 <&3 2>/dev/null
printf '\002%s\003' "$mark"
done`
	pieceText = "65536"
)

var errSilent = errors.New("no sign of life from the sandbox")

// stream carries bytes to and from the helper in a sandbox.
type stream struct {
	x         *box
	a         access
	into, out *terminal
	pieces    splitter
	ctx       context.Context
	cancel    context.CancelFunc
	once      sync.Once

	mu     sync.Mutex // guards the fields below
	change *sync.Cond
	buf    []byte // arrived and not read
	asked  int    // pieces that have been asked for and have not come
	ended  bool   // the last piece has come
	last   error  // why one direction has ended
	err    error  // why nothing comes or can be sent any more
}

// bridge makes the helper serve and returns a stream to it.
func (x *box) bridge(ctx context.Context, a access, at cloud.Place) (*stream, *cloud.Failure) {
	const op = "connect to the sandbox"
	id := cloud.OwnDir[1:] + "-" + rand.Text()
	pipe := path.Join(at.Home, pipeDir, id)
	argv := at.Bridge(x.b.opts.Idle)
	o, f := a.run(ctx, op, serveScript, append([]string{pipe}, argv...)...)
	switch {
	case f != nil:
		return nil, f
	case strconv.Itoa(o.Code) == noProgram: // somebody removed it: it is installed anew
		x.forget()
		return nil, cloud.Passing(op, "the helper was removed from the Daytona sandbox: try again", nil)
	case o.Code != 0: // perhaps it was met as it left
		f = unfit(op, o)
		if f.Passes = !f.Is(sandbox.ClassLimit); f.Passes {
			f.Err.Message = cloud.Quote("the helper does not start in the Daytona sandbox: "+other, cloud.Line(o.Text))
		}
		return nil, f
	}
	s := &stream{x: x, a: a}
	mark := rand.Text()
	s.pieces.mark = markOf(mark)
	s.change = sync.NewCond(&s.mu)
	into := fmt.Sprintf("life=%d pipe=%s\n", int(bridgeLife.Seconds()), quote(pipe)) + intoScript + quoteAll(argv...) + ` >"$pipe"`
	var opening sync.WaitGroup
	var failed *cloud.Failure
	opening.Go(func() { s.into, f = a.terminal(ctx, op, at, id+"-in", mark, into) })
	opening.Go(func() { s.out, failed = a.terminal(ctx, op, at, id+"-out", mark, "pipe="+quote(pipe)+"\n"+outScript) })
	opening.Wait()
	if f == nil {
		f = failed
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if f != nil {
		s.drop()
		x.owes([]string{id + "-in", id + "-out"})
		return nil, f
	}
	s.take(s.out.rest)
	go s.receive()
	go s.listen()
	go s.watch(s.into)
	go s.watch(s.out)
	return s, nil
}

// receive takes what the helper says.
func (s *stream) receive() {
	for {
		kind, data, err := s.out.ws.Read(s.ctx)
		if err != nil {
			s.end(fmt.Errorf("receive from the sandbox: %w", err))
			return
		}
		if kind == websocket.MessageBinary {
			s.take(data)
		}
	}
}

// take adds what has come and asks for more if there is room.
func (s *stream) take(data []byte) {
	s.mu.Lock()
	var came int
	var last bool
	s.buf, came, last = s.pieces.split(s.buf, data)
	s.asked -= came
	over := last && !s.ended
	s.ended = s.ended || last
	tooMuch := s.asked < 0 || len(s.buf) > 2*window*pieceSize
	s.change.Broadcast()
	s.mu.Unlock()
	switch {
	case over:
		s.finish(io.EOF)
	case tooMuch:
		s.end(errors.New("the sandbox sends what it was not asked for"))
	default:
		s.ask()
	}
}

// ask asks for as many pieces as there is room for.
func (s *stream) ask() {
	s.mu.Lock()
	n := window - s.asked - (len(s.buf)+pieceSize-1)/pieceSize
	if n <= 0 || s.ended || s.err != nil {
		s.mu.Unlock()
		return
	}
	s.asked += n
	s.mu.Unlock()
	if err := s.write(s.out, bytes.Repeat([]byte{'\n'}, n)); err != nil {
		s.end(err)
	}
}

// listen waits for the end of the bridge, which may have told why.
func (s *stream) listen() {
	said := s.into.rest
	for {
		_, data, err := s.into.ws.Read(s.ctx)
		switch {
		case err == nil:
			said = append(said, data[:min(len(data), max(0, maxComplaint-len(said)))]...)
			continue
		case !exited(err):
			s.end(fmt.Errorf("send to the sandbox: %w", err))
		case len(said) == 0:
			s.finish(io.EOF)
		default:
			s.finish(fmt.Errorf("the connection into the sandbox ended: %s", cloud.Line(string(said))))
		}
		return
	}
}

// finish notes that one direction has ended; the other soon does.
func (s *stream) finish(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		if errors.Is(why, io.EOF) {
			why = s.last
		}
		go s.end(why)
		return
	}
	s.last = why
	time.AfterFunc(drainTime, func() { s.end(why) })
}

// watch ends the stream when the sandbox is silent.
func (s *stream) watch(t *terminal) {
	tick := time.NewTicker(s.x.b.opts.ping)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, 2*s.x.b.opts.ping)
		err := t.ws.Ping(ctx)
		cancel()
		if err != nil && s.ctx.Err() == nil && ctx.Err() != nil {
			s.end(errSilent)
		}
		if err != nil {
			return // whoever reads sees why
		}
	}
}

// end stops both directions. What has come can still be read.
func (s *stream) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.change.Broadcast()
	s.cancel()
}

// Read returns io.EOF, or what the bridge complained of, when it has ended.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	for len(s.buf) == 0 && s.err == nil {
		s.change.Wait()
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	err := s.err
	s.mu.Unlock()
	if n == 0 && len(p) > 0 {
		return 0, err
	}
	s.ask()
	return n, nil
}

// Write waits while the sandbox does not take what is sent.
func (s *stream) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(len(p), n+maxSend)]
		if err := s.write(s.into, piece); err != nil {
			s.end(err)
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

func (s *stream) write(t *terminal, data []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, writeTime)
	defer cancel()
	if err := t.ws.Write(ctx, websocket.MessageBinary, data); err != nil {
		return fmt.Errorf("send to the sandbox: %w", err)
	}
	return nil
}

// Close ends the terminals, not the helper behind them, without waiting for their end.
func (s *stream) Close() error {
	s.once.Do(func() {
		s.drop()
		go s.x.part(s.a, []string{s.into.id, s.out.id})
	})
	return nil
}

// leave is Close that waits for the end of the terminals, for a while.
func (s *stream) leave() {
	s.once.Do(func() {
		s.drop()
		s.x.part(s.a, []string{s.into.id, s.out.id})
	})
}

func (s *stream) drop() {
	s.x.lostStream(s)
	s.end(io.ErrClosedPipe)
	for _, t := range []*terminal{s.into, s.out} {
		if t != nil {
			_ = t.ws.CloseNow()
		}
	}
}

// part ends terminals that carried a stream; where that fails, it is done at the next opportunity.
func (x *box) part(a access, ids []string) {
	ctx, cancel := context.WithTimeout(context.Background(), partTime)
	defer cancel()
	for i, id := range ids {
		if f := a.end(ctx, id); f != nil {
			x.owes(ids[i:])
			return
		}
	}
}

// splitter takes the marks out of what comes.
type splitter struct {
	mark []byte
	held []byte // may be the beginning of a mark
	size int    // of the piece that is coming
}

// split appends what data says to out. An empty piece is the last.
func (p *splitter) split(out, data []byte) (rest []byte, pieces int, last bool) {
	data = append(p.held, data...)
	for {
		i := bytes.Index(data, p.mark)
		if i < 0 {
			break
		}
		out = append(out, data[:i]...)
		last = last || p.size+i == 0
		data = data[i+len(p.mark):]
		p.size = 0
		pieces++
	}
	keep := min(len(data), len(p.mark)-1)
	for keep > 0 && !bytes.HasPrefix(p.mark, data[len(data)-keep:]) {
		keep--
	}
	said := len(data) - keep
	p.size += said
	p.held = append([]byte(nil), data[said:]...)
	return append(out, data[:said]...), pieces, last
}
