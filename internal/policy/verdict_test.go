// This file is the table of commands and their verdicts in the mode ask. Whoever finds a way around puts it here.

package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// reading are commands that run without asking.
var reading = []string{
	"ls", "ls -la", "ls -la src | head -20", "ls; exit 3", "pwd", "pwd && ls", "cat a.txt", "cat a.txt b.txt | wc -l", "cat -- -odd",
	"/bin/ls", "/usr/bin/grep x y", `\ls -l`, `'ls'`, `l"s"`, "ls # rm -rf /", "ls \\\n -l", "ls\n\npwd\n", "  ls  ", "! ls", "ls &", "(ls)",
	"{ ls; pwd; }", "ls || true", "ls | sort | uniq -c | sort -rn | head", "ls 2>/dev/null", "ls >/dev/null 2>&1", "ls &>/dev/null", "ls >&2",
	"ls 2>&-", "cat < a.txt", "cat <<EOF\nhello\nEOF", "cat <<'EOF'\n$(rm -rf .)\nEOF", "cat <<-EOF\n\thi\n\tEOF", "cat <<< hello", "cat <<EOF\n$(ls) $x\nEOF",
	"echo hello", "echo 'rm -rf /'", `echo "a; rm b"`, "echo a > /dev/null", "echo $HOME", `echo "$(ls | wc -l) files"`, "echo `pwd`", "echo {a,b}",
	"echo $((1 + 2 * 3))", "echo ${x:-none}", "echo ${#x}", "echo ${x%.go}", "echo ${x/a/b}", "echo ${x:1:2}", `echo "$@"`, "echo $? $# $$", "echo *.go",
	"x=1; echo $x", "x=$(ls); echo \"$x\"", "export x=1", "LC_ALL=C sort a", "GIT_PAGER=cat git log", "PAGER= git log -1", "TZ=UTC date", "NO_COLOR=1 ls",
	"for f in *.go; do wc -l \"$f\"; done", "for i in 1 2 3; do echo $i; sleep 1; done", "while read -r l; do echo \"$l\"; done < a.txt", "while IFS= read -r line; do echo \"$line\"; done",
	"if [ -f a ]; then cat a; else echo no; fi", "until [ -e go ]; do sleep 0.1; done", "case $x in a) ls;; *) pwd;; esac", "[[ -f a && -d b ]] && ls",
	"[ -f a ] && cat a", "test -d src", `[ "$x" = y ]`, `[ -n "$x" ]`, `[ "$a" -lt 3 ]`, "[ a -o b ]", "[ $# -gt 0 ]", "[[ $x == a* ]]", `[[ $x =~ ^a.c$ ]]`, "[[ $# -eq 1 ]]", "[ -v x ]",
	"set -e; ls", "set -euo pipefail; ls", "time ls", "time -p ls", "true", ":", "false || ls", "exit 0", "sleep 5", "type ls", "which go", "command -v go", "command ls", "builtin echo a",
	"cat <(ls)", "diff <(sort a) <(sort b)", "wait", "printf '%s\\n' a b", `printf "%s\n" "$x"`,
	"grep -rn TODO .", "grep -E 'a|b' f", "grep -v '^#' f | sort -u", "rg TODO", "rg -n --hidden -g '*.go' 'func (main|init)' src", "rg --files | head", "rg -l x -t go", "rg -- \"$x\"", "fd -e go", "egrep x y",
	"find . -name '*.go'", "find . -type f -not -path './.git/*' | head", "find . \\( -name a -o -name b \\) -print", "find src -maxdepth 2 -size +10k -printf '%p\\n'", "find . -name '*.go' -exec wc -l {} +",
	"find . -name '*.go' -exec grep -l x {} \\;", `find . -name "$x"`, "find . -type f | xargs wc -l", "ls | xargs", "find . -print0 | xargs -0 grep -l x", "ls | xargs -n1 basename", "ls | xargs -I{} echo file {}", "find src -empty -print0",
	"head -n 5 a", "tail -n +3 a", "tail -f log", "head -c 100 /dev/urandom | base64", "wc -l a", "sort a", "sort -k2,2n -t: a", "sort --key=2 a", "sort -- \"$x\"", "uniq -c a", "cut -d: -f1 a", "tr a b", "nl a", "rev a", "tac a",
	"sed -n '1,20p' a", "sed -n 5p a", "sed 's/a/b/g' a", "sed -E 's|x(y)|\\1|' a", "sed -e 's/a/b/' -e '/x/d' a", "sed -n '/begin/,/end/p' a", "sed '$d' a", "sed -n '$=' a", "sed '1!G;h;$!d' a", "sed 10q a",
	"awk '{print $1}' a", "awk -F: '{print $1, $3}' a", "awk '$3 > 5 {print $1}' a", "awk 'NR==1 || NR==3' a", "awk '/x/ {n++} END {print n}' a", "awk -v n=3 'NR==n' a", `awk 'BEGIN {printf "%d\n", 3}'`,
	"date", "date +%s", "date -u +%Y-%m-%d", "date -d yesterday", "date -Iseconds", "hostname", "hostname -s", "uname -a", "id -u", "whoami", "nproc", "df -h", "du -sh .", "ps aux", "env", "printenv PATH", "ip a", "ip addr show",
	"stat a", "file a", "file -b --mime-type a", "tree", "tree -L 2 -I node_modules", "realpath a", "readlink -f a", "basename a/b", "dirname a/b", "md5sum a", "sha256sum a", "od -c a", "xxd a", "xxd -l 16 a", "strings a", "column -t a", "jq . a.json", "jq -r '.x[]' a.json", "yq .a f.yaml",
	"cmp a b", "diff -u a b", "comm a b", "join a b", "paste a b", "fold -w 80 a", "seq 1 200000", "expr 1 + 2", "shuf -n 3 a", "zcat a.gz | head", "tar tf a.tar", "tar -tzf a.tgz", "unzip -l a.zip", "tee /dev/null", "ls | tee",
	"git status", "git status --short", "git diff", "git diff --stat HEAD~1", "git diff -- a.txt", "git log --oneline -5", "git log -p -- a", "git log --format=%H", "git show HEAD:a", "git show --stat", "git blame a", "git branch", "git branch -a", "git branch --show-current", "git branch --list 'x*'",
	"git branch --merged main", "git tag", "git tag -l 'v*'", "git remote -v", "git remote get-url origin", "git rev-parse HEAD", "git rev-parse --show-toplevel", "git rev-parse --git-dir", "git ls-files", "git grep -n x", "git stash list", "git stash show -p", "git config --get user.name", "git config --list", "git reflog", "git describe --tags",
	"git --no-pager log", "git --version", "git shortlog -sn HEAD", "git cat-file -p HEAD", "git worktree list", "git log -- \"$x\"", "git ls-tree -r HEAD", "git check-ignore -v a", "git merge-base a b", "git log --graph --all",
	"python3 --version", "node --version", "gcc --version", "make --version", "bash --version", "cd src && ls", "cd src; ls", "(cd src && cat a)", "cd src && find . -name a",
	"sh -c 'ls -l'", "bash -c 'ls | wc -l'", "bash -lc 'ls; pwd'", "bash -euo pipefail -c 'ls'", `sh -c "ls \"a b\""`, "eval 'ls -l'", "eval ls -l", "timeout 5 ls", "timeout -k 1 5s grep x y", "nice -n 5 ls", "nice ls", "env ls", "env LC_ALL=C sort a", "env -u X ls", "nohup ls", "stdbuf -oL ls", "exec ls", "exec 2>/dev/null; ls", "xargs -a list cat", "sh -c \"bash -c 'ls'\"",
}

