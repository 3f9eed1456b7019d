// Package confine keeps the commands of a local sandbox to their workspace: it finds out what this machine can enforce,
// starts a sandbox's helper inside, and puts the threads that start commands under restrictions that cannot be taken off.
//
// There are three ways, strongest first. With namespaces (made by bubblewrap or by ourselves) the helper and its commands
// see another file tree: everything read-only but the workspace, secrets covered, own processes, own network. Landlock and
// seccomp stand behind that, and alone are the weaker way where namespaces are refused. On macOS sandbox-exec does it.
// What none of them does is fall back to nothing: who asks for more than there is gets an error.
//
// This file holds the words.
package confine

import (
	"fmt"
	"slices"
	"strings"
)

// Level is what the user asks for.
type Level string

// The levels, from none to the default.
const (
	LevelNone Level = "none"   // commands do what the user may do
	LevelFS   Level = "fs"     // they write only below the workspace and see no secrets
	LevelFull Level = "fs+net" // and have no network but their own loopback
)

// DefaultLevel holds where nothing is configured.
const DefaultLevel = LevelFull

// Levels are all levels, for messages and checks.
func Levels() []string { return []string{string(LevelNone), string(LevelFS), string(LevelFull)} }

// Network reports whether commands of the level have the network without being allowed it one by one.
func (l Level) Network() bool { return l != LevelFull }

// Method is how a level is enforced.
type Method string

// The methods.
const (
	Bubblewrap Method = "bubblewrap"   // namespaces made by bwrap
	Namespaces Method = "namespaces"   // namespaces made by ourselves
	Landlock   Method = "landlock"     // Landlock and seccomp alone
	Seatbelt   Method = "sandbox-exec" // macOS
	Nothing    Method = "none"
)

// Strong reports whether commands get a file tree and processes of their own.
func (m Method) Strong() bool { return m == Bubblewrap || m == Namespaces }

// Report says what holds on this machine and why.
type Report struct {
	Level    Level    `json:"level"`
	Method   Method   `json:"method"`
	Landlock int      `json:"landlock"`         // version of the kernel's interface; 0: there is none
	Limits   string   `json:"limits,omitempty"` // how processes and memory are bounded
	Lacks    []string `json:"lacks,omitempty"`  // what the method cannot keep commands from
	Refused  []string `json:"refused,omitempty"`
}

// String says it in one line for people.
func (r Report) String() string {
	if r.Level == LevelNone {
		return "commands are not confined: they do what you may do, because the setting local.confinement is none"
	}
	s := fmt.Sprintf("commands are confined (%s) by %s", r.Level, r.Method)
	switch {
	case r.Method.Strong():
		s += fmt.Sprintf(" with Landlock (version %d) and seccomp", r.Landlock)
	case r.Method == Landlock:
		s += fmt.Sprintf(" (version %d) and seccomp", r.Landlock)
	}
	if r.Limits != "" {
		s += "; " + r.Limits
	}
	if len(r.Lacks) > 0 {
		s += "; it does not keep them from " + strings.Join(r.Lacks, ", ")
	}
	if len(r.Refused) > 0 {
		s += "; stronger ways are not possible here: " + strings.Join(r.Refused, "; ")
	}
	return s
}

// scopedVersion is the version of Landlock, of Linux 6.12, that knows abstract sockets and signals.
const scopedVersion = 6

// lacks lists what a method leaves open, for the report.
func lacks(m Method, level Level, abi int) []string {
	var out []string
	if m == Landlock {
		out = append(out, "changing modes and times of your other files", "seeing that other processes run", "writing .git/hooks (which is told)")
		if abi < scopedVersion {
			out = append(out, "signalling your other processes")
		}
	}
	if m.Strong() && abi < scopedVersion {
		who := ""
		if !level.Network() {
			who = "when they were allowed the network, "
		}
		out = append(out, who+"connecting to abstract sockets of other programs")
	}
	return slices.Clip(out)
}
