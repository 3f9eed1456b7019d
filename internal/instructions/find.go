// This file finds the files and remembers them by what a look at them shows, so that what has not changed is not read again.

package instructions

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/conc/iter"

	"sandboxagent/internal/sandbox"
)

const (
	together   = 8               // looks at a time
	maxBoxes   = 64              // sandboxes remembered
	maxRead    = 256             // files remembered of each
	settleTime = 2 * time.Second // a file younger than this may change once more without showing it
)

// Cache remembers what was read, by sandbox. Its zero value is empty; it may be used concurrently.
type Cache struct {
	mu    sync.Mutex
	boxes map[string]map[string]known
}

// known is a file as it was read.
type known struct {
	size  int64
	mtime time.Time
	mode  fs.FileMode
	text  string
	cut   bool
}

// Find returns what the workspace of the sandbox with this id says about the directories, as Dirs gives them. It costs one look
// at each place where a file may be, and a reading of those that have changed. What is wrong with a file is told in the Set; an
// error says that the sandbox could not be asked.
func (c *Cache) Find(ctx context.Context, id string, w Workspace, dirs []string) (Set, error) {
	var set Set
	look := iter.Mapper[string, *File]{MaxGoroutines: together}
	files, err := look.MapErr(dirs, func(dir *string) (*File, error) {
		return c.file(ctx, id, w, path.Join(*dir, FileName))
	})
	if err != nil {
		return set, err
	}
	left := MaxTotalBytes
	for _, f := range files {
		if f == nil {
			continue
		}
		if len(f.Text) > left {
			f.Text, f.Problem = "", fmt.Sprintf("with it, these files would have more than %d KiB together", MaxTotalBytes>>10)
		}
		left -= len(f.Text)
		set.Files = append(set.Files, *f)
	}
	return set, c.skills(ctx, id, w, &set)
}

// file returns an AGENTS.md; nil when there is none.
func (c *Cache) file(ctx context.Context, id string, w Workspace, name string) (*File, error) {
	f := &File{Path: name}
	got, err := c.read(ctx, id, w, name, MaxFileBytes)
	switch {
	case absent(err):
		return nil, nil
	case hopeless(err):
		return nil, err
	case err != nil:
		f.Problem = why(err)
	case got.cut:
		f.Problem = fmt.Sprintf("it is larger than %d KiB", MaxFileBytes>>10)
	case !isText(got.text):
		f.Problem = "it is not UTF-8 text"
	case strings.TrimSpace(got.text) == "":
		return nil, nil
	default:
		f.Text = got.text
	}
	return f, nil
}

// read returns the first n bytes of a file, from memory if a look shows it unchanged.
func (c *Cache) read(ctx context.Context, id string, w Workspace, name string, n int) (known, error) {
	e, err := w.Stat(ctx, name)
	if err != nil {
		return known{}, err
	}
	if !e.Mode.IsRegular() && e.Mode&fs.ModeSymlink == 0 {
		return known{}, sandbox.Errorf(sandbox.ClassInvalid, "read instructions", "it is not a regular file")
	}
	if k, ok := c.recall(id, name); ok && k.size == e.Size && k.mtime.Equal(e.Mtime) && k.mode == e.Mode {
		return k, nil
	}
	content, err := w.ReadFile(ctx, name, 0, n)
	if err != nil {
		return known{}, err
	}
	k := known{e.Size, e.Mtime, e.Mode, string(content.Data), content.Size > int64(len(content.Data))}
	if e.Mode.IsRegular() && time.Since(e.Mtime) > settleTime { // a look at a link says nothing about its target
		c.remember(id, name, k)
	}
	return k, nil
}

func (c *Cache) recall(id, name string) (known, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.boxes[id][name]
	return k, ok
}

// remember keeps a file. When there is too much, all of one sandbox's is forgotten: it is only read again.
func (c *Cache) remember(id, name string, k known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.boxes == nil {
		c.boxes = map[string]map[string]known{}
	}
	if c.boxes[id] == nil && len(c.boxes) >= maxBoxes {
		for other := range c.boxes {
			delete(c.boxes, other)
			break
		}
	}
	if c.boxes[id] == nil || len(c.boxes[id]) >= maxRead {
		c.boxes[id] = map[string]known{}
	}
	c.boxes[id][name] = k
}

// absent says whether err means that there is no such file: a directory on the way may also be a file.
func absent(err error) bool {
	return sandbox.ClassOf(err) == sandbox.ClassNotFound
}

// hopeless says whether err is about the sandbox and not about the file.
func hopeless(err error) bool {
	switch sandbox.ClassOf(err) {
	case sandbox.ClassUnavailable, sandbox.ClassUnknown, sandbox.ClassCanceled, sandbox.ClassInternal:
		return true
	}
	return false
}

func why(err error) string {
	switch sandbox.ClassOf(err) {
	case sandbox.ClassDenied:
		return "it may not be read, or leads outside the workspace"
	case sandbox.ClassInvalid:
		return "it is not a regular file"
	}
	return "it cannot be read"
}

func isText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
