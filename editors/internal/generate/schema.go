// This file writes the contract as JSON Schema.

package generate

import (
	"bytes"
	"encoding/json"

	"sandboxagent/editors"
)

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encoder.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var schemaDialect = dialect[object]{
	text:     object{{"type", "string"}},
	time:     object{{"type", "string"}, {"format", "date-time"}},
	whole:    object{{"type", "integer"}},
	number:   object{{"type", "number"}},
	truth:    object{{"type", "boolean"}},
	anything: object{},
	array:    func(e object) object { return object{{"type", "array"}, {"items", e}} },
	dict:     func(e object) object { return object{{"type", "object"}, {"additionalProperties", e}} },
	choice:   func(values []string) object { return object{{"type", "string"}, {"enum", values}} },
	named:    ref,
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// Schema writes the contract as JSON Schema 2020-12. Under "commands" stand the params and result of each command.
func Schema(m *Model) ([]byte, error) {
	var defs object
	for _, t := range m.Types {
		switch {
		case t.Name == "Event":
			defs = append(defs, eventDefs(t.Doc, m.Events)...)
		case len(t.Values) > 0:
			defs = append(defs, member{t.Name, enumDef(t)})
		default:
			defs = append(defs, member{t.Name, objectDef(t.Doc, nil, t.Fields)})
		}
	}
	var commands object
	for _, c := range m.Commands {
		commands = append(commands, member{c.Name, object{
			{"description", c.Doc},
			{"kind", string(c.Kind)},
			{"method", c.Method()},
			{"command", editors.CommandPrefix + c.Name},
			{"params", ref(c.Params.Name())},
			{"result", ref(c.Result.Name())},
		}})
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$comment", header},
		{"title", "The editor protocol of " + editors.Name},
		{"description", "Params and results of every command, and the event messages that follow an attach."},
		{"version", editors.Version},
		{"commands", commands},
		{"notifications", object{{editors.EventMethod, ref("EventMessage")}}},
		{"errorData", ref("ErrorData")},
		{"$defs", defs},
	})
	return b.Bytes(), err
}

func enumDef(t Type) object {
	names := make([]string, 0, len(t.Values))
	doc := t.Doc
	for _, v := range t.Values {
		names = append(names, v.Name)
		if v.Doc != "" {
			doc += "\n- " + v.Name + ": " + v.Doc
		}
	}
	return object{{"description", doc}, {"type", "string"}, {"enum", names}}
}

func objectDef(doc string, first object, fields []Field) object {
	properties, required := object{}, []string{}
	for _, m := range first {
		properties, required = append(properties, m), append(required, m.name)
	}
	for _, f := range fields {
		property := schemaDialect.of(f)
		if f.Doc != "" {
			property = append(object{{"description", f.Doc}}, property...)
		}
		properties = append(properties, member{f.Name, property})
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	def := object{{"description", doc}, {"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		def = append(def, member{"required", required})
	}
	return def
}

func eventDefs(doc string, events []Event) object {
	var variants []object
	var defs object
	for _, e := range events {
		variants = append(variants, ref(e.Name))
		defs = append(defs, member{e.Name, objectDef(e.Doc, object{{"type", object{{"const", e.Type}}}}, e.Fields)})
	}
	return append(object{{"Event", object{{"description", doc}, {"oneOf", variants}}}}, defs...)
}
