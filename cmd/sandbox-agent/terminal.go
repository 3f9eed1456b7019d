// This file knows what the terminal can do and keeps what is printed from controlling it.

package main

import (
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

// name makes a path, or another name that somebody else has chosen, fit into a line: as it is, or quoted with escapes if it
// could end the line, control the terminal or be taken for something else.
func name(s string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError || isBidi(r) }
	if s == "" || strings.TrimSpace(s) != s || s[0] == '"' || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

// line makes one line of a message: what would end it or control the terminal becomes visible.
func line(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) && !isBidi(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// block makes a message fit under its first line, so that no part of it can be taken for a line of ours.
func block(s, indent string) string { return strings.ReplaceAll(plain(s), "\n", "\n"+indent) }

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
