// This file answers which models there are and which of them can be used now.

package model

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	listTimeout = 2 * time.Second
	listFor     = time.Minute      // how long a list of a server counts
	listAgain   = 10 * time.Second // how long a failure to get one counts
	maxListBody = 4 << 20
	maxListed   = 500
)

// known are the models of OpenAI that suit a coding agent; any other id works too.
var known = []string{DefaultModel, "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4", "gpt-5.4-mini"}

// Registry gives out models. It is safe for concurrent use.
type Registry struct {
	opts    Options
	end     endpoint
	endErr  error
	demo    Model
	learned *learned

	mu     sync.Mutex
	listed []string
	until  time.Time
}

// New returns a registry for one server and the demo model. Wrong options are reported by Get.
func New(opts Options) *Registry {
	opts = opts.withDefaults()
	end, err := parseEndpoint(opts.BaseURL)
	if err == nil && !slices.Contains([]string{"", APIResponses, APIChat}, opts.API) {
		err = &Error{
			Kind:    ErrRefused,
			Message: "The setting OPENAI_API must be \"responses\" or \"chat\".",
			Remedy:  "Correct OPENAI_API, or unset it to find out by itself.",
		}
	}
	return &Registry{opts: opts, end: end, endErr: err, demo: newDemo(opts.DemoDelay), learned: newLearned()}
}

// Get returns the model with the given id, the default one for "". It asks nobody: an unknown id is found out by the first
// call. Its errors are *Error: ErrNoKey when there is no key, ErrRefused when the options are wrong.
func (r *Registry) Get(id string) (Model, error) {
	if id == DemoModel {
		return r.demo, nil
	}
	if id == "" {
		id = DefaultModel
	}
	if r.endErr != nil {
		return nil, r.endErr
	}
	if err := needKey(r.end, strings.TrimSpace(r.opts.Key())); err != nil {
		return nil, err
	}
	return &remote{opts: r.opts, end: r.end, id: id, learned: r.learned}, nil
}

// List returns the models to choose from: the known ones, or those a compatible server names (asked for at most 2 s, once a
// minute), and the demo model.
func (r *Registry) List(ctx context.Context) []Info {
	provider, ids := "openai", known
	if r.endErr == nil && !r.end.openAI {
		provider, ids = "compatible", r.serverModels(ctx)
	}
	var infos []Info
	_, err := r.Get(DefaultModel)
	for _, id := range ids {
		info := Info{ID: id, Provider: provider, Available: err == nil}
		if err != nil {
			e := asError(err)
			info.Reason, info.Remedy = e.Message, e.Remedy
		}
		infos = append(infos, info)
	}
	return append(infos, Info{ID: DemoModel, Provider: "demo", Available: true})
}

// serverModels returns what the server lists, or the default model when it lists nothing.
func (r *Registry) serverModels(ctx context.Context) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.listed
	}
	ids, wait := r.fetchModels(ctx), listFor
	if len(ids) == 0 {
		ids, wait = []string{DefaultModel}, listAgain
	}
	r.listed, r.until = ids, time.Now().Add(wait)
	return ids
}

func (r *Registry) fetchModels(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(r.end.url, "/")+"/models", nil)
	if err != nil {
		return nil
	}
	if key := strings.TrimSpace(r.opts.Key()); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := r.opts.HTTPClient.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, maxListBody)).Decode(&body) != nil {
		return nil
	}
	var ids []string
	for _, m := range body.Data {
		if m.ID != "" && len(ids) < maxListed {
			ids = append(ids, cleanText(m.ID))
		}
	}
	return ids
}
