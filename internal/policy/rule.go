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
// in, and that by "(with network) " when it asks for the network. It is empty for calls that cannot be remembered.
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
