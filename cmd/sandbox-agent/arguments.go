// This file reads what verbs take from their usage lines: to say in words what is missing, and to complete the ids of
// sessions.

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

const (
	leastPrefix = 4  // characters of an id that may stand for it
	wholeID     = 36 // characters of an id
)

// positionals returns the names of a verb's arguments as its usage line has them; optional ones are in brackets.
func positionals(use string) []string {
	var names []string
	for _, word := range strings.Fields(use)[1:] {
		if word != "[flags]" {
			names = append(names, word)
		}
	}
	return names
}

// inWords replaces what cobra says about wrong arguments, in a verb and those below it.
func inWords(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		inWords(sub)
	}
	if valid := cmd.Args; valid != nil && !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if valid(cmd, args) == nil {
				return nil
			}
			return usagef("%s", takes(cmd, len(args)))
		}
	}
}

// takes says what a verb needs, or what it takes at most.
func takes(cmd *cobra.Command, given int) string {
	all := positionals(cmd.Use)
	var needed []string
	for _, name := range all {
		if !strings.HasPrefix(name, "[") {
			needed = append(needed, name)
		}
	}
	switch {
	case given < len(needed):
		return cmd.Name() + " needs " + strings.Join(needed, " and ")
	case len(all) == 0:
		return cmd.Name() + " takes no arguments"
	default:
		return cmd.Name() + " takes " + strings.Join(all, " ") + " and nothing more"
	}
}

// namesSession tells whether the verb's first argument is a session.
func namesSession(cmd *cobra.Command, args []string) bool {
	names := positionals(cmd.Use)
	if len(args) == 0 || len(names) == 0 {
		return false
	}
	name := strings.Trim(names[0], "[]")
	return name == "SESSION" || name == "FORK"
}

// fullID returns the id of the one session whose id begins with text. What begins no listed id is returned as it is.
func fullID(ctx context.Context, c lsp.Conn, text string) (string, error) {
	if len(text) < leastPrefix || len(text) >= wholeID {
		return text, nil
	}
	var found []editors.Session
	params := editors.SessionsParams{Limit: 200}
	for {
		page, err := call(ctx, c, editors.Sessions, params)
		if err != nil {
			return "", err
		}
		for _, s := range page.Sessions {
			if strings.HasPrefix(s.ID, text) {
				found = append(found, s)
			}
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			break
		}
	}
	switch len(found) {
	case 0:
		return text, nil
	case 1:
		return found[0].ID, nil
	}
	var choices []string
	for _, s := range found[:min(len(found), 10)] {
		choices = append(choices, s.ID+" ("+oneLine(s.Title, 40)+")")
	}
	return "", editors.Errorf(editors.CodeInvalidParams, "%d sessions begin with %s", len(found), text).
		WithRemedy("Name one: " + strings.Join(choices, ", "))
}
