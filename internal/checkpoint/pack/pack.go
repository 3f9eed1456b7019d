// Package pack keeps objects, named by the SHA-256 of their bytes, in files that are written once: a pack of zstd
// frames of about 1 MiB, and beside it a checksummed index. A pack is published by renaming it and then its index; one
// without index is rubbish. Readers need no lock; who writes or sweeps must be kept from the other by the caller.
//
// This file is the store as a reader sees it.
package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"sandboxagent/internal/checkpoint/tree"
)

// The classes of failure; test with errors.Is.
var (
	ErrMissing = errors.New("object is missing")
	ErrCorrupt = errors.New("object is damaged")
	ErrFull    = errors.New("too little space is left on the disk")
)

const (
	packSuffix  = ".pack"
	indexSuffix = ".idx"
	tempPrefix  = "tmp-"

	frameSize   = 1 << 20                // bytes of objects in one frame, about
	maxFrame    = tree.MaxObject + 2<<20 // bytes of objects in one frame, at most
	cachedBytes = 24 << 20               // of frames kept for the next object
)

// Options configure a store.
type Options struct {
	Dir     string // made when missing, mode 0700
	Reserve int64  // bytes of disk that writing must leave free
	// Fault is called before every step of writing with its name; an error makes the step fail. For tests.
	Fault func(step string) error
}

// Store is a set of packs. All methods may be called concurrently.
type Store struct {
	opts Options
	dec  *zstd.Decoder

	mu      sync.RWMutex
	index   map[tree.Hash]location
	packs   map[string]*file // by name
	damaged map[string]error // indexes that cannot be read
	broken  map[string]error // packs some of whose objects are damaged
	aside   map[tree.Hash]bool
	second  map[tree.Hash]location // of objects that are in two packs

	cacheMu sync.Mutex
	cache   map[frameKey][]byte
	ring    []frameKey // oldest first
	held    int        // bytes in cache
}

// file is one published pack.
type file struct {
	name    string
	size    int64 // bytes on disk
	objects int
}

// location is where an object lies.
type location struct {
	in                  *file
	at                  int64 // of its frame in the pack
	packed, raw         uint32
	offset, objectBytes uint32 // in the frame
}

type frameKey struct {
	pack string
	at   int64
}

// Open opens the store below dir.
func Open(o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of packs: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxFrame), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	s := &Store{
		opts: o, dec: dec, index: map[tree.Hash]location{}, packs: map[string]*file{}, damaged: map[string]error{},
		broken: map[string]error{}, aside: map[tree.Hash]bool{}, second: map[tree.Hash]location{}, cache: map[frameKey][]byte{},
	}
	return s, s.Refresh()
}

// Refresh takes notice of what other processes have published or swept.
func (s *Store) Refresh() error {
	names, err := os.ReadDir(s.opts.Dir)
	if err != nil {
		return fmt.Errorf("list packs: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.damaged) // looked at anew
	there := map[string]bool{}
	for _, entry := range names {
		name, ok := strings.CutSuffix(entry.Name(), indexSuffix)
		if !ok || strings.HasPrefix(name, tempPrefix) {
			continue
		}
		there[name] = true
		if s.packs[name] != nil {
			continue
		}
		if err := s.load(name); err != nil && !s.swept(name) {
			s.damaged[name] = err
		}
	}
	s.dropAbsent(there)
	return nil
}

// swept tells whether a pack went while it was looked at.
func (s *Store) swept(name string) bool {
	_, err := os.Stat(s.path(name, indexSuffix))
	return errors.Is(err, fs.ErrNotExist)
}

// load reads the index of a pack. The lock is held.
func (s *Store) load(name string) error {
	b, err := os.ReadFile(s.path(name, indexSuffix))
	if err != nil {
		return err
	}
	info, err := os.Stat(s.path(name, packSuffix))
	if err != nil {
		return err
	}
	f := &file{name: name, size: info.Size()}
	records, err := decodeIndex(b, info.Size())
	if err != nil {
		return err
	}
	s.add(f, records)
	return nil
}

func (s *Store) add(f *file, records []record) {
	f.objects = len(records)
	for _, r := range records {
		r.location.in = f
		if first, ok := s.index[r.hash]; ok && first.in.name != f.name {
			s.second[r.hash] = first
		}
		s.index[r.hash] = r.location
		delete(s.aside, r.hash)
	}
	s.packs[f.name] = f
	delete(s.damaged, f.name)
}

// dropAbsent forgets packs that are gone. The lock is held.
func (s *Store) dropAbsent(there map[string]bool) {
	gone := false
	for name := range s.packs {
		if !there[name] {
			delete(s.packs, name)
			gone = true
		}
	}
	if !gone {
		return
	}
	for h, l := range s.index {
		if s.packs[l.in.name] != l.in {
			delete(s.index, h)
		}
	}
	for h, l := range s.second {
		if s.packs[l.in.name] != l.in {
			delete(s.second, h)
		}
	}
	// an object that was in two packs is found again in the other one
	for name := range s.packs {
		if err := s.load(name); err != nil {
			s.damaged[name] = err
		}
	}
}

func (s *Store) path(name, suffix string) string { return filepath.Join(s.opts.Dir, name+suffix) }

// Has tells whether an object is there, without reading it.
func (s *Store) Has(h tree.Hash) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.index[h]
	return ok
}

// Sort orders objects as they lie on disk, so that reading them in that order reads every frame once.
func (s *Store) Sort(objects []tree.Hash) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	slices.SortFunc(objects, func(a, b tree.Hash) int { return s.index[a].compare(s.index[b]) })
}

