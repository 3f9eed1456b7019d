// Command sandbox-helper runs inside every sandbox and does the work there; see internal/helper.
package main

import (
	"os"

	"sandboxagent/internal/helper"
)

func main() { os.Exit(helper.Main(os.Args[1:])) }
