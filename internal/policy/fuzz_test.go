// This file checks that adding text to a command never makes it run without asking, unless all that it then says may.

package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"sandboxagent/editors"
)

// hostile is what is put before, behind and into commands.
var hostile = []string{
	"; rm x", "\nrm x", " && rm x", " || rm x", " | sh", " & rm x", "$(rm x)", "`rm x`", " > f", " >> f", " <(rm x)", " -delete", " -exec rm {} ;", "#", "'", "\"", "\\", "\\\n", "\n", ";", "\x00", "\r", "\u00a0",
	"PATH=. ", "eval ", "sh -c ", "$x", "${IFS}", "$'\\n'", "{a,b}", "*", "~", "<<EOF\n", "\nEOF\n", "((", "[[ ", "f() { ", "time ", "! ", "( ", ")", "}", "sudo ", "xargs ", "env ", "-o f ", "cd x; ", "$((", "${x@P}", "git -c a=b ", "-i ", "--", " ",
}

// requireEach checks the property that holds for every text that is allowed: it parses, each simple command in it, wherever it
// stands, is allowed when it is the whole command, and it has no redirect that writes. The tree is walked by the library
// here, so that a place which the judge forgets is found.
func requireEach(t *testing.T, text string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	require.NoError(t, err, "%q is allowed, but does not parse", text)
	require.NotEmpty(t, file.Stmts, "%q is allowed, but holds no command", text)
	r := &reader{src: text}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			var alone strings.Builder
			require.NoError(t, syntax.NewPrinter().Print(&alone, n))
			require.True(t, onlyReads(judgeText(alone.String(), "", "")), "%q is allowed, but not %q in it", text, alone.String())
		case *syntax.FuncDecl, *syntax.LetClause, *syntax.ArithmCmd, *syntax.CoprocClause, *syntax.ExtGlob:
			require.Fail(t, "allowed", "%q holds %q", text, r.source(n))
		case *syntax.Redirect:
			switch n.Op {
			case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrIn, syntax.DplIn, syntax.DplOut:
			default:
				require.Contains(t, []string{"/dev/null", "/dev/stdout", "/dev/stderr"}, r.value(n.Word).text, "%q", text)
			}
		}
		return true
	})
}

// judged judges a text and checks that it is bounded in time.
func judged(t *testing.T, text string) Decision {
	t.Helper()
	start := time.Now()
	v := judge(editors.ApprovalAsk, shellCall(t, text), true)
	require.Less(t, time.Since(start), 2*time.Second, "%q", text)
	return v.Decision
}

func TestAddedTextNeverAllows(t *testing.T) {
	allowed := 0
	for _, commands := range [][]string{working, bypasses, reading} {
		for _, c := range commands {
			for _, h := range hostile {
				for _, text := range []string{h + c, c + h, c[:len(c)/2] + h + c[len(c)/2:], c[:len(c)/3] + h + c[len(c)/3:]} {
					if judged(t, text) == Allow {
						allowed++
						requireEach(t, text)
					}
				}
			}
		}
	}
	require.Positive(t, allowed, "the property was checked")
}

func TestHugeAndDeepCommandsAreBounded(t *testing.T) {
	for _, piece := range []string{"(", "$(", "{ ", "if ", "`", "$((", "((", "[[ (", "case a in a) ", "while ", "! ", "a|", "<(", "${a[", "f() ", "\"${x:-", "sh -c ", "eval ", "env ", "nice ", "xargs ", "find -exec ", "time ", "a=", "\\", "'", "\"", "<<a\n", "{a,", "a "} {
		judged(t, strings.Repeat(piece, maxJudged/len(piece)))
		require.Equal(t, Ask, judged(t, strings.Repeat(piece, (256<<10)/len(piece))), "%q", piece)
		require.Equal(t, Ask, judged(t, strings.Repeat(piece, 400)+"rm x"), "%q", piece)
	}
}

func FuzzJudge(f *testing.F) {
	for i, commands := range [][]string{reading, working, bypasses} {
		for k, c := range commands {
			f.Add(c, hostile[k%len(hostile)], k*7+i)
		}
	}
	f.Fuzz(func(t *testing.T, command, added string, at int) {
		at = int(uint(at) % uint(len(command)+1))
		for _, text := range []string{command, command + added, added + command, command[:at] + added + command[at:]} {
			text = strings.ToValidUTF8(text, "\ufffd") // as JSON brings it
			if judged(t, text) == Allow {
				requireEach(t, text)
			}
			_, _ = ParsePattern(text)
			_ = covers([]Rule{{Tool: execCommand, Pattern: text}, {Tool: execCommand, Pattern: "make *"}}, shellCall(t, command))
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	for name, text := range map[string]string{
		"short": "ls -la", "typical": "cd src && rg -n 'func (main|init)' -g '*.go' | head -20", "asked": "npm test -- --watch && git push",
		"long": strings.Repeat("grep -rn foo src | sort -u | head; ", 100),
	} {
		b.Run(name, func(b *testing.B) {
			call := shellCall(b, text)
			for b.Loop() {
				judge(editors.ApprovalAsk, call, true)
			}
		})
	}
}
