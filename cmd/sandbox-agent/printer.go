// This file prints a session's events as they come.

package main

import (
	"sandboxagent/editors"
)

// printer prints events.
type printer interface {
	event(e editors.EventMessage) error
	// lull is called when nothing came for a moment.
	lull() error
	// approval prints what is asked for, when a person will answer it here.
	approval(a editors.Approval) error
}

// jsonPrinter prints each event as a line of JSON.
type jsonPrinter struct{ a *app }

func (p jsonPrinter) event(e editors.EventMessage) error { return p.a.printJSON(e) }
func (p jsonPrinter) lull() error                        { return nil }
func (p jsonPrinter) approval(_ editors.Approval) error  { return nil }
