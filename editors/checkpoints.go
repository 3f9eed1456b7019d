// This file has the params and results of the commands on checkpoints.

package editors

// CheckpointParams takes a checkpoint.
type CheckpointParams struct {
	RequestID string `json:"requestId,omitempty"`
	SessionID string `json:"sessionId"`
	Summary   string `json:"summary,omitempty"` // what it is for, for people
}

// CheckpointResult is the checkpoint, and what is not in it.
type CheckpointResult struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	Files      int        `json:"files"`
	Bytes      int64      `json:"bytes"`             // of all files
	Unchanged  bool       `json:"unchanged"`         // nothing differs from the checkpoint before
	Partial    bool       `json:"partial,omitempty"` // it lacks what could not be read
	Skipped    []Skipped  `json:"skipped"`           // the first ones; skippedAll tells how many there are
	SkippedAll int        `json:"skippedAll"`
}

// Skipped is a path that is not in a checkpoint, or not certain, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// CheckpointsResult lists a session's checkpoints, oldest first.
type CheckpointsResult struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// DiffParams compares two checkpoints of a session.
type DiffParams struct {
	SessionID string   `json:"sessionId"`
	From      string   `json:"from,omitempty"`  // checkpoint id; default: the session's oldest
	To        string   `json:"to,omitempty"`    // checkpoint id; default: the workspace as it is now
	Paths     []string `json:"paths,omitempty"` // only these and what is below them
}

// DiffResult is what differs.
type DiffResult struct {
	Files     []FileDiff `json:"files"`
	Truncated bool       `json:"truncated"` // more differs, or patches were left out
}

// FileDiff is one path that differs. The name of a directory ends with "/"; directories are told only when they are
// empty or their permissions differ.
type FileDiff struct {
	Path    string `json:"path"`
	Kind    string `json:"kind" enum:"added,changed,removed,renamed,mode,type"`
	OldPath string `json:"oldPath,omitempty"` // renamed
	Binary  bool   `json:"binary"`
	Added   int    `json:"added"`           // lines
	Removed int    `json:"removed"`         // lines
	Patch   string `json:"patch,omitempty"` // unified, in git's form
}

// ReadFileParams reads a range of a file of a checkpoint.
type ReadFileParams struct {
	SessionID    string `json:"sessionId"`
	CheckpointID string `json:"checkpointId,omitempty"` // default: the workspace as it is now
	Path         string `json:"path"`                   // relative to the workspace
	Offset       int64  `json:"offset,omitempty"`
	Limit        int    `json:"limit,omitempty"` // default and at most MaxOutputRead
}

// ReadFileResult is a range of a file. What is at the path may also be a link, whose content is where it leads to.
type ReadFileResult struct {
	Data     string `json:"data"`
	Encoding string `json:"encoding" enum:"utf8,base64"` // of Data
	Offset   int64  `json:"offset"`                      // where Data begins
	End      int64  `json:"end"`                         // where it ends
	Total    int64  `json:"total"`                       // bytes of the whole file
	Link     bool   `json:"link,omitempty"`
}

// RestoreParams brings a session's workspace back to a checkpoint.
type RestoreParams struct {
	RequestID    string   `json:"requestId,omitempty"`
	SessionID    string   `json:"sessionId"`
	CheckpointID string   `json:"checkpointId"`
	Paths        []string `json:"paths,omitempty"` // only these and what is below them
	DryRun       bool     `json:"dryRun,omitempty"`
}

// RestoreResult tells what was, or would be, restored. Undo is the checkpoint of the workspace as it was before.
type RestoreResult struct {
	Restored  []string          `json:"restored"`  // paths
	Files     []FileChange      `json:"files"`     // the same paths, with what became of them
	Kept      []string          `json:"kept"`      // paths that differ and stay
	Conflicts []string          `json:"conflicts"` // paths that somebody else changed: theirs stays
	Reasons   map[string]string `json:"reasons,omitempty"`
	Undo      string            `json:"undo"`
	Truncated bool              `json:"truncated,omitempty"` // there are more paths than are listed
	Seq       int64             `json:"seq,omitempty"`       // of the last event it caused; 0 for a dry run or a plain folder
}