// Size is how many bytes the packs take on disk, and how many objects they hold.
func (s *Store) Size() (bytes int64, objects int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.packs {
		bytes += f.size
	}
	return bytes, len(s.index)
}

// Stored is about how many bytes an object takes on disk, 0 when it is not there.
func (s *Store) Stored(h tree.Hash) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.index[h]
	return l.stored()
}

func (l location) stored() int64 {
	if l.raw == 0 {
		return indexRecord
	}
	return int64(l.objectBytes)*int64(l.packed)/int64(l.raw) + indexRecord
}

// Damaged tells which indexes cannot be read; their objects count as missing.
func (s *Store) Damaged() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all error
	for name, err := range s.damaged {
		all = errors.Join(all, fmt.Errorf("pack %s: %w", name, err))
	}
	return all
}

// Get returns an object, verified, for reading only. It fails with ErrMissing or ErrCorrupt.
func (s *Store) Get(h tree.Hash) ([]byte, error) {
	b, err := s.get(h)
	if errors.Is(err, ErrMissing) { // swept into another pack, or published since
		if rerr := s.Refresh(); rerr != nil {
			return nil, rerr
		}
		if b, err = s.get(h); errors.Is(err, ErrMissing) {
			s.want(h)
		}
	}
	return b, err
}

func (s *Store) get(h tree.Hash) ([]byte, error) {
	s.mu.RLock()
	l, ok := s.index[h]
	s.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrMissing, h)
	}
	b, err := s.object(h, l)
	if errors.Is(err, ErrCorrupt) && s.setAside(h, l, err) {
		return s.get(h)
	}
	return b, err
}

// object reads and verifies an object where it lies.
func (s *Store) object(h tree.Hash, l location) ([]byte, error) {
	frame, err := s.frame(l)
	if err != nil {
		return nil, fmt.Errorf("%w (object %s)", err, h)
	}
	b := frame[l.offset : l.offset+l.objectBytes : l.offset+l.objectBytes]
	if tree.Sum(b) != h {
		return nil, fmt.Errorf("%w: %s in pack %s", ErrCorrupt, h, l.in.name)
	}
	return b, nil
}

// frame returns the objects that lie together with one.
func (s *Store) frame(l location) ([]byte, error) {
	key := frameKey{l.in.name, l.at}
	s.cacheMu.Lock()
	raw := s.cache[key]
	s.cacheMu.Unlock()
	if raw != nil {
		return raw, nil
	}
	packed, err := s.readPacked(l)
	if err != nil {
		return nil, err
	}
	raw, err = s.dec.DecodeAll(packed, make([]byte, 0, l.raw))
	if err == nil && len(raw) != int(l.raw) {
		err = fmt.Errorf("%d bytes instead of %d", len(raw), l.raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: pack %s at %d: %w", ErrCorrupt, l.in.name, l.at, err)
	}
	s.remember(key, raw)
	return raw, nil
}

func (s *Store) readPacked(l location) ([]byte, error) {
	f, err := os.Open(s.path(l.in.name, packSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: pack %s is gone", ErrMissing, l.in.name)
	}
	if err != nil {
		return nil, fmt.Errorf("open pack: %w", err)
	}
	defer f.Close()
	packed := make([]byte, l.packed)
	if _, err := f.ReadAt(packed, l.at); err != nil {
		return nil, fmt.Errorf("%w: pack %s at %d: %w", ErrCorrupt, l.in.name, l.at, err)
	}
	return packed, nil
}

func (s *Store) remember(key frameKey, raw []byte) {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.cache[key] != nil {
		return
	}
	s.cache[key] = raw
	s.ring = append(s.ring, key)
	s.held += len(raw)
	for s.held > cachedBytes && len(s.ring) > 1 {
		s.held -= len(s.cache[s.ring[0]])
		delete(s.cache, s.ring[0])
		s.ring = s.ring[1:]
	}
}
