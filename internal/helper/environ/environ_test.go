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
