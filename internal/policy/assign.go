// This file reads assignments: variables that only the command's own text uses are harmless, those that programs obey are not.

package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign reads an assignment, alone or before a command.
func (r *reader) assign(a *syntax.Assign) {
	if a.Name == nil || a.Index != nil || a.Array != nil {
		r.hide("it sets %s, which is not looked into", quote(r.source(a)))
		return
	}
	r.expansions(a.Value)
	value := literal("")
	if a.Value != nil {
		value = r.value(a.Value)
		r.reach([]word{value})
	}
	r.assigned(a.Name.Value, &value)
}

// assigned judges that a variable gets a value; nil is a value that is not known.
func (r *reader) assigned(name string, value *word) {
	if ownVariable(name) || value != nil && value.known && harmless(name, value.text) {
		return
	}
	r.hide("it sets the variable %s, which programs may obey", quote(name))
}

// ownVariable tells whether a name is one that scripts give their own variables: no program obeys those in lower case but
// those that name a proxy, which reading has no use for. IFS only says how this text is split, which is never relied on.
func ownVariable(name string) bool {
	if name == "IFS" {
		return true
	}
	return name == strings.ToLower(name) && name != "histchars" && name != "auto_resume"
}

// harmless tells whether a variable that programs obey gets a value that does no harm.
func harmless(name, value string) bool {
	switch name {
	case "PAGER", "GIT_PAGER":
		return value == "cat" || value == ""
	case "LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME":
		return strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" && !strings.Contains(value, "..")
	case "TZ":
		return strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-") == "" || value == "Etc/UTC"
	case "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI":
		return value == "" || value == "0" || value == "1" || value == "true" || value == "false"
	case "COLUMNS", "LINES":
		return strings.Trim(value, "0123456789") == ""
	case "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT":
		return value == "0"
	}
	return false
}

// declare reads declare, local, export and readonly, of which the forms without options are like assignments.
func (r *reader) declare(c *syntax.DeclClause) {
	switch c.Variant.Value {
	case "export", "readonly", "local", "declare", "typeset":
	default:
		r.hide("it uses %s, which is not looked into", quote(r.source(c)))
		return
	}
	for _, a := range c.Args {
		switch {
		case !a.Naked:
			r.assign(a)
		case a.Name == nil || !ownVariable(a.Name.Value):
			r.expansions(a.Value)
			r.hide("it uses %s, which is not looked into", quote(r.source(c)))
		}
	}
}

// reach remembers the first of words that names something outside the workspace.
func (r *reader) reach(words []word) {
	for _, w := range words {
		if r.far == "" && r.outside(w) {
			r.far = w.src
		}
	}
}

// outside tells whether a word names a file outside the workspace, as far as its text tells.
func (r *reader) outside(w word) bool {
	if strings.HasPrefix(w.src, "~") || strings.Contains(w.src, "=~") {
		return true
	}
	if !w.known && w.text == "" && upperVariable(w.src) { // such as $HOME/.ssh
		return true
	}
	text := w.text
	if at := strings.Index(text, "=/"); at >= 0 && strings.HasPrefix(text, "-") {
		text = text[at+1:]
	}
	if strings.HasPrefix(text, "/") {
		_, in := r.within(text)
		return !in && !devices[text]
	}
	return text == ".." || strings.HasPrefix(text, "../") || strings.HasSuffix(text, "/..") || strings.Contains(text, "/../")
}

// devices hold nothing of anybody.
var devices = set("/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/stdin /dev/stdout /dev/stderr /dev/tty")

// upperVariable tells whether text begins with a variable that was not made in it.
func upperVariable(src string) bool {
	name := strings.TrimLeft(src, `"${`)
	return len(name) < len(src) && name != "" && name[0] >= 'A' && name[0] <= 'Z'
}
