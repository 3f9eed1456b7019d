// This file matches calls against what a person has allowed for always.

package policy

import (
	"encoding/json"
	"slices"
	"strings"
)

// What precedes the command in the pattern of one that names its directory or asks for the network. A command that begins
// so itself cannot be remembered.
const (
	inDir       = "(in "
	withNetwork = "(with network) "
)

// Rule is a remembered answer. A call of the tool may run without asking if Pattern is the whole text that Pattern gives for
// it, or if every simple command in it only reads or is one that a rule allows by a pattern for ParsePattern.
type Rule struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

// match says whether rules cover the command. Redirects that write, assignments and whatever else is more than simple
// commands are covered only by a rule that is the whole text, and so is reading outside the workspace beside what a rule
// covers.
func match(rules []Rule, c command) bool {
	if pattern := Pattern(c.call); pattern != "" && !wide(pattern) && slices.Contains(rules, Rule{Tool: execCommand, Pattern: pattern}) {
		return true
	}
	if len(c.other) > 0 || c.far != "" && !c.confined {
		return false
	}
	patterns, covered := wordPatterns(rules), false
	for _, s := range c.commands {
		if s.concern == "" {
			continue
		}
		if !slices.ContainsFunc(patterns, func(p WordPattern) bool { return p.covers(s, c.network) }) {
			return false
		}
		covered = true
	}
	return covered
}

// wide tells whether text is a pattern with a *, which as a command would stand for whatever files there are.
func wide(text string) bool {
	p, err := ParsePattern(text)
	return err == nil && p.more
}

// wordPatterns reads the patterns of rules about commands, leaving out what is none. It is done once for a call, which can
// hold many commands.
func wordPatterns(rules []Rule) []WordPattern {
	var patterns []WordPattern
	for _, rule := range rules {
		if rule.Tool != execCommand {
			continue
		}
		if p, err := ParsePattern(rule.Pattern); err == nil {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// Pattern is the whole text of a call as a rule may hold it: the command, preceded by "(in DIR) " when it names a directory
// to run in, and that by "(with network) " when it asks for the network. It is empty for calls that cannot be remembered.
func Pattern(call Call) string {
	if call.Name != execCommand {
		return ""
	}
	args, ok := parse(call.Arguments)
	if !ok || args.Command == "" || strings.HasPrefix(args.Command, inDir) || strings.HasPrefix(args.Command, withNetwork) {
		return ""
	}
	pattern := args.Command
	if args.Workdir != "" && args.Workdir != "." {
		pattern = inDir + args.Workdir + ") " + pattern
	}
	if args.Network {
		pattern = withNetwork + pattern
	}
	return pattern
}

// offer is the pattern to propose for a command: one over the words of the only simple command that needs an answer, else
// the whole text. There is none where the whole text would say too little of what runs, or could be read as a wider pattern.
func offer(call Call, j *judgement, network bool) string {
	if text := suggest(j, network); text != "" {
		return text
	}
	for _, c := range j.commands {
		if c.never {
			return ""
		}
	}
	text := Pattern(call)
	if wide(text) {
		return ""
	}
	return text
}

// arguments holds what matters here of any tool's arguments.
type arguments struct {
	Command string `json:"command"`
	Workdir string `json:"workdir"`
	Input   string `json:"input"`
	EOF     bool   `json:"eof"`
	Network bool   `json:"network"`
}

// parse reads a call's arguments; ok is false when they are not what a tool would accept.
func parse(text string) (args arguments, ok bool) {
	err := json.Unmarshal([]byte(text), &args)
	return args, err == nil
}
