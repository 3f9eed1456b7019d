// This file reads the policies of users and workspaces, and says what they restrict.

package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of a policy's file.
const (
	maxPolicyBytes = 256 << 10
	maxPatterns    = 500 // of all lists together
)

// Policy is what a person or a workspace says about commands beforehand. Its file is a JSON object with up to three lists of
// patterns, and nothing else:
//
//	{
//	  "allow": ["npm test *", "(in web) npm run lint"],
//	  "ask":   ["git commit *"],
//	  "deny":  ["git push *", "rm -rf *"]
//	}
//
// What is allowed runs without asking; its patterns are those of ParsePattern. What is asked about is asked about in the modes
// ask and auto, whatever rules say, and denied in the mode readOnly. What is denied never runs. The patterns of both are the
// words of one simple command and an optional last *, which stands there for any arguments, or none. They hold in every
// directory, for the program at any path, and for git with any options before its subcommand. A command that may match, because
// a word of it is not known before it runs, is asked about, and denied where nobody is asked. Patterns see the commands in
// the text of a command, not those in scripts and programs that it runs.
//
// In each list may also stand the patterns that CheckPattern takes for the tools of MCP servers, and in the latter two mcp__*
// for all of them.
type Policy struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Broken says why a part of the policy cannot be read; a file cannot set it. See Judge.
	Broken string `json:"-"`
}

// ParsePolicy reads a policy's file. Unknown and repeated keys, and patterns that are none or would allow too much, are
// refused; the error names the file as name does, and the line. A file may hold 256 KiB and 500 patterns.
func ParsePolicy(name string, data []byte) (Policy, error) {
	f := policyFile{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p, err := f.read()
	if err != nil {
		return Policy{}, fmt.Errorf("%s:%d: %w", name, f.line(), err)
	}
	return p, nil
}

// Merge joins the policy of the user with that of a workspace, which can only restrict: what it allows does not count, and
// a notice says so.
func Merge(user, workspace Policy) (Policy, []string) {
	merged := Policy{
		Allow: slices.Clone(user.Allow),
		Ask:   slices.Concat(user.Ask, workspace.Ask),
		Deny:  slices.Concat(user.Deny, workspace.Deny),

		Broken: cmp.Or(user.Broken, workspace.Broken),
	}
	if len(workspace.Allow) == 0 {
		return merged, nil
	}
	return merged, []string{fmt.Sprintf(
		"The workspace's policy allows %s; that does not count, since a workspace can only ask and deny: allow it in your own policy.",
		quote(strings.Join(workspace.Allow, ", ")))}
}

// policyFile reads a file token by token, so that errors can name the line.
type policyFile struct {
	data []byte
	dec  *json.Decoder
	n    int // patterns so far
}

// line is the line on which the last token ended.
func (f *policyFile) line() int {
	return 1 + bytes.Count(f.data[:min(int(f.dec.InputOffset()), len(f.data))], []byte{'\n'})
}

func (f *policyFile) read() (Policy, error) {
	if len(f.data) > maxPolicyBytes {
		return Policy{}, fmt.Errorf("the file has more than %d KiB", maxPolicyBytes>>10)
	}
	var p Policy
	if err := f.expect('{', "the file must hold one JSON object"); err != nil {
		return p, err
	}
	seen := map[string]bool{}
	for f.dec.More() {
		key, err := f.text("a key")
		if err != nil {
			return p, err
		}
		if seen[key] {
			return p, fmt.Errorf("%q stands there twice; join the lists", key)
		}
		seen[key] = true
		if err := f.list(&p, key); err != nil {
			return p, err
		}
	}
	if err := f.expect('}', "the object does not end"); err != nil {
		return p, err
	}
	if _, err := f.dec.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("there is more than one JSON object")
	}
	return p, nil
}

func (f *policyFile) list(p *Policy, key string) error {
	check := restriction
	var list *[]string
	switch key {
	case "allow":
		check, list = permission, &p.Allow
	case "ask":
		list = &p.Ask
	case "deny":
		list = &p.Deny
	default:
		return fmt.Errorf("there is no key %q; there are allow, ask and deny", key)
	}
	if err := f.expect('[', fmt.Sprintf("%q must be a list of patterns", key)); err != nil {
		return err
	}
	for f.dec.More() {
		pattern, err := f.text("a pattern")
		if err != nil {
			return err
		}
		if f.n++; f.n > maxPatterns {
			return fmt.Errorf("there are more than %d patterns", maxPatterns)
		}
		if err := check(pattern); err != nil {
			return err
		}
		*list = append(*list, pattern)
	}
	return f.expect(']', fmt.Sprintf("the list %q does not end", key))
}

// expect reads a delimiter.
func (f *policyFile) expect(want json.Delim, otherwise string) error {
	t, err := f.token()
	if err != nil {
		return err
	}
	if t != want {
		return errors.New(otherwise)
	}
	return nil
}

func (f *policyFile) text(what string) (string, error) {
	t, err := f.token()
	if err != nil {
		return "", err
	}
	text, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%s must be text between quotes", what)
	}
	return text, nil
}

func (f *policyFile) token() (json.Token, error) {
	t, err := f.dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the file ends too early")
	}
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return t, nil
}

func permission(pattern string) error {
	if isExternal(pattern) {
		return CheckPattern(pattern, pattern)
	}
	_, err := ParsePattern(pattern)
	return err
}

// restriction checks a pattern of what is asked about or denied.
func restriction(pattern string) error {
	switch {
	case pattern == everyExternal:
		return nil
	case isExternal(pattern):
		return CheckPattern(pattern, pattern)
	}
	if strings.HasPrefix(pattern, inDir) || strings.HasPrefix(pattern, withNetwork) {
		return fmt.Errorf("%s begins with a condition; what is asked about or denied is so everywhere", quote(pattern))
	}
	_, err := parseWords(pattern)
	return err
}

// allows returns what the policy allows as rules.
func (p Policy) allows() []Rule {
	var rules []Rule
	for _, pattern := range ofCommands(p.Allow) {
		rules = append(rules, Rule{Tool: execCommand, Pattern: pattern})
	}
	return rules
}

// restricted says whether a list of a policy has a pattern for a command.
type restricted struct {
	pattern       string
	surely, maybe bool
}

func (p Policy) denies(j *judgement) restricted { return restrict(ofCommands(p.Deny), j) }
func (p Policy) asks(j *judgement) restricted   { return restrict(ofCommands(p.Ask), j) }

// ofCommands leaves out the patterns for tools outside of the sandbox.
func ofCommands(patterns []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), isExternal)
}

func restrict(patterns []string, j *judgement) (r restricted) {
	r.maybe = len(patterns) > 0 && j.opaque
	parsed := make([]WordPattern, len(patterns))
	for i, text := range patterns {
		p, err := parseWords(text)
		if err != nil { // a list that was not read by ParsePolicy
			r.maybe = true
			continue
		}
		parsed[i] = p
	}
	for _, c := range j.commands {
		words := bare(c.words)
		for i, p := range parsed {
			if len(p.words) == 0 {
				continue
			}
			surely, maybe := p.match(words)
			if surely {
				return restricted{pattern: patterns[i], surely: true}
			}
			r.maybe = r.maybe || maybe
		}
	}
	return r
}
