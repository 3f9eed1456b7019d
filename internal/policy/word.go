// This file tells what is known of a word of a command before it runs: its text, and whether it could become an option.

package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a simple command as far as its text tells.
type word struct {
	text  string // its value; of one that is not known, how it surely begins
	known bool   // text is all of it
	many  bool   // it may become no word or several
	src   string // as it was written, to show
}

// literal is a word of which everything is known.
func literal(text string) word { return word{text: text, known: true, src: text} }

// mayBeOption tells whether a program may take the word for an option. "-" alone is an operand everywhere.
func (w word) mayBeOption() bool {
	switch {
	case w.known:
		return len(w.text) > 1 && w.text[0] == '-'
	case w.many:
		return true
	}
	return w.text == "" || w.text[0] == '-'
}

// is tells whether the word is surely one of these.
func (w word) is(texts ...string) bool {
	if !w.known {
		return false
	}
	for _, t := range texts {
		if w.text == t {
			return true
		}
	}
	return false
}

// value reads a word of the tree.
func (r *reader) value(node *syntax.Word) word {
	b := valueBuilder{w: word{known: true, src: r.source(node)}, bracket: -1}
	for i, part := range node.Parts {
		b.part(part, i == 0)
	}
	if b.brace && b.list {
		b.w.text = ""
		b.unknown(true)
	}
	if b.class {
		b.w.text = b.w.text[:min(b.bracket, len(b.w.text))]
		b.unknown(true)
	}
	return b.w
}

// values reads words of the tree.
func (r *reader) values(nodes []*syntax.Word) []word {
	words := make([]word, len(nodes))
	for i, n := range nodes {
		words[i] = r.value(n)
	}
	return words
}

// valueBuilder puts a word together from its parts.
type valueBuilder struct {
	w       word
	brace   bool // an unquoted { was seen
	list    bool // and then an unquoted , or ..: a brace expansion, though POSIX shells leave it as it is
	bracket int  // where the first unquoted [ is, -1 if there is none
	class   bool // and then an unquoted ]: a glob
}

func (b *valueBuilder) add(text string) {
	if b.w.known {
		b.w.text += text
	}
}

// unknown ends what is known of the word; many says that it may become several.
func (b *valueBuilder) unknown(many bool) {
	b.w.known = false
	b.w.many = b.w.many || many
}

func (b *valueBuilder) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.lit(p.Value, first)
	case *syntax.SglQuoted:
		if p.Dollar { // POSIX shells leave the dollar and do not read the escapes
			b.unknown(false)
		}
		b.add(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.unknown(false)
		}
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				b.add(unescapeQuoted(l.Value))
				continue
			}
			b.unknown(severalQuoted(q))
		}
	case *syntax.ParamExp:
		b.unknown(!numeric(p))
	case *syntax.ArithmExp, *syntax.ProcSubst:
		b.unknown(false)
	default: // command substitutions and what a shell may know besides
		b.unknown(true)
	}
}

// lit reads unquoted text, where backslashes quote, and tildes, globs and braces are expanded.
func (b *valueBuilder) lit(text string, first bool) {
	if first && strings.HasPrefix(text, "~") { // becomes a path
		b.add("/")
		b.unknown(false)
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			b.add(text[i : i+1])
			continue
		case c == '*' || c == '?':
			b.unknown(true)
		case c == '[' && b.bracket < 0:
			b.bracket = len(b.w.text)
		case c == ']':
			b.class = b.class || b.bracket >= 0
		case c == '{':
			b.brace = true
		case b.brace && (c == ',' || c == '.' && strings.HasPrefix(text[i:], "..")):
			b.list = true
		case c >= 0x80: // some locales hold bytes of such characters for blanks
			b.unknown(true)
		}
		b.add(text[i : i+1])
	}
}

// unescapeQuoted reads text between double quotes, where a backslash quotes few characters.
func unescapeQuoted(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// severalQuoted tells whether a part between double quotes may become several words, as "$@" does.
func severalQuoted(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok {
		return false
	}
	if p.Param != nil && p.Param.Value == "@" || p.Excl || p.Names != 0 {
		return true
	}
	index, ok := p.Index.(*syntax.Word)
	return ok && index.Lit() == "@"
}

// numeric tells whether an expansion yields a number, which is neither split nor an option.
func numeric(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.Excl {
		return false
	}
	switch p.Param.Value {
	case "?", "#", "$", "!":
		return true
	}
	return p.Length
}
