// This file cuts and cleans text without ever splitting a character.

package tools

import (
	"strings"
	"unicode/utf8"
)

// Head returns the longest beginning of s that has at most n bytes and does not split a character.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for back := 0; back < utf8.UTFMax && n > 0 && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n]
}

// Tail returns the longest end of s that has at most n bytes and does not split a character.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	start := len(s) - max(n, 0)
	for forth := 0; forth < utf8.UTFMax && start < len(s) && !utf8.RuneStart(s[start]); forth++ {
		start++
	}
	return s[start:]
}

// wholeRunes returns how many bytes of data precede a character that is cut off at its end.
func wholeRunes(data []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		at := len(data) - back
		if utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				return at
			}
			break
		}
	}
	return len(data)
}

// valid returns s with each run of bytes that are no UTF-8 replaced by U+FFFD, and without NUL.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// headLines returns the whole lines of s that fit n bytes, and how many lines were left out.
func headLines(s string, n int) (head string, left int) {
	if len(s) <= n {
		return s, 0
	}
	end := strings.LastIndexByte(s[:max(n, 0)], '\n') + 1
	rest := s[end:]
	left = strings.Count(rest, "\n")
	if !strings.HasSuffix(rest, "\n") {
		left++
	}
	return s[:end], left
}
