package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// editor is an LSP client of a real `sandbox-agent lsp`.
type editor struct {
	*install
	cmd      *exec.Cmd
	in       io.WriteCloser
	messages chan message
	next     int
	events   []editors.EventMessage
	requests []message // that the server made
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Data    editors.ErrorData `json:"data"`
	} `json:"error,omitempty"`
}

func (i *install) editor(capabilities string) *editor {
	i.Helper()
	cmd := exec.Command(filepath.Join(i.bin, "sandbox-agent"), "lsp")
	cmd.Env, cmd.Dir = i.env, i.home
	in, err := cmd.StdinPipe()
	require.NoError(i, err)
	out, err := cmd.StdoutPipe()
	require.NoError(i, err)
	require.NoError(i, cmd.Start())
	e := &editor{install: i, cmd: cmd, in: in, messages: make(chan message, 4096)}
	i.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	go e.read(bufio.NewReader(out))
	e.call("initialize", fmt.Sprintf(`{"processId":null,"rootUri":null,"capabilities":%s,"workspaceFolders":[{"uri":"file://%s","name":"w"}],"initializationOptions":{"clientName":"test"}}`, capabilities, i.work), nil)
	e.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	return e
}

func (e *editor) read(r *bufio.Reader) {
	defer close(e.messages)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m message
		if json.Unmarshal(body, &m) == nil {
			e.messages <- m
		}
	}
}

func (e *editor) send(text string) {
	e.Helper()
	_, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
	require.NoError(e, err)
}

// until takes messages until one is wanted; events are collected on the way.
func (e *editor) until(what string, want func(message) bool) message {
	e.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m, ok := <-e.messages:
			require.True(e, ok, "the server ended before %s", what)
			e.note(m)
			if want(m) {
				return m
			}
		case <-deadline:
			require.FailNow(e, "waited too long for "+what)
		}
	}
}

func (e *editor) note(m message) {
	switch {
	case m.Method == editors.EventMethod:
		var ev editors.EventMessage
		require.NoError(e, json.Unmarshal(m.Params, &ev))
		e.events = append(e.events, ev)
	case m.Method != "" && len(m.ID) > 0:
		e.requests = append(e.requests, m)
	}
}

// call makes a request and decodes its result; with a nil result only success is required.
func (e *editor) call(method, params string, result any) {
	e.Helper()
	m := e.ask(method, params)
	require.Nil(e, m.Error, "%s: %+v", method, m.Error)
	if result != nil {
		require.NoError(e, json.Unmarshal(m.Result, result))
	}
}

func (e *editor) ask(method, params string) message {
	e.Helper()
	e.next++
	id := strconv.Itoa(e.next)
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return e.until("the answer to "+method, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

// untilEvent waits for a durable event or delta.
func (e *editor) untilEvent(what string, want func(editors.EventMessage) bool) editors.EventMessage {
	e.Helper()
	for _, ev := range e.events {
		if want(ev) {
			return ev
		}
	}
	e.until(what, func(m message) bool { return m.Method == editors.EventMethod && want(e.events[len(e.events)-1]) })
	return e.events[len(e.events)-1]
}

func (e *editor) durable() []editors.EventMessage {
	var out []editors.EventMessage
	for _, ev := range e.events {
		if ev.Event.Type.Durable() {
			out = append(out, ev)
		}
	}
	return out
}

func TestAnEditorThatDiesAndAttachesAgainMissesNothing(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("wait", "exec_command", `{"command":"until [ -e go ]; do sleep 0.05; done; echo went"}`, "It went.")))
	first := i.editor(`{}`)
	var made editors.NewResult
	first.call("sandboxAgent/new", `{"approvalMode":"never"}`, &made)
	id := made.Session.ID
	var attached editors.AttachResult
	first.call("sandboxAgent/attach", fmt.Sprintf(`{"sessionId":%q}`, id), &attached)
	var asked editors.AskResult
	first.call("sandboxAgent/ask", fmt.Sprintf(`{"sessionId":%q,"text":"wait","requestId":"once"}`, id), &asked)
	require.GreaterOrEqual(t, first.durable()[len(first.durable())-1].Seq, asked.Seq, "the answer comes after the events it caused")
	first.untilEvent("the command", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemStarted && e.Event.Item.Kind == editors.ToolCall
	})
	before := first.durable()
	_ = first.cmd.Process.Kill()

	second := i.editor(`{}`)
	var again editors.AskResult
	second.call("sandboxAgent/ask", fmt.Sprintf(`{"sessionId":%q,"text":"wait","requestId":"once"}`, id), &again)
	require.Equal(t, asked, again, "a repeated request is answered as at first")
	last := before[len(before)-1].Seq
	second.call("sandboxAgent/attach", fmt.Sprintf(`{"sessionId":%q,"afterSeq":%d}`, id, last), &attached)
	i.write("go", "")
	second.untilEvent("the end", endOf(1))
	missed := append(append(before, attached.Events...), second.durable()...)
	for n := 1; n < len(missed); n++ {
		require.Equal(t, missed[n-1].Seq+1, missed[n].Seq, "no gap and no repeat over the two attachments")
	}
	require.Equal(t, []string{"It went."}, answers(missed))
}

func TestAGenericLSPClientCanAsk(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("build", "exec_command", `{"command":"echo built > out"}`, "Built it.")))
	e := i.editor(`{"window":{"workDoneProgress":true,"showMessage":{}}}`)
	e.next++
	id := strconv.Itoa(e.next)
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"workspace/executeCommand","params":{"command":"sandboxAgent.ask","arguments":[{"text":"build it"}],"workDoneToken":"t1"}}`, id))
	question := e.until("the approval", func(m message) bool { return m.Method == "window/showMessageRequest" })
	var asked struct {
		Actions []struct{ Title string }
	}
	require.NoError(t, json.Unmarshal(question.Params, &asked))
	require.NotEmpty(t, asked.Actions)
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"title":%q}}`, question.ID, asked.Actions[0].Title))
	shown := e.until("the answer", func(m message) bool {
		return m.Method == "window/showMessage" && strings.Contains(string(m.Params), "Built it.")
	})
	require.NotEmpty(t, shown.Params)
	require.Equal(t, "built\n", i.read("out"))
}

func TestUnsavedTextReachesTheModel(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("what does it say", "Read.")))
	i.write("a.txt", "saved\n")
	e := i.editor(`{}`)
	uri := "file://" + filepath.Join(i.work, "a.txt")
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"languageId":"text","version":1,"text":"saved\n"}}}`, uri))
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":%q,"version":2},"contentChanges":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":5}},"text":"🙂 unsaved"}]}}`, uri))
	var asked editors.AskResult
	e.call("sandboxAgent/ask", `{"text":"what does it say?"}`, &asked)
	e.call("sandboxAgent/attach", fmt.Sprintf(`{"sessionId":%q,"afterSeq":0}`, asked.SessionID), nil)
	i.eventually("the model is asked", func() bool { return len(i.model.Requests()) > 0 })
	require.Contains(t, string(i.model.Requests()[0].Body), "🙂 unsaved")
	require.Contains(t, string(i.model.Requests()[0].Body), "not saved yet")
	require.Equal(t, "saved\n", i.read("a.txt"))
}
