// This file opens terminals of Daytona's daemon that run a script of ours. The daemon knows shells for people only: what they
// read first leads them to the script, or else it is typed. The script sets the terminal so that any bytes pass.

package daytona

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/coder/websocket"

	"sandboxagent/internal/sandbox/cloud"
)

const (
	runVariable = "SANDBOX_AGENT_RUN" // of the shell's environment: the script
	maxNoise    = 64 << 10            // bytes that shells print before the script begins
	maxMessage  = 1 << 20             // bytes; the daemon sends 32 KiB at most
	maxSend     = 32 << 10            // bytes of one message; the daemon takes 64 KiB
	terminals   = "/process/pty"
)

// begin is how every script begins: without what was set for the shell, on a raw terminal, once somebody listens, which the
// mark tells. A shell that did not read what it was to read first is typed to.
const (
	begin = `unset ZDOTDIR ` + runVariable + `
stty raw -echo || exit 1
while IFS= read -r line && [ "$line" != go ]; do :; done
printf '\002%s\003' "$mark"
`
	typed = `exec /bin/sh -c "$` + runVariable + `"` + "\ngo\n"
)

// terminal is a connection to one.
type terminal struct {
	id   string
	ws   *websocket.Conn
	rest []byte // what came behind the mark
}

// terminal opens a terminal with an id of our choice and runs a script in it, which is given mark as a variable.
func (a access) terminal(ctx context.Context, op string, at cloud.Place, id, mark, script string) (*terminal, *cloud.Failure) {
	own, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	shell := path.Join(at.Home, shellDir)
	_, f := a.post(own, op, terminals, map[string]any{"id": id, "cwd": "/", "lazyStart": true, "envs": map[string]string{
		"HOME": shell, "ZDOTDIR": shell, runVariable: "HOME=" + quote(at.Home) + " mark=" + quote(mark) + "\n" + begin + script,
	}})
	if f != nil {
		return nil, f
	}
	t := &terminal{id: id}
	if t.ws, f = a.connect(own, op, id); f != nil {
		return nil, f
	}
	if f := t.greet(own, op, markOf(mark)); f != nil {
		_ = t.ws.CloseNow()
		return nil, f
	}
	return t, nil
}

// markOf is how a mark appears in what a terminal prints.
func markOf(mark string) []byte { return []byte("\x02" + mark + "\x03") }

func (a access) connect(ctx context.Context, op, id string) (*websocket.Conn, *cloud.Failure) {
	key, err := a.b.key(op)
	if err != nil {
		return nil, cloud.Failed(op, err)
	}
	h := http.Header{}
	sign(h, key)
	ws, res, err := websocket.Dial(ctx, a.base+terminals+"/"+id+"/connect", &websocket.DialOptions{HTTPClient: a.b.http, HTTPHeader: h}) //nolint:bodyclose // Dial has read it
	switch {
	case err == nil:
		ws.SetReadLimit(maxMessage)
		return ws, nil
	case res == nil || res.StatusCode == http.StatusSwitchingProtocols:
		return nil, cloud.Unreachable(ctx, op, name, inside, err)
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	return nil, blocked(op, &cloud.Answer{Status: res.StatusCode, Header: res.Header, Body: cloud.Hide(body, key)})
}

// greet waits until the script has begun.
func (t *terminal) greet(ctx context.Context, op string, mark []byte) *cloud.Failure {
	var noise []byte
	for {
		kind, data, err := t.ws.Read(ctx)
		if err != nil {
			return t.ended(ctx, op, noise, err)
		}
		if kind == websocket.MessageText {
			if f := t.control(ctx, op, data); f != nil {
				return f
			}
			continue
		}
		noise = append(noise, data...)
		if i := bytes.Index(noise, mark); i >= 0 {
			t.rest = noise[i+len(mark):]
			return nil
		}
		if len(noise) > maxNoise {
			return unfit(op, outcome{Text: string(noise[:maxNoise])})
		}
	}
}

// control answers what the daemon says of the connection.
func (t *terminal) control(ctx context.Context, op string, data []byte) *cloud.Failure {
	var m struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Status != "connected" {
		return cloud.Passing(op, cloud.Quote("the Daytona sandbox opens no terminal: try again in a minute", cloud.Line(m.Error)), err)
	}
	if err := t.ws.Write(ctx, websocket.MessageBinary, []byte(typed)); err != nil {
		return cloud.Unreachable(ctx, op, name, inside, err)
	}
	return nil
}

// ended judges a terminal that ended before its script had begun.
func (t *terminal) ended(ctx context.Context, op string, noise []byte, err error) *cloud.Failure {
	if ctx.Err() == nil && exited(err) {
		return unfit(op, outcome{Text: strings.TrimSpace(string(noise))})
	}
	f := cloud.Unreachable(ctx, op, name, inside, err)
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		f = cloud.Passing(op, "the terminal of the Daytona sandbox does not answer in time: try again later, or "+other, err)
	}
	return f
}

// exited reports whether the connection ended since the program in the terminal did.
func exited(err error) bool {
	code := websocket.CloseStatus(err)
	return code == websocket.StatusNormalClosure || code == websocket.StatusInternalError
}

// end ends a terminal and what runs in it. One that is gone is no failure.
func (a access) end(ctx context.Context, id string) *cloud.Failure {
	_, f := a.send(ctx, "end terminal", http.MethodDelete, terminals+"/"+id, "", nil, callTime)
	if f != nil && f.Absent {
		return nil
	}
	return f
}
