// This file decodes params and says in plain words what is wrong with them.

package editors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxagent/editors/internal/shape"
)

// decodeParams decodes the params of a command. Fields it does not know are ignored, so that newer clients work with
// older servers; a field in the wrong case, of the wrong type or absent though required is an error that names it.
func decodeParams[P any](command string, raw json.RawMessage) (P, error) {
	var params P
	invalid := func(err error) (P, error) {
		var zero P
		return zero, Errorf(CodeInvalidParams, "%s: %w", command, err)
	}
	if !utf8.Valid(raw) {
		return invalid(errors.New("the params are not valid UTF-8"))
	}
	raw, err := object(raw)
	if err != nil {
		return invalid(err)
	}
	if err := check(reflect.TypeFor[P](), raw, "params"); err != nil {
		return invalid(err)
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return invalid(fmt.Errorf("the params cannot be decoded: %w", err))
	}
	if id := requestID(params); len(id) > MaxRequestID {
		return invalid(fmt.Errorf("requestId has %d bytes; at most %d are allowed", len(id), MaxRequestID))
	}
	return params, nil
}

// object reduces params to one JSON object: absent and null mean {}, an array holds exactly one.
func object(raw json.RawMessage) (json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(raw) {
		return nil, errors.New("the params are not valid JSON")
	}
	if raw[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		switch len(list) {
		case 1:
			raw = list[0]
		default:
			return nil, fmt.Errorf("the params must be one object, not an array of %d", len(list))
		}
	}
	if isNull(raw) {
		return json.RawMessage("{}"), nil
	}
	return raw, nil
}

// check compares the JSON value raw with the type t; path names the value in errors.
func check(t reflect.Type, raw json.RawMessage, path string) error {
	switch {
	case t.Kind() == reflect.Pointer:
		return check(t.Elem(), raw, path)
	case shape.IsOpaque(t):
		return checkLeaf(t, raw, path)
	case t.Kind() == reflect.Struct:
		return checkStruct(t, raw, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || isNull(raw) {
			return wrong(t, raw, path)
		}
		for i, element := range list {
			if err := check(t.Elem(), element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	default:
		return checkLeaf(t, raw, path)
	}
}

func checkStruct(t reflect.Type, raw json.RawMessage, path string) error {
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil || isNull(raw) {
		return wrong(t, raw, path)
	}
	fields := shape.Fields(t)
	if err := checkCase(fields, values, path); err != nil {
		return err
	}
	for _, f := range fields {
		value, present := values[f.Name]
		name := join(path, f.Name)
		if !present || isNull(value) {
			if f.Optional {
				continue
			}
			return fmt.Errorf("%s is missing; it must be %s", name, expected(f))
		}
		if err := check(f.Type, value, name); err != nil {
			return err
		}
		if err := checkEnum(f, value, name); err != nil {
			return err
		}
	}
	return nil
}

// checkCase refuses keys that differ from a field in case only: encoding/json would take them for the field.
func checkCase(fields []shape.Field, values map[string]json.RawMessage, path string) error {
	for key := range values {
		for _, f := range fields {
			if key != f.Name && strings.EqualFold(key, f.Name) {
				return fmt.Errorf("%s is not known; did you mean %s?", join(path, key), f.Name)
			}
		}
	}
	return nil
}

func checkEnum(f shape.Field, raw json.RawMessage, path string) error {
	allowed := allowedValues(f)
	if len(allowed) == 0 {
		return nil
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	if value == "" && f.Optional || slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s must be %s", path, expected(f)) // the value is not quoted: it may be a misplaced secret
}

func checkLeaf(t reflect.Type, raw json.RawMessage, path string) error {
	if isNull(raw) || json.Unmarshal(raw, reflect.New(t).Interface()) != nil {
		return wrong(t, raw, path)
	}
	return nil
}

func wrong(t reflect.Type, raw json.RawMessage, path string) error {
	return fmt.Errorf("%s must be %s, not %s", path, shape.Noun(t), describe(raw))
}

// expected says what a field takes.
func expected(f shape.Field) string {
	if allowed := allowedValues(f); len(allowed) > 0 {
		return "one of " + strings.Join(allowed, ", ")
	}
	return shape.Noun(f.Type)
}

func allowedValues(f shape.Field) []string {
	if len(f.Enum) > 0 {
		return f.Enum
	}
	return enums[f.Type.Name()]
}

// describe says what a JSON value is.
func describe(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f', 'n':
		return string(raw)
	default:
		return "the number " + clip(string(raw))
	}
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func join(path, name string) string {
	if path == "params" {
		return clip(name)
	}
	return path + "." + clip(name)
}

// clip keeps what is quoted in an error short.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// requestID returns the RequestID field of params, if there is one.
func requestID(params any) string {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Struct {
		return ""
	}
	f := v.FieldByName("RequestID")
	if !f.IsValid() || f.Kind() != reflect.String {
		return ""
	}
	return f.String()
}

// fillSlices replaces nil slices of a struct by empty ones where JSON would show null. It leaves alone what slices and
// pointers lead to, since that may be shared.
func fillSlices(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field, f := v.Field(i), v.Type().Field(i)
		if f.IsExported() && field.Kind() == reflect.Slice && field.IsNil() && !strings.Contains(f.Tag.Get("json"), ",omit") {
			field.Set(reflect.MakeSlice(field.Type(), 0, 0))
		}
		if f.IsExported() {
			fillSlices(field)
		}
	}
}
