// This file makes one HTTP call of a model and hands its events, one by one, to the wire that understands them.

package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// call is one attempt at one request by one wire.
type call struct {
	parent    context.Context // the caller's
	ctx       context.Context // ends with the caller's, or when the watchdog bites
	opts      Options
	end       endpoint
	key       string
	req       Request
	lacks     features // what this server was found not to take
	noRaw     bool     // leave out what only the provider can read, because it no longer can
	connected bool     // headers have come
}

// wire knows one API: how to ask and what the events mean.
type wire interface {
	path() string
	provider(endpoint) string
	params(*call) any
	// event takes one event; done means that the answer is whole.
	event(c *call, a *answer, name string, data []byte) (done bool, err error)
	// whole takes an answer that came in one piece, from a server that does not stream.
	whole(c *call, a *answer, data []byte) error
	// eof says whether an answer that ends here without a last event is whole.
	eof(a *answer) bool
}

// run sends the request and reads the answer to its end.
func (c *call) run(w wire, a *answer) error {
	ctx, cancel := context.WithCancelCause(c.parent)
	defer cancel(nil)
	c.ctx = ctx
	watchdog := time.AfterFunc(c.opts.HeaderTimeout, func() { cancel(errIdle) })
	defer watchdog.Stop()

	var res *http.Response
	client := openai.Client{Options: c.clientOptions(func() { watchdog.Reset(c.opts.IdleTimeout) })}
	err := client.Post(ctx, w.path(), w.params(c), &res, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	if err != nil {
		return c.streamError(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := c.read(w, a, res); err != nil {
		return c.streamError(err)
	}
	return nil
}

func (c *call) clientOptions(alive func()) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(c.end.url),
		option.WithHTTPClient(c.opts.HTTPClient),
		option.WithMaxRetries(0), // retries are the caller's
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return c.roundTrip(req, next, alive)
		}),
	}
	if c.key != "" {
		opts = append(opts, option.WithAPIKey(c.key))
	}
	if c.opts.Organization != "" {
		opts = append(opts, option.WithOrganization(c.opts.Organization))
	}
	if c.opts.Project != "" {
		opts = append(opts, option.WithProject(c.opts.Project))
	}
	return opts
}

// roundTrip turns error statuses into errors before anyone reads their body without a bound, and guards all other bodies.
func (c *call) roundTrip(req *http.Request, next option.MiddlewareNext, alive func()) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	c.connected = true
	alive()
	if res.StatusCode != http.StatusOK {
		return nil, c.statusError(res)
	}
	res.Body = &guardedBody{ReadCloser: res.Body, alive: alive}
	return res, nil
}

func (c *call) read(w wire, a *answer, res *http.Response) error {
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "application/json" {
		data, err := readWhole(res.Body)
		if err != nil {
			return err
		}
		if err := c.reported(data); err != nil {
			return err
		}
		return w.whole(c, a, data)
	}
	events := ssestream.NewDecoder(res)
	for events.Next() {
		e := events.Event()
		data := strings.TrimSpace(string(e.Data))
		if data == "" {
			continue
		}
		if done, err := w.event(c, a, e.Type, []byte(data)); done || err != nil {
			return err
		}
	}
	if events.Err() != nil {
		return events.Err()
	}
	if w.eof(a) {
		return nil
	}
	return io.ErrUnexpectedEOF
}

// reported returns the error that a body or an event with an "error" member reports, if it is one.
func (c *call) reported(data []byte) error {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil {
		return nil
	}
	if p, ok := parseInner(body.Error); ok {
		return c.problemError(0, p)
	}
	return nil
}

// asError returns the *Error that every error of this package is.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: ErrMalformed, Message: "The model call failed.", Err: errors.New(brief(err.Error(), ""))}
}
