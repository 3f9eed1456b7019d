// This file has the types of preview, which tells where servers in sandboxes are reached.

package editors

import "time"

// PreviewParams asks where a server in a session's sandbox can be reached.
type PreviewParams struct {
	SessionID string `json:"sessionId"`
	Port      int    `json:"port"` // on which the server listens, now or later
}

// PreviewResult is where a server can be reached. Whoever has it gets in: keep it to yourself.
type PreviewResult struct {
	URL     string          `json:"url"`
	Headers []PreviewHeader `json:"headers,omitempty"` // that every request must carry
	Until   *time.Time      `json:"until,omitempty"`   // when it ceases to be good; absent: with the sandbox
}

// PreviewHeader is a header of HTTP requests.
type PreviewHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
