// This file checks what patterns cover, which are refused, and which are proposed.

package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestRulesCoverSimpleCommands(t *testing.T) {
	cases := []struct {
		pattern, command string
		want             bool
	}{
		{"npm test *", "npm test", true},
		{"npm test *", "npm test unit", true},
		{"npm test *", "npm   test 'unit'", true},
		{"npm test *", "cd . && npm test", true},
		{"npm test *", "npm test | tail -5", true},
		{"npm test *", "npm test 2>&1 | grep -c ok", true},
		{"npm test *", "timeout 60 npm test", true},
		{"npm test *", "sh -c 'npm test a; ls'", true},
		{"npm test *", "npm test &", true},
		{"npm test *", "for i in 1 2; do npm test; done", true},
		{"npm test *", "echo $(npm test)", true},
		{"npm test *", "npm", false},
		{"npm test *", "npm tests", false},
		{"npm test *", "npm test --prefix ../x", false},
		{"npm test *", "npm test -- --watch", false},
		{"npm test *", "npm test ../x", false},
		{"npm test *", "npm test /x", false},
		{"npm test *", "npm test ~/x", false},
		{"npm test *", "npm test A=b", false},
		{"npm test *", "npm test @x", false},
		{"npm test *", "npm test $x", false},
		{"npm test *", `npm test "$x"`, false},
		{"npm test *", "npm test $(ls)", false},
		{"npm test *", "npm test x*", false},
		{"npm test *", "npm test {a,b}", false},
		{"npm test *", "npm test > f", false},
		{"npm test *", "npm test <(rm x)", false},
		{"npm test *", "A=b npm test", false},
		{"npm test *", "npm test; rm x", false},
		{"npm test *", "npm test && npm publish", false},
		{"npm test *", "cd web && npm test", false},
		{"npm test *", "cd web; npm test", false},
		{"npm test *", "npm test; cd web", false},
		{"npm test *", "sudo npm test", false},
		{"npm test *", "ls | xargs npm test", false},
		{"npm test *", "find . -exec npm test {} ;", false},
		{"npm test *", "npm() { rm x; }; npm test", false},
		{"npm test *", "(in web) npm test", false},
		{"npm test *", "ls", false},
		{"(in web) npm test *", "cd web && npm test", true},
		{"(in web) npm test *", "cd ./web/ && npm test && ls", true},
		{"(in web) npm test *", "cd web || npm test", false},
		{"(in web) npm test *", "cd web && npm test || ls", false},
		{"(in web) npm test *", "cd web && cd .. && npm test", false},
		{"(in web) npm test *", "npm test", false},
		{"go test *", "go test -run TestX -v ./internal/...", true},
		{"go test *", "go test -count=1 ./...", true},
		{"go test *", "go test -exec sh ./...", false},
		{"go test *", "go test -o f ./...", false},
		{"go test *", "go test -toolexec=x ./...", false},
		{"go test ./...", "go test ./...", true},
		{"go test ./...", "go test './...'", true},
		{"go test ./...", " go  test ./... ", true},
		{"go test ./...", "go test ./... -v", false},
		{"go test ./...", "go test", false},
		{"git push origin main", "git push origin main", true},
		{"git push origin main", "git push origin main --force", false},
		{"git commit *", "git commit -m x", false},
		{"rm -rf build", "rm -rf build", true},
		{"rm *", "rm *", true}, // its whole text
		{"rm *", "rm x", false},
		{"make > out", "make > out", true},
		{"make > out", "make", false},
		{"make > out", "make > out; ls", false},
		{"echo $x > f", "echo $x > f", true},
		{"sudo ls", "sudo ls -l", false},
	}
	for _, c := range cases {
		got := covers([]Rule{{Tool: execCommand, Pattern: "unrelated"}, {Tool: execCommand, Pattern: c.pattern}}, shellCall(t, c.command))
		require.Equal(t, c.want, got, "%s covers %s", c.pattern, c.command)
	}
}

