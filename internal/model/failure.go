// This file maps every way a call can fail to one *Error that says what to do.

package model

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxErrorBody  = 64 << 10
	maxRetryAfter = 24 * time.Hour
)

// errIdle is the cause of a context that our own watchdog ended.
var errIdle = errors.New("idle limit reached")

// problem is what a provider says went wrong, in a body or in a stream.
type problem struct {
	Code, Type, Param, Message string
}

// parseProblem reads the forms servers use: {"error":{…}}, {"error":"text"}, {"detail":…}, {"message":…}, or plain text.
func parseProblem(body []byte) problem {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message string          `json:"message"`
		Code    any             `json:"code"`
		Type    string          `json:"type"`
		Param   any             `json:"param"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return problem{Message: string(body)}
	}
	if p, ok := parseInner(outer.Error); ok {
		return p
	}
	p := problem{Message: outer.Message, Code: scalar(outer.Code), Type: outer.Type, Param: scalar(outer.Param)}
	if p.Message == "" {
		p.Message = string(outer.Detail)
	}
	return p
}

func parseInner(raw json.RawMessage) (problem, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return problem{Message: text}, true
	}
	var inner struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Message string `json:"message"`
	}
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &inner) != nil {
		return problem{}, false
	}
	return problem{Code: scalar(inner.Code), Type: inner.Type, Param: scalar(inner.Param), Message: inner.Message}, true
}

// scalar renders a code that some servers give as text and others as a number.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

func (p problem) mentions(words ...string) bool {
	text := strings.ToLower(p.Code + " " + p.Type + " " + p.Message)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// classify decides by what the provider says first, and by the HTTP status (0 within a stream) where it says nothing special.
func classify(status int, p problem) (kind ErrorKind, retryable bool) {
	switch {
	case p.mentions("insufficient_quota", "billing_hard_limit", "billing_not_active") || status == http.StatusPaymentRequired:
		return ErrQuota, false
	case p.mentions("context_length_exceeded", "maximum context length", "context window", "context length", "exceed_context_size",
		"available context size", "prompt is too long", "request too large") || status == http.StatusRequestEntityTooLarge:
		return ErrTooLong, false
	case p.mentions("invalid_api_key", "authentication_error") || status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ErrAuth, false
	case unknownModel(status, p):
		return ErrUnknown, false
	case p.mentions("rate_limit") || status == http.StatusTooManyRequests:
		return ErrRateLimited, true
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported:
		return ErrRefused, false
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly:
		return ErrOverloaded, true
	case status == 0 && !p.mentions("invalid", "policy", "unsupported", "content_filter"):
		return ErrOverloaded, true // within a stream, after the request was accepted
	}
	return ErrRefused, false
}

// codeStatus is the HTTP status that some servers give as the code of an error within a stream; 0 when it is none.
func codeStatus(code string) int {
	n, err := strconv.Atoi(code)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

func unknownModel(status int, p problem) bool {
	if p.mentions("model_not_found") {
		return true
	}
	return (status == http.StatusNotFound || status == http.StatusBadRequest) && p.mentions("model") &&
		p.mentions("does not exist", "not found", "not exist", "no such model", "unknown model", "try pulling it")
}

// statusError turns a response with an error status into an *Error and closes it.
func (c *call) statusError(res *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	p := parseProblem(body)
	if c.end.openAI && res.StatusCode == http.StatusNotFound && p.Code == "" && p.Message == "" {
		p.Message = res.Status
	}
	e := c.problemError(res.StatusCode, p)
	if after := retryAfter(res.Header, time.Now()); after > 0 {
		e.RetryAfter = after
	}
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		e.Retryable = e.Kind == ErrRateLimited || e.Kind == ErrOverloaded || e.Kind == ErrRefused
	case "false":
		e.Retryable = false
	}
	return e
}

// problemError makes the *Error for what the provider said.
func (c *call) problemError(status int, p problem) *Error {
	kind, retryable := classify(cmp.Or(status, codeStatus(p.Code)), p)
	if kind == ErrAuth && c.key == "" {
		kind = ErrNoKey
	}
	e := &Error{Kind: kind, Status: status, Retryable: retryable, code: p.Code, param: p.Param}
	if retryable {
		e.RetryAfter = hintedDelay(p.Message)
	}
	said := brief(p.Message, c.key)
	e.Message, e.Remedy = c.explain(kind, status)
	if said == "" && status != 0 {
		said = http.StatusText(status)
	}
	if said != "" {
		e.Err = errors.New(said)
	}
	return e
}

// explain says, per kind, what happened and what to do.
func (c *call) explain(kind ErrorKind, status int) (message, remedy string) {
	host := c.end.host
	switch kind {
	case ErrNoKey:
		return host + " wants an API key, and there is none.", noKeyRemedy
	case ErrAuth:
		return "The key was refused by " + host + ".", "Check OPENAI_API_KEY, or set a new one with the editor's Set API Key command."
	case ErrQuota:
		return "The account at " + host + " has no credit left.", "Add credit at the provider, use another key, or choose the model \"demo\"."
	case ErrTooLong:
		return fmt.Sprintf("The conversation is too long for the model %q.", c.req.Model),
			"Start a new session, or choose a model with a larger context."
	case ErrUnknown:
		return fmt.Sprintf("%s does not know the model %q.", host, c.req.Model),
			"Choose another model, or check its spelling and whether your account may use it."
	case ErrRateLimited:
		return host + " asks to slow down (rate limit).", "Wait a little, or raise the limit of your account."
	case ErrOverloaded:
		return fmt.Sprintf("%s could not answer%s.", host, inParentheses(status)), "Try again in a moment."
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		return fmt.Sprintf("%s has no such address%s.", host, inParentheses(status)), "Check OPENAI_BASE_URL: it usually ends in /v1."
	}
	return fmt.Sprintf("%s refused the request%s.", host, inParentheses(status)), ""
}

func inParentheses(status int) string {
	if status == 0 {
		return ""
	}
	return fmt.Sprintf(" (HTTP %d)", status)
}

// streamError maps what ended a request or a stream without an answer of the provider.
func (c *call) streamError(err error) *Error {
	var known *Error
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &known):
		return known
	case c.parent.Err() != nil:
		return &Error{Kind: ErrCanceled, Message: "The model call was canceled.", Err: c.parent.Err()}
	case errors.Is(context.Cause(c.ctx), errIdle):
		return c.stalled()
	case errors.As(err, &syntax) || errors.As(err, &kind):
		return &Error{
			Kind: ErrMalformed, Message: c.end.host + " sent an event that is not valid.", Retryable: true,
			Remedy: "Try again; if it stays, check that OPENAI_BASE_URL is an OpenAI-compatible server.", Err: errors.New(brief(err.Error(), c.key)),
		}
	case !c.connected:
		return c.unreachable(err)
	}
	return &Error{
		Kind: ErrCut, Message: "The connection to " + c.end.host + " ended in the middle of the answer.", Retryable: true,
		Remedy: "Try again.", Err: errors.New(brief(err.Error(), c.key)),
	}
}

func (c *call) stalled() *Error {
	e := &Error{Kind: ErrStalled, Retryable: true, Remedy: "Try again; a slow server may need a longer idle timeout."}
	if c.connected {
		e.Message = fmt.Sprintf("%s sent nothing for %v.", c.end.host, c.opts.IdleTimeout)
	} else {
		e.Message = fmt.Sprintf("%s did not begin to answer within %v.", c.end.host, c.opts.HeaderTimeout)
	}
	return e
}

func (c *call) unreachable(err error) *Error {
	remedy := "Check the network connection."
	if !c.end.openAI {
		remedy = "Check that the server runs and that OPENAI_BASE_URL is right."
	}
	var dns *net.DNSError
	message := "Cannot connect to " + c.end.host + "."
	if errors.As(err, &dns) {
		message = "The host " + c.end.host + " cannot be found."
	}
	var cert *tls.CertificateVerificationError
	return &Error{
		Kind: ErrUnreachable, Message: message, Remedy: remedy, Retryable: !errors.As(err, &cert),
		Err: errors.New(brief(innermost(err).Error(), c.key)),
	}
}

// innermost leaves out wrappers that repeat the URL.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// retryAfter reads Retry-After-Ms and Retry-After (seconds or HTTP date), bounded to a day; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return bounded(at.Sub(now).Seconds(), time.Second)
	}
	return 0
}

func bounded(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	if n >= float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}

var delayHint = regexp.MustCompile(`(?i)try again in (\d+(?:\.\d+)?)\s?(ms|s|m)\b`)

// hintedDelay finds the delay that OpenAI writes into the message of a rate limit.
func hintedDelay(message string) time.Duration {
	m := delayHint.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1] + m[2])
	if err != nil || d > maxRetryAfter {
		return 0
	}
	return d
}
