// This file gives the tests an editor at the other end of the pipes and a core without Temporal.

package lsp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// deadline is for what must happen at once; a test that meets it has failed.
const deadline = 10 * time.Second

// fakeCore is a core whose commands are set by the test.
type fakeCore struct {
	mux   editors.Mux
	mu    sync.Mutex
	conns []*fakeConn
	made  chan *fakeConn
}

type fakeConn struct {
	core    *fakeCore
	name    string
	sink    func(editors.EventMessage)
	mu      sync.Mutex
	folders []string
	unsaved [][]string // as told, one after the other
	closed  bool
}

func newFakeCore() *fakeCore { return &fakeCore{made: make(chan *fakeConn, 100)} }

func (f *fakeCore) connect(name string, sink func(editors.EventMessage)) Conn {
	conn := &fakeConn{core: f, name: name, sink: sink}
	f.mu.Lock()
	f.conns = append(f.conns, conn)
	f.mu.Unlock()
	f.made <- conn
	return conn
}

func (c *fakeConn) Mux() *editors.Mux { return &c.core.mux }

func (c *fakeConn) SetFolders(folders []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.folders = folders
}

func (c *fakeConn) SetUnsaved(files []string, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsaved = append(c.unsaved, files)
}

func (c *fakeConn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (f *fakeCore) options(t *testing.T) Options {
	return Options{
		Connect:    f.connect,
		RuntimeDir: t.TempDir(),
		Describe: func(context.Context) Description {
			return Description{HostID: "host-1", DefaultBackend: editors.Local, DefaultModel: "demo"}
		},
	}
}

// message is a JSON-RPC message as the editor sees it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Data    editors.ErrorData `json:"data"`
	} `json:"error"`
}

// editor is the client's end.
type editor struct {
	t    *testing.T
	in   io.WriteCloser
	out  *frameReader
	done chan error // of Serve
}

func serve(t *testing.T, o Options) *editor {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	e := &editor{t: t, in: inWrite, out: newFrameReader(outRead), done: make(chan error, 1)}
	go func() {
		err := Serve(t.Context(), o, inRead, outWrite)
		_ = outWrite.Close()
		_ = inRead.Close()
		e.done <- err
	}()
	return e
}

func (e *editor) raw(text string) {
	e.t.Helper()
	_, err := io.WriteString(e.in, text)
	require.NoError(e.t, err)
}

func (e *editor) send(body string) {
	e.t.Helper()
	e.raw(string(frameOf([]byte(body))))
}

// read returns the next message of the server.
func (e *editor) read() message {
	e.t.Helper()
	m, err := e.next()
	require.NoError(e.t, err)
	return m
}

func (e *editor) next() (message, error) {
	var m message
	frame, err := e.out.next()
	if err == nil {
		err = json.Unmarshal(frame.body, &m)
	}
	return m, err
}

// until reads messages up to one with the method.
func (e *editor) until(method string) message {
	e.t.Helper()
	for {
		if m := e.read(); m.Method == method {
			return m
		}
	}
}

// call sends a request and reads its answer, which must be the next message.
func (e *editor) call(id, method, params string) message {
	e.t.Helper()
	e.send(request(id, method, params))
	m := e.read()
	require.Equal(e.t, id, string(m.ID), "answer to %s: %+v", method, m)
	return m
}

func (e *editor) notify(method, params string) {
	e.t.Helper()
	e.send(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

func (e *editor) initialize(params string) message {
	e.t.Helper()
	m := e.call(`"init"`, "initialize", params)
	require.Nil(e.t, m.Error)
	e.notify("initialized", "{}")
	return m
}

// end closes the input and returns what Serve returned.
func (e *editor) end() error {
	e.t.Helper()
	require.NoError(e.t, e.in.Close())
	return e.result()
}

func (e *editor) result() error {
	e.t.Helper()
	go func() {
		for {
			if _, err := e.next(); err != nil {
				return
			}
		}
	}()
	select {
	case err := <-e.done:
		return err
	case <-time.After(deadline):
		require.FailNow(e.t, "the server did not end")
		return nil
	}
}

func request(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func longText(n int) string { return strings.Repeat("x", n) }
