package mentions

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var there = []string{"a.go", "src/b.go", "src", "src/", "dir with space/c.go", "odd:3", "Makefile", "v1.", "./a.go", "app.route"}

func known(name string) bool { return slices.Contains(there, name) }

func file(name string, lines ...int) Mention {
	m := Mention{Kind: File, Path: name}
	if len(lines) > 0 {
		m.First, m.Last = lines[0], lines[1]
	}
	return m
}

func TestFind(t *testing.T) {
	for text, want := range map[string][]Mention{
		"what does @a.go do?":                      {file("a.go")},
		"@a.go":                                    {file("a.go")},
		"look at @a.go, (@src/b.go) and @src.":     {file("a.go"), file("src/b.go"), file("src")},
		"@src/ and @./a.go":                        {file("src/"), file("./a.go")},
		"is @Makefile?! right":                     {file("Makefile")},
		"@a.go:7":                                  {file("a.go", 7, 7)},
		"@a.go:3-10, please":                       {file("a.go", 3, 10)},
		"see @a.go:3-10.":                          {file("a.go", 3, 10)},
		"see @a.go: it is wrong":                   {file("a.go")},
		"@a.go#L3 @a.go#L3-L10 @a.go#L4-9":         {file("a.go", 3, 3), file("a.go", 3, 10), file("a.go", 4, 9)},
		"@a.go:10-3":                               {file("a.go", 10, 10)},
		"@a.go:0":                                  nil,
		"@odd:3 is a name":                         {file("odd:3")},
		"@v1. ends so":                             {file("v1.")},
		`@"dir with space/c.go" and "@a.go"`:       {file("dir with space/c.go"), file("a.go")},
		`@"dir with space/c.go":3-4`:               {file("dir with space/c.go", 3, 4)},
		`@"dir with space/c.go"#L2.`:               {file("dir with space/c.go", 2, 2)},
		"@\"dir with\nspace/c.go\"":                nil,
		"@selection and @diagnostics.":             {{Kind: Selection}, {Kind: Diagnostics}},
		"@selections":                              nil,
		"mail me@a.go or x@src":                    nil,
		"@app.route in code is `@a.go` no mention": {file("app.route")},
		"@decorator @param @types/node @":          nil,
		"``@a.go ` x`` @src":                       {file("src")},
		"an open ` and @a.go":                      {file("a.go")},
		"```py\n@a.go\n```\n@src":                  {file("src")},
		"````\n```\n@a.go\n````\n@src":             {file("src")},
		"> ```\n> @a.go\n> ```":                    nil,
		"```\n@a.go":                               nil,
		"+@a.go -@a.go @@a.go @@ -1 +1 @@":         nil,
		"@a.go @a.go @src":                         {file("a.go"), file("src")},
		"<@a.go> «@src»":                           {file("a.go")},
		"":                                         nil,
	} {
		require.Equal(t, want, Find(text, known), "%q", text)
	}
}

func TestWhatCountsIsBounded(t *testing.T) {
	var names []string
	for i := range 2 * Max {
		names = append(names, "@a.go:"+strings.Repeat("1", i%6+1)+string(rune('0'+i/6)))
	}
	require.LessOrEqual(t, len(Find(strings.Join(names, " "), known)), Max)
	require.Empty(t, Find("@"+strings.Repeat("x", 1<<20), func(name string) bool { require.LessOrEqual(t, len(name), maxPath); return false }))
}

func FuzzFind(f *testing.F) {
	f.Add("a @a.go:3-4, `x` ```\n@src @\"a.go\"#L1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range Find(text, func(string) bool { return true }) {
			require.Contains(t, text, m.Path)
			require.LessOrEqual(t, m.First, m.Last)
		}
	})
}
