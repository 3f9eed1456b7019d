// Package tree is the format of a pictured directory tree: objects named by the SHA-256 of their bytes, of which a
// directory names its entries, so that equal subtrees have equal hashes and are neither stored nor compared twice.
//
// An object is the content of a file, the list of a large file's extents, or a directory. Nothing here does I/O.
//
// This file names objects and describes entries.
package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Format is the version of everything in this package.
const Format = 1

// Bounds of the format.
const (
	MaxWhole  = 8 << 20  // bytes of a file that is one object; a larger one is cut into extents
	ChunkSize = 1 << 20  // bytes of an extent, the last one of a file may be shorter
	MaxObject = 32 << 20 // bytes of any object; only the lists of huge directories and files come near
	MaxName   = 1024     // bytes
	MaxTarget = 16 << 10 // bytes of a link's target
	MaxDepth  = 4096     // directories in each other
)

// ErrFormat says that bytes are not what this package wrote.
var ErrFormat = errors.New("malformed checkpoint data")

// Hash names an object by its content.
type Hash [sha256.Size]byte

// Sum returns the name of an object.
func Sum(object []byte) Hash { return sha256.Sum256(object) }

// Empty is the directory without entries.
var Empty = Sum(nil)

// String returns 64 lower-case hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Compare orders hashes by their bytes.
func (h Hash) Compare(o Hash) int { return bytes.Compare(h[:], o[:]) }

// ParseHash is the inverse of String; it takes nothing else.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != hex.EncodedLen(len(h)) || strings.ToLower(s) != s {
		return h, fmt.Errorf("%w: %.80q is no hash", ErrFormat, s)
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return h, fmt.Errorf("%w: %q is no hash", ErrFormat, s)
	}
	return h, nil
}

// Kind tells what an entry is. Only these travel; pipes, sockets and devices do not.
type Kind byte

// The kinds of entry.
const (
	File Kind = 1
	Dir  Kind = 2
	Link Kind = 3 // a symbolic link
)

// Entry is one name in a directory.
type Entry struct {
	Name    string // bytes other than NUL and "/"
	Kind    Kind
	Chunked bool   // the object of a File is its list of extents
	Mode    uint16 // permission bits; setuid, setgid and sticky bits are dropped on purpose
	Size    int64  // bytes of a File
	Mtime   int64  // nanoseconds since 1970
	Hash    Hash   // of a File or a Dir
	Target  string // of a Link, as it is
	Group   uint64 // of a File, not 0: those of the same group in a tree are hard links of each other
}

// Same tells whether two entries have the same kind, permissions and content, whatever their times. Directories are
// compared without what is in them.
func (e *Entry) Same(o *Entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.Mode == o.Mode && e.SameContent(o)
}

// SameContent is Same without the permissions.
func (e *Entry) SameContent(o *Entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	if e.Kind != o.Kind {
		return false
	}
	switch e.Kind {
	case File:
		return e.Size == o.Size && e.Chunked == o.Chunked && e.Hash == o.Hash
	case Link:
		return e.Target == o.Target
	}
	return true
}

// check tells whether an entry may stand in a tree.
func (e *Entry) check() error {
	switch {
	case e.Name == "" || e.Name == "." || e.Name == ".." || len(e.Name) > MaxName || strings.ContainsAny(e.Name, "/\x00"):
		return fmt.Errorf("%w: the name %.80q", ErrFormat, e.Name)
	case e.Mode&^0o777 != 0:
		return fmt.Errorf("%w: mode %o of %q", ErrFormat, e.Mode, e.Name)
	case e.Kind == Link && (e.Target == "" || len(e.Target) > MaxTarget || strings.ContainsRune(e.Target, 0)):
		return fmt.Errorf("%w: the target of %q", ErrFormat, e.Name)
	case e.Size < 0 || (e.Kind == File && e.Chunked != (e.Size > MaxWhole)):
		return fmt.Errorf("%w: the size of %q", ErrFormat, e.Name)
	}
	return nil
}

// CheckPath tells whether a path is one of an entry below the root: relative, clean, of names that may stand in a tree.
func CheckPath(path string) error {
	if strings.Count(path, "/") >= MaxDepth {
		return fmt.Errorf("%w: a path of more than %d names", ErrFormat, MaxDepth)
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := (&Entry{Name: name}).check(); err != nil {
			return err
		}
	}
	return nil
}

// GroupOf names the group of hard links whose first path, by bytes, is given. It is never 0.
func GroupOf(first string) uint64 {
	h := Sum([]byte(first))
	return binary.LittleEndian.Uint64(h[:]) | 1
}
