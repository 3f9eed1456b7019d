// This file plans the file tree that a helper and its commands see: pure, the same for bubblewrap and for ourselves.

package confine

import (
	"os"
	"path/filepath"
	"slices"
)

// kind is what is mounted.
type kind string

const (
	bind     kind = "bind"     // Source, writable
	readOnly kind = "readOnly" // Source, read-only
	cover    kind = "cover"    // an empty directory
	null     kind = "null"     // an empty device over a file
	shared   kind = "shared"   // a writable directory in memory
	devices  kind = "devices"  // a /dev with the harmless ones
	process  kind = "process"  // a /proc of the own processes
)

// mount is one step of a plan. Targets are paths as commands see them.
type mount struct {
	Kind   kind   `json:"kind"`
	Source string `json:"source,omitempty"`
	Target string `json:"target"`
}

// plan is what makes the tree, in this order, over a read-only "/", and what runs in it.
type plan struct {
	Mounts  []mount  `json:"mounts"`
	Network bool     `json:"network,omitempty"`
	Argv    []string `json:"argv"`
}

// runDirs hold the sockets of services; /tmp and /var/tmp are replaced, not covered.
var runDirs = []string{"/run", "/var/run"}

// newPlan plans the tree of a resolved policy. sockets are those that must not be reached.
func newPlan(p Policy, h Host, sockets []string) plan {
	b := builder{}
	b.add(devices, "", "/dev")
	b.add(shared, "", "/dev/shm")
	b.add(process, "", "/proc")
	for _, dir := range existing(runDirs) {
		b.add(cover, "", dir)
	}
	b.add(bind, p.Temp(), "/tmp")
	if real, err := filepath.EvalSymlinks("/var/tmp"); err == nil && real != "/tmp" {
		b.add(bind, p.Temp(), real)
	}
	for _, path := range h.secrets() {
		b.hide(path)
	}
	b.workspace(p.Workspace)
	b.state(p)
	b.sort()
	for _, dir := range filepath.SplitList(lookup(h.Env, "PATH")) {
		b.show(dir)
	}
	for _, path := range append(existing([]string{"/etc/resolv.conf"}), p.Program) {
		b.show(path)
	}
	for _, path := range sockets {
		if b.reaches(path) {
			b.add(null, "", path)
		}
	}
	b.sort()
	return plan{Mounts: b.mounts, Network: p.Network}
}

type builder struct{ mounts []mount }

func (b *builder) add(k kind, source, target string) {
	b.mounts = append(b.mounts, mount{Kind: k, Source: source, Target: filepath.Clean(target)})
}

// hide covers what is at path.
func (b *builder) hide(path string) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		b.add(cover, "", path)
	} else if err == nil {
		b.add(null, "", path)
	}
}

func (b *builder) workspace(dir string) {
	b.add(bind, dir, dir)
	hold, keep := repository(dir)
	for _, path := range hold { // a mount cannot be renamed away
		b.add(bind, path, path)
	}
	for _, path := range keep {
		b.add(readOnly, path, path)
	}
}

// state shows a helper its own state and the home of its commands, and nothing of another helper's.
func (b *builder) state(p Policy) {
	state, home, _ := p.inside()
	b.add(bind, p.State, state)
	b.add(bind, p.Home(), home)
	if !IsNetworkDir(p.State) {
		b.add(cover, "", NetworkDir(state))
	}
}

// show brings back, read-only, what was covered by the way.
func (b *builder) show(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) {
		return
	}
	path = filepath.Clean(path)
	if last := b.over(path); last.Kind == cover || last.Kind == bind && last.Source != last.Target {
		b.add(readOnly, real, path)
		b.sort()
	}
}

// reaches reports whether the host's file of that path is there to be seen.
func (b *builder) reaches(path string) bool {
	switch last := b.over(path); last.Kind {
	case "":
		return true
	case bind, readOnly:
		return last.Source == last.Target && !within("/proc", path)
	}
	return false
}

// over returns the innermost mount that path lies on.
func (b *builder) over(path string) (last mount) {
	for _, m := range b.mounts {
		if within(m.Target, path) {
			last = m
		}
	}
	return last
}

// sort puts outer mounts before inner ones and, of two at one place, the later one last.
func (b *builder) sort() {
	slices.SortStableFunc(b.mounts, func(x, y mount) int { return comparePaths(x.Target, y.Target) })
}
