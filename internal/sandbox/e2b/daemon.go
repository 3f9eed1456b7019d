// This file speaks to E2B's daemon in a sandbox: files, and processes whose output arrives as it is produced.

package e2b

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	daemonPort = 49983
	callTime   = 30 * time.Second // of what takes no time but the network's
	uploadTime = 5 * time.Minute
	slowest    = 16 << 10         // bytes a second that a connection must carry
	pingTime   = 15 * time.Second // when three are missing, the connection is dead

	typeJSON   = "application/json"
	typeStream = "application/connect+json"
	rpc        = "/process.Process/"
)

// request makes a request to the daemon, as the template's own user.
func (a access) request(ctx context.Context, op, method, path, kind string, body io.Reader) (*http.Request, *cloud.Failure) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, cloud.Fail(sandbox.ClassInternal, op, "the request cannot be made", err)
	}
	r.Header.Set("Connect-Protocol-Version", "1")
	r.Header.Set("E2b-Sandbox-Id", a.id)
	r.Header.Set("E2b-Sandbox-Port", strconv.Itoa(daemonPort))
	if a.token != "" {
		r.Header.Set("X-Access-Token", a.token)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r, nil
}

// send makes a request with a short answer.
func (a access) send(ctx context.Context, op, path, kind string, body io.Reader, most time.Duration) (*cloud.Answer, *cloud.Failure) {
	own, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r, f := a.request(own, op, http.MethodPost, path, kind, body)
	if f != nil {
		return nil, f
	}
	got, err := cloud.Fetch(a.b.http, r, "")
	if err != nil {
		return nil, cloud.Unreachable(ctx, op, name, inside, err)
	}
	if !got.OK() {
		return got, blocked(op, got)
	}
	return got, nil
}

// do makes a call with one answer.
func (a access) do(ctx context.Context, op, path string, message any, most time.Duration) (*cloud.Answer, *cloud.Failure) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, cloud.Fail(sandbox.ClassInternal, op, "the request cannot be encoded", err)
	}
	return a.send(ctx, op, path, typeJSON, bytes.NewReader(text), most)
}

// upload writes a file, which nobody else knows of yet. It is sent as a form, since older daemons take nothing else.
func (a access) upload(ctx context.Context, op, path string, content io.Reader) *cloud.Failure {
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	_, err := form.CreateFormFile("file", path)
	begin := frame.Len()
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return cloud.Fail(sandbox.ClassInternal, op, "the request cannot be encoded", err)
	}
	body := io.MultiReader(bytes.NewReader(frame.Bytes()[:begin]), content, bytes.NewReader(frame.Bytes()[begin:]))
	_, f := a.send(ctx, op, "/files?"+url.Values{"path": {path}}.Encode(), form.FormDataContentType(), body, uploadTime)
	return f
}

// mkdir makes a directory with the daemon's own rights; it belongs to the user.
func (a access) mkdir(ctx context.Context, op, path string) *cloud.Failure {
	got, f := a.do(ctx, op, "/filesystem.Filesystem/MakeDir", map[string]string{"path": path}, callTime)
	if got != nil && got.Status == http.StatusConflict && strings.Contains(string(got.Body), "already_exists") {
		return nil
	}
	return f
}

// exists reports whether there is something at a path.
func (a access) exists(ctx context.Context, path string) (bool, *cloud.Failure) {
	got, f := a.do(ctx, opOpen, "/filesystem.Filesystem/Stat", map[string]string{"path": path}, callTime)
	if got != nil && got.Status == http.StatusNotFound && strings.Contains(string(got.Body), "not_found") {
		return false, nil
	}
	return f == nil, f
}

// kill ends a process that the daemon started, not what that has started.
func (a access) kill(ctx context.Context, pid int) *cloud.Failure {
	got, f := a.do(ctx, "end process", rpc+"SendSignal", map[string]any{"process": map[string]int{"pid": pid}, "signal": "SIGNAL_SIGKILL"}, callTime)
	if got != nil && got.Status == http.StatusNotFound && strings.Contains(string(got.Body), "not_found") {
		return nil
	}
	return f
}

// write writes to the standard input of a process.
func (a access) write(ctx context.Context, pid int, data []byte) *cloud.Failure {
	message := map[string]any{"process": map[string]int{"pid": pid}, "input": map[string][]byte{"stdin": data}}
	most := callTime + time.Duration(len(data)/slowest)*time.Second
	_, f := a.do(ctx, "send to the sandbox", rpc+"SendInput", message, most)
	return f
}

// tags returns the names of the processes that the daemon has started and that run.
func (a access) tags(ctx context.Context) map[int]string {
	got, f := a.do(ctx, "list processes", rpc+"List", struct{}{}, callTime)
	if f != nil {
		return nil
	}
	var list struct {
		Processes []struct {
			PID int    `json:"pid"`
			Tag string `json:"tag"`
		} `json:"processes"`
	}
	if json.Unmarshal(got.Body, &list) != nil {
		return nil
	}
	tags := map[int]string{}
	for _, p := range list.Processes {
		tags[p.PID] = p.Tag
	}
	return tags
}

// program is a process to be started.
type program struct {
	argv []string
	env  map[string]string
	tag  string
	// life, if not 0, is when the daemon kills the process, whether or not anybody is connected. Losing the connection does
	// not end a process.
	life time.Duration
	fed  bool // it has a standard input
}

// event is what a process did.
type event struct {
	Start *struct {
		PID int `json:"pid"`
	} `json:"start"`
	Data *struct {
		Stdout []byte `json:"stdout"`
		Stderr []byte `json:"stderr"`
	} `json:"data"`
	End *struct {
		ExitCode int    `json:"exitCode"`
		Exited   bool   `json:"exited"`
		Status   string `json:"status"`
	} `json:"end"`
}

