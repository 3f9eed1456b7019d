// This file speaks to Daytona's control plane, which makes, lists, starts, stops and deletes sandboxes.

package daytona

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
	pageSize   = 100 // sandboxes
	maxPages   = 100
	sourceName = "sandbox-agent"

	// sdkVersion chooses the format in which sandboxes answer.
	sdkVersion = "0.190.0"
)

var sandboxIDs = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`) // they become parts of addresses

// call asks the control plane, again while that makes sense; what is not safe to repeat is asked once unless it was
// certainly refused. Waiting for a sandbox that is changing its state is up to the caller.
func (b *Backend) call(ctx context.Context, op, method, path string, body any, safe bool) (*cloud.Answer, *cloud.Failure) {
	for try := 1; ; try++ {
		a, f := b.ask(ctx, op, method, path, body)
		if f == nil || f.Moving || f.Unclear && !safe {
			return a, f
		}
		if f, again := b.retry.Wait(ctx, f, try); !again {
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

func sign(h http.Header, key string) {
	h.Set("Authorization", "Bearer "+key)
	h.Set("X-Daytona-Source", sourceName)
	h.Set("X-Daytona-SDK-Version", sdkVersion)
}

// info is a sandbox as Daytona tells of it.
type info struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	State       string       `json:"state"`
	Desired     string       `json:"desiredState"`
	Reason      string       `json:"errorReason"`
	Recoverable bool         `json:"recoverable"`
	Labels      cloud.Labels `json:"labels"`
	Toolbox     string       `json:"toolboxProxyUrl"`
}

func parseInfo(op string, a *cloud.Answer) (info, *cloud.Failure) {
	var i info
	if err := json.Unmarshal(a.Body, &i); err != nil || !sandboxIDs.MatchString(i.ID) {
		return info{}, strange(op, err)
	}
	return i, nil
}

func strange(op string, err error) *cloud.Failure {
	f := cloud.Fail(sandbox.ClassUnavailable, op, "Daytona's answer makes no sense: check DAYTONA_API_URL, or update this program", err)
	f.Unclear = true
	return f
}

// get returns a sandbox by its id or name. One that is being deleted does not exist any more.
func (b *Backend) get(ctx context.Context, op, idOrName string) (info, *cloud.Failure) {
	a, f := b.call(ctx, op, http.MethodGet, "/sandbox/"+url.PathEscape(idOrName), nil, true)
	if f != nil {
		return info{}, f
	}
	i, f := parseInfo(op, a)
	if f == nil && i.phase() == gone {
		f = cloud.Failed(op, errDestroyed(op))
	}
	return i, f
}

// source is what a sandbox is made of.
type source struct {
	snapshot, image string
}

// SnapshotPrefix parts the name of a snapshot from the reference of an image in Spec.Image.
const SnapshotPrefix = "snapshot:"

var references = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,254}$`)

// source returns what to make a sandbox of: what is asked for, or else what the options say.
func (o *Options) source(asked string) (source, error) {
	s := source{o.Snapshot, o.Image}
	if snapshot, is := strings.CutPrefix(asked, SnapshotPrefix); is {
		s = source{snapshot: snapshot}
	} else if asked != "" {
		s = source{image: asked}
	}
	if s.snapshot != "" && s.image != "" {
		return s, sandbox.Errorf(sandbox.ClassInvalid, opOpen, "a Daytona sandbox is made of a snapshot or of an image, not of both: remove one from the settings")
	}
	if text := s.snapshot + s.image; text != "" && !references.MatchString(text) || asked == SnapshotPrefix {
		return s, sandbox.Errorf(sandbox.ClassInvalid, opOpen, "%.100q names no image or snapshot of Daytona: correct it", asked)
	}
	return s, nil
}

// minutes rounds up.
func minutes(d time.Duration) int { return int((d + time.Minute - 1) / time.Minute) }

// create makes a sandbox. An unclear failure may have made one.
func (b *Backend) create(ctx context.Context, spec sandbox.Spec) (info, *cloud.Failure) {
	from, err := b.opts.source(spec.Image)
	if err != nil {
		return info{}, cloud.Failed(opOpen, err)
	}
	body := map[string]any{
		"name": nameOf(spec.ID), "labels": cloud.NewLabels(spec, b.opts.clock.Now(), b.opts.Offline), "public": false, "networkBlockAll": b.opts.Offline,
		"autoStopInterval": minutes(b.opts.Timeout), "autoDeleteInterval": -1,
	}
	if b.opts.Target != "" {
		body["target"] = b.opts.Target
	}
	if b.opts.Archive > 0 {
		body["autoArchiveInterval"] = minutes(b.opts.Archive)
	}
	if b.opts.Delete > 0 {
		body["autoDeleteInterval"] = minutes(b.opts.Delete)
	}
	if from.snapshot != "" {
		body["snapshot"] = from.snapshot
	}
	if from.image != "" {
		body["buildInfo"] = map[string]any{"dockerfileContent": "FROM " + from.image + "\n"}
		for name, n := range map[string]int{"cpu": b.opts.Resources.CPU, "memory": b.opts.Resources.Memory, "disk": b.opts.Resources.Disk} {
			if n > 0 {
				body[name] = n
			}
		}
	}
	a, f := b.call(ctx, opOpen, http.MethodPost, "/sandbox", body, false)
	if f != nil {
		return info{}, misdirected(f)
	}
	return parseInfo(opOpen, a)
}

// do asks for something to be done to a sandbox, which Daytona begins at once.
func (b *Backend) do(ctx context.Context, op, id, verb string) *cloud.Failure {
	_, f := b.call(ctx, op, http.MethodPost, "/sandbox/"+id+"/"+verb, nil, true)
	return f
}

// list returns the sandboxes that this program has made for the account. The list may lag behind.
func (b *Backend) list(ctx context.Context, op string) ([]info, *cloud.Failure) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}, "labels": {`{"` + cloud.LabelOurs + `":"1"}`}}
	var all []info
	for range maxPages {
		a, f := b.call(ctx, op, http.MethodGet, "/sandbox?"+query.Encode(), nil, true)
		if f != nil {
			return nil, misdirected(f)
		}
		var page struct {
			Items []info  `json:"items"`
			Next  *string `json:"nextCursor"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return nil, strange(op, err)
		}
		all = append(all, page.Items...)
		if page.Next == nil || *page.Next == "" {
			return all, nil
		}
		query.Set("cursor", *page.Next)
	}
	return nil, cloud.Fail(sandbox.ClassLimit, op, "the Daytona account has too many sandboxes to list: remove some in Daytona's dashboard", nil)
}

// misdirected corrects the judgement of a request that names no sandbox: what was not found is the address.
func misdirected(f *cloud.Failure) *cloud.Failure {
	if f.Is(sandbox.ClassNotFound) {
		return strange(f.Err.Op, f.Err)
	}
	return f
}
