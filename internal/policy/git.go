// This file judges git by its subcommand and options. Git runs programs that its configuration names, and it takes that from
// where it runs, so that it only counts as reading in the workspace's root.

package policy

import "strings"

// gitReaders only read with any options but those of gitRisks.
var gitReaders = set(`blame cat-file check-attr check-ignore count-objects describe diff diff-files diff-index diff-tree
	for-each-ref grep log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-branch show-ref status
	version whatchanged`)

// gitRevisions look for -- before they read options, so that it is no option's value.
var gitRevisions = set("diff diff-files diff-index diff-tree log reflog rev-list show whatchanged")

// gitLimited only read with these options and operands.
var gitLimited = map[string]options{
	"branch":         only("arv", "", "all remotes list verbose show-current contains= no-contains= merged= no-merged= points-at= sort= format= color no-color column", 0),
	"branch --list":  only("arv", "", "all remotes verbose contains= no-contains= merged= no-merged= points-at= sort= format= color no-color column", -1),
	"tag":            only("ln", "", "list contains= no-contains= points-at= sort= format= merged= no-merged= column", 0),
	"tag --list":     only("n", "", "contains= no-contains= points-at= sort= format= merged= no-merged= column", -1),
	"tag -l":         only("n", "", "contains= no-contains= points-at= sort= format= merged= no-merged= column", -1),
	"remote":         only("v", "", "verbose", 0),
	"remote get-url": only("", "", "all push", 1),
	"reflog":         only("", "n", "oneline all date= format= max-count=", 0),
	"config":         only("zl", "", "list get= get-all= get-regexp= global local system show-origin show-scope null name-only includes type=", 0),
	"config get":     only("z", "", "all global local system show-origin show-scope null", -1),
	"config list":    only("z", "", "global local system show-origin show-scope null name-only", 0),
	"worktree list":  only("vz", "", "porcelain verbose", 0),
}

// gitRisks are long options that write or run something, and so do all their abbreviations.
var gitRisks = []string{"output", "output-directory", "ext-diff", "exec", "open-files-in-pager", "filters", "textconv", "show-signature"}

var gitNetwork = set("clone fetch ls-remote pull push")

func (r *reader) git(args []word) string {
	for len(args) > 0 && args[0].is("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs") {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || args[0].is("--version"):
		return ""
	case !args[0].known || args[0].mayBeOption():
		return "the option " + quote(args[0].src) + " may make git run programs"
	case gitNetwork[args[0].text]:
		return "it reaches over the network"
	}
	if concern := gitArguments(args[0].text, args[1:]); concern != "" {
		return concern
	}
	if w := signatureFormat(args); w != "" {
		return "the format " + quote(w) + " makes git run what checks signatures"
	}
	if !r.dir.root() {
		return "git takes the programs it runs from where it runs, and that is not known to be the workspace's root"
	}
	return ""
}

func gitArguments(sub string, args []word) string {
	if len(args) > 0 && args[0].known {
		pair := sub + " " + args[0].text
		if o, ok := gitLimited[pair]; ok {
			return o.concern(args[1:])
		}
		if pair == "stash list" || pair == "stash show" || pair == "reflog show" {
			return gitOptions(sub, args[1:])
		}
	}
	if o, ok := gitLimited[sub]; ok {
		return o.concern(args)
	}
	if gitReaders[sub] {
		return gitOptions(sub, args)
	}
	return "git " + sub + " is not known to only read"
}

func gitOptions(sub string, args []word) string {
	for i, w := range args {
		switch {
		case w.is("--") && (i == 0 || gitRevisions[sub] || !args[i-1].mayBeOption()): // else it may be the option's value
			return ""
		case !w.mayBeOption():
		case !w.known:
			return mayVary(w)
		case gitRisky(sub, w.text):
			return "the option " + quote(w.src) + " may make git write or run programs"
		}
	}
	return ""
}

// signatureFormat finds a format that shows signatures.
func signatureFormat(args []word) string {
	for _, w := range args[1:] {
		if !args[0].is("grep") && (strings.Contains(w.text, "%G") || strings.Contains(w.text, "(signature")) {
			return w.src
		}
	}
	return ""
}

func gitRisky(sub, option string) bool {
	name, long := strings.CutPrefix(option, "--")
	if !long {
		return strings.HasPrefix(option, "-O") || sub == "grep" && strings.Contains(option, "O")
	}
	name, _, _ = strings.Cut(name, "=")
	for _, risk := range gitRisks {
		if strings.HasPrefix(risk, name) {
			return true
		}
	}
	return false
}
