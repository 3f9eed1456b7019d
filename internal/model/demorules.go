// This file holds the demo model's rules: which words of a request make it use which tools.

package model

import (
	"regexp"
	"strings"
)

// demoTask does one thing a request asks for, by the turn's tools, and returns what to say about it when it is done.
type demoTask func(*demoTurn) string

const (
	maxDemoTasks = 8
	quoted       = "(?:`([^`]*)`|\"([^\"]*)\"|\\B'([^']*)'\\B|“([^”]*)”)" // four groups, one of them set; \B: no apostrophes
	path         = "(?:`([^`]+)`|\"([^\"]+)\"|\\B'([^']+)'\\B|([\\w./@+-]*[\\w/-]))"
	article      = `(?:me\s+)?(?:the\s+|a\s+|an\s+)?(?:new\s+)?(?:file\s+|folder\s+|directory\s+)?(?:named\s+|called\s+)?`
)

// demoRule makes a task from the groups of its pattern: every quoted and every path is one argument.
type demoRule struct {
	pattern *regexp.Regexp
	task    func(args []string) demoTask
}

func rule(pattern string, task func(args []string) demoTask) demoRule {
	return demoRule{regexp.MustCompile(`(?is)` + pattern), task}
}

var demoRules = []demoRule{
	rule(`\b(?:run|execute)\b.*?`+quoted, func(a []string) demoTask { return runTask(a[0]) }),
	rule(`\breplace\s+`+quoted+`\s+(?:with|by)\s+`+quoted+`\s+in\s+`+article+path, func(a []string) demoTask { return replaceTask(a[0], a[1], a[2]) }),
	rule(`\b(?:append|add)\s+(?:(?:a|the)\s+)?(?:(?:line|text)\s+)?`+quoted+`\s+(?:at|to)\s+(?:the\s+end\s+of\s+)?`+article+path, func(a []string) demoTask { return appendTask(a[0], a[1]) }),
	rule(`\b(?:create|add|write|make)\s+`+article+path+`\s+(?:with|containing|saying)\s+(?:the\s+)?(?:text\s+|contents?\s+|line\s+)?`+quoted,
		func(a []string) demoTask { return createTask(a[0], a[1]) }),
	rule(`\b(?:search|grep|look)\s+(?:for\s+)?`+quoted+`(?:\s+in\s+`+article+path+`)?`, func(a []string) demoTask { return searchTask(a[0], a[1]) }),
	rule(`\bfind\s+`+quoted, func(a []string) demoTask { return searchTask(a[0], "") }),
	rule(`\b(?:list|ls)\b(?:\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:files|folder|directory|contents?))?(?:\s+(?:in|of)\s+`+article+path+`)?`,
		func(a []string) demoTask { return listTask(folder(a[0])) }),
	rule(`\b(?:(?:what|which)\s+files|what(?:'s|\s+is|’s)\s+here|show\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?files)\b`,
		func([]string) demoTask { return listTask(".") }),
	rule(`\b(?:read|show|open|cat|print|display|explain|summari[sz]e)\s+`+article+path, readRule),
	rule(`\bwhat\s+(?:does|is\s+in|do)\s+`+article+path, readRule),
}

// folder is "." for words that are no folder.
func folder(name string) string {
	switch strings.ToLower(name) {
	case "", "this", "here", "it", "current", "workspace", "folder", "directory", "project":
		return "."
	}
	return name
}

var plainNames = regexp.MustCompile(`(?i)^(readme|makefile|license|licence|dockerfile|changelog|contributing)$`)

// readRule takes only what looks like the name of a file: with a dot or a slash, or one of the usual names.
func readRule(a []string) demoTask {
	if !strings.ContainsAny(a[0], "./") && !plainNames.MatchString(a[0]) {
		return nil
	}
	return readTask(a[0])
}

var (
	quotedSpan = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|“[^”]*”")
	separator  = regexp.MustCompile(`(?i)[;\n]|[.!?]\s|,?\s+(?:and\s+)?then\s+|` +
		`,?\s+and\s+(?:(?:run|execute|list|read|show|create|add|write|append|replace|search|find|open)\b)`)
)

// demoTasks reads a request clause by clause. A request that matches no rule gets an overview of the folder.
func demoTasks(request string) []demoTask {
	var tasks []demoTask
	for _, clause := range clauses(request) {
		if task := match(clause); task != nil && len(tasks) < maxDemoTasks {
			tasks = append(tasks, task)
		}
	}
	if len(tasks) == 0 {
		return []demoTask{overviewTask}
	}
	return tasks
}

// clauses splits a request where one sentence or step ends, never within quotes.
func clauses(request string) []string {
	masked := quotedSpan.ReplaceAllStringFunc(request, func(s string) string { return strings.Repeat("_", len(s)) })
	var out []string
	from := 0
	for _, at := range separator.FindAllStringIndex(masked, -1) {
		out = append(out, request[from:at[0]])
		from = at[0] // the separator stays: it may hold the verb of the next step
	}
	return append(out, request[from:])
}

func match(clause string) demoTask {
	for _, r := range demoRules {
		groups := r.pattern.FindStringSubmatch(clause)
		if groups == nil {
			continue
		}
		if task := r.task(arguments(groups[1:])); task != nil {
			return task
		}
	}
	return nil
}

// arguments folds every four alternatives of a pattern into the one that matched.
func arguments(groups []string) []string {
	var out []string
	for ; len(groups) >= 4; groups = groups[4:] {
		out = append(out, groups[0]+groups[1]+groups[2]+groups[3])
	}
	return out
}
