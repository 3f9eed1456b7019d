package mentions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestLinesBeyondTheEndAreTheLast(t *testing.T) {
	at := func(first, last, end int) editors.Range {
		return editors.Range{Start: editors.Position{Line: first}, End: editors.Position{Line: last, Character: end}}
	}
	for _, c := range []struct {
		text        string
		first, last int
		want        string
		where       editors.Range
	}{
		{"a\nb\nc", 2, 2, "b\n", at(1, 1, 1)},
		{"a\r\nb\r\n", 1, 1, "a\r\n", at(0, 0, 1)},
		{"a\n𝄞b", 2, 99, "𝄞b", at(1, 1, 3)},
		{"a\nb", 70, 80, "b", at(1, 1, 1)},
		{"a\nb", 2, 1, "b", at(1, 1, 1)},
		{"", 3, 4, "", at(0, 0, 0)},
	} {
		text, where := Lines(c.text, c.first, c.last)
		require.Equal(t, c.want, text, "%q", c.text)
		require.Equal(t, c.where, where, "%q", c.text)
	}
}
