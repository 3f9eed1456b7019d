// This file speaks to E2B's control plane, which makes, lists, wakes, pauses and deletes sandboxes.

package e2b

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	pageSize = 100 // sandboxes
	maxPages = 100
)

var (
	sandboxIDs = regexp.MustCompile(`^[a-z0-9-]{1,64}$`) // they become parts of addresses
	domains    = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$`)
)

// call asks the control plane, again while that makes sense; what is not safe to repeat is asked once unless it was
// certainly refused.
func (b *Backend) call(ctx context.Context, op, method, path string, body any, safe bool) (*cloud.Answer, *cloud.Failure) {
	for try := 1; ; try++ {
		a, f := b.ask(ctx, op, method, path, body)
		if f == nil {
			return a, nil
		}
		again := safe || !f.Unclear
		if again {
			f, again = b.retry.Wait(ctx, f, try)
		}
		if !again {
			f.Passes = false
			return a, f
		}
	}
}

// ask asks the control plane once. The answer comes also with a failure, if there was one.
func (b *Backend) ask(ctx context.Context, op, method, path string, body any) (*cloud.Answer, *cloud.Failure) {
	key, err := b.key(op)
	if err != nil {
		return nil, cloud.Failed(op, err)
	}
	a, f := cloud.Ask(ctx, b.http, cloud.Request{Op: op, Cloud: name, Method: method, URL: b.opts.APIURL + path, Body: body, Key: key, Sign: sign})
	if f != nil {
		return nil, f
	}
	if !a.OK() {
		return a, refused(op, a)
	}
	return a, nil
}

func sign(h http.Header, key string) { h.Set("X-API-Key", key) }

// made is what E2B answers about a sandbox that it has made or woken.
type made struct {
	SandboxID string `json:"sandboxID"`
	Token     string `json:"envdAccessToken"`
	Traffic   string `json:"trafficAccessToken"`
	Domain    string `json:"domain"`
}

// access is how one sandbox is reached.
type access struct {
	b       *Backend
	id      string
	domain  string
	base    string // address of the daemon in it
	token   string // a secret
	traffic string // another, for other ports; "": they need none
}

func (b *Backend) access(op string, a *cloud.Answer) (access, *cloud.Failure) {
	var m made
	err := json.Unmarshal(a.Body, &m)
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
	return access{b: b, id: m.SandboxID, domain: m.Domain, base: base, token: m.Token, traffic: m.Traffic}, nil
}

func strange(op string, err error) *cloud.Failure {
	f := cloud.Fail(sandbox.ClassUnavailable, op, "E2B's answer makes no sense: check E2B_API_URL, or update this program", err)
	f.Unclear = true
	return f
}

// versioned asks by the newer version of the interface, and by the older one where the other is not known.
func (b *Backend) versioned(ctx context.Context, op, path string, newer, older any, safe bool) (*cloud.Answer, *cloud.Failure) {
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
func noSuchRoute(a *cloud.Answer) bool {
	if a == nil || a.Status != http.StatusNotFound && a.Status != http.StatusMethodNotAllowed {
		return false
	}
	text := strings.ToLower(parseSaid(a.Body).Message)
	return !strings.Contains(text, "sandbox") && !strings.Contains(text, "template")
}

func seconds(d time.Duration) int { return int(d.Seconds()) }

// create makes a sandbox. An unclear failure may have made one.
func (b *Backend) create(ctx context.Context, template string, metadata map[string]string) (access, *cloud.Failure) {
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
func (b *Backend) connect(ctx context.Context, op, id string) (access, *cloud.Failure) {
	body := map[string]any{"timeout": seconds(b.opts.Timeout)}
	a, f := b.versioned(ctx, op, "/sandboxes/"+id+"/connect", body, body, true)
	if f != nil {
		return access{}, f
	}
	return b.access(op, a)
}

// extend gives a running sandbox its whole time again.
func (b *Backend) extend(ctx context.Context, id string) *cloud.Failure {
	_, f := b.call(ctx, "keep sandbox", http.MethodPost, "/sandboxes/"+id+"/timeout", map[string]any{"timeout": seconds(b.opts.Timeout)}, true)
	return f
}

// suspend pauses a sandbox. One that is paused already, or gone, is no failure.
func (b *Backend) suspend(ctx context.Context, id string) *cloud.Failure {
	for try := 1; ; try++ {
		_, f := b.ask(ctx, opStop, http.MethodPost, "/sandboxes/"+id+"/pause", map[string]any{})
		if f == nil || f.Is(sandbox.ClassNotFound) {
			return nil
		}
		if f.Moving { // or paused
			if state, unknown := b.state(ctx, id); unknown == nil && state != stateRunning {
				return nil
			}
		}
		if f, again := b.retry.Wait(ctx, f, try); !again {
			return f
		}
	}
}

const stateRunning = "running"

// state returns whether a sandbox is running or paused, "" for one that is gone.
func (b *Backend) state(ctx context.Context, id string) (string, *cloud.Failure) {
	a, f := b.call(ctx, opStop, http.MethodGet, "/sandboxes/"+id, nil, true)
	if f.Is(sandbox.ClassNotFound) {
		return "", nil
	}
	if f != nil {
		return "", f
	}
	var l listed
	if err := json.Unmarshal(a.Body, &l); err != nil {
		return "", strange(opStop, err)
	}
	return l.State, nil
}

// remove deletes a sandbox, running or paused. One that is gone is no failure.
func (b *Backend) remove(ctx context.Context, op, id string) *cloud.Failure {
	_, f := b.call(ctx, op, http.MethodDelete, "/sandboxes/"+id, nil, true)
	if f.Is(sandbox.ClassNotFound) {
		return nil
	}
	return f
}

// listed is a sandbox as lists tell.
type listed struct {
	SandboxID string       `json:"sandboxID"`
	StartedAt time.Time    `json:"startedAt"`
	State     string       `json:"state"`
	Metadata  cloud.Labels `json:"metadata"`
}

// list returns the sandboxes, running and paused, that have that metadata, whose name and value need no escaping.
func (b *Backend) list(ctx context.Context, op, name, value string) ([]listed, *cloud.Failure) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}, "metadata": {name + "=" + value}}
	var all []listed
	for range maxPages {
		a, f := b.call(ctx, op, http.MethodGet, "/v2/sandboxes?"+query.Encode(), nil, true)
		if f != nil {
			return nil, misdirected(f)
		}
		var page []listed
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return nil, strange(op, err)
		}
		for _, l := range page {
			if sandboxIDs.MatchString(l.SandboxID) {
				all = append(all, l)
			}
		}
		next := a.Header.Get("X-Next-Token")
		if next == "" {
			return all, nil
		}
		query.Set("nextToken", next)
	}
	return nil, cloud.Fail(sandbox.ClassLimit, op, "the E2B account has too many sandboxes to list: remove some in E2B's dashboard", nil)
}

// misdirected corrects the judgement of a request that names no sandbox: what was not found is the address.
func misdirected(f *cloud.Failure) *cloud.Failure {
	if f.Is(sandbox.ClassNotFound) {
		return strange(f.Err.Op, f.Err)
	}
	return f
}
