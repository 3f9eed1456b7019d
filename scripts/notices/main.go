// Command notices prints the licences of everything that is linked into programs:   notices PROGRAM...
// The programs say themselves what that is; the texts come from the module cache, where building them has left it all.
package main

import (
	"bufio"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// module is what programs are made of, and the folder where its licences are.
type module struct{ name, folder string }

// untold are the modules that are published without the text of their licence, with what is known of it.
var untold = map[string]string{
	"github.com/cactus/go-statsd-client/statsd": "Copyright (c) 2012-2016 Eli Janssen\n" +
		"Its files say that it is under the licence of its repository, which is that of github.com/cactus/go-statsd-client/v5.",
	"github.com/nexus-rpc/nexus-proto-annotations": "It is published without a licence, by the makers of the Temporal server, of which it is a part.",
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(programs []string, out io.Writer) error {
	said, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("asking where the modules are: %w", err)
	}
	goroot, cache, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	modules, err := linked(programs, goroot, cache)
	if err != nil {
		return err
	}
	return write(out, modules)
}

// linked returns the modules in programs, and Go itself, each once.
func linked(programs []string, goroot, cache string) ([]module, error) {
	var modules []module
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("reading what is linked into a program: %w", err)
		}
		modules = append(modules, module{"Go " + strings.TrimPrefix(info.GoVersion, "go"), goroot})
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			modules = append(modules, module{dep.Path + " " + dep.Version, filepath.Join(cache, escaped(dep.Path)+"@"+escaped(dep.Version))})
		}
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(modules), nil
}

// escaped is a name as the module cache has it: with a mark before each lower-case letter that stands for a capital one.
func escaped(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// write writes each text once, after the names of all that it is for.
func write(out io.Writer, modules []module) error {
	names, order := map[string][]string{}, []string{}
	for _, m := range modules {
		texts, err := m.licences()
		if err != nil {
			return err
		}
		for _, text := range texts {
			if names[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(names[text], m.name) {
				names[text] = append(names[text], m.name)
			}
		}
	}
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "The programs of Sandbox Agent have the following in them, with thanks to those who wrote it.")
	for _, text := range order {
		fmt.Fprintf(w, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[text], "\n"), text)
	}
	return w.Flush()
}

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)[^.]*(\.(md|txt|rst))?$`)

// licences returns the texts of a module, also those of what it has taken over from others.
func (m module) licences() ([]string, error) {
	var texts []string
	err := filepath.WalkDir(m.folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(m.name, "Go ") && path != m.folder):
			return fs.SkipDir
		case entry.IsDir() || !licence.MatchString(entry.Name()):
			return nil
		}
		text, err := os.ReadFile(path)
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the licences of %s: %w", m.name, err)
	}
	if len(texts) > 0 {
		return texts, nil
	}
	path, _, _ := strings.Cut(m.name, " ")
	if text, ok := untold[path]; ok {
		return []string{text}, nil
	}
	return nil, fmt.Errorf("%s has no licence among its files; find it out and say it in scripts/notices", m.name)
}
