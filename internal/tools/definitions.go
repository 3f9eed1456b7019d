// This file describes the tools to the model.

package tools

import (
	"maps"
	"slices"
	"strings"

	"sandboxagent/internal/conversation"
	"sandboxagent/internal/model"
)

// The names of the tools.
const (
	execCommand = "exec_command"
	writeStdin  = "write_stdin"
	readFile    = "read_file"
	list        = "list"
	search      = "search"
	applyPatch  = "apply_patch"
	updatePlan  = conversation.PlanTool
)

// Definitions returns the tools in the order they are told to the model. The caller may change what it gets.
func Definitions() []model.Tool {
	return []model.Tool{
		{
			Name: execCommand,
			Description: "Run a shell command in the workspace and wait for its end. What has not ended after yield_ms goes on in the " +
				"background under a command id, for write_stdin. Standard input is closed unless background or tty is set. Output is " +
				"cut to its head and tail: filter what may be long. For servers, watchers and programs that ask questions set background.",
			Parameters: object([]string{"command"}, properties{
				"command":    text("The shell command."),
				"workdir":    text("Directory to run in, relative to the workspace. Default: its root."),
				"timeout_ms": integer("The command and all it started are killed after this time. Default and at most 7200000."),
				"background": boolean("Do not wait for the end: return after a second, or yield_ms, while the command goes on."),
				"tty":        boolean("Run on a terminal; stderr then joins stdout."),
				"network":    boolean("Ask for network access, which may need approval. Commands usually have none beyond localhost: set it when one must download or reach a server."),
				"yield_ms":   integer("How long to wait until the command is left to the background. Default 120000, or 1000 with background; 250 to 600000."),
			}),
		},
		{
			Name: writeStdin,
			Description: "Write to a background command, end its input, kill it, or, without input, just wait. Returns the output " +
				"since the last look and whether the command still runs or waits for input.",
			Parameters: object([]string{"command_id"}, properties{
				"command_id": text("The id that exec_command returned."),
				"input":      text("What to write, exactly; end lines with \\n. On a terminal control characters work, e.g. \\u0003 for Ctrl-C."),
				"eof":        boolean("Close the command's input after writing."),
				"kill":       boolean("Kill the command and all it started."),
				"yield_ms":   integer("How long to wait for output or the end. Default 1000, at least 250; without input default and least are 5000; at most 600000."),
				"rows":       integer("New height of the command's terminal; needs cols."),
				"cols":       integer("New width of the command's terminal; needs rows."),
			}),
		},
		{
			Name:        readFile,
			Description: "Read a text file, or look at an image (PNG, JPEG, GIF, WebP). Lines come with their numbers, which are not part of the file. At most 2000 lines and 256 KiB a call.",
			Parameters: object([]string{"path"}, properties{
				"path":   text("The file, relative to the workspace."),
				"offset": integer("First line to read, from 1. Default 1."),
				"limit":  integer("How many lines. Default 2000."),
			}),
		},
		{
			Name:        list,
			Description: "List files and directories as a tree. Directories end in /; links show their target.",
			Parameters: object(nil, properties{
				"path":  text("The directory, relative to the workspace. Default: its root."),
				"depth": integer("How many levels. Default 2."),
			}),
		},
		{
			Name:        search,
			Description: "Search the workspace's files for lines that match, grouped by file. Skips what git ignores and binary files.",
			Parameters: object([]string{"pattern"}, properties{
				"pattern": text("Regular expression (RE2). Empty: find files by glob only."),
				"path":    text("File or directory to search below, relative to the workspace. Default: its root."),
				"glob":    text("Only files whose path matches, e.g. **/*.go"),
				"literal": boolean("The pattern is plain text."),
			}),
		},
		{
			Name: applyPatch,
			Description: "Change files by a patch; all of it or nothing. Format:\n" +
				"*** Begin Patch\n*** Update File: path\n@@ optional line that precedes the change, e.g. a function's first\n" +
				" context line\n-removed line\n+added line\n*** Add File: path\n+line\n*** Delete File: path\n*** End Patch\n" +
				"After an Update line, \"*** Move to: path\" renames. Give three context lines on each side; they must fit exactly one " +
				"place in the file. Unified diffs work too.",
			Parameters: object([]string{"patch"}, properties{"patch": text("The patch.")}),
		},
		{
			Name: updatePlan,
			Description: "Keep the list of what is to do for a task of several steps; the user sees it. Give the whole list every time, " +
				"with one step in_progress.",
			Parameters: object([]string{"plan"}, properties{"plan": map[string]any{
				"type": "array", "description": "The steps in order.",
				"items": object([]string{"step", "status"}, properties{
					"step":   text("What is to do, in a few words."),
					"status": map[string]any{"type": "string", "enum": []string{"pending", "in_progress", "completed"}, "description": "How far it is."},
				}),
			}}),
		},
	}
}

// ReadOnly says whether the tool of this name never changes anything.
func ReadOnly(name string) bool {
	return name == readFile || name == list || name == search || name == updatePlan
}

// names lists the tools for a message.
func names() string {
	var all []string
	for _, tool := range Definitions() {
		all = append(all, tool.Name)
	}
	return strings.Join(all, ", ")
}

// parameters lists the parameters of the tool of this name for a message.
func parameters(name string) string {
	for _, tool := range Definitions() {
		if tool.Name == name {
			return strings.Join(slices.Sorted(maps.Keys(tool.Parameters["properties"].(properties))), ", ")
		}
	}
	return ""
}

// properties maps a parameter's name to its schema.
type properties map[string]any

// object is the schema of an arguments object. Everything is flat and closed, so that strict providers take it.
func object(required []string, p properties) map[string]any {
	if required == nil {
		required = []string{}
	}
	return map[string]any{"type": "object", "properties": p, "required": required, "additionalProperties": false}
}

func text(doc string) map[string]any    { return parameter("string", doc) }
func integer(doc string) map[string]any { return parameter("integer", doc) }
func boolean(doc string) map[string]any { return parameter("boolean", doc) }

func parameter(kind, doc string) map[string]any {
	return map[string]any{"type": kind, "description": doc}
}
