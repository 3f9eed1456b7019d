// This file writes the reference part of the protocol's guide for people.

package generate

import (
	"bytes"
	"errors"
	"strings"

	"sandboxagent/editors"
)

// The marks between which the reference stands in the guide.
const (
	referenceBegin = "<!-- reference: generated from the table in editors, do not edit below -->\n"
	referenceEnd   = "<!-- end of reference -->\n"
)

var proseDialect = dialect[string]{
	text:     "string",
	time:     "date-time",
	whole:    "integer",
	number:   "number",
	truth:    "boolean",
	anything: "any",
	array:    func(e string) string { return e + "[]" },
	dict:     func(e string) string { return "map of " + e },
	choice:   func(values []string) string { return "`" + strings.Join(values, "` `") + "`" },
	named:    func(name string) string { return "[" + name + "](#" + strings.ToLower(name) + ")" },
}

// Reference returns the guide with its reference written anew.
func Reference(m *Model, guide []byte) ([]byte, error) {
	before, rest, begun := bytes.Cut(guide, []byte(referenceBegin))
	_, after, ended := bytes.Cut(rest, []byte(referenceEnd))
	if !begun || !ended {
		return nil, errors.New("the guide lacks the marks of its reference")
	}
	var w writer
	w.Write(before)
	w.WriteString(referenceBegin)
	mdCommands(&w, m.Commands)
	mdEvents(&w, m.Events)
	mdTypes(&w, m.Types)
	w.line("")
	w.WriteString(referenceEnd)
	w.Write(after)
	return w.Bytes(), nil
}

func mdCommands(w *writer, commands []editors.Command) {
	w.line("")
	w.line("### Commands")
	w.line("")
	w.line("| name | params | result | what it does |")
	w.line("|---|---|---|---|")
	for _, c := range commands {
		w.line("| `%s` | %s | %s | %s |", c.Name, proseDialect.express(c.Params), proseDialect.express(c.Result), cell(c.Doc))
	}
}

func mdEvents(w *writer, events []Event) {
	w.line("")
	w.line("### Events")
	w.line("")
	w.line("| type | carries | when |")
	w.line("|---|---|---|")
	for _, e := range events {
		carried := make([]string, 0, len(e.Fields))
		for _, f := range e.Fields {
			carried = append(carried, fieldName(f)+" "+proseDialect.of(f))
		}
		w.line("| `%s` | %s | %s |", e.Type, strings.Join(carried, ", "), cell(e.Doc))
	}
}

func mdTypes(w *writer, types []Type) {
	w.line("")
	w.line("### Types")
	for _, t := range types {
		w.line("")
		w.line("#### %s", t.Name)
		w.line("")
		w.line("%s", t.Doc)
		switch {
		case t.Name == "Event" || len(t.Fields)+len(t.Values) == 0:
		case len(t.Values) > 0:
			w.line("")
			for _, v := range t.Values {
				w.line("%s", strings.TrimSuffix("- `"+v.Name+"`: "+v.Doc, ": "))
			}
		default:
			w.line("")
			w.line("| field | type | |")
			w.line("|---|---|---|")
			for _, f := range t.Fields {
				w.line("| %s | %s | %s |", fieldName(f), proseDialect.of(f), cell(f.Doc))
			}
		}
	}
}

func fieldName(f Field) string {
	if f.Optional {
		return "`" + f.Name + "?`"
	}
	return "`" + f.Name + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