// process is one that the daemon has started.
type process struct {
	pid    int
	body   io.ReadCloser
	r      *bufio.Reader
	buf    []byte
	cancel context.CancelCauseFunc
	ctx    context.Context
	watch  *time.Timer
	late   time.Duration
}

var errSilent = errors.New("no sign of life from the sandbox")

// start starts a process. The connection to it outlasts ctx and ends with close, or when nothing comes any more.
func (a access) start(ctx context.Context, op string, p program) (*process, *cloud.Failure) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s := &process{ctx: own, cancel: cancel, late: 3*a.b.opts.ping + a.b.opts.ping/3}
	s.watch = time.AfterFunc(callTime, func() { cancel(errSilent) })
	f := s.begin(ctx, a, op, p)
	if !release() && f == nil {
		f = &cloud.Failure{Err: cloud.Canceled(op, context.Cause(ctx))}
	}
	if f != nil {
		s.close()
		return nil, f
	}
	return s, nil
}

func (s *process) begin(ctx context.Context, a access, op string, p program) *cloud.Failure {
	body, err := enframe(map[string]any{
		"process": map[string]any{"cmd": p.argv[0], "args": p.argv[1:], "envs": p.env, "cwd": "/"}, "tag": p.tag, "stdin": p.fed,
	})
	if err != nil {
		return cloud.Fail(sandbox.ClassInternal, op, "the request cannot be encoded", err)
	}
	r, f := a.request(s.ctx, op, http.MethodPost, rpc+"Start", typeStream, bytes.NewReader(body))
	if f != nil {
		return f
	}
	r.Header.Set("Keepalive-Ping-Interval", strconv.Itoa(max(1, int(a.b.opts.ping.Seconds()))))
	if p.life > 0 {
		r.Header.Set("Connect-Timeout-Ms", strconv.FormatInt(p.life.Milliseconds(), 10))
	}
	res, err := cloud.Send(a.b.http, r) //nolint:bodyclose // process.close does
	if err != nil {
		return cloud.Unreachable(ctx, op, name, inside, s.why(err))
	}
	s.body = res.Body
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, cloud.MaxAnswer))
		return blocked(op, &cloud.Answer{Status: res.StatusCode, Header: res.Header, Body: text})
	}
	s.r = bufio.NewReaderSize(res.Body, 64<<10)
	ev, err := s.next()
	if err == nil && ev.Start == nil {
		err = errors.New("the process did something before it began")
	}
	if err != nil {
		return cloud.Unreachable(ctx, op, name, inside, err)
	}
	s.pid = ev.Start.PID
	return nil
}

// why prefers the reason for which the connection was given up.
func (s *process) why(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return err
}

// next returns what the process does next: io.EOF after its end.
func (s *process) next() (event, error) {
	for {
		flags, message, err := deframe(s.r, s.buf)
		if errors.Is(err, io.EOF) { // the end of a call is announced
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return event{}, s.why(err)
		}
		s.watch.Reset(s.late)
		s.buf = message[:0]
		if flags&flagEnd != 0 {
			return event{}, ended(message)
		}
		var m struct {
			Event event `json:"event"`
		}
		if err := json.Unmarshal(message, &m); err != nil {
			return event{}, fmt.Errorf("read event of a process: %w", err)
		}
		if m.Event.Start != nil || m.Event.Data != nil || m.Event.End != nil {
			return m.Event, nil
		}
	}
}

// ended returns why a streamed call ended: io.EOF when all went well.
func ended(message []byte) error {
	var m struct {
		Error *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return fmt.Errorf("read the end of a call: %w", err)
	}
	if m.Error == nil {
		return io.EOF
	}
	if m.Error.Code == "invalid_argument" {
		return sandbox.Errorf(sandbox.ClassUnsupported, "start process",
			"the E2B sandbox cannot start the process (%.300s): choose another template", m.Error.Message)
	}
	return fmt.Errorf("%s: %s", m.Error.Code, m.Error.Message)
}

// close drops the connection; the process goes on.
func (s *process) close() {
	s.watch.Stop()
	s.cancel(context.Canceled)
	if s.body != nil {
		_ = s.body.Close()
	}
}

// run runs a small script to its end and returns what it printed. One that fails is a failure.
func (a access) run(ctx context.Context, op, script string, args ...string) (string, *cloud.Failure) {
	const most = 64 << 10
	s, f := a.start(ctx, op, program{argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...), life: callTime})
	if f != nil {
		return "", f
	}
	defer s.close()
	defer context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })()
	defer time.AfterFunc(callTime, func() { s.cancel(context.DeadlineExceeded) }).Stop()
	var out, complaint strings.Builder
	for {
		ev, err := s.next()
		switch {
		case err != nil:
			return "", cloud.Unreachable(ctx, op, name, inside, err)
		case ev.Data != nil:
			if out.Len()+complaint.Len() < most {
				out.Write(ev.Data.Stdout)
				complaint.Write(ev.Data.Stderr)
			}
		case ev.End != nil && ev.End.Exited && ev.End.ExitCode == 0:
			return out.String(), nil
		case ev.End != nil:
			return "", unfit(op, strings.TrimSpace(complaint.String()), ev.End.Status)
		}
	}
}

// unfit judges a script that failed.
func unfit(op, complaint, status string) *cloud.Failure {
	complaint = cloud.Line(complaint)
	if strings.Contains(complaint, "No space left") {
		return cloud.Fail(sandbox.ClassLimit, op, fullDisk, errors.New(complaint))
	}
	return cloud.Fail(sandbox.ClassUnsupported, op, "the E2B sandbox cannot be prepared: choose another template ("+complaint+")", errors.New(status))
}
