// This file holds patterns over the words of one simple command.

package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// WordPattern is a pattern over the words of one simple command, as ParsePattern reads it.
type WordPattern struct {
	words   []string
	more    bool   // further arguments may follow
	dir     string // where the command runs, relative to the workspace
	network bool   // the command asks for the network
}

// ParsePattern reads what may be allowed for always: the words of one simple command, quoted as for a shell, and an optional
// last word * for further arguments. Before them may stand "(with network) " and "(in DIR) ", as Pattern puts them; without
// them the pattern is for commands in the workspace's root that do not ask for the network.
//
// The * covers only arguments that are known before the command runs and cannot change what it does: no options but a few
// harmless ones, no paths that leave the workspace, no NAME=VALUE. A * behind a program that would run or delete anything
// its arguments name is refused.
func ParsePattern(text string) (WordPattern, error) {
	p, err := parseWords(text)
	if err != nil {
		return WordPattern{}, err
	}
	if p.more {
		if reason := tooWide(p.words); reason != "" {
			return WordPattern{}, fmt.Errorf("%s cannot be allowed: %s", quote(text), reason)
		}
	}
	if elevated[program(p.words[0])] {
		return WordPattern{}, fmt.Errorf("%s cannot be allowed: it takes the rights of another user, which is always asked about", quote(text))
	}
	return p, nil
}

// parseWords reads a pattern without judging how wide it is.
func parseWords(text string) (WordPattern, error) {
	p := WordPattern{dir: "."}
	rest, network := strings.CutPrefix(text, withNetwork)
	p.network = network
	if in, ok := strings.CutPrefix(rest, inDir); ok {
		dir, after, found := strings.Cut(in, ") ")
		if !found || dir == "" {
			return p, fmt.Errorf("%s names no directory; write (in DIR) and then the command", quote(text))
		}
		p.dir, rest = path.Clean(dir), after
	}
	call, err := oneCommand(rest)
	if err != nil {
		return p, fmt.Errorf("%s is no pattern: %w", quote(text), err)
	}
	for i, w := range (&reader{src: rest}).values(call.Args) {
		if i > 0 && i+1 == len(call.Args) && call.Args[i].Lit() == "*" {
			p.more = true
			continue
		}
		if !w.known {
			return p, fmt.Errorf("%s is no pattern: %s is not plain text; only a last word * stands for others", quote(text), quote(w.src))
		}
		p.words = append(p.words, w.text)
	}
	return p, nil
}

// oneCommand parses text that is one simple command and nothing else.
func oneCommand(text string) (*syntax.CallExpr, error) {
	if reason := unreadable(text); reason != "" {
		return nil, errors.New(reason)
	}
	file, err := parseShell(text)
	if err != nil {
		return nil, err
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	whole := int(s.End().Offset()) == len(strings.TrimRight(text, " \t\n")) // neither an operator nor a comment follows
	plain := len(file.Stmts) == 1 && ok && whole && len(s.Redirs) == 0 && !s.Negated && !s.Background && !s.Semicolon.IsValid() && len(call.Assigns) == 0
	if !plain {
		return nil, errors.New("it must be the words of one command, without operators, redirects and assignments")
	}
	return call, nil
}

// covers tells whether a simple command, which asks for the network or not, is what the pattern allows.
func (p WordPattern) covers(c simple, network bool) bool {
	if c.never || c.dir.unknown || c.dir.path != p.dir || network != p.network || len(c.words) < len(p.words) {
		return false
	}
	for i, text := range p.words {
		if !c.words[i].is(text) {
			return false
		}
	}
	rest := c.words[len(p.words):]
	return len(rest) == 0 || p.more && safeArguments(p.words, rest)
}

// match tells whether a simple command, given as bare leaves it, is, or may be, one that the pattern restricts. There a *
// stands for any arguments, and neither the path of the program nor git's options before its subcommand matter.
func (p WordPattern) match(words []word) (surely, maybe bool) {
	for i, text := range p.words {
		switch {
		case i >= len(words):
			return false, false
		case words[i].many:
			return false, true
		case words[i].known && words[i].text != text:
			return false, false
		case !words[i].known && strings.HasPrefix(text, words[i].text):
			maybe = true
		case !words[i].known:
			return false, false
		}
	}
	rest := words[len(p.words):]
	if !p.more && len(rest) > 0 {
		vanish := !slices.ContainsFunc(rest, func(w word) bool { return !w.many })
		return false, vanish
	}
	return !maybe, maybe
}

// bare drops the directory of the program, and git's options before its subcommand.
func bare(words []word) []word {
	words = slices.Clone(words)
	if words[0].known {
		words[0].text = path.Base(words[0].text)
	}
	if !words[0].is("git") {
		return words
	}
	i := 1
	for i < len(words) && words[i].known && words[i].mayBeOption() {
		if words[i].is("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix") {
			i++
		}
		i++
	}
	return slices.Delete(words, 1, min(i, len(words)))
}

// safeArguments tells whether * may stand for arguments of a command.
func safeArguments(command []string, args []word) bool {
	harmless := safeOptions[strings.Join(command, " ")]
	for _, w := range args {
		if !w.known || w.text == "" {
			return false
		}
		if w.mayBeOption() {
			name, _, _ := strings.Cut(w.text, "=")
			if !harmless[name] {
				return false
			}
			continue
		}
		if strings.ContainsAny(w.text, "=\n") || strings.IndexByte("@+:~/%", w.text[0]) >= 0 || strings.Contains(w.text, "::") || strings.Contains(w.text, "://") || climbs(w.text) {
			return false
		}
	}
	return true
}

// climbs tells whether a path leads above where it begins.
func climbs(text string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == ':' || r == ',' }), "..")
}

// safeOptions do no more than choose what the command works on, or how much it says.
var safeOptions = map[string]map[string]bool{
	"go test":          set("-v -race -short -count -run -skip -bench -benchmem -timeout -failfast -cover -json -shuffle -parallel"),
	"go vet":           set("-v -json"),
	"cargo test":       set("-q -v --quiet --verbose --release --lib --bins --workspace --all --no-run -p --package --test --no-fail-fast"),
	"cargo check":      set("-q -v --quiet --verbose --release --workspace --all --all-targets -p --package"),
	"pytest":           set("-q -v -vv -x -s -k -m --lf --ff --maxfail --no-header -ra"),
	"python -m pytest": set("-q -v -vv -x -s -k -m --lf --ff --maxfail --no-header -ra"),
}
