package editors

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatACallWouldChangeIsRead(t *testing.T) {
	for _, tt := range []struct{ name, tool, arguments, want string }{
		{"a patch", PatchTool, `{"patch":"-a\n+b\n"}`, "-a\n+b\n"},
		{"another spelling beside it", PatchTool, `{"patch":"-a","Patch":"-b"}`, `{"patch":"-a","Patch":"-b"}`},
		{"another name", PatchTool, `{"input":"-a"}`, `{"input":"-a"}`},
		{"not a text", PatchTool, `{"patch":["-a"]}`, `{"patch":["-a"]}`},
		{"cut", PatchTool, `{"patch":"-a\n+`, `{"patch":"-a\n+`},
		{"another tool", "exec_command", `{"patch":"-a"}`, ""},
	} {
		require.Equal(t, tt.want, Item{Tool: tt.tool, Arguments: tt.arguments}.Proposal(), tt.name)
	}
}
