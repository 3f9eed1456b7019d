// This file writes the enumerations for Go, where reflection cannot list the constants of a type.

package generate

import "go/format"

// Enums writes the values of every enumeration as Go.
func Enums(m *Model) ([]byte, error) {
	var w writer
	w.line("// %s", header)
	w.line("")
	w.line("package editors")
	w.line("")
	w.line("// enums lists the values of each enumeration in the order of their declaration.")
	w.line("var enums = map[string][]string{")
	for _, t := range m.Types {
		if len(t.Values) == 0 {
			continue
		}
		w.line("%q: {", t.Name)
		for _, v := range t.Values {
			w.line("%q,", v.Name)
		}
		w.line("},")
	}
	w.line("}")
	return format.Source(w.Bytes())
}
