// This file says in a few words what a tool call is about.

package main

import (
	"fmt"

	"sandboxagent/editors"
)

// subject is what the worker says a call is about, else the call's arguments.
func subject(item editors.Item) string {
	if item.Text != "" {
		return item.Text
	}
	return item.Arguments
}

// size returns a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
