// Package policy decides whether a tool call may run, must be asked about, or is refused. It is pure: it runs inside
// workflows, so it must give the same answer for the same input for ever. Changing an answer needs a workflow version, and
// another version of the shell parser may change answers: Call.Whole keeps those of the time before commands were read.
//
// A shell command is parsed, and every simple command in it is judged: in lists, pipelines, loops, substitutions, in the
// scripts of sh -c and eval, behind xargs, find -exec, env and their like. What is on the lists of programs that only read,
// with arguments with which they only read, needs no approval. Whatever is not understood does.
package policy

import (
	"strings"

	"sandboxagent/editors"
)

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
	// Root is the absolute path of the workspace as commands see it. Empty, no absolute path is known to be in it.
	Root string
	// Cut says that Arguments are only the beginning of what the model gave, which was too long to be kept; Network then
	// says whether a command asks for the network.
	Cut, Network bool
	// External is the tool of an MCP server that the call is for, if it is one that the model was told of.
	External *External
	// Whole judges a command as a whole, without reading it, as was done before commands were parsed: every one is more than
	// reading, and rules match its whole text. It is for replaying the histories of that time.
	Whole bool
}

// Verdict is the judgement of one call.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Reason says why, in one sentence: for the person when asking, for the model when denied. It is empty when allowed.
	Reason string `json:"reason,omitempty"`
	// Pattern is what a remembered rule would match if the person answers "always"; empty when there is none to offer. It
	// may be edited into any other that ParsePattern accepts.
	Pattern string `json:"pattern,omitempty"`
}

// The names of the tools that are judged here.
const (
	execCommand = "exec_command"
	writeStdin  = "write_stdin"
	applyPatch  = "apply_patch"
)

// Judge says what to do with a call under a policy and the rules that were remembered; confined says whether commands run
// confined to the workspace. A tool that is not known is denied in every mode. In mode readOnly neither rules nor
// what the policy allows count, and what the policy asks about is denied, since nobody is asked. In mode never only what the
// policy denies does not run. In mode auto commands run while they are confined, and do not ask for the network: what nothing
// confines is asked about as in mode ask. While a part of the policy cannot be read, everything but reading is asked about.
func (p Policy) Judge(mode editors.ApprovalMode, call Call, confined bool, rules []Rule) Verdict {
	if !known(call) {
		return Verdict{Decision: Deny, Reason: "there is no tool of this name"}
	}
	if ReadOnly(call) {
		return Verdict{Decision: Allow}
	}
	if p.Broken != "" {
		return p.unreadable(mode, call)
	}
	switch {
	case call.External != nil:
		return p.judgeExternal(mode, call, rules)
	case call.Name == execCommand:
		return p.judgeCommand(mode, readCommand(call, confined), rules)
	}
	free := call.Name == writeStdin && !confined // what the input makes the command do, nothing keeps
	switch {
	case mode == editors.ApprovalNever, mode == editors.ApprovalAuto && !free:
		return Verdict{Decision: Allow}
	case mode == editors.ApprovalReadOnly:
		return p.readOnly(call)
	case free:
		return Verdict{Decision: Ask, Reason: what(call) + " needs your approval: " + withoutConfinement}
	default: // ask, and any mode this version does not know
		return Verdict{Decision: Ask, Reason: what(call) + " needs your approval"}
	}
}

const withoutConfinement = "nothing confines it, so it can do whatever you can"

// unreadable judges what may change something while it is not known what the policy says about it.
func (p Policy) unreadable(mode editors.ApprovalMode, call Call) Verdict {
	why := "everything but reading is asked about while the policy cannot be read (" + p.Broken + ")"
	if mode == editors.ApprovalReadOnly {
		return p.readOnly(call)
	}
	return Verdict{Decision: Ask, Reason: what(call) + " needs your approval: " + why}
}

// readOnly refuses a call in a session that is to change nothing.
func (p Policy) readOnly(call Call) Verdict {
	return Verdict{Decision: Deny, Reason: "this session is read-only: " + what(call) + " is not allowed; say what you would do instead"}
}

// known says whether a call is of one of the tools.
func known(call Call) bool {
	if call.External != nil {
		return isExternal(call.Name)
	}
	switch call.Name {
	case execCommand, writeStdin, applyPatch, "read_file", "list", "search", "update_plan":
		return true
	}
	return false
}

// ReadOnly says whether a call of a known tool changes nothing: it reads, or it only looks at or stops what the agent
// itself started. A command never counts, even one that needs no approval: its text says what it should do, and whoever
// relies on this answer, as checkpoints do, must not depend on every program on the list being what its name says.
func ReadOnly(call Call) bool {
	if call.External != nil {
		return false
	}
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
	if e := call.External; e != nil {
		return "calling " + strings.TrimPrefix(call.Name, externalPrefix+e.Server+"__") + " of the MCP server " + e.Server
	}
	switch call.Name {
	case execCommand:
		return "the command"
	case applyPatch:
		return "changing files"
	}
	return "writing to a running command"
}
