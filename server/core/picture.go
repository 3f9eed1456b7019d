// This file makes pictures that go with a question fit to be shown, and keeps them where the session's worker reads them.

package core

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/images"
)

const maxPictures = 10 // of one question

var errNoFile = errors.New("it is no regular file")

// openFile opens a file of a folder, or of the host when there is no folder; never a pipe or a device, which might not answer.
func openFile(root *os.Root, name string) (*os.File, error) {
	open := os.OpenFile
	if root != nil {
		open = root.OpenFile
	}
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// readFile reads a file that has at most n bytes.
func readFile(root *os.Root, name string, n int64) ([]byte, error) {
	f, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, n+1))
	if err == nil && int64(len(data)) > n {
		return nil, fmt.Errorf("it has more than %d bytes", n)
	}
	return data, err
}

// enclosePictures keeps the pictures among the parts, and their data out of what is sent on.
func (c *Core) enclosePictures(ctx context.Context, e *enclosing) error {
	n := 0
	for i := range e.parts {
		p := &e.parts[i]
		if p.Kind != "image" {
			continue
		}
		if n++; n > maxPictures {
			return editors.Errorf(editors.CodeLimit, "more than %d images go with the question", maxPictures).WithRemedy("Leave some of them out.")
		}
		if e.dir == "" {
			return editors.Errorf(editors.CodeUnsupported, "the session is on another host, to which no image can be sent").
				WithRemedy("Put it into the session's workspace, and name it.")
		}
		if err := c.enclosePicture(ctx, e, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *Core) enclosePicture(ctx context.Context, e *enclosing, p *editors.Context) error {
	data, name, err := e.picture(p.URI)
	if err != nil {
		return editors.Errorf(editors.CodeInvalidParams, "the image %s cannot be read: %w", name, err)
	}
	picture, err := images.Fit(data)
	if err != nil {
		return editors.Errorf(editors.CodeInvalidParams, "the image %s cannot be shown: %w", name, err)
	}
	store, err := c.blobs.open()
	if err != nil {
		return asError("storing an image", err)
	}
	ref, err := blob.PutAll(ctx, store, picture.Data)
	if err != nil {
		return asError("storing an image", err)
	}
	if strings.HasPrefix(p.URI, "data:") {
		p.URI = ""
	}
	p.Text = ""
	p.Image = &editors.Image{Ref: string(ref), Type: picture.Type, Width: picture.Width, Height: picture.Height, Bytes: int64(len(picture.Data)), Name: name}
	return nil
}

// picture returns the bytes of an image that a client names, which may be anywhere on this host, and what to call it.
func (e *enclosing) picture(uri string) (data []byte, name string, err error) {
	if encoded, ok := strings.CutPrefix(uri, "data:"); ok {
		_, content, found := strings.Cut(encoded, ";base64,")
		if !found {
			return nil, "in the question", errors.New(`its URI is not "data:…;base64,…"`)
		}
		data, err = base64.StdEncoding.DecodeString(content)
		return data, "in the question", err
	}
	file, err := folderPath(uri)
	if err != nil {
		return nil, "in the question", errors.New("its uri is neither a file's nor data")
	}
	if rel, ok := e.inside(file); ok {
		data, err = readFile(e.root, rel, images.MaxInput)
		return data, rel, err
	}
	data, err = readFile(nil, file, images.MaxInput)
	return data, path.Base(file), err
}
