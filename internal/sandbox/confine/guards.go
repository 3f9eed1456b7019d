// This file tells when what a running helper was shut off from is no longer what it was.

package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
)

// Guards identifies what a helper of the workspace is to be shut off from, and the workspace itself, as they are now. A cover
// lies on a file, not on its name: when somebody outside replaces the file, as git and many programs do to save one, the
// new one lies open to a helper that runs. A helper started under other guards must therefore not begin another command;
// what it runs already it may run to the end.
func Guards(h Host, workspace string) string {
	hold, keep := repository(workspace)
	sum := sha256.New()
	for _, paths := range [][]string{{workspace}, h.secrets(), hold, keep} {
		for _, path := range paths {
			fmt.Fprintf(sum, "%q %s\n", path, identity(path))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// identity tells one file from another of the same name, not one content from another.
func identity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "gone"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Mode().Type().String()
	}
	return fmt.Sprint(stat.Dev, " ", stat.Ino)
}
