// This file recognizes sed scripts that only edit what they print.

package policy

import "strings"

// sedReads tells whether a script holds none but commands that neither write files, read them, nor run anything. What it
// does not understand counts as doing so.
func sedReads(script string) bool {
	s := sedScanner{text: script}
	for s.skip("; \t\n{}") {
		if !s.address() || !s.command() {
			return false
		}
	}
	return true
}

// sedScanner goes over a script.
type sedScanner struct{ text string }

// skip drops the given bytes; it tells whether anything is left.
func (s *sedScanner) skip(bytes string) bool {
	s.text = strings.TrimLeft(s.text, bytes)
	return s.text != ""
}

func (s *sedScanner) next() byte {
	if s.text == "" {
		return 0
	}
	c := s.text[0]
	s.text = s.text[1:]
	return c
}

// address drops the lines that a command is for: one address or two, and any number of negations.
func (s *sedScanner) address() bool {
	if !s.oneAddress() {
		return false
	}
	s.skip(" \t")
	if strings.HasPrefix(s.text, ",") {
		s.next()
		s.skip(" \t")
		if !s.oneAddress() {
			return false
		}
	}
	s.skip(" \t!")
	return true
}

func (s *sedScanner) oneAddress() bool {
	switch {
	case strings.HasPrefix(s.text, "/"):
		s.next()
		if !s.until('/') {
			return false
		}
		s.skip("I")
	case strings.HasPrefix(s.text, `\`):
		return false // another delimiter; rare
	default:
		s.skip("0123456789$~+")
	}
	return true
}

// command drops one command with what ends it.
func (s *sedScanner) command() bool {
	switch c := s.next(); c {
	case 'p', 'd', 'D', 'P', 'g', 'G', 'h', 'H', 'n', 'N', 'x', '=', 'z', '{', '}':
	case 'q', 'Q', 'l':
		s.skip(" \t0123456789")
	case 's', 'y':
		if !s.substitute(c == 's') {
			return false
		}
	case 0:
		return true
	default:
		return false
	}
	s.skip(" \t")
	return s.text == "" || strings.IndexByte(";\n{}", s.text[0]) >= 0
}

// substitute drops two parts between delimiters, and the flags.
func (s *sedScanner) substitute(flags bool) bool {
	delimiter := s.next()
	if delimiter < '!' || delimiter > '~' || delimiter == '\\' || !s.until(delimiter) || !s.until(delimiter) {
		return false
	}
	if flags {
		s.skip("gpiI0123456789")
	}
	return true
}

// until drops what comes before a delimiter, and it. Some seds read brackets to their end and some do not, so that delimiters
// and backslashes may not be there.
func (s *sedScanner) until(delimiter byte) bool {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '\n':
			return false
		case delimiter:
			s.text = s.text[i+1:]
			return true
		case '\\':
			i++
		case '[':
			length := bracket(s.text[i:])
			if length == 0 || strings.IndexByte(s.text[i:i+length], delimiter) >= 0 || strings.ContainsAny(s.text[i:i+length], "\\\n") {
				return false
			}
			i += length - 1
		}
	}
	return false
}

// bracket is the length of the bracket expression that text begins with, 0 if it has no end. A ] right behind its beginning
// is one of its characters, as is what stands in [: :], [. .] and [= =].
func bracket(text string) int {
	i := 1
	if strings.HasPrefix(text[i:], "^") {
		i++
	}
	if strings.HasPrefix(text[i:], "]") {
		i++
	}
	for ; i < len(text); i++ {
		switch {
		case text[i] == ']':
			return i + 1
		case text[i] == '[' && i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0:
			end := strings.Index(text[i+2:], text[i+1:i+2]+"]")
			if end < 0 {
				return 0
			}
			i += end + 3
		}
	}
	return 0
}
