// This file reads statements: every command that a list, a loop or a condition may run, and every redirect.

package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reader) stmts(stmts []*syntax.Stmt) {
	for _, s := range stmts {
		r.stmt(s)
	}
}

func (r *reader) stmt(s *syntax.Stmt) {
	for _, rd := range s.Redirs {
		if both := rd.Op == syntax.RdrAll || rd.Op == syntax.AppAll; both && s.Cmd != nil && s.Cmd.End().After(rd.Pos()) {
			r.hide("what follows %s is a command of its own to some shells", quote(r.source(rd)))
		}
		r.redirect(rd)
	}
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.call(c)
	case *syntax.BinaryCmd:
		r.stmt(c.X)
		r.stmt(c.Y)
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.Subshell:
		r.stmts(c.Stmts)
	case *syntax.IfClause:
		r.ifClause(c)
	case *syntax.WhileClause:
		r.stmts(c.Cond)
		r.stmts(c.Do)
	case *syntax.ForClause:
		r.forClause(c)
	case *syntax.CaseClause:
		r.caseClause(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.stmt(c.Stmt)
		}
	case *syntax.TestClause:
		r.test(c.X)
	case *syntax.DeclClause:
		r.declare(c)
	case *syntax.FuncDecl: // it may take the place of any program
		r.hide("it defines a function (%s)", quote(r.source(c)))
	case *syntax.ArithmCmd, *syntax.LetClause: // subscripts in the values of variables can run commands
		r.hide("it computes with variables (%s), which can run commands", quote(r.source(c)))
	default:
		r.hide("it uses %s, which is not looked into", quote(r.source(c)))
	}
}

func (r *reader) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		r.stmts(c.Cond)
		r.stmts(c.Then)
	}
}

func (r *reader) forClause(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select {
		r.hide("it computes with variables (%s), which can run commands", quote(r.source(c.Loop)))
		return
	}
	r.assigned(iter.Name.Value, nil)
	r.expansions(iter.Items...)
	r.reach(r.values(iter.Items))
	r.stmts(c.Do)
}

func (r *reader) caseClause(c *syntax.CaseClause) {
	r.expansions(c.Word)
	for _, item := range c.Items {
		r.expansions(item.Patterns...)
		r.stmts(item.Stmts)
	}
}

// call reads a simple command: its assignments, what its words run, and the program.
func (r *reader) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		r.assign(a)
	}
	r.expansions(c.Args...)
	if len(c.Args) == 0 {
		return
	}
	words := r.values(c.Args)
	if c == r.lead {
		r.commands = append(r.commands, simple{words: words, dir: r.dir})
		return
	}
	before := len(r.commands)
	r.run(words)
	for _, ran := range r.commands[before:] {
		if ran.concern == "" {
			r.reach(words[1:])
			r.reach([]word{{text: r.dir.path, src: r.dir.path}})
		}
	}
}

// redirect reads a redirect. Only what goes to no file, or to the command's own outputs, is no more than reading.
func (r *reader) redirect(rd *syntax.Redirect) {
	if rd.N != nil && strings.Trim(rd.N.Value, "0123456789") != "" {
		r.note("it sets a variable by a redirect (%s)", quote(r.source(rd)))
	}
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		r.heredoc(rd)
		return
	case syntax.WordHdoc:
		r.expansions(rd.Word)
		return
	}
	r.expansions(rd.Word)
	target := r.value(rd.Word)
	switch rd.Op {
	case syntax.RdrIn:
		r.input(rd, target)
	case syntax.DplIn, syntax.DplOut:
		if target.known && target.text != "" && strings.Trim(target.text, "0123456789-") == "" {
			return
		}
		r.output(rd, target)
	default:
		r.output(rd, target)
	}
}

func (r *reader) output(rd *syntax.Redirect, target word) {
	if !target.is("/dev/null", "/dev/stdout", "/dev/stderr") {
		r.note("it writes to a file (%s)", quote(r.source(rd)))
	}
}

// input reads a redirect from a file. Bash takes some names for connections over the network.
func (r *reader) input(rd *syntax.Redirect, target word) {
	for _, net := range []string{"/dev/tcp/", "/dev/udp/"} {
		if mayBegin(target, net) {
			r.note("it reads from what may be a connection over the network (%s)", quote(r.source(rd)))
			return
		}
	}
	r.reach([]word{target})
}

// heredoc reads a here-document. Within substitutions, or ended by anything but a plain word, shells disagree about its end.
func (r *reader) heredoc(rd *syntax.Redirect) {
	if end := r.value(rd.Word); r.inner > 0 || !end.known || !plainName(end.text) || strings.Contains(r.source(rd.Word), `\`) {
		r.hide("the end of its here-document (%s) is not plain", quote(r.source(rd)))
		return
	}
	if rd.Hdoc != nil {
		r.parts(rd.Hdoc.Parts)
	}
}

// plainName tells whether text is made of letters, digits and underscores, and does not begin with a digit.
func plainName(text string) bool { return text != "" && syntax.ValidName(text) }
