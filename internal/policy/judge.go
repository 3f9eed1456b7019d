// This file gives the verdict on shell commands.

package policy

import (
	"strings"

	"sandboxagent/editors"
)

// command is a call of exec_command as it is judged.
type command struct {
	*judgement
	call     Call
	network  bool
	confined bool
}

func readCommand(call Call, confined bool) command {
	c := command{call: call, confined: confined}
	args, ok := parse(call.Arguments)
	switch {
	case call.Cut:
		c.network = call.Network
		c.judgement = &judgement{other: []string{"it is too long to be looked into"}, opaque: true}
	case !ok: // arguments that cannot be read ask for everything
		c.network = true
		c.judgement = &judgement{other: []string{"its arguments cannot be read"}, opaque: true}
	case call.Whole:
		c.network = args.Network
		c.judgement = &judgement{other: []string{"it is judged as a whole"}, opaque: true}
	default:
		c.network = args.Network
		c.judgement = judgeText(args.Command, args.Workdir, call.Root)
	}
	return c
}

// objection says what in the command needs an answer, and why; why is empty if nothing does.
func (c command) objection() (subject, why string) {
	subject, why = c.concern()
	switch {
	case c.network && why == "":
		return "the command", "it asks for the network"
	case c.network:
		return subject, "it asks for the network, and " + why
	case why == "" && !c.confined && c.far != "":
		return "the command", "it reads outside the workspace (" + quote(c.far) + "), and nothing confines it"
	}
	return subject, why
}

func (p Policy) judgeCommand(mode editors.ApprovalMode, c command, rules []Rule) Verdict {
	subject, why := c.objection()
	denied, asked := p.denies(c.judgement), p.asks(c.judgement)
	switch {
	case denied.surely:
		return Verdict{Decision: Deny, Reason: "the policy denies " + quote(denied.pattern) + "; say what you would do instead"}
	case mode == editors.ApprovalNever && denied.maybe:
		return Verdict{Decision: Deny, Reason: "it cannot be told whether the command is one that the policy denies; write it so that it can"}
	case mode == editors.ApprovalNever:
		return Verdict{Decision: Allow}
	case denied.maybe:
		subject, why = "the command", "it cannot be told whether it is one that the policy denies"
	case asked.surely:
		subject, why = "the command", "the policy asks about "+quote(asked.pattern)
	case asked.maybe:
		subject, why = "the command", "it cannot be told whether it is one that the policy asks about"
	}
	restricted := denied.maybe || asked.surely || asked.maybe
	switch {
	case why == "":
		return Verdict{Decision: Allow}
	case mode == editors.ApprovalReadOnly:
		return Verdict{Decision: Deny, Reason: "this session is read-only: " + subject + " is not allowed, since " + why + "; say what you would do instead"}
	case restricted:
		return Verdict{Decision: Ask, Reason: subject + " needs your approval: " + why}
	case match(append(p.allows(), rules...), c):
		return Verdict{Decision: Allow}
	case mode == editors.ApprovalAuto:
		return c.auto(subject, why)
	}
	reason := subject + " needs your approval: " + why
	if !c.confined {
		reason += free(why)
	}
	return Verdict{Decision: Ask, Reason: reason, Pattern: offer(c.call, c.judgement, c.network)}
}

// auto runs what stays within the sandbox.
func (c command) auto(subject, why string) Verdict {
	v := Verdict{Decision: Ask, Pattern: offer(c.call, c.judgement, c.network)}
	switch {
	case c.confined && c.network:
		v.Reason = "the command needs your approval: it asks for the network, which commands do not have by themselves here"
	case !c.confined:
		v.Reason = subject + " needs your approval: " + why + free(why)
	default:
		return Verdict{Decision: Allow}
	}
	return v
}

// free ends a reason with what makes it weigh more: that nothing confines the command.
func free(why string) string {
	if strings.Contains(why, "nothing confines it") {
		return ""
	}
	return ", and " + withoutConfinement
}
