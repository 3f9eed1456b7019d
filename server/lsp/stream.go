// This file is the jsonrpc2.Stream of the server: it answers malformed messages itself, so that only well-formed ones
// reach the connection, and keeps ids as the client wrote them.

package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"sandboxagent/editors"
)

// stream implements jsonrpc2.Stream. Read is for one goroutine, the rest for any.
//
// jsonrpc2 keeps ids as int32 or string, which loses some that are legal. The stream therefore gives each request a
// number of its own and puts the client's id back into the response.
type stream struct {
	frames  *frameReader
	out     *outbox
	skipped func(*outline) // is told of notifications that were too large

	mu     sync.Mutex
	closed bool
	last   int32
	ids    map[jsonrpc2.ID]string // as the client wrote them
	calls  map[string]jsonrpc2.ID
}

var _ jsonrpc2.Stream = (*stream)(nil)

func newStream(in io.Reader, out *outbox, skipped func(*outline)) *stream {
	return &stream{
		frames: newFrameReader(in), out: out, skipped: skipped,
		ids: make(map[jsonrpc2.ID]string), calls: make(map[string]jsonrpc2.ID),
	}
}

// Read implements jsonrpc2.Stream.
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		if s.isClosed() {
			return nil, 0, io.EOF
		}
		frame, err := s.frames.next()
		if err != nil {
			return nil, 0, s.unreadable(ctx, err)
		}
		message, err := s.decode(ctx, frame)
		if message != nil || err != nil {
			return message, frame.size, err
		}
	}
}

// unreadable tells the client what is wrong with its framing, if it is that.
func (s *stream) unreadable(ctx context.Context, err error) error {
	var framing *FramingError
	if !errors.As(err, &framing) {
		return err
	}
	if err := s.respond(ctx, "", nil, malformed(jsonrpc2.ParseError, framing.Error())); err != nil {
		return errors.Join(framing, err)
	}
	return framing
}

// decode returns the message of a frame, or nil when it was dealt with here.
func (s *stream) decode(ctx context.Context, f frame) (jsonrpc2.Message, error) {
	if f.skipped != nil {
		return nil, s.tooLarge(ctx, f)
	}
	e, bad := decodeEnvelope(f.body)
	if bad != nil {
		return nil, s.respond(ctx, string(e.ID), nil, bad)
	}
	switch {
	case e.Method == nil:
		return response(e), nil
	case e.ID == nil:
		return jsonrpc2.NewNotification(*e.Method, params(e))
	}
	id, ok := s.admit(string(e.ID))
	if !ok {
		return nil, s.respond(ctx, string(e.ID), nil, invalidRequest("A request with this id is still running."))
	}
	return jsonrpc2.NewCall(id, *e.Method, params(e))
}

// tooLarge answers a message that was skipped.
func (s *stream) tooLarge(ctx context.Context, f frame) error {
	if f.skipped.ID == "" && f.skipped.Method != "" {
		s.skipped(f.skipped)
		return nil
	}
	id := f.skipped.ID
	if !json.Valid([]byte(id)) || !validID(json.RawMessage(id)) {
		id = ""
	}
	return s.respond(ctx, id, nil, toWire(editors.Errorf(editors.CodeLimit,
		"The message has %d bytes; at most %d are allowed.", f.size, editors.MaxMessageBytes)))
}

func params(e envelope) json.RawMessage {
	if len(e.Params) == 0 {
		return json.RawMessage("null")
	}
	return e.Params
}

// response makes the client's answer to one of our requests; an id that is not ours matches nothing.
func response(e envelope) jsonrpc2.Message {
	var err error
	if e.Error != nil {
		err = &jsonrpc2.Error{Code: e.Error.Code, Message: e.Error.Message, Data: e.Error.Data}
	}
	n, bad := strconv.ParseInt(strings.Trim(string(e.ID), `"`), 10, 32)
	if bad != nil {
		n = -1
	}
	r, bad := jsonrpc2.NewResponse(jsonrpc2.NewNumberID(int32(n)), e.Result, err)
	if bad != nil {
		return nil
	}
	return r
}

// admit gives a request its own number, unless its id is in use.
func (s *stream) admit(raw string) (jsonrpc2.ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, running := s.calls[raw]; running {
		return jsonrpc2.ID{}, false
	}
	s.last++
	id := jsonrpc2.NewNumberID(s.last)
	s.ids[id], s.calls[raw] = raw, id
	return id, true
}

// call returns the running request with the id that the client gave.
func (s *stream) call(raw json.RawMessage) (jsonrpc2.ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.calls[string(raw)]
	return id, ok
}

// release forgets a request and returns the client's id.
func (s *stream) release(id jsonrpc2.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := s.ids[id]
	delete(s.ids, id)
	delete(s.calls, raw)
	return raw
}

// Write implements jsonrpc2.Stream.
func (s *stream) Write(ctx context.Context, message jsonrpc2.Message) (int64, error) {
	if r, ok := message.(*jsonrpc2.Response); ok {
		return 0, s.respond(ctx, s.release(r.ID()), r.Result(), r.Err())
	}
	body, err := json.Marshal(message)
	if err != nil {
		return 0, fmt.Errorf("encoding a message: %w", err)
	}
	return int64(len(body)), s.out.put(ctx, frameOf(body))
}

// respond sends a response; an empty id stands for null.
func (s *stream) respond(ctx context.Context, id string, result json.RawMessage, failure error) error {
	body, err := encodeResponse(id, result, failure)
	if err != nil {
		return err
	}
	if len(body) > editors.MaxMessageBytes {
		body, err = encodeResponse(id, nil, toWire(editors.Errorf(editors.CodeLimit,
			"The answer has %d bytes; a message may have %d. Ask for less at a time.", len(body), editors.MaxMessageBytes)))
		if err != nil {
			return err
		}
	}
	return s.out.put(ctx, frameOf(body))
}

func encodeResponse(id string, result json.RawMessage, failure error) ([]byte, error) {
	if id == "" {
		id = "null"
	}
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *wireError      `json:"error,omitempty"`
	}{Version: "2.0", ID: json.RawMessage(id)}
	if failure != nil {
		wire := toWire(failure)
		answer.Error = &wireError{Code: wire.Code, Message: wire.Message, Data: wire.Data}
	} else if answer.Result = result; len(result) == 0 {
		answer.Result = json.RawMessage("null")
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encoding a response: %w", err)
	}
	return body, nil
}

// Close implements jsonrpc2.Stream: no more messages are read. What is queued is still written.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// frameOf puts a header before a body.
func frameOf(body []byte) []byte {
	header := "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	return append([]byte(header), body...)
}
