// This file reads what a call that edits files would change, so that it is seen before it is allowed.

package editors

import "encoding/json"

// Proposal is what a call of PatchTool would change, as far as its arguments are here: the patch, or the arguments as they
// are when they have something else or were cut. Other calls have none.
func (i Item) Proposal() string {
	if i.Tool != PatchTool {
		return ""
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(i.Arguments), &given); err != nil {
		return i.Arguments
	}
	// The tool takes its patch under other spellings of the name as well, so no other name may stand beside it.
	var patch string
	if err := json.Unmarshal(given["patch"], &patch); err != nil || len(given) != 1 {
		return i.Arguments
	}
	return patch
}
