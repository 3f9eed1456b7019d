package tools

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirs(t *testing.T) {
	for _, c := range []struct {
		tool string
		args obj
		want []string
	}{
		{readFile, obj{"path": "a/b/c.go"}, []string{"a/b"}},
		{readFile, obj{"path": "c.go"}, []string{"."}},
		{readFile, obj{}, nil},
		{execCommand, obj{"command": "ls", "workdir": "a/b"}, []string{"a/b"}},
		{execCommand, obj{"command": "ls"}, nil},
		{list, obj{"path": "a/"}, []string{"a"}},
		{search, obj{"pattern": "x", "path": "a/b"}, []string{"a/b"}},
		{applyPatch, obj{"patch": "*** Update File: a/x\n*** Move to: b/x\n-a\n+b\n*** Delete File: y\n"}, []string{"a", "b", "."}},
		{applyPatch, obj{"patch": "nothing"}, nil},
		{writeStdin, obj{"command_id": "x"}, nil},
		{"unknown", obj{}, nil},
	} {
		require.Equal(t, c.want, Dirs(call("e", c.tool, c.args)), "%s %v", c.tool, c.args)
	}
	require.Nil(t, Dirs(Call{Name: readFile, Arguments: "{"}))
}
