// This file knows what the terminal can do and keeps what is printed from controlling it.

package main

import (
	"os"
	"strings"
	"unicode"

	"github.com/creack/pty"

	"sandboxagent/internal/config"
)

// terminal says where the streams lead.
type terminal struct {
	input  bool // a person can answer questions
	output bool // a person reads along
	colour bool
}

func terminalOf(stdin, stdout *os.File, env config.Env) terminal {
	t := terminal{input: isTerminal(stdin), output: isTerminal(stdout)}
	t.colour = t.output && env.Get("NO_COLOR") == "" && env.Get("TERM") != "dumb"
	return t
}

func isTerminal(f *os.File) bool {
	_, _, err := pty.Getsize(f)
	return err == nil
}

func (t terminal) paint(code, s string) string {
	if !t.colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t terminal) bold(s string) string   { return t.paint("1", s) }
func (t terminal) dim(s string) string    { return t.paint("2", s) }
func (t terminal) red(s string) string    { return t.paint("31", s) }
func (t terminal) green(s string) string  { return t.paint("32", s) }
func (t terminal) yellow(s string) string { return t.paint("33", s) }
func (t terminal) cyan(s string) string   { return t.paint("36", s) }

// plain removes what could control a terminal: all control characters but line breaks and tabs.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && r != '\u2028' && r != '\u2029' && !isBidi(r) {
			return r
		}
		return -1
	}, s)
}

// isBidi reports whether r changes the direction of text, by which text can look like other text.
func isBidi(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// oneLine makes s fit on a line of about n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}
