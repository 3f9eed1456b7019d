// This file says what can be set about the models, and what holds when nothing is.

package model

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sandboxagent/editors"
)

// Names of models that always exist.
const (
	// DefaultModel is used where no model was chosen.
	DefaultModel = editors.DefaultModel
	// DemoModel needs neither key nor network.
	DemoModel = editors.DemoModel
)

// The wires a server may speak.
const (
	APIResponses = "responses"
	APIChat      = "chat"
)

const (
	openAIBase = "https://api.openai.com/v1"
	openAIHost = "api.openai.com"

	defaultConnectTimeout = 10 * time.Second
	defaultHeaderTimeout  = 60 * time.Second
	defaultIdleTimeout    = 60 * time.Second
	defaultDemoDelay      = 12 * time.Millisecond
)

// Options configures a Registry. Its zero value speaks to OpenAI and has no key.
type Options struct {
	// Key returns the API key, "" when there is none. It is asked at every call, so that a key set later counts.
	Key func() string
	// BaseURL of a compatible server, with its version path ("http://127.0.0.1:11434/v1"). Empty: OpenAI.
	BaseURL string
	// API is the wire: APIResponses, APIChat, or empty to find out (OpenAI speaks Responses; any other server is asked for
	// Responses once and then spoken to by Chat Completions if it has none).
	API string
	// Organization and Project are sent to OpenAI when set.
	Organization, Project string
	// HeaderTimeout bounds the wait for the first byte of an answer, IdleTimeout the wait for the next one; both 60 s when 0.
	HeaderTimeout, IdleTimeout time.Duration
	// Facts replace what is known of models, by id; zero fields leave it.
	Facts map[string]Facts
	// HTTPClient replaces the default one (10 s to connect; proxies from the environment). It must not have a Timeout, which
	// would cut long answers.
	HTTPClient *http.Client
	// DemoDelay is the pause between two words of the demo model: 12 ms when 0, none when negative.
	DemoDelay time.Duration
}

func (o Options) withDefaults() Options {
	if o.Key == nil {
		o.Key = func() string { return "" }
	}
	if o.BaseURL = strings.TrimSpace(o.BaseURL); o.BaseURL == "" {
		o.BaseURL = openAIBase
	}
	if o.HeaderTimeout == 0 {
		o.HeaderTimeout = defaultHeaderTimeout
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	if o.HTTPClient == nil {
		o.HTTPClient = newHTTPClient()
	}
	if o.DemoDelay == 0 {
		o.DemoDelay = defaultDemoDelay
	}
	return o
}

// endpoint is a parsed base URL.
type endpoint struct {
	url    string // as the SDK wants it
	host   string // for messages: host and port, never user info
	openAI bool
	local  bool // a loopback host: a key is optional
}

func parseEndpoint(base string) (endpoint, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return endpoint{}, &Error{
			Kind:    ErrRefused,
			Message: "The base URL of the model server is not an http or https URL.",
			Remedy:  "Set OPENAI_BASE_URL to something like http://127.0.0.1:11434/v1, or unset it to use OpenAI.",
		}
	}
	name := u.Hostname()
	ip := net.ParseIP(name)
	return endpoint{
		url:    u.String(),
		host:   u.Host,
		openAI: strings.EqualFold(name, openAIHost),
		local:  strings.EqualFold(name, "localhost") || strings.HasSuffix(strings.ToLower(name), ".localhost") || ip.IsLoopback(),
	}, nil
}
