// This file says what a call would do, for people who decide about it or watch it.

package tools

import (
	"encoding/json"
	"strconv"
	"strings"

	"sandboxagent/internal/patch"
)

const (
	maxSubject = 4 << 10
	maxNamed   = 10 // files of a patch named one by one
)

// Subject says in one line what a call would do, for a person who is asked: the command, or the files a patch touches. It
// hides nothing of a command but what exceeds 4 KiB, and then says so; characters that could mislead are written out. It
// does no I/O and always says the same of the same call.
func Subject(call Call) string {
	subject, err := subjectOf(call)
	if err != nil {
		subject = call.Name + " " + call.Arguments
	}
	return oneLine(subject)
}

// subjectOf is the subject as it is; it fails when the arguments cannot be read.
func subjectOf(call Call) (string, error) {
	switch call.Name {
	case execCommand:
		args, err := parse[execArgs](call)
		return execSubject(args), err
	case writeStdin:
		args, err := parse[stdinArgs](call)
		return stdinSubject(args), err
	case applyPatch:
		args, err := parse[patchArgs](call)
		return patchSubject(args.Patch), err
	case updatePlan:
		args, err := parse[planArgs](call)
		return planSubject(args), err
	case readFile:
		args, err := parse[readArgs](call)
		return orElse(args.Path, "."), err
	case list:
		args, err := parse[listArgs](call)
		return orElse(args.Path, "."), err
	case search:
		args, err := parse[searchArgs](call)
		return orElse(args.Pattern, args.Glob) + " in " + orElse(args.Path, "."), err
	}
	if server, tool, ok := External(call.Name); ok {
		return server + ": " + tool + " " + call.Arguments, nil
	}
	return call.Name + " " + call.Arguments, nil
}

// External reads the name of a tool of an MCP server, mcp__SERVER__TOOL; ok is false if it is none.
func External(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}

// AsksForNetwork tells whether a call is a command that asks for the network; one whose arguments cannot be read counts as one.
func AsksForNetwork(call Call) bool {
	if call.Name != execCommand {
		return false
	}
	args, err := parse[execArgs](call)
	return err != nil || args.Network
}

// parse reads arguments as far as they are known.
func parse[T any](call Call) (args T, err error) {
	return args, json.Unmarshal([]byte(call.Arguments), &args)
}

func execSubject(args execArgs) string {
	subject := args.Command
	if args.Workdir != "" && args.Workdir != "." {
		subject = "(in " + args.Workdir + ") " + subject
	}
	if args.Network {
		subject = "(with network) " + subject
	}
	return subject
}

func stdinSubject(args stdinArgs) string {
	var parts []string
	if args.Input != "" {
		parts = append(parts, "write "+strconv.Quote(args.Input)+" to")
	}
	if args.EOF {
		parts = append(parts, "end the input of")
	}
	if args.Kill {
		parts = append(parts, "kill")
	}
	if len(parts) == 0 && (args.Rows != 0 || args.Cols != 0) {
		parts = []string{"resize the terminal of"}
	}
	if len(parts) == 0 {
		parts = []string{"look at"}
	}
	return strings.Join(parts, ", ") + " command " + args.CommandID
}

// patchSubject names what a patch does to which files.
func patchSubject(text string) string {
	parsed, err := patch.Parse(text)
	if err != nil {
		return "a patch that cannot be read: " + err.Error()
	}
	var parts []string
	for i, f := range parsed.Files {
		if i == maxNamed {
			parts = append(parts, "and "+strconv.Itoa(len(parsed.Files)-i)+" more files")
			break
		}
		part := map[patch.Kind]string{patch.Add: "add ", patch.Update: "change ", patch.Delete: "delete "}[f.Kind] + show(f.Path)
		if f.MoveTo != "" {
			part = "move " + show(f.Path) + " to " + show(f.MoveTo)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// oneLine writes text as one line of what can be seen.
func oneLine(text string) string {
	text = strings.TrimSpace(valid(text))
	var out strings.Builder
	for _, r := range Head(text, maxSubject) {
		switch {
		case r == '\n':
			out.WriteString(" ⏎ ")
		case r == '\t':
			out.WriteByte(' ')
		case unprintable(r):
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteRune(r)
		}
	}
	if len(text) > maxSubject {
		out.WriteString(" … (" + thousands(int64(len(text)-maxSubject)) + " bytes more)")
	}
	return out.String()
}
