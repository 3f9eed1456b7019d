// This file judges programs that run other programs by what they run.

package policy

import "strings"

// Options of programs that run others.
var (
	timeOptions    = only("p", "", "", -1)
	niceOptions    = only("", "n", "adjustment=", -1)
	stdbufOptions  = only("", "ioe", "input= output= error=", -1)
	timeoutOptions = only("v", "ks", "signal= kill-after= foreground preserve-status verbose", -1)
	envOptions     = only("0", "u", "unset= null", -1)
	xargsOptions   = only("0rtx", "nPLIdasE", "null no-run-if-empty max-args= max-procs= delimiter= verbose", -1)
)

// run judges a simple command by its words.
func (r *reader) run(words []word) {
	if !words[0].known || words[0].text == "" {
		r.opaque = true
		r.add(words, "its program "+quote(words[0].src)+" is not known before it runs", true)
		return
	}
	name := program(words[0].text)
	if changers[name] {
		r.moved = true
		r.dir.unknown = true
	}
	if r.wrapper(name, words) {
		return
	}
	r.opaque = r.opaque || elevated[name] || wrappers[name]
	r.add(words, r.argumentsConcern(name, words[1:]), elevated[name] || launchers[name] && len(words) == 1)
}

// add records a simple command.
func (r *reader) add(words []word, concern string, never bool) {
	r.commands = append(r.commands, simple{words: words, dir: r.dir, concern: concern, never: never})
}

// written shows words as they were written.
func written(words []word) string {
	shown := make([]string, len(words))
	for i, w := range words {
		shown[i] = w.src
	}
	return strings.Join(shown, " ")
}

// wrapper judges a program that runs others by what it runs; false if it is none.
func (r *reader) wrapper(name string, words []word) bool {
	args := words[1:]
	switch name {
	case "command":
		if len(args) > 0 && args[0].is("-v", "-V") {
			r.add(words, "", false)
			return true
		}
		r.wrapped(words, timeOptions.leading(args), 0)
	case "builtin":
		r.wrapped(words, operandsOnly.leading(args), 0)
	case "exec":
		r.wrapped(words, operandsOnly.leading(args), 0)
	case "nohup", "setsid":
		r.wrapped(words, operandsOnly.leading(args), 0)
	case "time":
		r.wrapped(words, timeOptions.leading(args), 0)
	case "nice":
		r.wrapped(words, niceOptions.leading(args), 0)
	case "stdbuf":
		r.wrapped(words, stdbufOptions.leading(args), 0)
	case "timeout":
		r.wrapped(words, timeoutOptions.leading(args), 1)
	case "env":
		r.env(words)
	case "xargs":
		r.xargs(words)
	case "find":
		r.find(words)
	case "eval":
		r.eval(words)
	case "sh", "bash", "dash":
		return r.shell(words)
	case "source", ".", "trap", "alias":
		r.opaque = true
		r.add(words, "it makes the shell run what is not looked into", true)
	default:
		return false
	}
	return true
}

// wrapped judges what is left of a wrapper's arguments behind its options and skip operands.
func (r *reader) wrapped(words []word, p parsed, skip int) {
	if p.concern != "" {
		r.opaque = true
		r.add(words, p.concern, true)
		return
	}
	if skip < len(p.rest) {
		for _, w := range p.rest[:skip] {
			if w.many {
				r.opaque = true
				r.add(words, mayVary(w), true)
				return
			}
		}
	}
	if len(p.rest) <= skip { // it runs nothing
		r.add(words, "", false)
		return
	}
	r.run(p.rest[skip:])
}

// env runs the rest with variables set.
func (r *reader) env(words []word) {
	p := envOptions.leading(words[1:])
	for _, w := range words[1 : len(words)-len(p.rest)] {
		if p.concern == "" && (!w.known || strings.HasSuffix(w.text, "PATH")) {
			p.concern = "without the variable " + quote(w.src) + " other programs may run"
		}
	}
	for len(p.rest) > 0 && p.concern == "" {
		w := p.rest[0]
		name, value, isSet := strings.Cut(w.text, "=")
		if !isSet && w.known {
			break
		}
		if !isSet || !plainName(name) || w.many {
			p.concern = mayVary(w)
			break
		}
		v := word{text: value, known: w.known}
		r.assigned(name, &v)
		p.rest = p.rest[1:]
	}
	r.wrapped(words, p, 0)
}

// xargs runs the rest with words appended, or put in the place of others, that are not known.
func (r *reader) xargs(words []word) {
	p := xargsOptions.leading(words[1:])
	if len(p.rest) == 0 && p.concern == "" {
		r.add(words, "", false)
		return
	}
	set := readXargs(words[1 : len(words)-len(p.rest)])
	run := append([]word(nil), p.rest...)
	if set.replaces && set.place == "" {
		p.concern = "what it replaces is not known before it runs"
	}
	for i, w := range run {
		if at := strings.Index(w.text, set.place); set.place != "" && at >= 0 {
			run[i] = word{text: w.text[:at], src: w.src}
		}
	}
	if !set.replaces || set.limits {
		run = append(run, word{many: true, src: "…"})
	}
	r.wrapped(words, parsed{rest: run, concern: p.concern}, 0)
}

// xargsSet is what options of xargs say about the words it appends or replaces.
type xargsSet struct {
	replaces bool
	place    string // what is replaced; empty if that is not known
	limits   bool   // how many words are appended is said, which undoes a replacement for some versions
}

// readXargs reads options that are all listed.
func readXargs(args []word) (set xargsSet) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		next, _ := xargsOptions.option(text)
		if strings.HasPrefix(text, "--") {
			set.limits = set.limits || strings.HasPrefix(text, "--max-args")
		} else if at := 1 + strings.IndexAny(text[min(1, len(text)):], xargsOptions.valued); at > 0 {
			set.limits = set.limits || text[at] == 'n' || text[at] == 'L'
			if text[at] == 'I' {
				set.replaces, set.place = true, text[at+1:]
				if next && i+1 < len(args) && args[i+1].known {
					set.place = args[i+1].text
				}
			}
		}
		if next {
			i++
		}
	}
	return set
}

// eval reads its words as a script.
func (r *reader) eval(words []word) {
	var script []string
	for _, w := range words[1:] {
		if !w.known {
			r.opaque = true
			r.add(words, quote(w.src)+" is not known before it is run as a script", true)
			return
		}
		script = append(script, w.text)
	}
	r.script(strings.Join(script, " "))
}

// shell reads the script that a shell is given by -c; false if it is given none.
func (r *reader) shell(words []word) bool {
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.is("-o", "-eo", "-euo", "-ueo", "-euxo") && i+1 < len(words) && words[i+1].is("pipefail"):
			i++
		case !w.known || !w.mayBeOption() || strings.Trim(w.text[1:], "celux") != "":
			r.opaque = r.opaque || w.mayBeOption()
			return false
		case strings.Contains(w.text, "c"):
			if i+1 == len(words) || !words[i+1].known {
				r.opaque = true
				r.add(words, "the script of "+quote(written(words))+" is not known before it runs", true)
				return true
			}
			if words[i+1].mayBeOption() { // it would be read as more options
				r.opaque = true
				return false
			}
			r.script(words[i+1].text)
			return true
		}
	}
	return false
}
