// This file checks the arguments of single programs that need more than a list of options.

package policy

import (
	"regexp"
	"strings"
)

var (
	dateOptions  = only("uR", "dr", "date= utc universal rfc-3339= iso-8601 reference=", 0)
	operandsOnly = only("", "", "", -1)
	readOptions  = only("rs", "dnNtu", "", -1)
	awkOptions   = only("", "Fv", "", -1)
	sedOptions   = only("nErsuz", "e", "quiet silent regexp-extended null-data separate unbuffered expression= posix debug", -1)
)

// date sets the clock by -s or an operand; operands that begin with + are formats.
func date(args []word) string {
	var rest []word
	for _, w := range args {
		format := !w.many && strings.HasPrefix(w.text, "+")
		if !format && !w.is("-I", "-Idate", "-Ihours", "-Iminutes", "-Iseconds", "-Ins") {
			rest = append(rest, w)
		}
	}
	return dateOptions.concern(rest)
}

// tar only lists, and only what is in a file: a colon makes it another host's.
func tar(args []word) string {
	if len(args) < 2 || !args[0].known {
		return "it is not known to only list an archive"
	}
	letters := strings.TrimPrefix(args[0].text, "-")
	if !strings.HasPrefix(letters, "t") || !strings.HasSuffix(letters, "f") || strings.Trim(letters, "tvzjJf") != "" || strings.Count(letters, "f") > 1 {
		return "it is not known to only list an archive"
	}
	if !args[1].known || strings.Contains(args[1].text, ":") {
		return "the archive " + quote(args[1].src) + " may be another host's"
	}
	return operandsOnly.concern(args[2:])
}

func unzip(args []word) string {
	if len(args) < 2 || !args[0].is("-l", "-Z1") {
		return "it is not known to only list an archive"
	}
	return operandsOnly.concern(args[1:])
}

func tee(args []word) string {
	for _, w := range args {
		if !w.is("/dev/null", "/dev/stdout", "/dev/stderr") {
			return "it writes to " + quote(w.src)
		}
	}
	return ""
}

// ip only shows addresses, links and routes.
func ip(args []word) string {
	shows := len(args) == 1 || len(args) == 2 && args[1].is("show", "list", "ls")
	if shows && args[0].is("a", "addr", "address", "l", "link", "r", "route") {
		return ""
	}
	return "it may change the network's settings"
}

// countsBytes finds the conversion of printf that sets a variable.
var countsBytes = regexp.MustCompile(`%[^A-Za-z]*[hjlLqtz]*n`)

// printf -v evaluates the subscript of a variable, and the conversion %n sets one.
func printf(args []word) string {
	if len(args) > 0 && args[0].mayBeOption() && !args[0].is("--") {
		return "its first argument " + quote(args[0].src) + " may name a variable to set"
	}
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) < 2 && (len(args) == 0 || !args[0].many) {
		return ""
	}
	if format := args[0]; !format.known || countsBytes.MatchString(strings.ReplaceAll(format.text, "%%", "")) {
		return "its format " + quote(format.src) + " may set a variable"
	}
	return ""
}

// readVariables checks read: the subscripts of the variables it sets are evaluated.
func readVariables(args []word) string {
	p := readOptions.leading(args)
	for _, w := range p.rest {
		if !w.known || !plainName(w.text) || !ownVariable(w.text) {
			return "it sets " + quote(w.src) + ", which programs may obey"
		}
	}
	return p.concern
}

// setFlags allows the usual flags of scripts. Others make every variable one that programs see.
func setFlags(args []word) string {
	for i, w := range args {
		if w.is("pipefail") && i > 0 && strings.HasSuffix(args[i-1].text, "o") {
			continue
		}
		if !w.known || len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+' || strings.Trim(w.text[1:], "euxo") != "" {
			return "it sets " + quote(w.src) + " for the shell"
		}
	}
	return ""
}

