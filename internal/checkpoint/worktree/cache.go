// This file remembers the last picture, so that the next one reads only what changed. It is disposable: a cache that is
// lost, damaged or of other options costs time and nothing else.

package worktree

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/tree"
)

const (
	cacheFile    = "checkpoint-cache"
	cacheFormat  = 1
	maxCacheSize = 512 << 20 // bytes
)

// dir is a directory as it was pictured. Once made it does not change.
type dir struct {
	entries []tree.Entry // sorted by name
	sigs    []sig        // of the entries; nothing for directories
	kids    []*dir       // of the entries that are directories, in their order
	hash    tree.Hash
}

// sig is what, besides the entry, must be the same for a file or link to be trusted unread.
type sig struct {
	ctime int64
	ino   uint64
	racy  bool // may have changed since without showing it
}

func (g *sig) matches(st *stat) bool { return !g.racy && g.ctime == st.ctime && g.ino == st.ino }

func (d *dir) add(e tree.Entry, g sig) {
	d.entries, d.sigs = append(d.entries, e), append(d.sigs, g)
}

// find returns where a name stands, -1 when it does not; hint is where it may.
func (d *dir) find(name string, hint int) int {
	if hint < len(d.entries) && d.entries[hint].Name == name {
		return hint
	}
	at, ok := slices.BinarySearchFunc(d.entries, name, func(e tree.Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return -1
	}
	return at
}

func (d *dir) kid(name string) *dir {
	at := 0
	for i := range d.entries {
		if d.entries[i].Kind != tree.Dir {
			continue
		}
		if d.entries[i].Name == name {
			return d.kids[at]
		}
		at++
	}
	return nil
}

// equal tells whether d says what old says.
func (d *dir) equal(old *dir) bool {
	return old != nil && d.hash == old.hash && slices.Equal(d.sigs, old.sigs) && slices.Equal(d.kids, old.kids)
}

// dropLost takes out the directories that went away while the picture was taken.
func (d *dir) dropLost() {
	entries, sigs, kids := d.entries[:0], d.sigs[:0], d.kids[:0]
	at := 0
	for i, e := range d.entries {
		if e.Kind == tree.Dir {
			kid := d.kids[at]
			at++
			if kid == nil {
				continue
			}
			kids = append(kids, kid)
		}
		entries, sigs = append(entries, e), append(sigs, d.sigs[i])
	}
	d.entries, d.sigs, d.kids = entries, sigs, kids
}

// scanCache is the last picture that became a checkpoint.
type scanCache struct {
	base string // id of that checkpoint
	root *dir
}

// cacheKey tells pictures apart that would differ though no file does.
func (t *Tree) cacheKey(o ScanOptions) string {
	b, err := json.Marshal(struct {
		Format   int
		Root     string
		Excludes []string
		File     int64
	}{cacheFormat, t.opts.Root, o.Excludes, o.Limits.File})
	if err != nil {
		return ""
	}
	return string(b)
}

func (t *Tree) loadCache(o ScanOptions) scanCache {
	name := filepath.Join(t.opts.State, cacheFile)
	if info, err := os.Stat(name); err != nil || info.Size() > maxCacheSize {
		return scanCache{}
	}
	b, err := os.ReadFile(name)
	if err != nil || len(b) < sha256.Size {
		return scanCache{}
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if tree.Sum(body) != tree.Hash(sum) {
		return scanCache{}
	}
	c, err := decodeCache(body, t.cacheKey(o))
	if err != nil {
		return scanCache{}
	}
	return c
}

// saveCache replaces the cache. Where it cannot, the old one stays, whose checkpoint is no less true.
func (t *Tree) saveCache(o ScanOptions, c scanCache) {
	b := encodeCache(c, t.cacheKey(o))
	sum := tree.Sum(b)
	f, err := os.CreateTemp(t.opts.State, cacheFile+".tmp-*")
	if err != nil {
		return
	}
	_, err = f.Write(append(b, sum[:]...))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(t.opts.State, cacheFile))
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

func encodeCache(c scanCache, key string) []byte {
	e := tree.Encoder{Buf: make([]byte, 0, 1<<20)}
	e.Text(key)
	e.Text(c.base)
	encodeCached(&e, c.root)
	return e.Buf
}

func encodeCached(e *tree.Encoder, d *dir) {
	e.Hash(d.hash)
	e.Uint(uint64(len(d.entries)))
	at := 0
	for i := range d.entries {
		e.Entry(&d.entries[i])
		if d.entries[i].Kind == tree.Dir {
			encodeCached(e, d.kids[at])
			at++
			continue
		}
		g := d.sigs[i]
		e.Int(g.ctime)
		e.Uint(g.ino)
		racy := byte(0)
		if g.racy {
			racy = 1
		}
		e.Byte(racy)
	}
}

func decodeCache(b []byte, key string) (scanCache, error) {
	d := tree.NewDecoder(b)
	if d.Text(1<<20) != key {
		d.Fail("other options")
	}
	c := scanCache{base: d.Text(tree.MaxName)}
	c.root = decodeCached(d, 0)
	return c, d.End()
}

func decodeCached(d *tree.Decoder, depth int) *dir {
	if depth > tree.MaxDepth {
		d.Fail("too deep")
		return nil
	}
	out := &dir{hash: d.Hash()}
	n := d.Uint()
	for range n {
		if d.Err() != nil {
			return nil
		}
		e := d.Entry()
		if e.Kind == tree.Dir {
			out.kids = append(out.kids, decodeCached(d, depth+1))
			out.add(e, sig{})
			continue
		}
		out.add(e, sig{ctime: d.Int(), ino: d.Uint(), racy: d.Byte() != 0})
	}
	return out
}
