// This file checks the ids that callers choose.

package sandbox

import "unicode/utf8"

// MaxID bounds the ids of sandboxes, commands and effects, in bytes.
const MaxID = 256

// CheckID returns an Error of ClassInvalid unless id can name a sandbox, a command or an effect.
func CheckID(op, id string) error {
	if id == "" || len(id) > MaxID || !utf8.ValidString(id) {
		return Errorf(ClassInvalid, op, "the id must be 1 to %d bytes of valid UTF-8", MaxID)
	}
	return nil
}