func TestRulesMindTheNetworkAndTheRoot(t *testing.T) {
	call := func(command, root string, network bool) Call {
		text, err := json.Marshal(map[string]any{"command": command, "network": network})
		require.NoError(t, err)
		return Call{Name: execCommand, Arguments: string(text), Root: root}
	}
	rules := []Rule{{Tool: execCommand, Pattern: "npm test *"}, {Tool: execCommand, Pattern: "(with network) npm install"}}
	require.False(t, covers(rules, call("npm test x", "", true)))
	require.False(t, covers(rules, call("npm install", "", false)))
	require.True(t, covers(rules, call("ls; npm install", "", true)))
	require.True(t, covers(rules, call("cd /w && npm test", "/w", false)))
	require.False(t, covers(rules, call("cd /w && npm test", "/v", false)))
	require.False(t, covers(rules, call("cd /wider && npm test", "/w", false)))
	require.True(t, onlyReads(judgeText("cd /w && git status", "", "/w")))
	require.False(t, onlyReads(judgeText("cd /w && (cd x; git status)", "", "/w")))
	require.False(t, onlyReads(judgeText("git status", "sub", "/w")))
	require.False(t, covers(rules, Call{Name: execCommand, Arguments: call("ls; npm test", "", false).Arguments, Whole: true}))
}

func TestWidePatternsAreRefused(t *testing.T) {
	for _, p := range []string{
		"", " ", "*", "rm *", "sudo ls", "sudo *", "sh *", "bash *", "bash -c *", "sh -c 'ls' *", "python *", "python3 -c *", "python -m *", "node -e *", "perl *", "xargs *", "env *", "env A=b *", "nohup *", "timeout 5 *", "find *", "find . *", "nice *", "eval *", "exec *",
		"command *", "npx *", "git *", "npm *", "go *", "cargo *", "docker *", "go run *", "npm exec *", "npm run *", "git config *", "git -c *", "curl *", "ssh *", "make *", "make test *", "gradle *", "sed *", "awk *", "cp *", "mv *", "chmod *", "dd *", "tee *", "less *", "/bin/rm *", "/usr/bin/sudo ls",
		"ls | rm *", "ls > f", "A=b make", "npm test; ls", "npm $x", "npm t* *", "npm * test", "npm test &", "! ls", "(in web npm test", "(in ) npm test", "~/bin/x", "$(x)", "npm test # x", "a\nb", "f() { x; }", "npm {a,b}", "npm test 'a", "time ls",
	} {
		_, err := ParsePattern(p)
		require.Error(t, err, "%q", p)
	}
	for _, p := range []string{"npm test *", "go test ./...", "git push origin main", "git push *", "git commit *", "npm run build *", "python manage.py test *", "python -m pytest *", "./run.sh *", "make test", "rm -rf build", "bash build.sh", "(in web) npm test *", "(with network) (in web) npm install", "pytest *", "echo 'a b' *"} {
		_, err := ParsePattern(p)
		require.NoError(t, err, "%q", p)
	}
}

func TestProposals(t *testing.T) {
	for command, want := range map[string]string{
		"npm test": "npm test *", "npm test unit": "npm test *", "npm test -- --watch": "npm test -- --watch", "npm run lint": "npm run lint *", "npm run": "npm run",
		"go test ./... -run TestX": "go test *", "go test -exec sh ./...": "go test -exec sh ./...", "cargo test": "cargo test *", "python3 -m pytest -k x": "python3 -m pytest -k x",
		"make": "make", "make test": "make test", "rm -rf build": "rm -rf build", "git push origin main": "git push origin main", "ls | head; go test ./...": "go test *",
		"cd web && npm test": "(in web) npm test *", "timeout 60 npm test": "npm test *", "sh -c 'make all'": "make all", "make 'a b'": "make 'a b'",
		"python": "", "bash": "", "sudo ls": "", "ls | xargs sudo": "", "eval $x": "", "$x": "", ". env.sh": "", "sh -c \"$x\"": "", "env -S x": "", "git add *": "",
		"make > out": "make > out", "make && npm publish": "make && npm publish", "rm *": "rm *", "make $x": "make $x", "A=b make": "A=b make", "(in web) make": "",
	} {
		v := judge(editors.ApprovalAsk, shellCall(t, command), true)
		require.Equal(t, Ask, v.Decision, command)
		require.Equal(t, want, v.Pattern, command)
		if want != "" {
			require.True(t, covers([]Rule{{Tool: execCommand, Pattern: want}}, shellCall(t, command)), command)
		}
	}
}
