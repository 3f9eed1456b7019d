// This file judges calls of tools that work outside of the sandbox: those of the user's MCP servers.

package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sandboxagent/editors"
)

// External is what is known of a tool outside of the sandbox, beside its name. What the server says of it is shown, and allows
// nothing.
type External struct {
	Server      string
	ReadOnly    bool // the server says that it changes nothing
	Destructive bool // the server says that it may destroy something
}

// externalPrefix begins the names of such tools, and the patterns for them.
const externalPrefix = "mcp__"

var externalPatterns = regexp.MustCompile(`^mcp__[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]*\*?$`)

// everyExternal restricts all such tools; it can allow none.
const everyExternal = externalPrefix + "*"

func isExternal(name string) bool { return strings.HasPrefix(name, externalPrefix) }

// CheckPattern says why a pattern cannot be allowed for always for a tool, nil if it can. The patterns of a tool of an MCP
// server are its name, mcp__SERVER__TOOL, and mcp__SERVER__ with a beginning of names and a *; those of commands are as
// ParsePattern says.
func CheckPattern(tool, pattern string) error {
	if !isExternal(tool) {
		_, err := ParsePattern(pattern)
		return err
	}
	if !externalPatterns.MatchString(pattern) || strings.HasSuffix(pattern, "__") {
		return fmt.Errorf("%s is no pattern for this tool; write mcp__SERVER__TOOL, or mcp__SERVER__* for all tools of a server", quote(pattern))
	}
	return nil
}

// coversExternal says whether a pattern is for a tool.
func coversExternal(pattern, name string) bool {
	if before, more := strings.CutSuffix(pattern, "*"); more {
		return isExternal(pattern) && strings.HasPrefix(name, before)
	}
	return pattern == name
}

// judgeExternal judges a call of such a tool. Nothing confines its server, so that the modes ask and auto ask.
func (p Policy) judgeExternal(mode editors.ApprovalMode, call Call, rules []Rule) Verdict {
	covered := func(pattern string) bool { return isExternal(pattern) && coversExternal(pattern, call.Name) }
	denied, asked := slices.IndexFunc(p.Deny, covered), slices.IndexFunc(p.Ask, covered)
	subject := what(call)
	switch {
	case denied >= 0:
		return Verdict{Decision: Deny, Reason: "the policy denies " + quote(p.Deny[denied]) + "; say what you would do instead"}
	case mode == editors.ApprovalReadOnly:
		return p.readOnly(call)
	case mode == editors.ApprovalNever:
		return Verdict{Decision: Allow}
	case asked >= 0:
		return Verdict{Decision: Ask, Reason: subject + " needs your approval: the policy asks about " + quote(p.Ask[asked])}
	case slices.ContainsFunc(p.Allow, covered), slices.ContainsFunc(rules, func(r Rule) bool { return isExternal(r.Tool) && covered(r.Pattern) }):
		return Verdict{Decision: Allow}
	}
	reason := subject + " needs your approval: the server works outside of the sandbox"
	switch {
	case call.External.Destructive:
		reason += ", and says that this may destroy something"
	case call.External.ReadOnly:
		reason += "; it says that this only reads, which nobody has checked"
	}
	return Verdict{Decision: Ask, Reason: reason, Pattern: call.Name}
}
