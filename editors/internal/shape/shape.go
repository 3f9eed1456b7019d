// This file reads what a Go struct looks like as JSON, so that the decoder of commands and the generator of types agree.

// Package shape describes Go types as the protocol sees them: the JSON fields of a struct, which of them may be absent,
// and what a person would call their types.
package shape

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Field is one JSON field of a struct.
type Field struct {
	Name     string       // in JSON
	GoName   string       // in Go
	Owner    reflect.Type // the struct that declares it
	Type     reflect.Type // pointers stripped
	Optional bool         // omitempty, omitzero or a pointer
	Enum     []string     // from the tag `enum:"a,b"`: the values allowed when Type is a plain string
}

// Fields lists the JSON fields of a struct in the order of their declaration, promoted ones included.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && !tagged {
			continue
		}
		field := Field{Name: name, GoName: f.Name, Owner: owner(t, f.Index), Type: f.Type}
		if field.Name == "" {
			field.Name = f.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			field.Optional = field.Optional || option == "omitempty" || option == "omitzero"
		}
		if f.Type.Kind() == reflect.Pointer {
			field.Type, field.Optional = f.Type.Elem(), true
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			field.Enum = strings.Split(enum, ",")
		}
		fields = append(fields, field)
	}
	return fields
}

func owner(t reflect.Type, index []int) reflect.Type {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// IsTime tells whether t is a date and time, in JSON a string.
func IsTime(t reflect.Type) bool { return t == reflect.TypeFor[time.Time]() }

// IsOpaque tells whether t decodes itself, so that its fields say nothing about its JSON.
func IsOpaque(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Noun is what a person calls a value of type t in JSON, with its article.
func Noun(t reflect.Type) string {
	switch {
	case IsTime(t):
		return "a date and time such as 2006-01-02T15:04:05Z"
	case IsOpaque(t):
		return "a valid value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return Noun(t.Elem())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, not negative"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	default:
		return "a value"
	}
}
