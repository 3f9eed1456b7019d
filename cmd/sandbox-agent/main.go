// This file is the entrance of sandbox-agent: it hands the process's environment to an app and exits with its status.

// Command sandbox-agent is what editors and people talk to: `sandbox-agent lsp` speaks to an editor on stdin and stdout,
// the other verbs work from a terminal. It holds no truth; killing it loses nothing.
package main

import (
	"context"
	"os"
)

func main() {
	a := newApp(os.Stdin, os.Stdout, os.Stderr, os.LookupEnv)
	os.Exit(a.run(context.Background(), os.Args[1:]))
}
