// This file keeps the keys of model servers and clouds: in memory, out of histories, logs and child processes.

package config

import (
	"slices"
	"strings"
	"sync"
	"time"

	"sandboxagent/editors"
)

// The secrets that exist.
const (
	OpenAIKey  = "OPENAI_API_KEY"
	E2BKey     = "E2B_API_KEY"
	DaytonaKey = "DAYTONA_API_KEY"
)

// SecretNames lists the secrets that exist.
func SecretNames() []string { return []string{OpenAIKey, E2BKey, DaytonaKey} }

const (
	maxSecret   = 4096 // bytes of one secret
	minRedacted = 8    // bytes; shorter values would tear up ordinary text
	maxRedacted = 64   // values remembered for redaction
	redacted    = "[redacted]"
)

// Secrets knows the keys of this process. A key set at run time comes before the environment, which comes before the
// .env file; the file is read again when it changes. It is safe for concurrent use, and never writes anything.
type Secrets struct {
	file string
	env  Env

	mu       sync.Mutex
	set      map[string]string // at run time
	dotenv   map[string]string
	warnings []Warning
	stamp    fileStamp
	seen     []string // values to redact, also former ones, longest first
	replacer *strings.Replacer
}

// fileStamp tells whether a file has changed.
type fileStamp struct {
	modified time.Time
	size     int64
	mode     uint32
}

// NewSecrets returns the secrets of an installation.
func NewSecrets(p Paths, env Env) *Secrets {
	return &Secrets{file: p.EnvFile, env: env, set: map[string]string{}, replacer: strings.NewReplacer()}
}

// Get returns the value of a secret, "" when there is none.
func (s *Secrets) Get(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.get(name)
}

func (s *Secrets) get(name string) string {
	if !slices.Contains(SecretNames(), name) {
		return ""
	}
	for _, value := range []string{s.set[name], s.env.Get(name), s.dotenv[name]} {
		if value = strings.TrimSpace(value); value != "" {
			return value
		}
	}
	return ""
}

// Set gives a secret a value for the life of this process; an empty value forgets the one given before. Surrounding
// white space is dropped. Other names than SecretNames and values of more than 4 KiB or several lines are an
// *editors.Error with CodeInvalidParams.
func (s *Secrets) Set(name, value string) error {
	if !slices.Contains(SecretNames(), name) {
		return editors.Errorf(editors.CodeInvalidParams, "There is no such secret; the names are %s.", strings.Join(SecretNames(), ", "))
	}
	value = strings.TrimSpace(value)
	if len(value) > maxSecret || strings.ContainsAny(value, "\r\n\x00") {
		return editors.Errorf(editors.CodeInvalidParams, "The value of %s is not a key: it must be one line of at most %d bytes.", name, maxSecret)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == "" {
		delete(s.set, name)
		return nil
	}
	s.set[name] = value
	s.remember(value)
	return nil
}

// Redact replaces every secret value of at least 8 bytes in text, also values that were replaced or forgotten since.
func (s *Secrets) Redact(text string) string {
	s.mu.Lock()
	s.refresh()
	replacer := s.replacer
	s.mu.Unlock()
	return replacer.Replace(text)
}

// Warnings tells what is wrong with the .env file now.
func (s *Secrets) Warnings() []Warning {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return slices.Clone(s.warnings)
}

// refresh reads the .env file when it has changed and learns what to redact. The caller holds s.mu.
func (s *Secrets) refresh() {
	if stamp := stampOf(s.file); stamp != s.stamp {
		s.stamp = stamp
		values, warnings, err := readEnvFile(s.file)
		if err != nil {
			warnings = append(warnings, Warning{File: s.file, Message: err.Error()})
		} else {
			s.dotenv = values
		}
		s.warnings = warnings
	}
	for _, name := range SecretNames() {
		s.remember(s.env.Get(name))
		s.remember(s.dotenv[name])
	}
}

// remember makes Redact replace value. The caller holds s.mu.
func (s *Secrets) remember(value string) {
	value = strings.TrimSpace(value)
	if len(value) < minRedacted || slices.Contains(s.seen, value) {
		return
	}
	if len(s.seen) == maxRedacted {
		s.seen = s.seen[1:]
	}
	s.seen = append(s.seen, value)
	pairs := make([]string, 0, 2*len(s.seen))
	for _, v := range longestFirst(s.seen) {
		pairs = append(pairs, v, redacted)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

func longestFirst(values []string) []string {
	return slices.SortedStableFunc(slices.Values(values), func(a, b string) int { return len(b) - len(a) })
}
