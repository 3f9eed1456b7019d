// This file makes the container: what it may do, what it is limited to, and what is put into it before its first start.

package docker

import (
	"archive/tar"
	"context"
	"io"
	"path"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"sandboxagent/internal/sandbox"
)

// create makes the container. The engine takes a name once only, so that a lost answer leaves one to be found.
func (x *box) create(ctx context.Context, e *engine, r *record) error {
	there, err := x.b.home(ctx, e, opOpen, r)
	if err != nil {
		return err
	}
	if r.Complete {
		if !there {
			return errFilesGone(x.b.names(x.id).workspace)
		}
		x.tell("The container was removed and is made again with its workspace; what was installed outside " + root + " is gone.")
	}
	if err := x.b.image(ctx, e, r.Image, x.tell); err != nil {
		return err
	}
	r.Epoch++
	if err := x.b.adopt(ctx, e, r); err != nil {
		return err
	}
	if err := x.b.writeRecord(*r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	_, err = e.ContainerCreate(ctx, x.b.config(*r), x.b.hostConfig(*r), nil, nil, x.b.names(x.id).container)
	return settled(err)
}

// errFilesGone refuses to go on with an empty workspace in place of one that was lost.
func errFilesGone(volume string) error {
	return sandbox.Errorf(sandbox.ClassCorrupt, opOpen,
		"the files of this sandbox are gone, since somebody removed the volume %s: ask again, and it is made anew from its last checkpoint", volume)
}

// config describes the container's first process: an init and a sleep, as root without any right, which commands, being
// another user's, cannot kill.
func (b *Backend) config(r record) *container.Config {
	second := 1
	return &container.Config{
		Image: r.Image, User: "0:0", WorkingDir: "/", Entrypoint: []string{"sleep"}, Cmd: []string{"infinity"},
		Labels: b.labels(r), StopTimeout: &second, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func (b *Backend) hostConfig(r record) *container.HostConfig {
	withInit, pids, n := true, b.opts.Pids, b.names(r.ID)
	volume := func(name, target string) mount.Mount {
		return mount.Mount{
			Type: mount.TypeVolume, Source: name, Target: target,
			VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: b.labels(r)},
		}
	}
	return &container.HostConfig{
		Init: &withInit, NetworkMode: container.NetworkMode(b.opts.Network),
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		LogConfig: container.LogConfig{Type: "none"},
		Mounts:    []mount.Mount{volume(n.workspace, root), volume(n.own, ownDir)},
		Resources: container.Resources{
			Memory: b.opts.Memory, MemorySwap: b.opts.Memory, NanoCPUs: int64(b.opts.CPUs * 1e9), PidsLimit: &pids,
		},
	}
}

// withoutSleep is how a container ends whose init finds no program sleep: it never ends by itself otherwise.
const withoutSleep = 127

// lacksSleep reports whether the container could not be started because the image has no program sleep: what engines say
// that look for it themselves. They complain of other missing files, too, for instance while they shut down.
func lacksSleep(err error) bool {
	text := err.Error()
	return strings.Contains(text, "executable file") && strings.Contains(text, "sleep") && strings.Contains(text, "not found")
}

// leftBehind reports whether a container could not be started because what ran under its id is still there: what an engine
// says that was killed together with its containerd. It gives every container another id, so a new one can.
func leftBehind(err error, id string) bool {
	return err != nil && strings.Contains(err.Error(), "exists") &&
		(strings.Contains(err.Error(), id) || strings.Contains(err.Error(), "container with given ID"))
}

func errNoSleep(image string, err error) error {
	return &sandbox.Error{
		Class: sandbox.ClassUnsupported, Op: opOpen, Err: err,
		Message: "the image " + image + " has no program sleep: choose one with a shell and the usual small programs, such as " + DefaultImage,
	}
}

// fill puts the helper, the user's home and, the first time, the copy of the folder into a container before it first
// starts. The marks on the volume tell what was done: a copy cut short is thrown away, a workspace never.
func (x *box) fill(ctx context.Context, e *engine, c container.InspectResponse, r *record) error {
	ready, err := e.exists(ctx, c.ID, markReady)
	if err != nil {
		return err
	}
	begun, err := e.exists(ctx, c.ID, markBegun)
	if err != nil {
		return err
	}
	if begun && !ready {
		return x.b.discard(ctx, e, x.id)
	}
	begins := !ready
	if begins {
		if begins, err = e.emptyWorkspace(ctx, c.ID); err != nil {
			return err
		}
	}
	passwd, home, err := e.accounts(ctx, c.ID, hostIdentity())
	if err != nil {
		return err
	}
	p := &packer{who: hostIdentity()}
	err = e.put(ctx, c.ID, func(tw *tar.Writer) error {
		p.tw = tw
		return x.layOut(ctx, p, passwd, home, begins, r.Empty)
	})
	if err != nil {
		return err
	}
	if text := p.report(); text != "" {
		x.tell(text)
	}
	x.hasNow(c.ID)
	r.Complete, r.Home = true, home
	return x.b.writeRecord(*r)
}

// layOut writes what fill puts into the container, the marks first and last. A new workspace begins as a copy of the folder,
// or empty.
func (x *box) layOut(ctx context.Context, p *packer, passwd []byte, home string, begins, empty bool) error {
	p.dir(ownDir, identity{}, 0o755)
	p.dir(stateDir, p.who, 0o700)
	if begins {
		p.file(markBegun, 0o644, nil)
	}
	if err := x.program.lay(p); err != nil {
		return err
	}
	if len(passwd) > 0 {
		p.file("/etc/passwd", 0o644, passwd)
		p.dir(home, p.who, 0o755)
	}
	if begins {
		p.dir(root, p.who, 0o755)
	}
	if begins && !empty {
		if err := p.folder(ctx, x.folder); err != nil {
			return err
		}
	}
	p.file(markReady, 0o644, nil)
	return p.err
}

// install makes sure that the helper of this program's version is in the container.
func (x *box) install(ctx context.Context, e *engine, id string) error {
	if x.has(id) {
		return nil
	}
	there, err := e.exists(ctx, id, x.program.path())
	if err == nil && !there {
		err = e.put(ctx, id, func(tw *tar.Writer) error { return x.program.lay(&packer{tw: tw}) })
	}
	if err == nil {
		x.hasNow(id)
	}
	return err
}

// exists reports whether there is something at that path of the container.
func (e *engine) exists(ctx context.Context, id, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	_, err := e.ContainerStatPath(ctx, id, name)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

// emptyWorkspace reports whether nobody has put anything into the workspace yet.
func (e *engine) emptyWorkspace(ctx context.Context, id string) (bool, error) {
	stream, _, err := e.CopyFromContainer(ctx, id, root)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	for tr := tar.NewReader(stream); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if strings.Contains(strings.Trim(path.Clean(h.Name), "/"), "/") {
			return false, nil
		}
	}
}

// inspect looks at a container.
func (e *engine) inspect(ctx context.Context, name string) (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	c, err := e.ContainerInspect(ctx, name)
	if err == nil && (c.ContainerJSONBase == nil || c.State == nil) {
		return c, sandbox.Errorf(sandbox.ClassUnavailable, opOpen, "the Docker engine does not tell the container's state")
	}
	return c, err
}
