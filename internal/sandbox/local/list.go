// This file tells of the sandboxes that there are, without opening any.

package local

import (
	"os"
	"path/filepath"
)

// Workspaces returns the folders, by id, of the sandboxes whose state is in stateDir, whether their helpers run or not.
// What cannot be read is left out.
func Workspaces(stateDir string) map[string]string {
	entries, err := os.ReadDir(stateDir)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, e := range entries {
		if r, err := readRecorded(filepath.Join(stateDir, e.Name())); err == nil && r.ID != "" {
			out[r.ID] = r.Workspace
		}
	}
	return out
}
