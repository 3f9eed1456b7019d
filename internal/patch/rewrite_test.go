package patch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextSumSeesWhatAnEditorShows(t *testing.T) {
	same := [][]string{
		{"a\nb\n", "a\r\nb\r\n", "a\nb", "\uFEFFa\nb\n", "a\r\nb\n"},
		{"é\n", "\xe9\n", "\xe9\r\n"},
		{"", "\n", "\uFEFF"},
		{"a\rb"},
		{"a\n\n"},
		{"\x00"},
		{"é\xe9"},
		{"é\xea"},
	}
	seen := map[string]int{}
	for i, group := range same {
		for _, text := range group {
			sum := TextSum([]byte(text))
			if other, ok := seen[sum]; ok {
				require.Equal(t, i, other, "%q", text)
			}
			seen[sum] = i
		}
	}
	require.Len(t, seen, len(same))
}

func TestRewriteKeepsWhatAFileIsMadeOf(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a\n", "b\n", "b\n"},
		{"a\r\n", "b\nc\n", "b\r\nc\r\n"},
		{"a\r\n", "b\r\nc\n", "b\r\nc\n"},
		{"a\r\nb\n", "b\n", "b\n"},
		{"\uFEFFa\n", "b\n", "\uFEFFb\n"},
		{"\uFEFFa\n", "\uFEFFb\n", "\uFEFFb\n"},
		{"\xe9\n", "é!\n", "\xe9!\n"},
		{"\xe9\n", "世\n", "世\n"},
		{"", "é\n", "é\n"},
		{"\x00", "é\n", "é\n"},
	} {
		require.Equal(t, c.want, string(Rewrite([]byte(c.file), c.text)), "%q %q", c.file, c.text)
	}
}
