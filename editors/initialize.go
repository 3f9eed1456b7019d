// This file defines what client and server tell each other in LSP's initialize.

package editors

// CapabilitiesKey is the key of Capabilities among the experimental capabilities in the result of initialize.
const CapabilitiesKey = "sandboxAgent"

// InitializationOptions is what a client may tell in initialize.
type InitializationOptions struct {
	ClientName      string `json:"clientName,omitempty"`      // shown to other clients as the one who decided
	ExecuteCommands *bool  `json:"executeCommands,omitempty"` // offer workspace/executeCommand; default true
}

// Capabilities is what the server tells of itself, as capabilities.experimental.sandboxAgent.
type Capabilities struct {
	Version        string        `json:"version"`
	HostID         string        `json:"hostId"` // the machine, known across restarts
	Limits         Limits        `json:"limits"`
	Backends       []BackendInfo `json:"backends"`
	Models         []ModelInfo   `json:"models"`
	DefaultBackend BackendKind   `json:"defaultBackend"`
	DefaultModel   string        `json:"defaultModel"`
}

// Limits bounds what goes over the wire.
type Limits struct {
	MessageBytes int `json:"messageBytes"` // one JSON-RPC message, either way
	HistoryPage  int `json:"historyPage"`  // items in one page of history
	TextBytes    int `json:"textBytes"`    // text of one ask or steer
	Queue        int `json:"queue"`        // requests that wait for a running turn
}
