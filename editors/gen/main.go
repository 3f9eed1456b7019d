// Command gen writes the generated files of the contract with editors; `go generate ./editors` runs it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sandboxagent/editors/internal/generate"
)

func main() {
	// go generate runs it in editors/.
	if err := run(".."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	files, err := generate.Files(root)
	if err != nil {
		return err
	}
	for path, content := range files {
		path = filepath.Join(root, path)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
