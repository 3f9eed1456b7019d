// This file is what every sandbox in a cloud carries, by which any worker with the key knows whose it is.

package cloud

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

// The labels of every sandbox that a backend of a cloud makes.
const (
	LabelOurs    = "sandboxagent"         // "1"
	LabelSession = "sandboxagent.session" // the sandbox's id
	LabelOwner   = "sandboxagent.owner"
	LabelRealm   = "sandboxagent.realm"   // where its session is known; see sandbox.Spec
	LabelMade    = "sandboxagent.made"    // when, in milliseconds since 1970
	LabelOffline = "sandboxagent.offline" // "true": it reaches no internet
)

// Labels are what a cloud keeps with a sandbox.
type Labels map[string]string

// NewLabels returns those of a sandbox that is made now.
func NewLabels(spec sandbox.Spec, now time.Time, offline bool) Labels {
	l := Labels{
		LabelOurs: "1", LabelSession: spec.ID, LabelOwner: spec.Owner, LabelRealm: spec.Realm,
		LabelMade: strconv.FormatInt(now.UnixMilli(), 10),
	}
	if offline {
		l[LabelOffline] = "true"
	}
	return l
}

// Offline reports whether the sandbox reaches no internet.
func (l Labels) Offline() bool { return l[LabelOffline] == "true" }

// Made is when the sandbox was made, zero where that is not known.
func (l Labels) Made() time.Time {
	ms, err := strconv.ParseInt(l[LabelMade], 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Epoch is the epoch of the sandbox's ref: when it was made, in milliseconds since 1970, 0 where that is not known.
func (l Labels) Epoch() int64 {
	if at := l.Made(); !at.IsZero() {
		return at.UnixMilli()
	}
	return 0
}

// Found returns the sandboxes with these labels, each once however many a cloud has of it, in the order of their ids; those of
// one owner only unless that is "".
func Found(kind sandbox.Kind, workspace, owner string, all []Labels) []sandbox.Found {
	seen := map[string]bool{}
	var out []sandbox.Found
	for _, l := range all {
		id := l[LabelSession]
		if id == "" || seen[id] || owner != "" && l[LabelOwner] != owner {
			continue
		}
		seen[id] = true
		out = append(out, sandbox.Found{
			Ref:   sandbox.Ref{Kind: kind, ID: id, Epoch: l.Epoch(), Workspace: workspace},
			Owner: l[LabelOwner], Realm: l[LabelRealm], Made: l.Made(),
		})
	}
	slices.SortFunc(out, func(a, b sandbox.Found) int { return strings.Compare(a.ID, b.ID) })
	return out
}