// Operators of test.
var (
	unaryTests  = set("-b -c -d -e -f -g -h -k -L -n -N -O -G -p -r -s -S -t -u -w -x -z")
	binaryTests = set("= == != < > -eq -ne -gt -ge -lt -le -nt -ot -ef")
)

// testConcern checks test and [. Their -v and -R evaluate the subscript of a variable, so that no word may become one.
func testConcern(name string, args []word) string {
	if name == "[" {
		if len(args) == 0 || !args[len(args)-1].is("]") {
			return "it does not end in ]"
		}
		args = args[:len(args)-1]
	}
	for len(args) > 1 && args[0].is("!") {
		args = args[1:]
	}
	known, various := true, word{}
	for i, w := range args {
		if w.is("-v", "-R") && (i+1 == len(args) || !args[i+1].known || !plainName(args[i+1].text)) {
			return "it looks at a variable whose subscript can run commands"
		}
		known = known && w.known
		if w.many {
			various = w
		}
	}
	switch {
	case known, len(args) == 1 && various.src == "":
		return ""
	case various.src != "":
		return mayVary(various)
	case len(args) == 2 && args[0].known && unaryTests[args[0].text]:
		return ""
	case len(args) == 3 && args[1].known && binaryTests[args[1].text]:
		return ""
	}
	return "its arguments could become an operator that runs commands"
}

// sed checks every script: those of the option -e, else the first operand.
func sed(args []word) string {
	if concern := sedOptions.concern(args); concern != "" {
		return concern
	}
	for _, script := range sedScripts(args) {
		if !script.known || !sedReads(script.text) {
			return "the script " + quote(script.src) + " may write or run commands"
		}
	}
	return ""
}

// sedScripts finds the scripts in arguments of which every option is known.
func sedScripts(args []word) (scripts []word) {
	var operands []word
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w.is("--") {
			operands = append(operands, args[i+1:]...)
			break
		}
		if !w.mayBeOption() {
			operands = append(operands, w)
			continue
		}
		next, _ := sedOptions.option(w.text)
		script, attached := strings.CutPrefix(w.text, "--expression=")
		if !strings.HasPrefix(w.text, "--") {
			_, script, attached = strings.Cut(w.text, "e")
		}
		switch {
		case next && i+1 < len(args):
			i++
			scripts = append(scripts, args[i])
		case attached:
			scripts = append(scripts, literal(script))
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		return operands[:1]
	}
	return scripts
}

// awk checks its program: it must hold nothing that could run a command, write, load code or name files, some of which are
// connections. A redirect of output needs a
// print before it, so that > without one compares.
func awk(args []word) string {
	p := awkOptions.leading(args)
	switch {
	case p.concern != "":
		return p.concern
	case len(p.rest) == 0:
		return "it has no program"
	case !p.rest[0].known:
		return "the program " + quote(p.rest[0].src) + " is not known before it runs"
	}
	text := p.rest[0].text
	risky := strings.Contains(strings.ReplaceAll(text, "||", ""), "|") || strings.Contains(withoutEscapes(text), `\`)
	for _, part := range []string{"system", "getline", "@", "ARGV", "SYMTAB"} {
		risky = risky || strings.Contains(text, part)
	}
	if at := strings.Index(text, "print"); at >= 0 && strings.Contains(text[at:], ">") {
		risky = true
	}
	if risky {
		return "the program " + quote(p.rest[0].src) + " may write or run commands"
	}
	if concern := operandsOnly.concern(p.rest[1:]); concern != "" {
		return concern
	}
	for _, w := range p.rest[1:] {
		if mayBegin(w, "/inet") {
			return "the file " + quote(w.src) + " may be a connection over the network"
		}
	}
	return ""
}

// mayBegin tells whether a word begins with text, or may do so.
func mayBegin(w word, text string) bool {
	return strings.HasPrefix(w.text, text) || !w.known && strings.HasPrefix(text, w.text)
}

// withoutEscapes removes the escapes that are usual in strings and regular expressions, so that a backslash that is left
// is one that could split a word.
func withoutEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && text[i+1] != '\n' {
			i++
			b.WriteByte(' ')
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
