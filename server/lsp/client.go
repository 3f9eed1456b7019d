// This file brings each message of a client to the code for its method.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"sandboxagent/editors"
)

// client is one editor and what is known of it.
type client struct {
	options   Options
	log       *slog.Logger
	ctx       context.Context // ends when the client is gone
	stop      context.CancelFunc
	out       *outbox
	stream    *stream
	rpc       jsonrpc2.Conn
	conn      Conn
	life      lifecycle
	calls     calls
	followers group
	documents *documents
	changes   chan struct{} // of documents; holds one token
	folders   folders
	settings  settings
	attached  attachments
	progress  progressTable
	answers   answerFiles
	holding   holding
	trace     trace

	requests      map[string]func(context.Context, json.RawMessage) (any, error)
	notifications map[string]func(json.RawMessage) error

	// Set by initialize before anything else runs.
	name string
	can  abilities
}

func newClient(ctx context.Context, o Options, in io.Reader, out *outbox) *client {
	c := &client{options: o, log: o.Log, out: out, documents: newDocuments(documentsBytes), changes: make(chan struct{}, 1), name: "editor"}
	c.ctx, c.stop = context.WithCancel(ctx)
	c.stream = newStream(in, out, c.tooLargeNotification)
	c.rpc = jsonrpc2.NewConn(c.stream)
	c.answers.parent = o.RuntimeDir
	c.conn = unconnected{}
	c.requests = map[string]func(context.Context, json.RawMessage) (any, error){
		protocol.MethodInitialize:              c.initialize,
		protocol.MethodShutdown:                c.shutdown,
		protocol.MethodWorkspaceExecuteCommand: c.executeCommand,
	}
	for _, command := range editors.Commands() {
		c.requests[command.Method()] = func(ctx context.Context, raw json.RawMessage) (any, error) {
			return c.command(ctx, command.Name, raw)
		}
	}
	c.notifications = map[string]func(json.RawMessage) error{
		protocol.MethodInitialized:                        c.initialized,
		protocol.MethodTextDocumentDidOpen:                c.didOpen,
		protocol.MethodTextDocumentDidChange:              c.didChange,
		protocol.MethodTextDocumentDidSave:                c.didSave,
		protocol.MethodTextDocumentDidClose:               c.didClose,
		protocol.MethodWorkspaceDidChangeWorkspaceFolders: c.didChangeFolders,
		protocol.MethodWorkspaceDidChangeConfiguration:    c.didChangeConfiguration,
		protocol.MethodWorkDoneProgressCancel:             c.cancelProgress,
		protocol.MethodSetTrace:                           c.setTrace,
	}
	return c
}

// handle implements jsonrpc2.Handler. It is called for one message after the other: notifications are done when it
// returns, and so are initialize and shutdown; other requests run beside each other.
func (c *client) handle(ctx context.Context, reply jsonrpc2.Replier, req jsonrpc2.Request) error {
	call, isCall := req.(*jsonrpc2.Call)
	if !isCall {
		c.notify(req.Method(), req.Params())
		return nil
	}
	if wrong := c.life.admit(call.Method()); wrong != nil {
		c.reply(reply, nil, wrong)
		return nil
	}
	handler := c.requests[call.Method()]
	if handler == nil {
		c.reply(reply, nil, c.unknown(call.Method()))
		return nil
	}
	if call.Method() == protocol.MethodInitialize || call.Method() == protocol.MethodShutdown {
		c.answer(ctx, reply, call, handler)
		return nil
	}
	if !c.calls.run(c.ctx, call.ID(), func(ctx context.Context) { c.answer(ctx, reply, call, handler) }) {
		c.reply(reply, nil, editors.Errorf(editors.CodeBusy, "%d requests are running already; wait for one to end.", maxCalls))
	}
	return nil
}

func (c *client) answer(ctx context.Context, reply jsonrpc2.Replier, call *jsonrpc2.Call, handler func(context.Context, json.RawMessage) (any, error)) {
	start := time.Now()
	var after afterwards
	commandCtx, sent := c.options.Replying(after.in(ctx))
	result, err := guard(func() (any, error) { return handler(commandCtx, call.Params()) })
	if err != nil && ctx.Err() != nil {
		err = editors.Errorf(editors.CodeCancelled, "The request was cancelled.")
	}
	c.reply(reply, result, err)
	sent()
	after.run()
	c.traced(call.Method(), time.Since(start), err)
}

// reply sends an answer, also when the request's context has ended.
func (c *client) reply(reply jsonrpc2.Replier, result any, err error) {
	raw, bad := json.Marshal(result)
	if bad != nil && err == nil {
		err = fmt.Errorf("encoding the answer: %w", bad)
	}
	if err != nil {
		raw, err = nil, toWire(err)
	}
	if err := reply(c.ctx, json.RawMessage(raw), err); err != nil {
		c.log.Info("an answer was not sent", "error", err)
	}
}

// notify handles a notification; as nobody can be told, errors go to the log.
func (c *client) notify(method string, raw json.RawMessage) {
	switch {
	case method == protocol.MethodExit:
		c.life.leave()
		c.closeInput()
		return
	case method == protocol.MethodCancelRequest:
		c.cancelRequest(raw)
		return
	case !c.life.ready():
		return
	}
	handler := c.notifications[method]
	if handler == nil {
		return
	}
	if _, err := guard(func() (any, error) { return nil, handler(raw) }); err != nil {
		c.log.Warn("a notification could not be handled", "method", method, "error", err)
	}
	if strings.HasPrefix(method, "textDocument/") {
		c.documentsChanged()
	}
}

func (c *client) closeInput() {
	if err := c.stream.Close(); err != nil {
		c.log.Warn("closing the input", "error", err)
	}
}

// unknown says what a client may have meant.
func (c *client) unknown(method string) *jsonrpc2.Error {
	hint := "See the capabilities in the answer to initialize."
	if strings.HasPrefix(method, editors.MethodPrefix) {
		known := slices.DeleteFunc(slices.Sorted(maps.Keys(c.requests)), func(m string) bool {
			return !strings.HasPrefix(m, editors.MethodPrefix)
		})
		hint = "Use one of: " + strings.Join(known, ", ") + "."
	}
	return withData(jsonrpc2.MethodNotFound, editors.Errorf(editors.CodeUnsupported,
		"There is no method %q.", clip(method, 100)).WithRemedy(hint))
}

// unconnected stands for the core before initialize.
type unconnected struct{}

func (unconnected) Mux() *editors.Mux           { return &editors.Mux{} }
func (unconnected) SetFolders([]string)         {}
func (unconnected) SetUnsaved([]string, string) {}
func (unconnected) Close()                      {}
