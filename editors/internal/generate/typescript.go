// This file writes the contract as TypeScript.

package generate

import (
	"strconv"
	"strings"

	"sandboxagent/editors"
)

var tsDialect = dialect[string]{
	text:     "string",
	time:     "string",
	whole:    "number",
	number:   "number",
	truth:    "boolean",
	anything: "unknown",
	array: func(e string) string {
		if strings.Contains(e, " ") {
			e = "(" + e + ")"
		}
		return e + "[]"
	},
	dict:   func(e string) string { return "Record<string, " + e + ">" },
	choice: tsChoice,
	named:  func(name string) string { return name },
}

func tsChoice(values []string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		quoted = append(quoted, strconv.Quote(v))
	}
	return strings.Join(quoted, " | ")
}

// TypeScript writes the contract as a module that compiles under --strict.
func TypeScript(m *Model) []byte {
	var w writer
	w.line("// %s", header)
	w.line("// The editor protocol of %s. Dates are ISO 8601 strings; clients ignore fields and events they do not know.", editors.Name)
	for _, t := range m.Types {
		w.line("")
		switch {
		case t.Name == "Event":
			tsEvents(&w, t.Doc, m.Events)
		case len(t.Values) > 0:
			tsEnum(&w, t)
		case len(t.Fields) == 0:
			tsDoc(&w, "", t.Doc)
			w.line("export type %s = Record<string, never>;", t.Name)
		default:
			tsDoc(&w, "", t.Doc)
			w.line("export interface %s {", t.Name)
			tsFields(&w, t.Fields)
			w.line("}")
		}
	}
	tsCommands(&w, m.Commands)
	return w.Bytes()
}

func tsCommands(w *writer, commands []editors.Command) {
	w.line("")
	w.line("/** The params and result of each command. */")
	w.line("export interface Commands {")
	for _, c := range commands {
		tsDoc(w, "  ", c.Doc)
		w.line("  %s: { params: %s; result: %s };", c.Name, c.Params.Name(), c.Result.Name())
	}
	w.line("}")
	w.line("")
	w.line("/** The name of a command. */")
	w.line("export type CommandName = keyof Commands;")
	w.line("")
	w.line("/** The params of a command. */")
	w.line(`export type Params<C extends CommandName> = Commands[C]["params"];`)
	w.line("")
	w.line("/** The result of a command. */")
	w.line(`export type Result<C extends CommandName> = Commands[C]["result"];`)
	w.line("")
	w.line("/** The JSON-RPC method of each command. */")
	w.line("export const methods = {")
	for _, c := range commands {
		w.line("  %s: %q,", c.Name, c.Method())
	}
	w.line("} as const satisfies Record<CommandName, string>;")
	w.line("")
	w.line("/** The JSON-RPC notification that carries an EventMessage. */")
	w.line("export const eventMethod = %q;", editors.EventMethod)
	w.line("")
	w.line("/** The version of the protocol these types were generated from. */")
	w.line("export const protocolVersion = %q;", editors.Version)
}

func tsEvents(w *writer, doc string, events []Event) {
	tsDoc(w, "", doc)
	w.line("export type Event =")
	for i, e := range events {
		end := ""
		if i == len(events)-1 {
			end = ";"
		}
		w.line("  | %s%s", e.Name, end)
	}
	for _, e := range events {
		w.line("")
		tsDoc(w, "", e.Doc)
		w.line("export interface %s {", e.Name)
		w.line("  type: %q;", e.Type)
		tsFields(w, e.Fields)
		w.line("}")
	}
}

func tsEnum(w *writer, t Type) {
	doc := t.Doc
	names := make([]string, 0, len(t.Values))
	for _, v := range t.Values {
		names = append(names, v.Name)
		if v.Doc != "" {
			doc += "\n- `" + v.Name + "`: " + v.Doc
		}
	}
	tsDoc(w, "", doc)
	w.line("export type %s = %s;", t.Name, tsChoice(names))
}

func tsFields(w *writer, fields []Field) {
	for _, f := range fields {
		tsDoc(w, "  ", f.Doc)
		mark := ""
		if f.Optional {
			mark = "?"
		}
		w.line("  %s%s: %s;", f.Name, mark, tsDialect.of(f))
	}
}

func tsDoc(w *writer, indent, doc string) {
	if doc == "" {
		return
	}
	doc = strings.ReplaceAll(doc, "*/", "*\\/")
	lines := strings.Split(doc, "\n")
	if len(lines) == 1 {
		w.line("%s/** %s */", indent, doc)
		return
	}
	w.line("%s/**", indent)
	for _, line := range lines {
		w.line("%s * %s", indent, line)
	}
	w.line("%s */", indent)
}
