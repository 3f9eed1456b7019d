// This file gives the verdict on shell commands.

package policy

import "sandboxagent/editors"

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
		return c.auto()
	}
	return Verdict{Decision: Ask, Reason: subject + " needs your approval: " + why, Pattern: offer(c.call, c.judgement, c.network)}
}

// auto runs what stays within the sandbox.
func (c command) auto() Verdict {
	pattern := offer(c.call, c.judgement, c.network)
	switch {
	case c.confined && c.network:
		return Verdict{Decision: Ask, Reason: "it asks for the network, which commands do not have by themselves here", Pattern: pattern}
	case !c.confined:
		return Verdict{Decision: Allow, Reason: withoutConfinement, Pattern: pattern}
	}
	return Verdict{Decision: Allow}
}
