// This file keeps out of requests what servers cannot take (invalid UTF-8, NUL) and out of errors what nobody may see (keys).

package model

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// cleanText replaces invalid UTF-8 and NUL by the replacement character.
func cleanText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	return strings.ReplaceAll(s, "\x00", replacement)
}

// cleanArguments returns a JSON object for the arguments of a tool call. What is none is kept as text under the key
// "malformed", because servers that parse arguments fail on it, and the model must still see what it wrote.
func cleanArguments(s string) string {
	s = cleanText(s)
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) == nil && object != nil {
		return s
	}
	wrapped, err := json.Marshal(map[string]string{"malformed": s})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

var keyLike = regexp.MustCompile(`(?i)\b(sk-[A-Za-z0-9_*.\-]{4,}|Bearer\s+\S+)`)

// redact removes the key and whatever looks like one.
func redact(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	return keyLike.ReplaceAllString(text, "[key]")
}

// brief makes a provider's text fit for a one-sentence message: one line, at most 500 bytes, no key.
func brief(text, key string) string {
	text = strings.Join(strings.Fields(cleanText(redact(text, key))), " ")
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return text
}
