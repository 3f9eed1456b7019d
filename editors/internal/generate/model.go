// This file gathers the contract into one model that every output is written from.

// Package generate writes the contract with editors in the languages of its clients: JSON Schema, TypeScript, Lua and a
// reference for people. The table of commands and events in package editors is the only source.
package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/editors/internal/shape"
)

// Model is the contract, ready to be written.
type Model struct {
	Types    []Type // in the order of their declaration
	Commands []editors.Command
	Events   []Event
}

// Type is a named type: an enumeration if it has Values, otherwise an object.
type Type struct {
	Name   string
	Doc    string
	Fields []Field
	Values []Value
}

// Field is a field of an object.
type Field struct {
	shape.Field
	Doc string
}

// Value is a value of an enumeration.
type Value struct{ Name, Doc string }

// Event is a variant of the type Event.
type Event struct {
	Name    string // of its type, such as TurnStartedEvent
	Type    string
	Doc     string
	Durable bool
	Fields  []Field
}

// roots are the types that editors meet outside commands.
var roots = []reflect.Type{
	reflect.TypeFor[editors.InitializationOptions](),
	reflect.TypeFor[editors.Capabilities](),
	reflect.TypeFor[editors.EventMessage](),
	reflect.TypeFor[editors.ErrorData](),
}

// NewModel gathers the contract; dir holds the source of package editors.
func NewModel(dir string) (*Model, error) {
	src, err := readSource(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{Commands: editors.Commands()}
	named := map[string]reflect.Type{}
	for _, t := range roots {
		collect(named, t)
	}
	for _, c := range m.Commands {
		collect(named, c.Params)
		collect(named, c.Result)
	}
	for name, t := range named {
		typ := Type{Name: name, Doc: src.docs[name], Values: src.values[name]}
		if t.Kind() == reflect.Struct {
			typ.Fields = fields(src, t)
		} else if len(typ.Values) == 0 {
			return nil, fmt.Errorf("type %s has no constants", name)
		}
		m.Types = append(m.Types, typ)
	}
	slices.SortFunc(m.Types, func(a, b Type) int { return src.order[a.Name] - src.order[b.Name] })
	m.Events, err = events(src)
	return m, err
}

// collect adds the named types that t leads to.
func collect(named map[string]reflect.Type, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collect(named, t.Elem())
	case reflect.String:
		if t.PkgPath() != "" {
			named[t.Name()] = t
		}
	case reflect.Struct:
		if shape.IsTime(t) || named[t.Name()] != nil {
			return
		}
		named[t.Name()] = t
		for _, f := range shape.Fields(t) {
			collect(named, f.Type)
		}
	}
}

func fields(src *source, t reflect.Type) []Field {
	var list []Field
	for _, f := range shape.Fields(t) {
		list = append(list, Field{Field: f, Doc: src.fields[f.Owner.Name()][f.GoName]})
	}
	return list
}

// events turns the flat Event into one variant per event type, each with the fields it sets.
func events(src *source) ([]Event, error) {
	flat := map[string]Field{}
	for _, f := range fields(src, reflect.TypeFor[editors.Event]()) {
		flat[f.Name] = f
	}
	var list []Event
	for _, doc := range editors.Events() {
		e := Event{Name: camel(string(doc.Type)) + "Event", Type: string(doc.Type), Doc: doc.Doc, Durable: doc.Durable}
		for _, name := range doc.Fields {
			f, ok := flat[name]
			if !ok {
				return nil, fmt.Errorf("event %s has no field %s", doc.Type, name)
			}
			f.Optional = slices.Contains(doc.Optional, name)
			e.Fields = append(e.Fields, f)
		}
		list = append(list, e)
	}
	return list, nil
}

// camel turns "turn/started" into "TurnStarted".
func camel(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, "/") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// dialect says how a language writes types.
type dialect[T any] struct {
	text, time, whole, number, truth, anything T

	array  func(element T) T
	dict   func(element T) T
	choice func(values []string) T
	named  func(name string) T
}

// of writes the type of a field.
func (d dialect[T]) of(f Field) T {
	if len(f.Enum) > 0 {
		return d.choice(f.Enum)
	}
	return d.express(f.Type)
}

func (d dialect[T]) express(t reflect.Type) T {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.express(t.Elem())
	case shape.IsTime(t):
		return d.time
	case shape.IsOpaque(t):
		return d.anything
	case t.Kind() == reflect.Struct, t.Kind() == reflect.String && t.PkgPath() != "":
		return d.named(t.Name())
	}
	switch t.Kind() {
	case reflect.String:
		return d.text
	case reflect.Bool:
		return d.truth
	case reflect.Float32, reflect.Float64:
		return d.number
	case reflect.Slice, reflect.Array:
		return d.array(d.express(t.Elem()))
	case reflect.Map:
		return d.dict(d.express(t.Elem()))
	case reflect.Interface:
		return d.anything
	default:
		return d.whole
	}
}
