// This file makes the backends of clouds of what the user has set, and keeps their sandboxes awake between commands.

package worker

import (
	"fmt"
	"io"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/config"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/daytona"
	"sandboxagent/internal/sandbox/e2b"
)

// offline is the setting of a network that there is none.
const offline = "none"

// addClouds adds the backends of clouds. Without a key they are there too, and say so when they are asked whether they are
// available: a key may come later.
func (p *process) addClouds(to map[editors.BackendKind]sandbox.Backend) error {
	e := p.Config.E2B
	e2bs, err := e2b.New(e2b.Options{
		APIKey: p.secret(config.E2BKey), APIURL: e.APIURL, Domain: e.Domain, SandboxURL: e.SandboxURL, Template: e.Template, Root: e.Root,
		Offline: e.Network == offline, Timeout: e.Timeout, Unattended: e.Unattended, Logger: p.Log,
	})
	if err != nil {
		return fmt.Errorf("prepare the e2b backend: %w", err)
	}
	d := p.Config.Daytona
	snapshot, image := snapshotOrImage(d.Image)
	daytonas, err := daytona.New(daytona.Options{
		APIKey: p.secret(config.DaytonaKey), APIURL: d.APIURL, Target: d.Target, Snapshot: snapshot, Image: image, Root: d.Root,
		Resources: daytona.Resources{CPU: int(d.CPUs), Memory: int(d.Memory), Disk: int(d.Disk)},
		Offline:   d.Network == offline, Timeout: d.Timeout, Unattended: d.Unattended, Archive: d.Archive, Delete: d.Delete, Logger: p.Log,
	})
	if err != nil {
		return fmt.Errorf("prepare the daytona backend: %w", err)
	}
	to[editors.E2B], to[editors.Daytona] = e2bs, daytonas
	return nil
}

// snapshotOrImage reads what sandboxes of Daytona are to be made of.
func snapshotOrImage(text string) (snapshot, image string) {
	if name, ok := strings.CutPrefix(text, daytona.SnapshotPrefix); ok {
		return name, ""
	}
	return "", text
}

// secret asks for a secret each time, so that one which is set later counts.
func (p *process) secret(name string) func() string {
	return func() string { return p.Secrets.Get(name) }
}

// closeBackends ends the connections to sandboxes, which live on.
func (p *process) closeBackends() {
	for kind, b := range p.backends {
		c, ok := b.(io.Closer)
		if !ok {
			continue
		}
		if err := c.Close(); err != nil {
			p.Log.Warn("connections to sandboxes not closed", "backend", kind, "error", err)
		}
	}
}

// keepAwake holds a session's sandbox awake though no command uses it, until the returned function is called. It is for model
// calls: what comes between two activities of a turn is shorter than what any cloud waits before it puts a sandbox to rest,
// and a turn that waits for its user may let it rest.
func (a *Activities) keepAwake(in agent.Sandbox) (release func()) {
	if k, ok := a.Backends[in.Backend.Kind].(sandbox.Keeper); ok {
		return k.Keep(refOf(in))
	}
	return func() {}
}