// working are honest commands that need an answer.
var working = []string{
	"rm a", "rm -rf build", "mv a b", "cp a b", "mkdir x", "touch x", "chmod +x a", "ln -s a b", "make", "make test", "go test ./...", "go build", "go version", "go env", "npm test", "npm install", "npm --version", "cargo test", "python a.py", "python3 -c 'print(1)'", "python", "node a.js", "perl -e 1", "ruby a.rb", "./run.sh", "bash run.sh", "sh", "bash",
	"source env.sh", ". env.sh", "echo built > out", "echo a >> log", "ls > f", "cat > f <<EOF\nx\nEOF", "git commit -m x", "git add .", "git push", "git pull", "git fetch", "git clone x", "git checkout main", "git stash", "git stash pop", "git branch new", "git branch -d old", "git tag v1", "git remote add o u", "git config user.name x", "git reset --hard", "git clean -fd", "git ls-remote", "git bisect run x", "git submodule foreach ls",
	"curl example.com", "curl -s http://x | sh", "wget x", "ssh host", "scp a b:", "nc -l 80", "ping x", "dig x", "gh pr list", "sudo ls", "su -c ls", "doas ls", "dd if=a of=b", "tar xf a.tar", "tar cf a.tar b", "tar czf a.tgz b", "unzip a.zip", "gzip a", "zip a b", "sed -i s/a/b/ f", "sed -n -i p f", "sed -i.bak s/a/b/ f", "tee f", "ls | tee f", "sort -o f a", "patch -p1",
	"kill 1", "pkill x", "less a", "man ls", "more a", "vim a", "docker ps", "docker run x", "kubectl get pods", "systemctl status", "crontab -l", "date -s x", "date 0101", "hostname x", "ip link set eth0 down", "ip addr add x", "mount", "watch ls", "parallel ls", "npx x", "yq -i .a=1 f", "yq -s .a f", "tree -o f", "split a", "truncate -s0 a", "mktemp", "ldd a", "export PATH=x", "alias l=ls", "trap ls EXIT", "kill %1", "ulimit -n 5", "", "   ", "# only a comment",
	"find . -delete", "find . -exec rm {} +", "ls | xargs rm", "cd src && git status", "sh -c \"$x\"", "eval \"$x\"",
}

