// This file lists the programs that only read, and the arguments with which they do.

package policy

import "strings"

// readers only read, whatever their arguments are.
var readers = set(`
	: arch b2sum basename break cal cat cd cksum cmp column comm continue cut df diff dir dirname du echo egrep exit expand expr
	factor false fgrep fmt fold free grep groups head hexdump id join jq locale logname ls lscpu md5 md5sum namei nl nproc
	numfmt od paste pgrep pidof popd pr printenv ps pushd pwd readlink realpath return rev seq sha1sum sha224sum sha256sum
	sha384sum sha512sum shasum shift sleep stat strings sum tac tail times tr true tsort tty type uname unexpand uptime users
	vdir w wc whereis which who whoami yes zipinfo`)

// changers change the directory that what follows runs in.
var changers = set("cd popd pushd")

// limited only read with the options and as many operands as these.
var limited = map[string]options{
	"base32":   only("dDi", "w", "decode wrap= ignore-garbage", -1),
	"base64":   only("dDi", "wb", "decode wrap= ignore-garbage", -1),
	"bzcat":    only("", "", "", -1),
	"fd":       only("HIsigFapLu01q", "dteEcj", fdLong, -1),
	"fdfind":   only("HIsigFapLu01q", "dteEcj", fdLong, -1),
	"file":     only("bihLkp0", "", "mime mime-type mime-encoding mime-type brief dereference", -1),
	"gzcat":    only("", "", "", -1),
	"hostname": only("sf", "", "fqdn short", 0),
	"iconv":    only("cl", "ft", "list from-code= to-code=", -1),
	"jobs":     only("lnprs", "", "", -1), // -x runs a command
	"rg":       only("niSslcvwxoFPHINuaLqpU0h", "ABCegtTmMrjdfE", rgLong, -1),
	"shuf":     only("ezr", "ni", "head-count= input-range= repeat zero-terminated", -1),
	"sort":     only("bdfgiMhnRrVcCmsuz", "ktS", sortLong, -1),
	"tree":     apart(only("adfilhpugsDFqNSnACUtrcv", "LPI", "dirsfirst noreport prune gitignore filesfirst", -1)),
	"umask":    only("S", "", "", 0),
	"uniq":     only("cdDiuz", "fsw", "count repeated unique ignore-case skip-fields= skip-chars=", 1),
	"wait":     only("n", "", "", -1),
	"xxd":      apart(only("pbiurEe", "lcg", "", 1)),
	"xzcat":    only("", "", "", -1),
	"yq":       only("rePNMCn", "opI", "", -1),
	"zcat":     only("", "", "", -1),
}

const (
	fdLong   = "hidden no-ignore glob extension= type= exclude= max-depth= min-depth= absolute-path full-path fixed-strings follow print0 color= size= changed-within= case-sensitive ignore-case"
	sortLong = "numeric-sort reverse unique key= field-separator= ignore-case version-sort human-numeric-sort stable check zero-terminated month-sort general-numeric-sort ignore-leading-blanks dictionary-order random-sort merge"
	rgLong   = "files hidden no-ignore no-ignore-vcs glob= iglob= type= type-not= count count-matches files-with-matches files-without-match line-number no-line-number heading no-heading with-filename no-filename ignore-case smart-case case-sensitive fixed-strings word-regexp line-regexp max-count= max-depth= max-columns= max-filesize= context= after-context= before-context= multiline multiline-dotall only-matching replace= color= colors= sort= sortr= json vimgrep stats follow invert-match pcre2 text trim type-list column no-messages null null-data passthru quiet unrestricted regexp= no-config crlf"
)

// versions only read when they are asked for nothing but their version.
var versions = map[string][]string{
	"bash": {"--version"}, "clang": {"--version"}, "cmake": {"--version"}, "g++": {"--version"}, "gcc": {"--version"},
	"git": {"--version"}, "java": {"-version", "--version"}, "make": {"--version"}, "node": {"-v", "--version"},
	"perl": {"-v", "--version"}, "python": {"-V", "--version"}, "python3": {"-V", "--version"}, "ruby": {"-v", "--version"},
}

// set makes a set of names.
func set(names string) map[string]bool {
	s := map[string]bool{}
	for _, n := range strings.Fields(names) {
		s[n] = true
	}
	return s
}

// program is the name of the program that a word runs: its base name, if it is one of the system's.
func program(text string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if name, ok := strings.CutPrefix(text, dir); ok && !strings.Contains(name, "/") {
			return name
		}
	}
	return text
}

// argumentsConcern says why a program may do more than read when it is given these arguments.
func (r *reader) argumentsConcern(name string, args []word) string {
	if len(args) == 1 && args[0].is(versions[name]...) {
		return ""
	}
	if readers[name] {
		return ""
	}
	if o, ok := limited[name]; ok {
		return o.concern(args)
	}
	switch name {
	case "git":
		return r.git(args)
	case "sed", "gsed":
		return sed(args)
	case "awk", "gawk", "mawk", "nawk":
		return awk(args)
	case "test", "[":
		return testConcern(name, args)
	case "printf":
		return printf(args)
	case "read":
		return readVariables(args)
	case "set":
		return setFlags(args)
	case "date":
		return date(args)
	case "tar":
		return tar(args)
	case "tee":
		return tee(args)
	case "unzip":
		return unzip(args)
	case "ip":
		return ip(args)
	}
	return unknownProgram(name)
}

// unknownProgram says why a program that is not listed needs an answer.
func unknownProgram(name string) string {
	switch {
	case networked[name]:
		return "it reaches over the network"
	case elevated[name]:
		return "it takes the rights of another user"
	case removers[name]:
		return "it changes or deletes files"
	case launchers[name]:
		return "it runs a program that is not looked into"
	case pagers[name]:
		return "it is a pager, which can run other commands"
	}
	return "it is not known to only read"
}

var (
	networked = set("curl dig ftp gh host nc ncat netcat nslookup ping rsync scp sftp ssh telnet traceroute wget")
	elevated  = set("doas pkexec run0 su sudo")
	removers  = set("chgrp chmod chown cp dd install ln mkdir mkfifo mv rm rmdir shred split tee touch truncate unlink")
	pagers    = set("less man more most")
	launchers = set(`ash bash bun busybox csh dash deno elixir erl expect fish gdb guile irb java ksh lua lua5.4 luajit node nodejs
		osascript perl php pwsh python python2 python3 R Rscript rhino ruby sh tclsh ts-node tsx zsh`)
)
