// Command picture turns what a terminal shows (text with ANSI colours, on standard input) into an SVG on standard output.
// docs/images/demo.svg is made by it: script -qc 'make demo' /dev/null | go run ./scripts/picture > docs/images/demo.svg
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
)

const (
	lineHeight = 17
	charWidth  = 7.8
	margin     = 18
	columns    = 104
	lines      = 44
)

// colours of the ANSI codes that the terminal verbs use, readable on dark ground.
var colours = map[string]string{"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e", "1": "#ffffff"}

var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

func main() {
	var rows []string
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && len(rows) < lines {
		rows = append(rows, row(strings.ReplaceAll(strings.TrimRight(in.Text(), "\r"), "\t", "    ")))
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
	height := len(rows)*lineHeight + 2*margin
	fmt.Printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" role=\"img\" aria-label=\"A turn in the terminal\">\n", columns*charWidth+2*margin, height)
	fmt.Println(`<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`)
	fmt.Println(`<g font-family="ui-monospace,SFMono-Regular,Menlo,DejaVu Sans Mono,monospace" font-size="13" fill="#c9d1d9" xml:space="preserve">`)
	for n, r := range rows {
		fmt.Printf("<text x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+(n+1)*lineHeight-4, r)
	}
	fmt.Println("</g>\n</svg>")
}

// row is one line as SVG text, coloured and cut to the width of the picture.
func row(text string) string {
	var b strings.Builder
	fill, left := "", columns
	for text != "" {
		at := escape.FindStringSubmatchIndex(text)
		part := text
		if at != nil {
			part = text[:at[0]]
		}
		b.WriteString(span(cut(part, &left), fill))
		if at == nil {
			break
		}
		fill = colours[text[at[2]:at[3]]]
		text = text[at[1]:]
	}
	return b.String()
}

func cut(s string, left *int) string {
	r := []rune(s)
	if len(r) > *left {
		r = append(r[:max(0, *left-1)], '…')
	}
	*left -= len(r)
	return string(r)
}

func span(s, fill string) string {
	if s == "" || fill == "" {
		return html.EscapeString(s)
	}
	return fmt.Sprintf(`<tspan fill="%s">%s</tspan>`, fill, html.EscapeString(s))
}
