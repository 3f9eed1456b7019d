// This file defines what a content-addressed store is: references, limits, errors and the Store interface.

// Package blob is the content-addressed store that conversations, outputs and checkpoints share: histories hold a Ref,
// the bytes live here. An object is named by the SHA-256 of its content, so that storing twice costs nothing and every
// read can be verified.
//
// Put and Get work on single objects of at most MaxObject bytes. Content of any length is written with a Writer (or
// PutAll) and read with Open (or ReadAll). Small content written by a Writer is one plain object, the same that Put
// makes; longer content becomes chunks and a manifest that lists them, and only the first bytes of the object tell
// which of the two a Ref names.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxObject is the most bytes that one object holds, before compression: 8 MiB.
const MaxObject = 8 << 20

// The classes of failure; test with errors.Is. Other errors come from the operating system or the context.
var (
	ErrNotFound   = errors.New("blob not found")
	ErrCorrupt    = errors.New("blob is corrupt")        // what is stored does not match its hash or format
	ErrTooLarge   = errors.New("blob is too large")      // more than a limit allows
	ErrInvalidRef = errors.New("invalid blob reference") // not of the form sha256:<64 hex digits>
)

// Ref names an object by its content: "sha256:" and 64 lower-case hex digits of the uncompressed bytes.
type Ref string

const refPrefix = "sha256:"

// Store keeps objects by their content. Implementations are safe for concurrent use.
type Store interface {
	// Put stores data and returns its Ref. It is idempotent, and durable when it returns. data is not kept. More than
	// MaxObject bytes are refused with ErrTooLarge.
	Put(ctx context.Context, data []byte) (Ref, error)
	// Get returns the content of ref, verified; the caller owns it. It fails with ErrNotFound, ErrCorrupt or
	// ErrInvalidRef.
	Get(ctx context.Context, ref Ref) ([]byte, error)
	// Has tells whether ref is stored, without verifying its content.
	Has(ctx context.Context, ref Ref) (bool, error)
}

// Sum returns the Ref of data.
func Sum(data []byte) Ref {
	sum := sha256.Sum256(data)
	return refOf(sum[:])
}

// ParseRef checks that s is a Ref; it fails with ErrInvalidRef.
func ParseRef(s string) (Ref, error) {
	if _, err := Ref(s).digest(); err != nil {
		return "", err
	}
	return Ref(s), nil
}

func refOf(digest []byte) Ref { return Ref(refPrefix + hex.EncodeToString(digest)) }

// digest returns the 64 hex digits of r.
func (r Ref) digest() (string, error) {
	digits, ok := strings.CutPrefix(string(r), refPrefix)
	if !ok || len(digits) != hex.EncodedLen(sha256.Size) || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%w: %.80q", ErrInvalidRef, string(r))
	}
	return digits, nil
}

// verify checks that data is the content of ref.
func verify(ref Ref, data []byte) error {
	if got := Sum(data); got != ref {
		return fmt.Errorf("%w: %s holds content of %s", ErrCorrupt, ref, got)
	}
	return nil
}

func checkSize(data []byte) error {
	if len(data) > MaxObject {
		return fmt.Errorf("%w: %d bytes, at most %d go into one object", ErrTooLarge, len(data), MaxObject)
	}
	return nil
}

// PutJSON stores the JSON text of v as one object.
func PutJSON(ctx context.Context, s Store, v any) (Ref, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T for the blob store: %w", v, err)
	}
	return s.Put(ctx, data)
}

// GetJSON decodes the JSON text that ref names into v. Text that is no JSON for v is ErrCorrupt.
func GetJSON(ctx context.Context, s Store, ref Ref, v any) error {
	data, err := s.Get(ctx, ref)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: decoding %s into %T: %w", ErrCorrupt, ref, v, err)
	}
	return nil
}
