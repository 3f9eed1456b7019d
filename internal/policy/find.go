// This file judges find by its expressions, and by what it runs.

package policy

import (
	"strconv"
	"strings"
)

// Expressions of find that only choose and print, by how many words follow them.
var findTests = func() map[string]int {
	tests := map[string]int{}
	for name := range set(`! ( ) , -H -L -P -a -and -daystart -depth -empty -executable -false -follow -ls -mount -nogroup
		-noleaf -not -nouser -nowarn -o -or -print -print0 -prune -quit -readable -true -warn -writable -xdev -E -X -x -s`) {
		tests[name] = 0
	}
	for name := range set(`-amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex
		-iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -newermt -path -perm -printf -regex -regextype
		-samefile -size -type -uid -used -user -wholename -xtype`) {
		tests[name] = 1
	}
	return tests
}()

// find only reads with the known tests; what it runs is judged with names that are not known.
func (r *reader) find(words []word) {
	args := words[1:]
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.is("-exec", "-execdir", "-ok", "-okdir"):
			end := r.findRuns(args[i+1:])
			if end < 0 {
				r.opaque = true
				r.add(words, "what it runs by "+w.text+" has no end", true)
				return
			}
			i += 1 + end
		case w.known && (w.mayBeOption() || w.is("!", "(", ")", ",")):
			takes, ok := findTests[w.text]
			if !ok && !findLevel(w.text) {
				r.add(words, "the action or option "+quote(w.src)+" may make it write, delete or run programs", false)
				return
			}
			i += takes
			if takes > 0 && i < len(args) && args[i].many {
				r.add(words, mayVary(args[i]), false)
				return
			}
		case w.mayBeOption():
			r.add(words, mayVary(w), false)
			return
		}
	}
	r.add(words, "", false)
}

// findLevel tells whether text is -O with a digit.
func findLevel(text string) bool {
	level, ok := strings.CutPrefix(text, "-O")
	_, err := strconv.Atoi(level)
	return ok && err == nil
}

// findRuns judges the command behind -exec; it returns where its end is, -1 if it has none.
func (r *reader) findRuns(args []word) int {
	for i, w := range args {
		if !w.is(";") && !(w.is("+") && i > 0 && args[i-1].is("{}")) {
			continue
		}
		if i == 0 {
			return -1
		}
		run := append([]word(nil), args[:i]...)
		for k, a := range run {
			if at := strings.Index(a.text, "{}"); at >= 0 {
				run[k] = word{text: a.text[:at], many: w.text == "+", src: a.src}
			}
		}
		from := r.dir
		r.dir.unknown = true // -execdir runs elsewhere
		r.run(run)
		r.dir = from
		return i
	}
	return -1
}
