// This file writes the contract as Lua with LuaCATS annotations.

package generate

import (
	"strconv"
	"strings"

	"sandboxagent/editors"
)

const luaPrefix = "sandboxagent."

var luaDialect = dialect[string]{
	text:     "string",
	time:     "string",
	whole:    "integer",
	number:   "number",
	truth:    "boolean",
	anything: "any",
	array: func(e string) string {
		if strings.Contains(e, "|") {
			e = "(" + e + ")"
		}
		return e + "[]"
	},
	dict:   func(e string) string { return "table<string, " + e + ">" },
	choice: luaChoice,
	named:  func(name string) string { return luaPrefix + name },
}

func luaChoice(values []string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		quoted = append(quoted, strconv.Quote(v))
	}
	return strings.Join(quoted, "|")
}

// Lua writes the contract as a module for Lua 5.1 and later that returns the names of methods, events and error codes.
func Lua(m *Model) []byte {
	var w writer
	w.line("-- %s", header)
	w.line("-- The editor protocol of %s. Dates are ISO 8601 strings; clients ignore fields and events they do not know.", editors.Name)
	for _, t := range m.Types {
		w.line("")
		switch {
		case t.Name == "Event":
			luaEvents(&w, t.Doc, m.Events)
		case len(t.Values) > 0:
			luaEnum(&w, t)
		default:
			luaDoc(&w, t.Doc)
			w.line("---@class %s%s", luaPrefix, t.Name)
			luaFields(&w, t.Fields)
		}
	}
	w.line("")
	w.line("local M = {}")
	w.line("")
	w.line("---The version of the protocol this module was generated from.")
	w.line("M.version = %q", editors.Version)
	w.line("")
	w.line("---The JSON-RPC notification that carries a sandboxagent.EventMessage.")
	w.line("M.event_method = %q", editors.EventMethod)
	w.line("")
	w.line("---The JSON-RPC method of each command.")
	w.line("M.methods = {")
	for _, c := range m.Commands {
		w.line("  -- %s", c.Doc)
		w.line("  -- Params: %s; result: %s.", luaPrefix+c.Params.Name(), luaPrefix+c.Result.Name())
		w.line("  %s = %q,", luaKey(c.Name), c.Method())
	}
	w.line("}")
	w.line("")
	w.line("---The types of events.")
	w.line("M.events = {")
	for _, e := range m.Events {
		w.line("  %s = %q,", luaKey(strings.ReplaceAll(e.Type, "/", "_")), e.Type)
	}
	w.line("}")
	w.line("")
	w.line("---The error codes.")
	w.line("M.codes = {")
	for _, code := range editors.Codes() {
		w.line("  %s = %q,", luaKey(string(code)), code)
	}
	w.line("}")
	w.line("")
	w.line("return M")
	return w.Bytes()
}

func luaEvents(w *writer, doc string, events []Event) {
	luaDoc(w, doc)
	w.line("---@alias %sEvent", luaPrefix)
	for _, e := range events {
		w.line("---| %s%s", luaPrefix, e.Name)
	}
	for _, e := range events {
		w.line("")
		luaDoc(w, e.Doc)
		w.line("---@class %s%s", luaPrefix, e.Name)
		w.line("---@field type %q", e.Type)
		luaFields(w, e.Fields)
	}
}

func luaEnum(w *writer, t Type) {
	luaDoc(w, t.Doc)
	w.line("---@alias %s%s", luaPrefix, t.Name)
	for _, v := range t.Values {
		if v.Doc == "" {
			w.line("---| %q", v.Name)
			continue
		}
		w.line("---| %q # %s", v.Name, v.Doc)
	}
}

func luaFields(w *writer, fields []Field) {
	for _, f := range fields {
		mark := ""
		if f.Optional {
			mark = "?"
		}
		w.line("%s", strings.TrimRight("---@field "+f.Name+mark+" "+luaDialect.of(f)+" "+f.Doc, " "))
	}
}

func luaDoc(w *writer, doc string) {
	if doc != "" {
		w.line("---%s", doc)
	}
}

var luaReserved = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true,
	"function": true, "goto": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true,
	"repeat": true, "return": true, "then": true, "true": true, "until": true, "while": true,
}

// luaKey writes a key of a table.
func luaKey(name string) string {
	if luaReserved[name] {
		return "[" + strconv.Quote(name) + "]"
	}
	return name
}
