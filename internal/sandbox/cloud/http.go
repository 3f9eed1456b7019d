// This file is the part of HTTP that requests to clouds have in common.

package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"sandboxagent/internal/sandbox"
)

// MaxAnswer is how much of an answer is read, in bytes.
const MaxAnswer = 8 << 20

const (
	userAgent = "sandbox-agent" // E2B's proxy answers browsers with pages for people
	pingTime  = 15 * time.Second
	tryTime   = time.Minute // of one try; making and waking a sandbox is usually a matter of seconds
)

// Answer is what came back, whatever the status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// OK reports whether the request was carried out.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Client is a copy of base, or a client of our own where that is nil. It follows no redirection, by which somebody else would
// get the key.
func Client(base *http.Client) *http.Client {
	c := &http.Client{}
	if base != nil {
		*c = *base
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 16
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 2 * pingTime, PingTimeout: pingTime} // a dead connection is not used on and on
		c.Transport = t
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// Send carries out a request, saying whose it is. Its answer comes as it is, not compressed.
func Send(c *http.Client, r *http.Request) (*http.Response, error) {
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("Accept-Encoding", "identity")
	return c.Do(r)
}

// Fetch carries out a request and reads the whole answer, at most MaxAnswer of it. The key does not stay in what is refused.
func Fetch(c *http.Client, r *http.Request, key string) (*Answer, error) {
	res, err := Send(c, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxAnswer))
	if err != nil {
		return nil, err
	}
	a := &Answer{res.StatusCode, res.Header, body}
	if !a.OK() {
		a.Body = Hide(a.Body, key)
	}
	return a, nil
}

// Request is one request to a cloud's control plane.
type Request struct {
	Op, Cloud   string // for errors
	Method, URL string
	Body        any // sent as JSON unless nil
	Key         string
	Sign        func(h http.Header, key string)
}

// Ask makes a request once. Whatever is answered is no failure; what that means is for the caller to judge.
func Ask(ctx context.Context, c *http.Client, q Request) (*Answer, *Failure) {
	var payload io.Reader
	if q.Body != nil {
		text, err := json.Marshal(q.Body)
		if err != nil {
			return nil, Fail(sandbox.ClassInternal, q.Op, "the request cannot be encoded", err)
		}
		payload = bytes.NewReader(text)
	}
	own, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	r, err := http.NewRequestWithContext(own, q.Method, q.URL, payload)
	if err != nil {
		return nil, Fail(sandbox.ClassInternal, q.Op, "the request cannot be made", err)
	}
	q.Sign(r.Header, q.Key)
	if q.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := Fetch(c, r, q.Key)
	if err != nil {
		return nil, Unreachable(ctx, q.Op, q.Cloud, q.Cloud, err)
	}
	return a, nil
}

// IsAddress reports whether a text is an http or https address.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// Hide takes a key out of what somebody says who knows it.
func Hide(text []byte, key string) []byte {
	if key == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(key), []byte("(the key)"))
}
