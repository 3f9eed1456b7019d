// This file says what one helper and its commands may do.

package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The directories of a sandbox's state that its commands may write, and the state of the helper that has the network.
const (
	homeName    = "home"
	tempName    = "tmp"
	networkName = "network"

	// where a file tree of its own shows a helper its state and home: below what is covered, so that nothing that commands
	// may write lies above
	insideState = "/sandbox-agent/state"
	insideHome  = "/sandbox-agent/home"
)

// Host describes what commands must not reach on this machine.
type Host struct {
	Home    string   // of the user
	Homes   []string // further ones; see AccountHomes
	Private []string // directories of this installation
	Env     []string // of the process that starts helpers
}

// Policy is what one helper and its commands may do. Paths are absolute.
type Policy struct {
	Method    Method
	Network   bool   // commands may use the machine's network
	Workspace string // writable, at its own path
	Session   string // state directory of the sandbox
	State     string // state directory of this helper: Session, an heir of it, or the NetworkDir of either
	Program   string // the helper

	root string // Workspace as it was given
}

// NetworkDir is the state directory of the helper whose commands have the network, beside the one of the given directory.
func NetworkDir(state string) string { return filepath.Join(state, networkName) }

// IsNetworkDir reports whether a helper's state directory is a NetworkDir.
func IsNetworkDir(state string) bool { return filepath.Base(state) == networkName }

// HeirDir is the state directory of the n-th helper, from 1, that begins commands in place of the sandbox's first, which has
// some running. It lies beside the first one's: commands see what lies in the state directory of their own helper.
func HeirDir(session string, n int) string { return fmt.Sprintf("%s.%d", session, n) }

// isHeir reports whether a state directory is the session's, or was named by HeirDir.
func isHeir(session, state string) bool {
	number, ok := strings.CutPrefix(state, session+".")
	n, err := strconv.Atoi(number)
	return state == session || ok && err == nil && state == HeirDir(session, n)
}

// base is the state directory without its NetworkDir.
func (p Policy) base() string {
	if IsNetworkDir(p.State) {
		return filepath.Dir(p.State)
	}
	return p.State
}

// Home is where commands find a home directory of their own.
func (p Policy) Home() string { return filepath.Join(p.Session, homeName) }

// Temp is the directory behind their temporary files.
func (p Policy) Temp() string { return filepath.Join(p.Session, tempName) }

// inside returns the paths by which the helper and its commands know the state, the home and the temporary directory.
func (p Policy) inside() (state, home, temp string) {
	if p.Method.Strong() {
		run := runDir()
		return run + insideState, run + insideHome, "/tmp"
	}
	return p.State, p.Home(), p.Temp()
}

// insideRoot returns the path by which the helper knows the workspace: the user's own, unless that leads over what a file
// tree of its own replaces.
func (p Policy) insideRoot() string {
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev", "/run", "/var/run"} {
		if p.Method.Strong() && within(dir, p.root) {
			return p.Workspace
		}
	}
	return p.root
}

// runDir is where services have their sockets; it is covered.
func runDir() string {
	if dirs := existing([]string{"/run", "/var/run"}); len(dirs) > 0 {
		return dirs[0]
	}
	return "/run"
}

// resolved returns the policy with the links of its paths followed.
func (p Policy) resolved() (Policy, error) {
	p.root = filepath.Clean(p.Workspace)
	for _, path := range []*string{&p.Workspace, &p.Session, &p.State, &p.Program} {
		real, err := filepath.EvalSymlinks(*path)
		if err != nil {
			return p, fmt.Errorf("resolve the paths of the sandbox: %w", err)
		}
		if !filepath.IsAbs(real) {
			return p, errors.New("resolve the paths of the sandbox: not absolute")
		}
		*path = real
	}
	if !isHeir(p.Session, p.base()) {
		return p, errors.New("resolve the paths of the sandbox: its state was replaced")
	}
	return p, nil
}

// Jail is what the commands of a helper may do, in a form that is handed to it.
type Jail struct {
	Method  Method   `json:"method"`
	Network bool     `json:"network,omitempty"`
	Write   []string `json:"write"`          // directories
	Hide    []string `json:"hide,omitempty"` // where there is no other file tree: what must not be read,
	Read    []string `json:"read,omitempty"` // and what must be although it lies there
}

// jail derives the jail of a resolved policy.
func (p Policy) jail(h Host) Jail {
	_, home, temp := p.inside()
	j := Jail{Method: p.Method, Network: p.Network, Write: []string{p.Workspace, home, temp}}
	if p.Method.Strong() {
		j.Write = append(j.Write, "/var/tmp", "/dev/shm")
		return j
	}
	j.Hide = h.secrets()
	j.Read = []string{p.State, p.Program}
	return j
}

// Encode returns the jail as one argument.
func (j Jail) Encode() string {
	b, err := json.Marshal(j)
	if err != nil { // strings and booleans always marshal
		return ""
	}
	return string(b)
}

// DecodeJail reads what Encode wrote.
func DecodeJail(text string) (Jail, error) {
	var j Jail
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return j, fmt.Errorf("read the jail: %w", err)
	}
	if j.Method == "" || len(j.Write) == 0 {
		return j, errors.New("read the jail: it is incomplete")
	}
	return j, nil
}
