// This file says how this host's worker is asked about a session's sandbox directly, without the session's workflow.

package agent

// OnSandbox is a call about the sandbox of a session.
type OnSandbox[P any] struct {
	Sandbox Sandbox `json:"sandbox"`
	Params  P       `json:"params"`
}
