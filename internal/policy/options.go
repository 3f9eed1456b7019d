// This file checks the arguments of programs that only read as long as no other than known options are given.

package policy

import (
	"fmt"
	"strings"
)

// options are those of a program with which it only reads. Options that are not listed, abbreviations among them, may write.
type options struct {
	flags    string          // one-letter options without a value
	valued   string          // one-letter options with a value, attached or in the next word
	long     map[string]bool // long options by name, without dashes; true if a value follows
	operands int             // how many operands there may be; -1: any number
	apart    bool            // an option with a value stands alone, its value in the next word
}

// only makes options; long ones are separated by spaces, those with a value end in "=".
func only(flags, valued, long string, operands int) options {
	o := options{flags: flags, valued: valued, operands: operands, long: map[string]bool{"help": false, "version": false}}
	for _, name := range strings.Fields(long) {
		name, takes := strings.CutSuffix(name, "=")
		o.long[name] = takes
	}
	return o
}

// apart makes options of which those with a value stand alone.
func apart(o options) options {
	o.apart = true
	return o
}

// concern says which of a program's arguments may make it do more than read.
func (o options) concern(args []word) string {
	operands := 0
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.is("--"):
			return o.tooMany(operands, args[i+1:])
		case w.known && w.mayBeOption():
			next, ok := o.option(w.text)
			if !ok {
				return "the option " + quote(w.src) + " may make it do more than read"
			}
			if next {
				i++
				if i < len(args) && args[i].many {
					return mayVary(args[i])
				}
			}
		case w.mayBeOption():
			return mayVary(w)
		default:
			operands++
			if concern := o.tooMany(operands-1, args[i:i+1]); concern != "" {
				return concern
			}
		}
	}
	return ""
}

func (o options) tooMany(before int, more []word) string {
	for i, w := range more {
		if o.operands >= 0 && (before+i >= o.operands || w.many) {
			return "the argument " + quote(w.src) + " may make it write"
		}
	}
	return ""
}

// option tells whether an option is listed, and whether its value is the next word.
func (o options) option(text string) (next, ok bool) {
	if name, isLong := strings.CutPrefix(text, "--"); isLong {
		name, _, attached := strings.Cut(name, "=")
		takes, ok := o.long[name]
		return takes && !attached, ok
	}
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(o.valued, text[i]) >= 0 {
			return i+1 == len(text), !o.apart || len(text) == 2
		}
		if strings.IndexByte(o.flags, text[i]) < 0 {
			return false, false
		}
	}
	return false, true
}

func mayVary(w word) string {
	return fmt.Sprintf("%s could become an option, which is not known before it runs", quote(w.src))
}

// parsed are arguments split at the first operand, as programs read them that run the rest.
type parsed struct {
	rest    []word // from the first operand on
	concern string // which option is not listed
}

// leading reads options up to the first operand.
func (o options) leading(args []word) parsed {
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w.is("--") {
			return parsed{rest: args[i+1:]}
		}
		if !w.mayBeOption() {
			return parsed{rest: args[i:]}
		}
		if !w.known {
			return parsed{concern: mayVary(w)}
		}
		next, ok := o.option(w.text)
		if !ok {
			return parsed{concern: "the option " + quote(w.src) + " may make it do more than read"}
		}
		if next {
			i++
			if i < len(args) && args[i].many {
				return parsed{concern: mayVary(args[i])}
			}
		}
	}
	return parsed{}
}
