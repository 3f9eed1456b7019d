// This file holds what the demo model can do, each by real tool calls, and how it reports the real results.

package model

import (
	"fmt"
	"regexp"
)

func listTask(dir string) demoTask {
	return func(t *demoTurn) string {
		out, ok := t.use("list", "Let me list the folder.", map[string]string{"path": dir})
		if !ok {
			return ""
		}
		return fmt.Sprintf("The folder `%s` holds:\n\n%s", dir, fence(out))
	}
}

func readTask(file string) demoTask {
	return func(t *demoTurn) string {
		out, ok := t.use("read_file", fmt.Sprintf("Let me read `%s`.", file), map[string]string{"path": file})
		if !ok {
			return ""
		}
		if failed(out) {
			return fmt.Sprintf("I could not read `%s`:\n\n%s", file, fence(out))
		}
		return fmt.Sprintf("`%s` has %d lines. It reads:\n\n%s", file, len(fileLines(out)), fence(out))
	}
}

func searchTask(pattern, dir string) demoTask {
	return func(t *demoTurn) string {
		arguments := map[string]string{"pattern": pattern}
		if dir = folder(dir); dir != "." {
			arguments["path"] = dir
		}
		out, ok := t.use("search", fmt.Sprintf("Let me search for `%s`.", pattern), arguments)
		if !ok {
			return ""
		}
		return fmt.Sprintf("The search for `%s` found:\n\n%s", pattern, fence(out))
	}
}

var exitCode = regexp.MustCompile(`(?i)exit(?:ed)?[ _]?(?:with )?(?:code|status)?"?\s*[:=]?\s*(-?\d+)`)

func runTask(command string) demoTask {
	return func(t *demoTurn) string {
		out, ok := t.use("exec_command", fmt.Sprintf("Let me run `%s`.", command), map[string]string{"command": command})
		if !ok {
			return ""
		}
		how := "It said"
		if m := exitCode.FindStringSubmatch(out); m != nil {
			how = "It ended with exit code " + m[1]
		}
		return fmt.Sprintf("I ran `%s`. %s:\n\n%s", command, how, fence(out))
	}
}

// overviewTask answers any other request: what is here, and what the README says.
func overviewTask(t *demoTurn) string {
	out, ok := t.use("list", "I have no rule for this, so let me look around.", map[string]string{"path": "."})
	if !ok {
		return ""
	}
	text := "I can list, read, search, run a command (run `date`), and make a small edit (add \"a line\" to NOTES.md, " +
		"replace \"this\" with \"that\" in NOTES.md). This is what is here:\n\n" + fence(out)
	readme := readmeIn(out)
	if readme == "" {
		return text
	}
	about, ok := t.use("read_file", fmt.Sprintf("There is a `%s`; let me read it.", readme), map[string]string{"path": readme})
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s\n\n`%s` begins:\n\n%s", text, readme, fence(head(about, 12)))
}

func replaceTask(from, to, file string) demoTask {
	return func(t *demoTurn) string {
		lines, problem, ok := t.readForEdit(file)
		if !ok {
			return problem
		}
		patch := replacePatch(file, lines, from, to)
		if patch == "" {
			return fmt.Sprintf("`%s` does not contain `%s`, so I changed nothing.", file, from)
		}
		return t.patch(file, patch)
	}
}

func appendTask(text, file string) demoTask {
	return func(t *demoTurn) string {
		lines, problem, ok := t.readForEdit(file)
		if !ok {
			return problem
		}
		return t.patch(file, appendPatch(file, lines, text))
	}
}

func createTask(file, text string) demoTask {
	return func(t *demoTurn) string {
		out, ok := t.use("read_file", fmt.Sprintf("Let me see whether `%s` exists.", file), map[string]string{"path": file})
		if !ok {
			return ""
		}
		switch {
		case missing(out):
			return t.patch(file, addPatch(file, text))
		case failed(out):
			return fmt.Sprintf("I could not see whether `%s` exists:\n\n%s", file, fence(out))
		}
		return fmt.Sprintf("`%s` exists already, so I left it as it is.", file)
	}
}

// readForEdit reads a file whose lines are about to be changed; when not ok, problem says why unless a call is wanted.
func (t *demoTurn) readForEdit(file string) (lines []string, problem string, ok bool) {
	out, ok := t.use("read_file", fmt.Sprintf("Let me read `%s` first.", file), map[string]string{"path": file})
	switch {
	case !ok:
		return nil, "", false
	case failed(out):
		return nil, fmt.Sprintf("I could not read `%s`:\n\n%s", file, fence(out)), false
	case truncated.MatchString(out):
		return nil, fmt.Sprintf("`%s` is too long for me to edit.", file), false
	}
	return fileLines(out), "", true
}

func (t *demoTurn) patch(file, patch string) string {
	out, ok := t.use("apply_patch", fmt.Sprintf("Now I edit `%s`.", file), map[string]string{"patch": patch})
	if !ok {
		return ""
	}
	return fmt.Sprintf("I edited `%s`; the tool says:\n\n%s", file, fence(out))
}