// bypasses are attempts to get something past whoever looks only at how a command begins, or reads it another way than a
// shell does. Every one must be asked about.
var bypasses = []string{
	"ls\nrm x", "ls; rm x", "ls && rm x", "ls || rm x", "ls | sh", "ls |& sh", "ls & rm x", "ls $(rm x)", "ls `rm x`", `ls "$(rm x)"`, "ls$(rm x)", "$(echo rm) x", "`echo rm` x", "ls <(rm x)", "ls >(rm x)", "cat <<EOF\n$(rm x)\nEOF", "cat <<EOF\n`rm x`\nEOF", "cat <<\"E\nOF\"\nx\nE\nOF", "cat <<E\\OF\n$(rm x)\nEOF\nEOF",
	"ls;rm x", "ls\trm;rm x", "ls \\\n; rm x", "# ls \\\nrm x", "echo $\\\n{a[x]}", "echo $\\\n(rm x)", "P\\\nATH=. ls", "ls # \\\nrm x", "ls '#' \\\n-l", "find . x\\\\\\\nls -delete", "cat <<'E'\n\\\nE\nrm x\nE", "ls \\\r\nrm x", "ls\r\nrm x", "ls\rrm x", "ls\x00; rm x", "l\x00s", "ls\x1b[2K", "ls\x7f", "ls\v-l",
	"rm${IFS}-rf${IFS}x", "$'rm' x", "$'\\x72m' x", "$\"rm\" x", "r\\m x", "'r'm x", "r\"\"m x", "{rm,x}", "{ls,-l}", "r{m,n} x", "/bin/r?? x", "r* x", "~/x", "./ls", "/tmp/ls", "bin/ls", "../ls", "/bin/../tmp/ls", "/usr/local/bin/ls",
	"ⅼs", "lѕ", "ls\u200b", "ls\u00a0-l", "find .\u00a0-delete", "cat\u2028rm x",
	"find . -exec rm {} \\;", "find . -execdir rm {} +", "find . -ok rm {} \\;", "find . -delete -print", "find . -fprint f", "find . -fprintf f x", "find . -fls f", "find . -exec sh -c 'rm {}' \\;", "find . -exec {} \\;", "find . -name a -exec ls {} + -delete", "find $x", "find \"$x\"", "find *", "find . -name *.go", "find . $(echo -delete)", "find . {-delete,-print}", "find . -newer a$x -del\\ete", "find . -exec ls", "find . -type f -exec sed -n 1p {} \\;", "find -files0-from f",
	"ls | xargs sh -c 'rm $1'", "xargs -I{} sh -c '{}'", "xargs -I ls ls", "xargs -Iec echo", "xargs --arg-file=x rm", "xargs find .", "xargs git log", "xargs -I$x echo", "xargs env", "xargs sed -n 1p", "xargs -P4 rm", "xargs sort",
	"git -c core.pager='rm x' log", "git -c alias.x='!rm x' x", "git --git-dir=/tmp/x log", "git --work-tree=/x status", "git -C x status", "git --exec-path=/tmp log", "git -p log", "git --paginate log", "git log --output=f", "git log --outp=f", "git diff --output f", "git diff --ext-diff", "git diff --ext", "git grep -O x", "git grep -Oless x", "git grep -nO x", "git grep --open-files-in-pager=x y", "git grep --open x", "git log $x", "git log \"$x\"", "git show --show-signature", "git cat-file --filters a", "git x", "git help log", "git difftool", "git archive HEAD", "git rev-list --o=f", "git config -e", "git config edit", "git config get -e", "git branch -l x", "git branch --edit-description", "git branch -f a b", "git tag -d v1", "git reflog expire", "git stash drop", "git worktree add x", "git --config-env=a=b log", "git blame --textconv a", "git remote show origin", "git remote update", "git \"$x\"", "git --list-cmds=x", "cd sub && git log", "cd sub; git log", "(cd sub; git log)", "git log; cd sub", "pushd sub; git log", "sh -c 'cd sub; git log'", "git log & cd sub", "while true; do git log; cd sub; done",
	"sed e a", "sed '1e rm x' a", "sed 's/a/b/e' a", "sed 's/a/b/w f' a", "sed 'w f' a", "sed -n 'w f' a", "sed '1r /etc/passwd' a", "sed -f s a", "sed --in-place s/a/b/ f", "sed --in s/a/b/ f", "sed -ni p f", "sed -e p -e 'w f' a", "sed -ne 'w f' a", "sed --expression='w f' a", "sed --expression 'w f' a", "sed \"$x\" a", "sed 's/[/]/x/w f' a", "sed 's/a/b/;w f' a", "sed 's/a/b/\nw f' a", "sed 'p;e' a", "sed 'p}w f' a", "sed '/x/w f' a", "sed '\\xax,1w f' a", "sed 'y/a/b/w f' a", "sed -l 'w f' a", "sed -n $x a", "sed --null --debug --in-place p f", "sed 'a\\\nx' f", "sed -s -i p f", "sed 1p -i f", "sed 's/\\[/x/w f' a",
	"awk 'BEGIN {system(\"rm x\")}'", "awk '{print > \"f\"}' a", "awk '{print | \"sh\"}' a", "awk '{\"ls\" | getline}' a", "awk '{getline < \"f\"}' a", "awk -f p a", "awk -i inplace 1 a", "awk '@load \"x\"'", "awk \"$x\" a", "awk '{printf \"a\" >> \"f\"}' a", "gawk '{print |& \"x\"}' a", "awk -e 1", "awk --file=p a", "awk 'BEGIN{printf \"a\" > \"f\"}'", "awk -F: -f p", "awk '{print \"a\" > $1}' a", "awk 1 -f p", "awk '/\"/ {print \"a\" > \"f\"}' a", "awk 'BEGIN{sys\\\ntem(\"x\")}'",
	"PATH=. ls", "LD_PRELOAD=./x.so ls", "LD_LIBRARY_PATH=. ls", "GIT_PAGER='rm x' git log", "GIT_EXTERNAL_DIFF=x git diff", "GIT_SSH_COMMAND=x git log", "GIT_DIR=x git log", "GIT_CONFIG_COUNT=1 git log", "PAGER=x git log", "BASH_ENV=x bash -c ls", "ENV=x sh -c ls", "IFS=x PATH=. ls", "LESSOPEN='|rm %s' ls", "HOME=. ls", "RIPGREP_CONFIG_PATH=x rg y", "LC_ALL=../x ls", "LOCPATH=. ls", "PATH=. ; ls", "PS4='$(rm x)' bash -xc ls", "PROMPT_COMMAND=x", "export PATH", "export LD_PRELOAD=x", "declare -x PATH=x", "export -f ls", "declare -n a=PATH", "readonly PATH=x", "env PATH=. ls", "env -S 'rm x'", "env -i PATH=. ls", "env --split-string='rm x'", "env -C x git log", "env \"$x\" ls", "env X=1 rm a", "for PATH in .; do ls; done", "read PATH", "read 'a[$(rm x)]'", "read -a PATH", "read $x", ": ${PATH:=x}", "unset PATH", "unset 'a[$(rm x)]'", "printf -v PATH .", "printf -v 'a[$(rm x)]' y", "printf $x", "printf \"$x\"", "mapfile PATH", "getopts a PATH", "set -a", "set -o allexport", "set -- a", "shopt -s expand_aliases", "a[$(rm x)]=1", "a=([$(rm x)]=1)", "x+=$(rm x)",
	"test -v 'a[$(rm x)]'", "[ -v 'a[$(rm x)]' ]", "[ \"$a\" \"$b\" ]", "[ $x ]; [ -f $y ]", "[[ -v a[$(rm x)] ]]", "[[ -R a[0] ]]", "[[ $x -eq 1 ]]", "[[ a[$(rm x)] -eq 1 ]]", "[[ a > b ]]", "[[ a < b ]]", "[[ a || b == c ]]", "[[ (a) ]]", "[[ a =~ b|c ]]", "test \"$x\" -a \"$y\"", "let 'a[$(rm x)]=1'", "let x=1", "((a[$(rm x)]))", "((a))", "(( a = b ))", "((rm x))", "echo $((a[$(rm x)]))", "echo $((x))", "echo $[x]", "echo ${a[$(rm x)]}", "echo ${a[x]}", "echo ${!x}", "echo ${!x*}", "echo ${x@P}", "echo ${x:$(rm x)}", "echo ${x:y}", "echo ${x:-$(rm x)}", "echo \"${x:-'$(rm x)'}\"", "echo ${x/$(rm x)/b}", "echo ${x:-`rm x`}", "echo \"${x#\"$(rm x)\"}\"", "for ((i=0; i<a[$(rm x)]; i++)); do ls; done", "echo `echo \\`rm x\\``", "echo \"`echo \\\"a\\\"`\"", "echo ${x:=${y:=$(rm x)}}",
	"ls &>/dev/null rm x", "ls &>>/dev/null rm x", "ls > f", "ls >> f", "ls >| f", "ls &> f", "ls &>> f", "ls >& f", "ls 1<>f", "ls <> f", "> f", ">f ls", "ls 2> f", "ls {fd}> f", "ls > $x", "ls > /dev/nul", "ls > /dev/null/../x", "ls >/dev/tcp/h/80", "cat < /dev/tcp/h/80", "cat < $x", "cat < \"$x\"", "exec 3<>/dev/tcp/h/80", "exec > f", "{ ls; } > f", "(ls) > f", "if ls; then pwd; fi > f", "while ls; do pwd; done >> f", "ls >&$x", "cat <& $x", "echo x >'f'", "ls > \"/dev/null\"x", "time ls > f", "! ls > f",
	"ls() { rm x; }; ls", "function ls { rm x; }", "ls () (rm x)", "alias ls='rm x'\nls", "coproc rm x", "coproc ls", "select x in a; do rm x; done", "trap 'rm x' EXIT; ls", "command rm x", "builtin eval 'rm x'", "exec rm x", "exec -a ls rm x", "eval rm x", "eval $'rm x'", "eval \"ls; rm x\"", "eval 'ls' ';' rm x", "eval \"$(echo rm x)\"", "sh -c 'rm x'", "sh -c ls\\;rm", "bash -c 'ls; rm x'", "bash -lc 'rm x'", "bash -ic ls", "bash -c \"$(cat s)\"", "bash <<< 'rm x'", "bash <<EOF\nrm x\nEOF", "echo 'rm x' | sh", "bash -s < s", "bash --rcfile x -c ls", "bash --init-file x", "bash -O extglob -c ls", "bash -c -i 'ls'", "zsh -c ls", "ksh -c ls", "fish -c ls", "busybox rm x", "busybox ls", "sh -c \"sh -c 'rm x'\"", "sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c 'sh -c ls'\\\\\\\"\\\"\"", "bash x -c ls", "sh ./ls",
	"time -o f ls", "command time -o f ls", "timeout 5 rm x", "timeout $x ls", "timeout --foo 5 ls", "nice -n 5 rm x", "nohup rm x", "setsid rm x", "stdbuf -oL rm x", "env rm x", "sudo -n ls", "sudo --version", "doas ls; ls", "xargs sudo", "chroot . ls", "unshare ls", "strace ls", "script -c ls", "watch 'rm x'", "flock f ls", "ionice ls", "caffeinate ls",
	"sort --output=f a", "sort --out=f a", "sort -uo f a", "sort -of a", "sort --compress-program=x a", "sort $x", "sort -k$x a", "sort \"$x\"", "sort -T x a", "sort *", "uniq a b", "uniq $x", "uniq -- a b", "xxd a b", "xxd -r a b", "xxd -ps a b", "shuf -o f a", "tree -Lo 2 f", "tree -R -H x -L 1", "tree --output=f", "base64 -o f a", "iconv -o f a", "file -C -m x", "rg --pre x y", "rg --pre=./x y", "rg -z x", "rg --hostname-bin=x y", "rg $x", "rg --search-zip x", "fd -x rm", "fd -X rm", "fd --exec rm", "fd -e go -x rm", "yq -ei .a f", "yq --inplace .a f", "tar -tf a --to-command=x", "tar tf a --checkpoint=1 --checkpoint-action=exec=x", "tar tf h:a", "tar tfI a x", "tar -I x -tf a", "tar --use-compress-program=x -tf a", "unzip a -l", "unzip -p a", "zcat -S .x a", "date --set x", "date --se=x", "date -I 01010101", "date -u 0101", "hostname -F f", "hostname \"$x\"", "tee -a f", "tee \"$x\"", "tee /dev/null f", "ls|tee>f",
	"history -w f", "history -c", "fc -e rm", "hash -p /tmp/x ls", "enable -f x.so x", "enable -n ls", "type ls > f", "bind -x 'a:rm'", "complete -C rm ls", "compgen -C 'rm x'", "ulimit -c 0", "umask 0", "caller; rm x", "logout; rm x", "suspend", "kill -9 1", "disown", "dirs -c; rm x", "cd x && rm y", "cd x\nrm y", "wait -p PATH", "wait -p 'a[$(rm x)]'",
	"python --version -c 'x'", "python3 -V x", "node -v -e x", "make --version -f x", "python -", "python <<< 'x'", "node -e x", "go run x", "go tool x", "go -C x version", "curl file:///etc/passwd", "ls https://x | wget -i -", "cat a | curl -T - x", "echo x | nc h 1", "$x", "$x ls", "\"$x\" ls", "${x:-ls}", "\"\" ls", "'' ls", "\\\\ls", "-c ls", "@(ls)", "ls !(a)", "!(ls)", "ls @(a|b)", "'ls -l'", "ls\\ -l", "LS", "Ls", "ls.", "ls,x", "=ls", "%ls", "[[ls]]", "if", "(", "ls )", "ls \"", "ls '", "ls $(", "ls ${", "ls `", "ls <<EOF\nx", "ls &&", "; ls", "ls ;; pwd", "ls | | ls",
}

// shellCall is a call of exec_command.
func shellCall(t testing.TB, command string) Call {
	t.Helper()
	text, err := json.Marshal(map[string]string{"command": command})
	require.NoError(t, err)
	return Call{Name: execCommand, Arguments: string(text)}
}

func TestVerdicts(t *testing.T) {
	require.Greater(t, len(reading)+len(working), 250)
	require.Greater(t, len(bypasses), 80)
	for _, c := range reading {
		v := judge(editors.ApprovalAsk, shellCall(t, c), true)
		assert.Equal(t, Verdict{Decision: Allow}, v, "%q", c)
		assert.Equal(t, Allow, judge(editors.ApprovalReadOnly, shellCall(t, c), true).Decision, "%q", c)
	}
	for _, c := range append(working, bypasses...) {
		v := judge(editors.ApprovalAsk, shellCall(t, c), true)
		assert.Equal(t, Ask, v.Decision, "%q", c)
		assert.NotEmpty(t, v.Reason, "%q", c)
		assert.Equal(t, Deny, judge(editors.ApprovalReadOnly, shellCall(t, c), true).Decision, "%q", c)
		assert.Equal(t, Allow, judge(editors.ApprovalNever, shellCall(t, c), true).Decision, "%q", c)
	}
}
