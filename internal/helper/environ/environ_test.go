// This file tests what passes into a command's environment.

package environ

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInherit(t *testing.T) {
	in := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_CACHE_HOME=/c", "GOFLAGS=-x", "https_proxy=http://p",
		"OPENAI_API_KEY=s", "MY_TOKEN=s", "AWS_REGION=s", "XDG_SESSION_TOKEN=s", "E2B_X=s", "DAYTONA_X=s", "TEMPORAL_NAMESPACE=s",
		"db_password=s", "RANDOM=s", "CI=true", "LD_PRELOAD=s", "BASH_ENV=s", "BASH_FUNC_x%%=s", "nonsense",
	}
	require.Equal(t, in[:6], Inherit(in))
}

func TestInheritWithoutCredentials(t *testing.T) {
	for in, want := range map[string]string{
		"PIP_INDEX_URL=https://u:s3cret@pypi.corp/simple":                       "PIP_INDEX_URL=https://pypi.corp/simple",
		"PIP_INDEX_URL=https://s3cret@pypi.corp/simple":                         "PIP_INDEX_URL=https://pypi.corp/simple",
		"PIP_INDEX_URL=https://pypi.corp/simple?token=s3cret":                   "",
		"PIP_INDEX_URL=https://pypi.corp/simple?page=2":                         "PIP_INDEX_URL=https://pypi.corp/simple?page=2",
		"HTTPS_PROXY=http://u:s3cret@proxy:3128":                                "HTTPS_PROXY=http://proxy:3128",
		"https_proxy=u:s3cret@proxy:3128":                                       "https_proxy=proxy:3128",
		"ALL_PROXY=socks5h://u:p@s3cret@proxy":                                  "ALL_PROXY=socks5h://proxy",
		"HTTP_PROXY=http://u:s3/cret@proxy":                                     "",
		"HTTP_PROXY=proxy:3128":                                                 "HTTP_PROXY=proxy:3128",
		"GOPROXY=https://u:s3cret@a.corp|HTTPS://v:s3cret@b.corp,direct":        "GOPROXY=https://a.corp|HTTPS://b.corp,direct",
		"GOPROXY=https://a.corp,https://b.corp:80/x,off":                        "GOPROXY=https://a.corp,https://b.corp:80/x,off",
		"XDG_DATA_DIRS=ssh://u:s3cret@h/x":                                      "XDG_DATA_DIRS=ssh://h/x",
		"PIP_INDEX_URL=https://h/x?sv=1&sig=s3cret":                             "",
		"NO_PROXY=a.corp,.b.corp":                                               "NO_PROXY=a.corp,.b.corp",
		"PATH=/opt/node@18/bin:/bin":                                            "PATH=/opt/node@18/bin:/bin",
		"GOFLAGS=-ldflags=-X=m/v.url=https://u:s3cret@h:80/ -tags=a@b -mod=mod": "GOFLAGS=-ldflags=-X=m/v.url=https://h:80/ -tags=a@b -mod=mod",
		"LC_ALL=de_DE@euro":                                                     "LC_ALL=de_DE@euro",
	} {
		got := Inherit([]string{in})
		if want == "" {
			require.Empty(t, got, in)
		} else {
			require.Equal(t, []string{want}, got, in)
		}
	}
}

func TestCommand(t *testing.T) {
	env := Command([]string{"HOME=/h", "PAGER=less", "EDITOR=vim"}, []string{"A=1", "PATH=/mine", "A=2"}, "/w", false)
	require.Equal(t, "/mine", Lookup(env, "PATH"))
	require.Equal(t, "2", Lookup(env, "A"))
	require.Equal(t, "/w", Lookup(env, "PWD"))
	require.Equal(t, "cat", Lookup(env, "PAGER"))
	require.Equal(t, "dumb", Lookup(env, "TERM"))
	require.Equal(t, "", Lookup(env, "NONE"))
	require.Equal(t, 1, len(slices.DeleteFunc(slices.Clone(env), func(s string) bool { return s[0] != 'A' })))
	require.Equal(t, "xterm-256color", Lookup(Command(nil, nil, "/", true), "TERM"))
	require.Equal(t, DefaultPath, Lookup(Command(nil, nil, "/", true), "PATH"))
}
