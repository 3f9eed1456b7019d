// This file tells which sandboxes there are, and which were lost.

package docker

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"sandboxagent/internal/sandbox"
)

var (
	_ sandbox.Lister  = (*Backend)(nil)
	_ sandbox.Stopper = (*Backend)(nil)
	_ sandbox.Loser   = (*Backend)(nil)
)

// List implements sandbox.Lister, asking the engine.
func (b *Backend) List(ctx context.Context, owner string) ([]sandbox.Found, error) {
	const op = "list sandboxes"
	e, err := b.engine()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	containers, err := e.ContainerList(ctx, container.ListOptions{All: true, Filters: b.ours("")})
	if err != nil {
		return nil, e.failed(op, err)
	}
	volumes, err := e.VolumeList(ctx, volume.ListOptions{Filters: b.ours("")})
	if err != nil {
		return nil, e.failed(op, err)
	}
	all := inventory{host: b.opts.HostID, owner: owner, found: map[string]sandbox.Found{}}
	for _, c := range containers {
		all.add(c.Labels, time.Unix(c.Created, 0))
	}
	for _, v := range volumes.Volumes {
		made, _ := time.Parse(time.RFC3339, v.CreatedAt) // zero where the engine does not tell
		all.add(v.Labels, made)
	}
	if err := b.addAway(ctx, e, all); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(all.found), func(a, b sandbox.Found) int { return strings.Compare(a.ID, b.ID) }), nil
}

// inventory gathers sandboxes from what belongs to them.
type inventory struct {
	host, owner string
	found       map[string]sandbox.Found
}

// add notes a container or volume. A sandbox is as young as the youngest thing of it: a container that was made again.
func (i *inventory) add(labels map[string]string, made time.Time) {
	id := labels[LabelSession]
	if id == "" || i.owner != "" && labels[LabelOwner] != i.owner {
		return
	}
	f, known := i.found[id]
	if !known {
		epoch, _ := strconv.ParseInt(labels[LabelEpoch], 10, 64)
		f = sandbox.Found{
			Ref:   sandbox.Ref{Kind: sandbox.KindDocker, ID: id, HostID: i.host, Epoch: epoch, Workspace: root},
			Owner: labels[LabelOwner], Realm: labels[LabelRealm],
		}
	}
	if made.After(f.Made) {
		f.Made = made
	}
	i.found[id] = f
}

// addAway notes the sandboxes that live on other engines.
func (b *Backend) addAway(ctx context.Context, e *engine, all inventory) error {
	here := ""
	for _, r := range b.records() {
		if _, known := all.found[r.ID]; known || r.Engine == "" || all.owner != "" && r.Owner != all.owner {
			continue
		}
		if here == "" {
			var err error
			if here, err = e.identity(ctx); err != nil {
				return err
			}
		}
		if r.Engine == here {
			continue
		}
		all.found[r.ID] = sandbox.Found{
			Ref:   sandbox.Ref{Kind: sandbox.KindDocker, ID: r.ID, HostID: all.host, Epoch: r.Epoch, Workspace: root},
			Owner: r.Owner, Realm: r.Realm, Away: "on the Docker engine that was reached " + r.EngineAt,
		}
	}
	return nil
}

// Lost implements sandbox.Loser. A container that was removed is no loss as long as there is the volume of its workspace.
func (b *Backend) Lost(ctx context.Context, ref sandbox.Ref) (bool, error) {
	const op = "look for the sandbox"
	r, err := b.loadRecord(ref.ID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err == nil && !r.Complete {
		return false, nil // it is still being made
	}
	e, err := b.engine()
	if err != nil {
		return false, err
	}
	r.ID = ref.ID
	there, err := b.home(ctx, e, op, &r)
	return !there && err == nil, err
}
