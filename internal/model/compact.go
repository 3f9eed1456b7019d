// This file has the server compact a conversation, where its Responses API offers that.

package model

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

// compactTimeout bounds how long a server may think about a compaction; nothing comes meanwhile.
const compactTimeout = 5 * time.Minute

const featCompact feature = "responses/compact"

// Compact implements Compactor.
func (r *remote) Compact(ctx context.Context, req Request) (Response, error) {
	if api, _ := r.api(); api != APIResponses {
		return Response{}, r.noCompaction()
	}
	key := strings.TrimSpace(r.opts.Key())
	if err := needKey(r.end, key); err != nil {
		return Response{}, err
	}
	if req.Model == "" {
		req.Model = r.id
	}
	memory := r.end.url + " " + string(featCompact)
	if r.learned.missing(memory)[featCompact] {
		return Response{}, r.noCompaction()
	}
	c := call{parent: ctx, opts: r.opts, end: r.end, key: key, req: req}
	res, err := c.compact()
	if err == nil {
		return res, nil
	}
	e := asError(err)
	if noSuchWire(e) {
		r.learned.lack(memory, featCompact)
		return Response{}, r.noCompaction()
	}
	return Response{}, e
}

func (r *remote) noCompaction() *Error {
	return &Error{Kind: ErrRefused, Message: r.end.host + " does not compact conversations."}
}

// compact makes the one request, which is not streamed.
func (c *call) compact() (Response, error) {
	ctx, cancel := context.WithCancelCause(c.parent)
	defer cancel(nil)
	c.ctx = ctx
	watchdog := time.AfterFunc(max(compactTimeout, c.opts.HeaderTimeout), func() { cancel(errIdle) })
	defer watchdog.Stop()
	w := &responsesWire{}
	p := responses.ResponseCompactParams{
		Model: responses.ResponseCompactParamsModel(c.req.Model),
		Input: responses.ResponseCompactParamsInputUnion{OfResponseInputItemArray: w.input(c)},
	}
	if text := cleanText(c.req.Instructions); text != "" {
		p.Instructions = param.NewOpt(text)
	}
	var res *http.Response
	client := openai.Client{Options: c.clientOptions(func() { watchdog.Reset(c.opts.IdleTimeout) })}
	if err := client.Post(ctx, "responses/compact", p, &res); err != nil {
		return Response{}, c.streamError(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := readWhole(res.Body)
	if err != nil {
		return Response{}, c.streamError(err)
	}
	out, err := c.compacted(w.provider(c.end), data)
	if err != nil {
		return Response{}, c.streamError(err)
	}
	return out, nil
}

// compacted reads the answer: messages, and items that only the provider understands.
func (c *call) compacted(provider string, data []byte) (Response, error) {
	var body struct {
		Output []json.RawMessage `json:"output"`
		Usage  responseUsage     `json:"usage"`
	}
	if err := c.reported(data); err != nil {
		return Response{}, err
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return Response{}, err
	}
	out := Response{Usage: body.Usage.counted(), Model: c.req.Model}
	whole := false
	for _, raw := range body.Output {
		var i struct {
			outputItem
			Role string `json:"role"`
		}
		if err := json.Unmarshal(raw, &i); err != nil {
			return Response{}, err
		}
		switch {
		case i.Type == "compaction" && i.Encrypted != "" && (c.key == "" || !strings.Contains(string(raw), c.key)):
			whole = true
			out.Entries = append(out.Entries, Entry{Kind: KindCompaction, Provider: provider, Raw: raw})
		case i.Type == "message" && i.Role == "user":
			out.Entries = append(out.Entries, Entry{Kind: KindUser, Text: cleanText(i.text())})
		case i.Type == "message":
			out.Entries = append(out.Entries, Entry{Kind: KindAssistant, Text: cleanText(i.text())})
		}
	}
	if !whole {
		return Response{}, &Error{Kind: ErrMalformed, Message: c.end.host + " answered without a compacted conversation."}
	}
	return out, nil
}
