// This file checks what is the same in the params of many commands: ids, names and limits.

package core

import (
	"reflect"
	"strings"
	"unicode"

	"sandboxagent/editors"
)

const (
	maxID     = 128 // bytes of what names an item, an approval or a checkpoint
	maxModel  = 200 // bytes
	maxEffort = 50
)

// lengths bounds the fields that name something, by their names in Go.
var lengths = map[string]int{
	"ItemID": maxID, "ApprovalID": maxID, "CheckpointID": maxID, "From": maxID, "To": maxID, "Stream": maxID,
	"Model": maxModel, "Effort": maxEffort,
}

// checkParams refuses what no command means well, before it reaches a workflow or a file.
func checkParams(params any) error {
	v := reflect.ValueOf(params)
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		switch {
		case field.Kind() == reflect.Int && name == "Limit" && field.Int() < 0:
			return editors.Errorf(editors.CodeInvalidParams, "limit must not be negative")
		case field.Kind() != reflect.String:
			continue
		case name == "SessionID" && !mayBeSession(field.String()):
			return editors.Errorf(editors.CodeNotFound, "there is no such session: an id has at most 64 letters, digits and dashes").
				WithRemedy(remedyNewSession)
		}
		if err := checkName(name, field.String()); err != nil {
			return err
		}
	}
	return nil
}

func checkName(field, value string) error {
	most, bounded := lengths[field]
	name := strings.ToLower(field[:1]) + strings.ReplaceAll(field[1:], "ID", "Id")
	switch {
	case !bounded:
		return nil
	case len(value) > most:
		return editors.Errorf(editors.CodeInvalidParams, "%s has %d bytes; at most %d are allowed", name, len(value), most)
	case strings.ContainsFunc(value, unicode.IsControl):
		return editors.Errorf(editors.CodeInvalidParams, "%s must not hold control characters", name)
	}
	return nil
}

// mayBeSession tells whether id is the id of a session, or none at all. The manager makes no others.
func mayBeSession(id string) bool {
	return len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
