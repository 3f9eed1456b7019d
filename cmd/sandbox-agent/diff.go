// This file prints changes of files in colours.

package main

import (
	"fmt"
	"strings"
)

const diffLines = 400 // of one item that are printed

// diff returns the lines of a diff or a patch for printing; of a long one its first, and how many more there are.
func (t terminal) diff(text string) []string {
	lines := strings.Split(strings.TrimRight(plain(text), "\n"), "\n")
	more := len(lines) - diffLines
	if more > 0 {
		lines = lines[:diffLines]
	}
	for i, line := range lines {
		lines[i] = t.diffLine(line)
	}
	if more > 0 {
		lines = append(lines, t.dim(fmt.Sprintf("… %d more lines", more)))
	}
	return lines
}

func (t terminal) diffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "***"):
		return t.bold(line)
	case strings.HasPrefix(line, "@@"):
		return t.cyan(line)
	case strings.HasPrefix(line, "+"):
		return t.green(line)
	case strings.HasPrefix(line, "-"):
		return t.red(line)
	}
	return line
}
