// This file speaks to Daytona's daemon in a sandbox: small scripts, files, and terminals.

package daytona

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	callTime   = 30 * time.Second // of what takes no time but the network's
	scriptTime = 25               // seconds, after which the daemon ends a script
	uploadTime = 5 * time.Minute
	typeJSON   = "application/json"
)

// access is how one sandbox is reached.
type access struct {
	b    *Backend
	id   string
	base string // address of the daemon in it
}

// access returns how a sandbox is reached, by what Daytona says of it. The key goes nowhere unencrypted, unless the control
// plane itself is reached that way.
func (b *Backend) access(ctx context.Context, op string, i info) (access, *cloud.Failure) {
	base := i.Toolbox
	if base == "" {
		a, f := b.call(ctx, op, http.MethodGet, "/sandbox/"+i.ID+"/toolbox-proxy-url", nil, true)
		if f != nil {
			return access{}, f
		}
		var m struct {
			URL string `json:"url"`
		}
		if err := json.Unmarshal(a.Body, &m); err != nil {
			return access{}, strange(op, err)
		}
		base = m.URL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && strings.HasPrefix(b.opts.APIURL, "http:")) {
		return access{}, strange(op, err)
	}
	return access{b: b, id: i.ID, base: strings.TrimRight(base, "/") + "/" + i.ID}, nil
}

// send makes a request with a short answer.
func (a access) send(ctx context.Context, op, method, path, kind string, body io.Reader, most time.Duration) (*cloud.Answer, *cloud.Failure) {
	key, err := a.b.key(op)
	if err != nil {
		return nil, cloud.Failed(op, err)
	}
	own, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r, err := http.NewRequestWithContext(own, method, a.base+path, body)
	if err != nil {
		return nil, cloud.Fail(sandbox.ClassInternal, op, "the request cannot be made", err)
	}
	sign(r.Header, key)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	got, err := cloud.Fetch(a.b.http, r, key)
	if err != nil {
		return nil, cloud.Unreachable(ctx, op, name, inside, err)
	}
	if !got.OK() {
		return got, blocked(op, got)
	}
	return got, nil
}

// post makes a request with JSON.
func (a access) post(ctx context.Context, op, path string, message any) (*cloud.Answer, *cloud.Failure) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, cloud.Fail(sandbox.ClassInternal, op, "the request cannot be encoded", err)
	}
	return a.send(ctx, op, http.MethodPost, path, typeJSON, bytes.NewReader(text), callTime)
}

// upload writes a file, which nobody else knows of yet.
func (a access) upload(ctx context.Context, op, path string, content io.Reader) *cloud.Failure {
	r, w := io.Pipe()
	defer r.Close()
	form := multipart.NewWriter(w)
	go func() {
		err := form.WriteField("files[0].path", path) // before the file
		var part io.Writer
		if err == nil {
			part, err = form.CreateFormFile("files[0].file", "file")
		}
		if err == nil {
			_, err = io.Copy(part, content)
		}
		_ = w.CloseWithError(errors.Join(err, form.Close()))
	}()
	_, f := a.send(ctx, op, http.MethodPost, "/files/bulk-upload", form.FormDataContentType(), r, uploadTime)
	return f
}

// quote makes one word of the shell's of any text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func quoteAll(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// outcome is how a script ended: what it printed, on either stream, and with what code.
type outcome struct {
	Text string `json:"result"`
	Code int    `json:"exitCode"`
}

// run runs a small script to its end, which must not matter if it happens twice. What it leaves running must not hold its
// output open. Daytona's daemon feeds commands to a shell that differs among images, so what it gets is one for every shell.
func (a access) run(ctx context.Context, op, script string, args ...string) (outcome, *cloud.Failure) {
	command := "/bin/sh -c " + quoteAll(append([]string{script, "sh"}, args...)...) + " </dev/null"
	got, f := a.post(ctx, op, "/process/execute", map[string]any{"command": command, "cwd": "/", "timeout": scriptTime})
	if f != nil {
		return outcome{}, f
	}
	var o outcome
	if err := json.Unmarshal(got.Body, &o); err != nil {
		return outcome{}, strange(op, err)
	}
	return o, nil
}

// succeed runs a script that must succeed and returns what it printed.
func (a access) succeed(ctx context.Context, op, script string, args ...string) (string, *cloud.Failure) {
	o, f := a.run(ctx, op, script, args...)
	if f == nil && o.Code != 0 {
		f = unfit(op, o)
	}
	return o.Text, f
}

// unfit judges a script that failed.
func unfit(op string, o outcome) *cloud.Failure {
	said := cloud.Line(o.Text)
	if mentions(said, "no space left") {
		return cloud.Fail(sandbox.ClassLimit, op, fullDisk, errors.New(said))
	}
	return cloud.Fail(sandbox.ClassUnsupported, op, cloud.Quote("the Daytona sandbox cannot be prepared: "+other, said), nil)
}
