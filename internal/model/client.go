// This file is the Model that speaks to a server: it chooses the wire and leaves out what a server was found not to take.

package model

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// feature is an option of a request that some servers refuse and none needs.
type feature string

const (
	featSummary   feature = "reasoning.summary"
	featEncrypted feature = "include"
	featCacheKey  feature = "prompt_cache_key"
	featParallel  feature = "parallel_tool_calls"
	featUsage     feature = "stream_options"
	featReasoning feature = "reasoning_content"
)

type features map[feature]bool

// learned is what was found out about servers, for as long as the process lives.
type learned struct {
	mu    sync.Mutex
	wires map[string]string   // base URL → wire
	lacks map[string]features // base URL, wire and model → features
}

func newLearned() *learned {
	return &learned{wires: map[string]string{}, lacks: map[string]features{}}
}

func (l *learned) wire(base string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wires[base]
}

func (l *learned) missing(key string) features {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := maps.Clone(l.lacks[key]); f != nil {
		return f
	}
	return features{}
}

func (l *learned) store(base, wire, key string, lacks features) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wires[base] = wire
	if len(lacks) > 0 {
		l.lacks[key] = lacks
	}
}

// lack remembers one thing that a server does not have.
func (l *learned) lack(key string, f feature) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lacks[key] = features{f: true}
}

// remote is a Model at a server.
type remote struct {
	opts    Options
	end     endpoint
	id      string
	learned *learned
}

// Respond implements Model.
func (r *remote) Respond(ctx context.Context, req Request, onDelta func(Delta)) (Response, error) {
	key := strings.TrimSpace(r.opts.Key())
	if err := needKey(r.end, key); err != nil {
		return Response{}, err
	}
	if req.Model == "" {
		req.Model = r.id
	}
	api, sure := r.api()
	resp, err := r.respond(ctx, api, key, req, onDelta)
	if err != nil && !sure && noSuchWire(asError(err)) {
		return r.respond(ctx, APIChat, key, req, onDelta)
	}
	return resp, err
}

// api returns the wire to use and whether it is certain.
func (r *remote) api() (api string, sure bool) {
	switch {
	case r.opts.API != "":
		return r.opts.API, true
	case r.end.openAI:
		return APIResponses, true
	}
	if known := r.learned.wire(r.end.url); known != "" {
		return known, true
	}
	return APIResponses, false
}

// noSuchWire tells a server without the Responses API from one that does not know the model.
func noSuchWire(e *Error) bool {
	if e.Kind == ErrUnknown {
		return false
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return e.Err != nil && strings.Contains(strings.ToLower(e.Err.Error()), "unexpected endpoint")
}

// respond calls by one wire, and again for every option the server refuses before it has said anything.
func (r *remote) respond(ctx context.Context, api, key string, req Request, onDelta func(Delta)) (Response, error) {
	var w wire = &responsesWire{}
	if api == APIChat {
		w = &chatWire{}
	}
	memory := strings.Join([]string{r.end.url, api, req.Model}, " ")
	c := call{parent: ctx, opts: r.opts, end: r.end, key: key, req: req, lacks: r.learned.missing(memory)}
	for {
		attempt := c
		a := newAnswer(req, w.provider(r.end), key, onDelta)
		err := attempt.run(w, a)
		if err == nil {
			r.learned.store(r.end.url, api, memory, c.lacks)
			return a.response(), nil
		}
		failure := asError(err)
		if a.started || !c.adapt(api, failure) {
			return a.response(), failure
		}
	}
}

// adapt leaves out one more thing that the server refused; false when there is none. So it ends.
func (c *call) adapt(api string, e *Error) bool {
	if e.Err == nil {
		return false
	}
	said := strings.ToLower(e.code + " " + e.param + " " + e.Err.Error())
	if c.refusesImages(e, said) { // some servers call that their own failure
		c.lacks[featImages] = true
		return true
	}
	if e.Status < 400 || e.Status >= 500 {
		return false
	}
	if !c.noRaw && unreadable(said) {
		c.noRaw = true
		return true
	}
	if e.Kind != ErrRefused || (e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity) {
		return false
	}
	for _, f := range optional(api) {
		if !c.lacks[f.feature] && (strings.HasPrefix(e.param, string(f.feature)) || containsAny(said, f.words)) {
			c.lacks[f.feature] = true
			return true
		}
	}
	if api == APIChat && !c.end.openAI && !c.lacks[featUsage] {
		c.lacks[featUsage] = true // some servers refuse it without saying what they refuse
		return true
	}
	return false
}

// unreadable recognises a provider that can no longer read its own encrypted reasoning, e.g. because the key changed.
func unreadable(said string) bool {
	return containsAny(said, []string{"invalid_encrypted_content", "encrypted content", "items are not persisted", "required following item"})
}

type refusable struct {
	feature feature
	words   []string // what a refusal of it mentions
}

func optional(api string) []refusable {
	if api == APIChat {
		return []refusable{
			{featUsage, []string{"stream_options", "include_usage"}},
			{featReasoning, []string{"reasoning_content", "'reasoning'", "\"reasoning\""}},
			{featCacheKey, []string{"prompt_cache_key"}},
		}
	}
	return []refusable{
		{featSummary, []string{"reasoning.summary", "reasoning summar"}},
		{featEncrypted, []string{"encrypted_content"}},
		{featCacheKey, []string{"prompt_cache_key"}},
		{featParallel, []string{"parallel_tool_calls"}},
	}
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

const noKeyRemedy = "Set OPENAI_API_KEY (in the environment, in the .env beside your config, or with the editor's Set API Key command), " +
	"or choose the model \"demo\"."

func needKey(end endpoint, key string) *Error {
	if key != "" || (!end.openAI && end.local) {
		return nil
	}
	return &Error{Kind: ErrNoKey, Message: "There is no API key for " + end.host + ".", Remedy: noKeyRemedy}
}
