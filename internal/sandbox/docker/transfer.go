// This file moves whole trees between this host and a sandbox as archives.

package docker

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/docker/docker/api/types/container"

	"sandboxagent/internal/sandbox"
)

const (
	opExport   = "export the workspace"
	opImport   = "import into the workspace"
	pipeBuffer = 256 << 10
)

var errStopped = errors.New("the engine stopped reading")

// put unpacks what write writes at the root of a container that may run or not.
func (e *engine) put(ctx context.Context, id string, write func(*tar.Writer) error) error {
	out, in := io.Pipe()
	written := make(chan error, 1)
	go func() {
		buffer := bufio.NewWriterSize(in, pipeBuffer)
		tw := tar.NewWriter(buffer)
		err := write(tw)
		if err == nil {
			err = tw.Close()
		}
		if err == nil {
			err = buffer.Flush()
		}
		_ = in.CloseWithError(err)
		written <- err
	}()
	err := e.CopyToContainer(ctx, id, "/", out, container.CopyToContainerOptions{})
	_ = out.CloseWithError(errStopped)
	if failed := <-written; failed != nil && !errors.Is(failed, errStopped) {
		return failed
	}
	return err
}

// Export writes the workspace of a sandbox to w as a tar archive: directories, files and links by names relative to the
// workspace, all owned by the user of this host. Pipes, sockets and devices are left out.
func (b *Backend) Export(ctx context.Context, ref sandbox.Ref, w io.Writer) error {
	e, c, err := b.reach(ctx, ref)
	if err != nil {
		return err
	}
	stream, _, err := e.CopyFromContainer(ctx, c.ID, root)
	if err != nil {
		return e.failed(opExport, err)
	}
	defer stream.Close()
	return e.failed(opExport, relay(tar.NewReader(stream), w, outward))
}

// Import unpacks a tar archive into the workspace of a sandbox, over what is there, owned by the user of the sandbox. Its
// names are relative to the workspace. Pipes, sockets and devices are left out; a name that leads outside is refused.
func (b *Backend) Import(ctx context.Context, ref sandbox.Ref, r io.Reader) error {
	e, c, err := b.reach(ctx, ref)
	if err != nil {
		return err
	}
	err = e.put(ctx, c.ID, func(tw *tar.Writer) error { return copyEntries(tar.NewReader(r), tw, inward) })
	return e.failed(opImport, err)
}

// reach returns the container of a sandbox that exists.
func (b *Backend) reach(ctx context.Context, ref sandbox.Ref) (*engine, container.InspectResponse, error) {
	x, err := b.find(ctx, ref)
	if err != nil {
		return nil, container.InspectResponse{}, err
	}
	e, err := b.engine()
	if err != nil {
		return nil, container.InspectResponse{}, err
	}
	c, _, err := x.up(ctx, e)
	return e, c, err
}

func relay(tr *tar.Reader, w io.Writer, change func(*tar.Header) (bool, error)) error {
	tw := tar.NewWriter(w)
	if err := copyEntries(tr, tw, change); err != nil {
		return err
	}
	return tw.Close()
}

// copyEntries copies the entries that change keeps, as it changes them.
func copyEntries(tr *tar.Reader, tw *tar.Writer, change func(*tar.Header) (bool, error)) error {
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &sandbox.Error{Class: sandbox.ClassCorrupt, Op: "read archive", Message: "the archive is damaged or was cut", Err: err}
		}
		kept, err := change(h)
		if err != nil {
			return err
		}
		if !kept {
			continue
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(tw, tr); err != nil {
			return err
		}
	}
}

// plain drops what must not travel, and reports whether the entry may.
func plain(h *tar.Header, owner identity) bool {
	h.Uname, h.Gname, h.Uid, h.Gid = "", "", owner.uid, owner.gid
	h.Mode &= 0o777
	h.Format, h.PAXRecords = tar.FormatPAX, nil
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
		return true
	}
	return false
}

// outward turns an entry of the container's archive of the workspace, whose names begin with its last element.
func outward(h *tar.Header) (bool, error) {
	h.Name = relative(h.Name)
	if h.Typeflag == tar.TypeLink {
		h.Linkname = relative(h.Linkname)
	}
	kept := h.Name != "" && plain(h, ownIdentity())
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	return kept, nil
}

func relative(name string) string {
	_, rest, _ := strings.Cut(strings.Trim(path.Clean(name), "/"), "/")
	return rest
}

// inward turns an entry whose name is relative to the workspace.
func inward(h *tar.Header) (bool, error) {
	for _, name := range []*string{&h.Name, &h.Linkname} {
		if name == &h.Linkname && h.Typeflag != tar.TypeLink {
			continue
		}
		if path.IsAbs(*name) || !isLocal(path.Clean(*name)) {
			return false, &sandbox.Error{Class: sandbox.ClassDenied, Op: opImport, Path: *name, Message: "the name leads outside the workspace"}
		}
		*name = inside(root + "/" + *name)
	}
	kept := plain(h, hostIdentity())
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	return kept, nil
}

func isLocal(clean string) bool { return clean != ".." && !strings.HasPrefix(clean, "../") }
