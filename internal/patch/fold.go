// This file makes text comparable that differs only in how it was typed: quotes, dashes, spaces, composed letters.

package patch

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

var folder = strings.NewReplacer(
	// quotes
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'", "\u2032", "'", "\u00b4", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`, "\u2033", `"`, "\u00ab", `"`, "\u00bb", `"`,
	// dashes
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-", "\ufe63", "-", "\uff0d", "-",
	// spaces
	"\u00a0", " ", "\u2000", " ", "\u2001", " ", "\u2002", " ", "\u2003", " ", "\u2004", " ", "\u2005", " ", "\u2006", " ",
	"\u2007", " ", "\u2008", " ", "\u2009", " ", "\u200a", " ", "\u202f", " ", "\u205f", " ", "\u3000", " ",
	// what cannot be seen
	"\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
	// others
	"\u2026", "...",
)

// fold returns text in a form in which equivalent texts are equal.
func fold(text string) string {
	if isASCII(text) {
		return text
	}
	return folder.Replace(norm.NFC.String(text))
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
