// This file proposes what to allow for always, and says which patterns would allow too much.

package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// suggest proposes a pattern for a command of which one simple command needs an answer, and nothing else does. It is empty
// if there is none.
func suggest(j *judgement, network bool) string {
	var asked []simple
	for _, c := range j.commands {
		if c.concern != "" {
			asked = append(asked, c)
		}
	}
	if len(j.other) > 0 || len(asked) != 1 || asked[0].never || asked[0].dir.unknown {
		return ""
	}
	c := asked[0]
	var words []string
	for _, w := range c.words {
		quoted, err := syntax.Quote(w.text, syntax.LangPOSIX)
		if !w.known || err != nil {
			return ""
		}
		words = append(words, quoted)
	}
	if n := widened(c.words); n > 0 && (n == len(words) || safeArguments(texts(c.words[:n]), c.words[n:])) {
		words = append(words[:n], "*")
	}
	text := strings.Join(words, " ")
	if c.dir.path != "." {
		text = inDir + c.dir.path + ") " + text
	}
	if network {
		text = withNetwork + text
	}
	if p, err := ParsePattern(text); err != nil || !p.covers(c, network) {
		return ""
	}
	return text
}

// widenable are commands whose further arguments only choose what to work on.
var widenable = map[string]bool{
	"go test": true, "go vet": true, "go build": true, "cargo test": true, "cargo check": true, "cargo build": true, "cargo clippy": true,
	"npm test": true, "pnpm test": true, "yarn test": true, "npm run": true, "pnpm run": true, "yarn run": true,
	"pytest": true, "python -m pytest": true, "python3 -m pytest": true, "tsc": true, "eslint": true, "ruff check": true, "mypy": true,
}

// widened says how many words of a command stand before the * that is proposed for it; 0: none is.
func widened(words []word) int {
	for n := min(3, len(words)); n > 0; n-- {
		name := strings.Join(texts(words[:n]), " ")
		if !widenable[name] {
			continue
		}
		if strings.HasSuffix(name, " run") { // the script's name stays
			if len(words) <= n || words[n].mayBeOption() {
				return 0
			}
			return n + 1
		}
		return n
	}
	return 0
}

func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// wrappers run what their arguments say; what they run is judged by itself.
var wrappers = set(`. builtin busybox chroot command env eval exec find flock nice nohup npx parallel setsid source stdbuf strace
	time timeout trap unshare uvx watch xargs`)

// builders take the names of other things to do as further arguments.
var builders = set("ant bazel gmake gradle gradlew just make mvn mvnw ninja nox rake scons task tox")

// suites do what their first argument says, so that a * must come behind it.
var suites = set(`apt apt-get brew bundle cargo composer conda deno docker dotnet gem gh git go helm kubectl mix npm pip pip3 pnpm
	podman poetry rustup systemctl terraform uv yarn`)

// runners are subcommands of suites that run anything.
var runners = set(`apply bisect config dlx exec foreach generate install run run-script shell submodule tool x`)

// tooWide says why a * behind these words would allow too much; empty if it would not.
func tooWide(words []string) string {
	name := program(words[0])
	name = name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case networked[name] || removers[name] || pagers[name]:
		return "with further arguments it could reach, change or delete anything"
	case wrappers[name] || elevated[name]:
		return "it runs whatever its arguments say"
	case builders[name]:
		return "further arguments would be further things to do"
	case name == "sed" || name == "gsed" || strings.HasSuffix(name, "awk"):
		return "its arguments are programs"
	case launchers[name]:
		return launchesAnything(words)
	case suites[name] && len(words) == 1:
		return "it does whatever its first argument says"
	case suites[name] && runners[words[1]] && (len(words) == 2 || strings.HasPrefix(words[2], "-")):
		return "it runs whatever its arguments say"
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") && suites[name] && len(words) == 2 {
			return "it does whatever its first argument says"
		}
	}
	return ""
}

// launchesAnything says why a * behind an interpreter's words would allow anything: they do not say what it runs.
func launchesAnything(words []string) string {
	const reason = "it runs whatever its arguments say"
	switch {
	case len(words) == 1:
		return reason
	case words[1] == "-m" && len(words) > 2 && !strings.HasPrefix(words[2], "-"):
		return ""
	case strings.HasPrefix(words[1], "-"):
		return reason
	}
	return ""
}
