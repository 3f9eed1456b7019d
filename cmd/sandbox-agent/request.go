// This file lets a verb that changes something be repeated without changing it twice: whoever does not hear what became of it
// is told the id under which it was asked for.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"sandboxagent/editors"
)

// longestRequest bounds an id that is given, in bytes: what a verb sends beside its own command has a name behind it.
const longestRequest = editors.MaxRequestID - 28

// request is what a verb asks to be done once.
type request struct {
	id       string
	commands []string // the verb's own, then others that it may send before
	session  string   // found by the verb, not named by the user
	sent     bool
}

type requestKey struct{}

// requestOf returns the request of the verb that runs, nil if it changes nothing.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// once gives a verb the flag by which it can be repeated.
func (a *app) once(cmd *cobra.Command, own string, before ...string) *cobra.Command {
	var id string
	cmd.Flags().StringVar(&id, "request-id", "", "any `ID`: what was done under it before is not done again, and answers the same")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(id) > longestRequest {
			return usagef("--request-id takes at most %d bytes", longestRequest)
		}
		r := &request{id: cmp.Or(id, uuid.NewString()), commands: append([]string{own}, before...)}
		cmd.SetContext(context.WithValue(cmd.Context(), requestKey{}, r))
		err := run(cmd, args)
		var failed failure
		if errors.As(err, &failed) && r.sent && unanswered(failed.error) {
			a.unanswered = r
		}
		return err
	}
	return cmd
}

// unanswered tells whether an error leaves open what became of a request.
func unanswered(err error) bool {
	switch asKnown(err).Code {
	case editors.CodeCancelled, editors.CodeTemporalUnavailable, editors.CodeWorkerUnavailable, editors.CodeInternal:
		return true
	}
	return false
}

// name puts the request's id into the params of a command, which it points to, if that is one that the verb changes something by.
func (r *request) name(command string, params any) {
	if r == nil || !slices.Contains(r.commands, command) {
		return
	}
	fields := reflect.ValueOf(params).Elem()
	if dry := fields.FieldByName("DryRun"); dry.IsValid() && dry.Bool() {
		return
	}
	if op := fields.FieldByName("Op"); op.IsValid() && op.String() == "list" {
		return
	}
	id := r.id
	if command != r.commands[0] {
		id += "/" + command
	}
	fields.FieldByName("RequestID").SetString(id)
	r.sent = true
}

// found notes which session the verb works with though nobody named it: when it is repeated, another one may be the latest.
func (r *request) found(session string) {
	if r != nil {
		r.session = session
	}
}

// again says how to repeat the verb.
func (r *request) again() string {
	where := ""
	if r.session != "" {
		where = " for session " + r.session
	}
	return fmt.Sprintf("Repeated%s with --request-id %s it does nothing twice.", where, quoted(r.id))
}
