// Package policy decides whether a tool call may run, must be asked about, or is refused. It is pure: it runs inside
// workflows, so it must give the same answer for the same input for ever. Changing an answer needs a workflow version.
package policy

import "sandboxagent/editors"

// Decision is what is to be done with a call.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Call is the tool call to judge: the tool's name and its arguments as the model gave them, JSON text.
type Call struct {
	Name      string
	Arguments string
}

// Verdict is the judgement of one call.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Reason says why, in one sentence: for the person when asking, for the model when denied. When allowed it is empty, or
	// says what deserves a mention.
	Reason string `json:"reason,omitempty"`
	// Pattern is what a remembered rule would match if the person answers "always"; empty when there is none to offer.
	Pattern string `json:"pattern,omitempty"`
}

// The names of the tools that are judged here.
const (
	execCommand = "exec_command"
	writeStdin  = "write_stdin"
	applyPatch  = "apply_patch"
)

// Judge says what to do with a call in a session of the given mode. confined says whether commands run confined to the
// workspace. A tool that is not known is denied in every mode.
func Judge(mode editors.ApprovalMode, call Call, confined bool) Verdict {
	switch {
	case !known(call.Name):
		return Verdict{Decision: Deny, Reason: "there is no tool of this name"}
	case ReadOnly(call):
		return Verdict{Decision: Allow}
	}
	pattern := Pattern(call)
	switch mode {
	case editors.ApprovalNever:
		return Verdict{Decision: Allow}
	case editors.ApprovalReadOnly:
		return Verdict{
			Decision: Deny,
			Reason:   "this session is read-only: " + what(call) + " is not allowed; say what you would do instead",
		}
	case editors.ApprovalAuto:
		if confined && wantsNetwork(call) {
			return Verdict{Decision: Ask, Reason: "it asks for the network, which commands do not have by themselves here", Pattern: pattern}
		}
		if call.Name != applyPatch && !confined {
			return Verdict{Decision: Allow, Reason: "runs without confinement", Pattern: pattern}
		}
		return Verdict{Decision: Allow}
	default: // ask, and any mode this version does not know
		return Verdict{Decision: Ask, Reason: what(call) + " needs your approval", Pattern: pattern}
	}
}

// known says whether name is one of the tools.
func known(name string) bool {
	switch name {
	case execCommand, writeStdin, applyPatch, "read_file", "list", "search":
		return true
	}
	return false
}

// ReadOnly says whether a call of a known tool changes nothing: it reads, or it only looks at or stops what the agent
// itself started.
func ReadOnly(call Call) bool {
	switch call.Name {
	case execCommand, applyPatch:
		return false
	case writeStdin:
		args, ok := parse(call.Arguments)
		return ok && args.Input == "" && !args.EOF
	}
	return true
}

// what names the kind of effect a tool has.
func what(call Call) string {
	switch call.Name {
	case applyPatch:
		return "changing files"
	case writeStdin:
		return "writing to a running command"
	}
	if wantsNetwork(call) {
		return "running a command with network access"
	}
	return "running a command"
}

// wantsNetwork says whether a call asks for the network. Arguments that cannot be read ask for everything.
func wantsNetwork(call Call) bool {
	if call.Name != execCommand {
		return false
	}
	args, ok := parse(call.Arguments)
	return !ok || args.Network
}
