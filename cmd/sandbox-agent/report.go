// This file tells people and programs what went wrong.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
)

// usageError says that the program was called wrongly.
type usageError struct {
	message string
	remedy  string // "": the verb's help
}

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// report prints err and returns the exit status.
func (a *app) report(verb *cobra.Command, err error) int {
	var f failure
	switch {
	case err == nil:
		return a.status
	case errors.As(err, &f):
		a.printError(asKnown(f.error))
		return statusFailed
	}
	known := editors.Errorf(editors.CodeInvalidParams, "%w", err)
	known.Remedy = fmt.Sprintf("Run: %s --help", verb.CommandPath())
	var usage *usageError
	if errors.As(err, &usage) && usage.remedy != "" {
		known.Remedy = usage.remedy
	}
	a.printError(known)
	return statusUsage
}

func asKnown(err error) *editors.Error {
	var known *editors.Error
	if errors.As(err, &known) {
		return known
	}
	return editors.Errorf(editors.CodeInternal, "%w", err)
}

// errorLine is an error as a program reads it.
type errorLine struct {
	Error struct {
		Code      editors.Code `json:"code"`
		Message   string       `json:"message"`
		Remedy    string       `json:"remedy,omitempty"`
		Retryable bool         `json:"retryable"`
		Detail    string       `json:"detail,omitempty"`
		RequestID string       `json:"requestId,omitempty"` // by which the verb can be repeated, if nobody knows what became of it
		SessionID string       `json:"sessionId,omitempty"` // for which it is to be repeated, if it was not named
	} `json:"error"`
}

func (a *app) printError(e *editors.Error) {
	if a.json {
		var line errorLine
		line.Error.Code, line.Error.Message = e.Code, e.Message
		line.Error.Remedy, line.Error.Retryable, line.Error.Detail = e.Remedy, e.Retryable, e.Detail
		if a.unanswered != nil {
			line.Error.RequestID, line.Error.SessionID = a.unanswered.id, a.unanswered.session
		}
		if err := a.printJSON(line); err != nil {
			fmt.Fprintln(a.stderr, err)
		}
		return
	}
	fmt.Fprintln(a.stderr, a.term.red("Error: ")+block(upperFirst(e.Message), "  "))
	if e.Code == editors.CodeConflict && e.Detail != "" { // the paths
		fmt.Fprintln(a.stderr, "  "+strings.ReplaceAll(plain(e.Detail), "\n", "\n  "))
	}
	if e.Remedy != "" {
		fmt.Fprintln(a.stderr, block(e.Remedy, "  "))
	}
	if a.unanswered != nil {
		fmt.Fprintln(a.stderr, a.unanswered.again())
	}
}

// notice tells people on stderr what goes on.
func (a *app) notice(message string) { fmt.Fprintln(a.stderr, a.term.dim("· "+line(message))) }

// printJSON prints one object on one line.
func (a *app) printJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if _, err := a.stdout.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// result prints a verb's result: as JSON, or by human.
func (a *app) result(v any, human func()) error {
	if a.json {
		return a.printJSON(v)
	}
	human()
	return nil
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

// upperFirst lets a sentence of ours begin as sentences do. A name that it begins with stays as it is: only a word of plain
// letters is touched.
func upperFirst(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "" || strings.ContainsFunc(first, func(r rune) bool { return r != '\'' && (r < 'a' || r > 'z') }) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
