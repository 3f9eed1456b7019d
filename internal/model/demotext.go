// This file reads the texts of tool results and writes patches and quotations for the demo model.

package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxQuoteLines = 60
	patchContext  = 3  // lines around a replacement
	appendContext = 20 // lines before an appended one, so that the place is unique
)

var (
	truncated   = regexp.MustCompile(`(?i)\btruncated\b|\bmore lines\b|\bbytes omitted\b|continue with offset|\(cut:`)
	missingFile = regexp.MustCompile(`(?i)no such file|not found|not exist|cannot find|cannot read|is a directory|not a file`)
	numbered    = regexp.MustCompile(`^\s*(\d+)(?:\t|→| ?[|:] ?| {2})(.*)$`)
	readmeLine  = regexp.MustCompile(`(?i)^([\s│├└─"-]*)(readme(?:\.[a-z]+)?)(?:[\s",]|$)`)
	emptyFile   = regexp.MustCompile(`(?i)^.{0,60}\bempty\b.{0,20}$`)
	backticks   = regexp.MustCompile("`{3,}")
)

// missing recognises the short message that there is no such file.
func missing(result string) bool {
	return shortMessage(result) && missingFile.MatchString(head(result, 2))
}

// failed recognises the short message of a read that failed, for whatever reason.
func failed(result string) bool {
	return shortMessage(result) && (strings.HasPrefix(result, "Error: ") || missingFile.MatchString(head(result, 2)))
}

// shortMessage tells a message from the text of a file, whose lines are numbered.
func shortMessage(result string) bool {
	first, _, _ := strings.Cut(result, "\n")
	return len(result) < 600 && !numbered.MatchString(first)
}

// readmeIn finds the README at the top of a listing, also of one that is a tree; "" when there is none.
func readmeIn(listing string) string {
	lines := strings.Split(listing, "\n")
	for i, line := range lines {
		m := readmeLine.FindStringSubmatch(line)
		if m != nil && atTop(lines[:i], len(m[1])) {
			return m[2]
		}
	}
	return ""
}

// atTop says whether a line with this indentation stands below no folder but the one that was listed.
func atTop(before []string, indentation int) bool {
	for i := len(before) - 1; i >= 0; i-- {
		name := strings.TrimLeft(before[i], " \t│├└─\"-")
		if name != "" && len(before[i])-len(name) < indentation {
			return name == "." || name == "./" || strings.ContainsAny(name, "[{:")
		}
	}
	return true
}

// fileLines returns the lines of a file from the result of read_file, with or without line numbers before them.
func fileLines(result string) []string {
	var lines []string
	for _, line := range strings.Split(result, "\n") {
		m := numbered.FindStringSubmatch(strings.TrimSuffix(line, "\r"))
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[1]); err != nil || n != len(lines)+1 {
			lines = nil
			break
		}
		lines = append(lines, m[2])
	}
	if len(lines) > 0 {
		return lines
	}
	result = strings.TrimSuffix(result, "\n")
	if result == "" || emptyFile.MatchString(result) {
		return nil
	}
	return strings.Split(result, "\n")
}

// replacePatch replaces every occurrence within lines, by one hunk that spans them all; "" when there is none.
func replacePatch(file string, lines []string, from, to string) string {
	first, last := -1, -1
	for i, line := range lines {
		if from != "" && strings.Contains(line, from) {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return ""
	}
	var hunk []string
	for i := max(0, first-patchContext); i < min(len(lines), last+patchContext+1); i++ {
		if !strings.Contains(lines[i], from) {
			hunk = append(hunk, " "+lines[i])
			continue
		}
		hunk = append(hunk, "-"+lines[i])
		hunk = append(hunk, prefixed("+", strings.ReplaceAll(lines[i], from, to))...)
	}
	return envelope("Update", file, append([]string{"@@"}, hunk...))
}

func appendPatch(file string, lines []string, text string) string {
	hunk := []string{"@@"}
	for _, line := range lines[max(0, len(lines)-appendContext):] {
		hunk = append(hunk, " "+line)
	}
	return envelope("Update", file, append(hunk, prefixed("+", text)...))
}

func addPatch(file, text string) string { return envelope("Add", file, prefixed("+", text)) }

func prefixed(mark, text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = mark + lines[i]
	}
	return lines
}

func envelope(op, file string, body []string) string {
	return fmt.Sprintf("*** Begin Patch\n*** %s File: %s\n%s\n*** End Patch\n", op, file, strings.Join(body, "\n"))
}

// fence quotes a result, shortened, so that nothing in it can end the quotation.
func fence(text string) string {
	text = head(strings.TrimRight(text, "\n"), maxQuoteLines)
	mark := "```"
	for _, run := range backticks.FindAllString(text, -1) {
		if len(run) >= len(mark) {
			mark = run + "`"
		}
	}
	return mark + "\n" + text + "\n" + mark
}

// head returns the first lines of a text, and says how many it left out.
func head(text string, lines int) string {
	all := strings.Split(text, "\n")
	if len(all) <= lines {
		return text
	}
	return strings.Join(all[:lines], "\n") + fmt.Sprintf("\n… %d more lines", len(all)-lines)
}
