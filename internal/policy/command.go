// This file reads the text of a command: what simple commands are in it, and what else it does.

package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxJudged = 8 << 10 // bytes of a command that is looked into; it bounds time and depth
	maxNested = 4       // scripts in scripts: sh -c, eval
	maxShown  = 80      // bytes of a command quoted in a reason
)

// judgement is what the text of a command says about what the command does.
type judgement struct {
	commands []simple // every simple command in it, in order
	other    []string // what else is more than reading: redirects, assignments, functions, what cannot be known
	opaque   bool     // it may run commands that cannot be seen in it
	moved    bool     // it changes its directory, not only at its beginning
	far      string   // what it names outside the workspace; empty if nothing
}

// simple is one simple command.
type simple struct {
	words   []word
	dir     place
	concern string // why it may do more than read, in half a sentence; empty if it only reads
	never   bool   // it is not to be remembered
}

// place is a directory relative to the workspace, or an absolute one. It is unknown once a command has changed it.
type place struct {
	path    string
	unknown bool
}

func (p place) root() bool { return !p.unknown && p.path == "." }

// reader reads one script into a judgement.
type reader struct {
	*judgement
	src    string
	dir    place
	root   string // the workspace's absolute path, empty if not known
	nested int    // scripts around this one
	inner  int    // substitutions around what is read
	lead   *syntax.CallExpr
}

// judgeText reads a command that runs in dir. root is the absolute path of the workspace, empty if not known.
func judgeText(text, dir, root string) *judgement {
	if reason := unreadable(text); reason != "" {
		return &judgement{other: []string{reason}, opaque: true}
	}
	file, err := parseShell(text)
	if err != nil {
		return &judgement{other: []string{"it cannot be read as shell: " + err.Error()}, opaque: true}
	}
	from := place{path: path.Clean(dir)}
	j := read(text, file, from, root)
	if j.moved { // what runs before the change may also run after it, in a loop
		from.unknown = true
		j = read(text, file, from, root)
	}
	return j
}

func read(text string, file *syntax.File, from place, root string) *judgement {
	r := &reader{judgement: &judgement{}, src: text, dir: from, root: root}
	if call, to, ok := leadingCd(file); ok {
		r.lead = call
		r.dir = r.entered(to)
		r.dir.unknown = from.unknown
	}
	r.stmts(file.Stmts)
	return r.judgement
}

// unreadable says why text is not looked into. Bytes that shells and the parser may read differently are left to people.
func unreadable(text string) string {
	if len(text) > maxJudged {
		return fmt.Sprintf("it is longer than %d KiB", maxJudged>>10)
	}
	if strings.TrimSpace(text) == "" {
		return "it is empty"
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' && c != '\n' || c == 0x7f {
			return "it has a control character"
		}
	}
	if continues(text) {
		return "it continues a line where shells may not"
	}
	return ""
}

// continues tells whether a backslash before the end of a line stands where the parser and shells may disagree about it: not
// between words, or where there may be a comment, which the parser takes to go on, or a here-document.
func continues(text string) bool {
	for at := 0; ; at++ {
		next := strings.Index(text[at:], "\\\n")
		if next < 0 {
			return false
		}
		at += next
		if at > 0 && text[at-1] != ' ' && text[at-1] != '\t' || strings.Contains(text, "#") || strings.Contains(text, "<<") {
			return true
		}
	}
}

// parseShell parses Bash. The parser is a library that reads hostile text inside workflows, where a panic would stop the
// session, so a panic of it is an error.
func parseShell(text string) (file *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errors.New("the parser failed")
		}
	}()
	file, err = syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err == nil && len(file.Stmts) == 0 {
		err = errors.New("there is no command in it")
	}
	return file, err
}

// leadingCd finds the cd in `cd DIR && the rest`, where the rest runs in DIR or not at all.
func leadingCd(file *syntax.File) (*syntax.CallExpr, string, bool) {
	if len(file.Stmts) != 1 {
		return nil, "", false
	}
	stmt := file.Stmts[0]
	for {
		if stmt.Negated || len(stmt.Redirs) > 0 {
			return nil, "", false
		}
		and, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if and.Op != syntax.AndStmt {
			return nil, "", false
		}
		stmt = and.X
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Background || len(call.Assigns) > 0 || len(call.Args) != 2 || call.Args[0].Lit() != "cd" {
		return nil, "", false
	}
	to := (&reader{}).value(call.Args[1])
	if !to.known || to.text == "" || to.text[0] == '-' {
		return nil, "", false
	}
	return call, to.text, true
}

// entered is where a change to a directory leads from here.
func (r *reader) entered(dir string) place {
	if !path.IsAbs(dir) {
		return place{path: path.Join(r.dir.path, dir), unknown: r.dir.unknown}
	}
	dir = path.Clean(dir)
	if within, ok := r.within(dir); ok {
		dir = within
	}
	return place{path: dir}
}

// within returns an absolute path relative to the workspace, if it is in it.
func (r *reader) within(abs string) (string, bool) {
	if r.root == "" {
		return "", false
	}
	root, abs := path.Clean(r.root), path.Clean(abs)
	if abs == root {
		return ".", true
	}
	return strings.CutPrefix(abs, strings.TrimSuffix(root, "/")+"/")
}

// source is the text of a node, or nothing where it is not at hand.
func (r *reader) source(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if from > to || to > len(r.src) {
		return ""
	}
	return r.src[from:to]
}

// note records something that is more than reading and belongs to no simple command.
func (r *reader) note(format string, args ...any) {
	r.other = append(r.other, fmt.Sprintf(format, args...))
}

// hide records something that may run what cannot be seen.
func (r *reader) hide(format string, args ...any) {
	r.opaque = true
	r.note(format, args...)
}

// script reads text that is itself run as a script.
func (r *reader) script(text string) {
	if r.nested >= maxNested {
		r.hide("it nests scripts too deeply")
		return
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	reason := unreadable(text)
	file, err := parseShell(text)
	if reason != "" || err != nil {
		r.hide("the script in it cannot be read as shell")
		return
	}
	in := *r
	in.src, in.lead = text, nil
	in.nested++
	in.stmts(file.Stmts)
}

// concern says what is the first that is more than reading, and why; why is empty if nothing is.
func (j *judgement) concern() (subject, why string) {
	for _, c := range j.commands {
		if c.concern != "" {
			return quote(written(c.words)), c.concern
		}
	}
	if len(j.other) > 0 {
		return "the command", j.other[0]
	}
	return "", ""
}

// quote shows a piece of a command on one line.
func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return "`" + text + "`"
}
