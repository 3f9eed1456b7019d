// This file reads expansions: the commands in substitutions, and the forms that can run what is in a variable.

package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansions reads what the expansions in words run.
func (r *reader) expansions(words ...*syntax.Word) {
	for _, w := range words {
		if w != nil {
			r.parts(w.Parts)
		}
	}
}

func (r *reader) parts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			r.parts(p.Parts)
		case *syntax.CmdSubst:
			r.substitution(p)
		case *syntax.ProcSubst:
			r.inside(p.Stmts)
		case *syntax.ParamExp:
			r.parameter(p)
		case *syntax.ArithmExp:
			if !numbers(p.X) {
				r.hide("it computes with variables (%s), which can run commands", quote(r.source(p)))
			}
		default: // extended globs, which shells read differently
			r.hide("it uses %s, which is not looked into", quote(r.source(p)))
		}
	}
}

func (r *reader) inside(stmts []*syntax.Stmt) {
	r.inner++
	r.stmts(stmts)
	r.inner--
}

// substitution reads a command substitution. Backslashes in the old form are read in two ways.
func (r *reader) substitution(p *syntax.CmdSubst) {
	if p.TempFile || p.ReplyVar || p.Backquotes && strings.Contains(r.source(p), `\`) {
		r.hide("it uses %s, which is not looked into", quote(r.source(p)))
		return
	}
	r.inside(p.Stmts)
}

// parameter reads the expansion of a parameter. Indirect ones, subscripts and prompt strings can run what is in a variable.
func (r *reader) parameter(p *syntax.ParamExp) {
	plain := !p.Excl && p.Names == 0 && p.NestedParam == nil && p.Flags == nil && len(p.Modifiers) == 0 && (p.Index == nil || subscript(p.Index))
	if p.Slice != nil {
		plain = plain && numbers(p.Slice.Offset) && (p.Slice.Length == nil || numbers(p.Slice.Length))
	}
	if p.Repl != nil {
		plain = plain && plainText(p.Repl.Orig) && plainText(p.Repl.With)
	}
	if p.Exp != nil {
		plain = plain && p.Exp.Op != syntax.OtherParamOps && plainText(p.Exp.Word)
		if p.Param != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
			r.assigned(p.Param.Value, nil)
		}
	}
	if !plain {
		r.hide("it uses the expansion %s, which is not looked into", quote(r.source(p)))
	}
}

// plainText tells whether a word in an expansion is text and simple variables: between quotes shells disagree about the rest.
func plainText(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "\\'\"`") {
				return false
			}
		case *syntax.ParamExp:
			if !p.Short {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func subscript(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*") || numbers(x)
}

// numbers tells whether an expression computes with nothing but numbers.
func numbers(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		if len(x.Parts) == 1 {
			if p, ok := x.Parts[0].(*syntax.ParamExp); ok {
				return numeric(p)
			}
		}
		lit := x.Lit()
		return lit != "" && strings.Trim(lit, "0123456789") == ""
	case *syntax.ParenArithm:
		return numbers(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && numbers(x.X)
	case *syntax.BinaryArithm:
		return numbers(x.X) && numbers(x.Y)
	}
	return false
}

// test reads a condition between [[ and ]]. A shell that does not know [[ takes < and > in it for redirects, and what
// follows || for a command.
func (r *reader) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		r.expansions(x)
	case *syntax.UnaryTest:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) && !plainName(w.Lit()) {
			r.hide("it looks at the variable %s, whose subscript can run commands", quote(r.source(w)))
			return
		}
		r.test(x.X)
	case *syntax.BinaryTest:
		r.binaryTest(x)
	default:
		r.hide("it uses the condition %s, which is not looked into", quote(r.source(x)))
	}
}

func (r *reader) binaryTest(x *syntax.BinaryTest) {
	ok := false
	switch x.Op {
	case syntax.AndTest, syntax.OrTest:
		ok = beginsWithOperator(x.Y)
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
		ok = true
	case syntax.TsReMatch:
		w, isWord := x.Y.(*syntax.Word)
		ok = isWord && !strings.ContainsAny(r.source(w), "|&;<>()")
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		ok = numberTest(x.X) && numberTest(x.Y)
	}
	if !ok {
		r.hide("it uses the condition %s, which is not looked into", quote(r.source(x)))
		return
	}
	r.test(x.X)
	r.test(x.Y)
}

// beginsWithOperator tells whether a condition begins with an operator such as -f, which is no program's name.
func beginsWithOperator(x syntax.TestExpr) bool {
	u, ok := x.(*syntax.UnaryTest)
	if ok && u.Op == syntax.TsNot {
		u, ok = u.X.(*syntax.UnaryTest)
	}
	return ok && u.Op != syntax.TsNot
}

func numberTest(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && numbers(w)
}
