// This file speaks to E2B's control plane, which makes, lists, wakes, pauses and deletes sandboxes.

package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	requestTime = time.Minute // of one try; making and waking a sandbox is usually a matter of seconds
	maxAnswer   = 8 << 20     // bytes
	pageSize    = 100         // sandboxes
	maxPages    = 100
	userAgent   = "sandbox-agent" // the proxy answers browsers with pages for people
)

var (
	sandboxIDs = regexp.MustCompile(`^[a-z0-9-]{1,64}$`) // they become parts of addresses
	domains    = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$`)
)

// answer is what came back, whatever the status.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// client is a copy of what the options say, or one of our own, that hands nobody else the key: it follows no redirection.
func (o *Options) client() *http.Client {
	c := &http.Client{}
	if o.HTTPClient != nil {
		*c = *o.HTTPClient
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 16
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 2 * pingTime, PingTimeout: pingTime} // a dead connection is not used on and on
		c.Transport = t
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// call asks the control plane, again while that makes sense; what is not safe to repeat is asked once unless it was
// certainly refused.
func (b *Backend) call(ctx context.Context, op, method, path string, body any, safe bool) (*answer, *failure) {
	for try := 1; ; try++ {
		a, f := b.ask(ctx, op, method, path, body)
		if f == nil {
			return a, nil
		}
		wait, again := f.again(try, b.opts.dice())
		if !again || f.unclear && !safe {
			f.passes = false
			return a, f
		}
		b.opts.Logger.Info("E2B is asked again", "op", op, "wait", wait, "error", f.err)
		if err := b.opts.sleep(ctx, wait); err != nil {
			return nil, &failure{err: canceled(op, err)}
		}
	}
}

// ask asks the control plane once. The answer comes also with a failure, if there was one.
func (b *Backend) ask(ctx context.Context, op, method, path string, body any) (*answer, *failure) {
	key, err := b.key(op)
	if err != nil {
		return nil, failed(op, err)
	}
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fail(sandbox.ClassInternal, op, "the request cannot be encoded", err)
		}
		payload = bytes.NewReader(text)
	}
	own, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r, err := http.NewRequestWithContext(own, method, b.opts.APIURL+path, payload)
	if err != nil {
		return nil, fail(sandbox.ClassInternal, op, "the request cannot be made", err)
	}
	r.Header.Set("X-API-Key", key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := b.fetch(r)
	if err != nil {
		return nil, unreachable(ctx, op, "E2B", err)
	}
	if a.ok() {
		return a, nil
	}
	a.body = bytes.ReplaceAll(a.body, []byte(key), []byte("(the key)"))
	return a, refused(op, a)
}

// fetch carries out a request and reads the whole answer.
func (b *Backend) fetch(r *http.Request) (*answer, error) {
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("Accept-Encoding", "identity")
	res, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	return &answer{res.StatusCode, res.Header, body}, nil
}

// made is what E2B answers about a sandbox that it has made or woken.
type made struct {
	SandboxID string `json:"sandboxID"`
	Token     string `json:"envdAccessToken"`
	Domain    string `json:"domain"`
}

// access is how one sandbox is reached.
type access struct {
	b     *Backend
	id    string
	base  string // address of the daemon in it
	token string // a secret
}

func (b *Backend) access(op string, a *answer) (access, *failure) {
	var m made
	err := json.Unmarshal(a.body, &m)
	if m.Domain == "" {
		m.Domain = b.opts.Domain
	}
	if err != nil || !sandboxIDs.MatchString(m.SandboxID) || !domains.MatchString(m.Domain) {
		return access{}, strange(op, err)
	}
	base := b.opts.SandboxURL
	if base == "" {
		base = "https://" + strconv.Itoa(daemonPort) + "-" + m.SandboxID + "." + m.Domain
	}
	return access{b: b, id: m.SandboxID, base: base, token: m.Token}, nil
}

func strange(op string, err error) *failure {
	f := fail(sandbox.ClassUnavailable, op, "E2B's answer makes no sense: check E2B_API_URL, or update this program", err)
	f.unclear = true
	return f
}

// versioned asks by the newer version of the interface, and by the older one where the other is not known.
func (b *Backend) versioned(ctx context.Context, op, path string, newer, older any, safe bool) (*answer, *failure) {
	if !b.legacy.Load() {
		a, f := b.call(ctx, op, http.MethodPost, "/v2"+path, newer, safe)
		if f == nil || !noSuchRoute(a) {
			return a, f
		}
	}
	a, f := b.call(ctx, op, http.MethodPost, path, older, safe)
	if f == nil || !noSuchRoute(a) {
		b.legacy.Store(true)
	}
	return a, f
}

// noSuchRoute tells an unknown address from an unknown thing, of which E2B says what it is.
func noSuchRoute(a *answer) bool {
	if a == nil || a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
		return false
	}
	text := strings.ToLower(parseSaid(a.body).Message)
	return !strings.Contains(text, "sandbox") && !strings.Contains(text, "template")
}

func seconds(d time.Duration) int { return int(d.Seconds()) }

// create makes a sandbox. An unclear failure may have made one.
func (b *Backend) create(ctx context.Context, template string, metadata map[string]string) (access, *failure) {
	body := map[string]any{
		"templateID": template, "timeout": seconds(b.opts.Timeout), "metadata": metadata, "autoPause": true,
		"allow_internet_access": !b.opts.Offline, "network": map[string]any{"allowPublicTraffic": false},
	}
	older := map[string]any{"secure": true}
	for name, value := range body {
		older[name] = value
	}
	a, f := b.versioned(ctx, opOpen, "/sandboxes", body, older, false)
	if f != nil {
		return access{}, misdirected(f)
	}
	return b.access(opOpen, a)
}

// connect wakes a sandbox if it is paused, gives it more time, and tells how it is reached.
func (b *Backend) connect(ctx context.Context, op, id string) (access, *failure) {
	body := map[string]any{"timeout": seconds(b.opts.Timeout)}
	a, f := b.versioned(ctx, op, "/sandboxes/"+id+"/connect", body, body, true)
	if f != nil {
		return access{}, f
	}
	return b.access(op, a)
}

// extend gives a running sandbox its whole time again.
func (b *Backend) extend(ctx context.Context, id string) *failure {
	_, f := b.call(ctx, "keep sandbox", http.MethodPost, "/sandboxes/"+id+"/timeout", map[string]any{"timeout": seconds(b.opts.Timeout)}, true)
	return f
}

// suspend pauses a sandbox. One that is paused already, or gone, is no failure.
func (b *Backend) suspend(ctx context.Context, id string) *failure {
	for try := 1; ; try++ {
		_, f := b.ask(ctx, opStop, http.MethodPost, "/sandboxes/"+id+"/pause", map[string]any{})
		if f == nil || f.err.Class == sandbox.ClassNotFound {
			return nil
		}
		if f.moving { // or paused
			if state, unknown := b.state(ctx, id); unknown == nil && state != stateRunning {
				return nil
			}
		}
		wait, again := f.again(try, b.opts.dice())
		if !again {
			return f
		}
		if err := b.opts.sleep(ctx, wait); err != nil {
			return &failure{err: canceled(opStop, err)}
		}
	}
}

const stateRunning = "running"

// state returns whether a sandbox is running or paused, "" for one that is gone.
func (b *Backend) state(ctx context.Context, id string) (string, *failure) {
	a, f := b.call(ctx, opStop, http.MethodGet, "/sandboxes/"+id, nil, true)
	if f != nil && f.err.Class == sandbox.ClassNotFound {
		return "", nil
	}
	if f != nil {
		return "", f
	}
	var l listed
	if err := json.Unmarshal(a.body, &l); err != nil {
		return "", strange(opStop, err)
	}
	return l.State, nil
}

// remove deletes a sandbox, running or paused. One that is gone is no failure.
func (b *Backend) remove(ctx context.Context, op, id string) *failure {
	_, f := b.call(ctx, op, http.MethodDelete, "/sandboxes/"+id, nil, true)
	if f != nil && f.err.Class == sandbox.ClassNotFound {
		return nil
	}
	return f
}

// listed is a sandbox as lists tell.
type listed struct {
	SandboxID string            `json:"sandboxID"`
	StartedAt time.Time         `json:"startedAt"`
	State     string            `json:"state"`
	Metadata  map[string]string `json:"metadata"`
}

// list returns the sandboxes, running and paused, that have that metadata, whose name and value need no escaping.
func (b *Backend) list(ctx context.Context, op, name, value string) ([]listed, *failure) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}, "metadata": {name + "=" + value}}
	var all []listed
	for range maxPages {
		a, f := b.call(ctx, op, http.MethodGet, "/v2/sandboxes?"+query.Encode(), nil, true)
		if f != nil {
			return nil, misdirected(f)
		}
		var page []listed
		if err := json.Unmarshal(a.body, &page); err != nil {
			return nil, strange(op, err)
		}
		for _, l := range page {
			if sandboxIDs.MatchString(l.SandboxID) {
				all = append(all, l)
			}
		}
		next := a.header.Get("X-Next-Token")
		if next == "" {
			return all, nil
		}
		query.Set("nextToken", next)
	}
	return nil, fail(sandbox.ClassLimit, op, "the E2B account has too many sandboxes to list: remove some in E2B's dashboard", nil)
}

// misdirected corrects the judgement of a request that names no sandbox: what was not found is the address.
func misdirected(f *failure) *failure {
	if f.err.Class == sandbox.ClassNotFound {
		return strange(f.err.Op, f.err)
	}
	return f
}
