// This file matches calls against what a person has allowed for always.

package policy

import (
	"encoding/json"
	"slices"
	"strings"
)

// inDir begins the pattern of a command that names its directory. A command that begins so itself cannot be remembered.
const inDir = "(in "

// Rule is a remembered answer: calls of the tool whose Pattern is exactly this one may run without asking.
type Rule struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

// Match says whether a rule covers the call. Only commands can be remembered, and only the whole text of one, together
// with the directory it runs in: a longer, shorter or differently spaced command is another command.
func Match(rules []Rule, call Call) bool {
	pattern := Pattern(call)
	return pattern != "" && slices.Contains(rules, Rule{Tool: call.Name, Pattern: pattern})
}

// Pattern is what a rule must say to cover the call: the command, preceded by "(in DIR) " when it names a directory to run
// in. It is empty for calls that cannot be remembered.
func Pattern(call Call) string {
	if call.Name != execCommand {
		return ""
	}
	args, ok := parse(call.Arguments)
	if !ok || args.Command == "" || strings.HasPrefix(args.Command, inDir) {
		return ""
	}
	if args.Workdir == "" || args.Workdir == "." {
		return args.Command
	}
	return inDir + args.Workdir + ") " + args.Command
}

// arguments holds what matters here of any tool's arguments.
type arguments struct {
	Command string `json:"command"`
	Workdir string `json:"workdir"`
	Input   string `json:"input"`
	EOF     bool   `json:"eof"`
}

// parse reads a call's arguments; ok is false when they are not what a tool would accept.
func parse(text string) (args arguments, ok bool) {
	err := json.Unmarshal([]byte(text), &args)
	return args, err == nil
}
