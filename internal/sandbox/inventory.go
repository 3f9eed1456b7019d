// This file defines what a backend may offer beside Backend: to tell what it has made, and to put it to rest.

package sandbox

import (
	"context"
	"time"
)

// Found is something that a backend has made, whether or not anybody still knows of it. Whatever is left of a sandbox
// counts.
type Found struct {
	Ref
	Owner string
	Realm string    // of its Spec; "": unknown
	Made  time.Time // zero: unknown
	Away  string    // where it lives if it cannot be reached now, as in "on the engine at …"; "": it can
}

// Lister is a Backend that can tell what it has made.
type Lister interface {
	// List returns the sandboxes that this host has made for the owner, or, with an empty owner, for anybody, by their ids.
	List(ctx context.Context, owner string) ([]Found, error)
}

// Stopper is a Backend whose sandboxes take something while nobody uses them.
type Stopper interface {
	// Stop puts a sandbox to rest: its processes end or are suspended, its files stay, and Open wakes it. Stopping what is
	// stopped, or was never made, is no error.
	Stop(ctx context.Context, ref Ref) error
}

// Loser is a Backend whose sandboxes may be lost with all their files, by somebody else's hand.
type Loser interface {
	// Lost tells whether nothing is left of the sandbox's workspace, so that opening it could only bring an empty or another
	// one. It fails when that cannot be found out.
	Lost(ctx context.Context, ref Ref) (bool, error)
}

// Elsewhere is a Backend whose sandboxes have their workspace at another path than the folder that it is a copy of.
type Elsewhere interface {
	// Root returns the absolute path of a sandbox's workspace as its commands see it, "" while that is not known. It asks nobody.
	Root(ref Ref) string
}

// Keeper is a Backend whose sandboxes are put to rest, by somebody else, when nobody uses them for a while.
type Keeper interface {
	// Keep keeps an open sandbox from that until release is called. It never makes or wakes one.
	Keep(ref Ref) (release func())
}
