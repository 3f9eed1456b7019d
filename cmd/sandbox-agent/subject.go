// This file says in a few words what a tool call is about.

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"sandboxagent/editors"
)

// subjectKeys are the arguments that say what a tool call is about, the best one first.
var subjectKeys = []string{"cmd", "command", "path", "file", "query", "pattern", "url"}

func subject(item editors.Item) string {
	var arguments map[string]any
	if json.Unmarshal([]byte(item.Arguments), &arguments) != nil {
		return item.Arguments
	}
	for _, key := range subjectKeys {
		switch value := arguments[key].(type) {
		case string:
			return value
		case []any:
			return words(value)
		}
	}
	if len(item.Files) > 0 {
		return files(item.Files)
	}
	if len(arguments) == 0 {
		return ""
	}
	return item.Arguments
}

func words(list []any) string {
	texts := make([]string, 0, len(list))
	for _, word := range list {
		texts = append(texts, fmt.Sprint(word))
	}
	return strings.Join(texts, " ")
}

func files(changes []editors.FileChange) string {
	names := make([]string, 0, len(changes))
	for _, change := range changes {
		names = append(names, change.Path)
	}
	return strings.Join(names, ", ")
}

// size returns a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
