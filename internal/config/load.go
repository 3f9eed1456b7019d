// This file reads config.toml, the .env file and the environment, in their order of precedence.

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sandboxagent/editors"
)

// maxFile bounds config.toml and .env, in bytes.
const maxFile = 1 << 20

// Warning is something in a file that was ignored.
type Warning struct {
	File    string
	Line    int // from 1; 0 when unknown
	Key     string
	Message string // one sentence
}

// String returns the warning as one line for people: "file:line: message".
func (w Warning) String() string {
	if w.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Message)
	}
	return w.File + ": " + w.Message
}

// Load returns the configuration: the environment before the .env file before config.toml before the defaults. Flags
// come before all of them; the caller applies them to the result and calls Validate. Files that do not exist are no
// error. What a file or variable says wrongly is an *editors.Error with CodeInvalidParams that names the file or
// variable, the key and what is expected, and never repeats a value.
func Load(p Paths, env Env) (Config, []Warning, error) {
	c := Default()
	warnings, err := loadFile(&c, p.ConfigFile)
	if err != nil {
		return Config{}, nil, err
	}
	dotenv, envWarnings, err := readEnvFile(p.EnvFile)
	if err != nil {
		return Config{}, nil, err
	}
	warnings = append(warnings, envWarnings...)
	for _, s := range settings {
		if err := s.applyEnv(&c, env, dotenv, p.EnvFile); err != nil {
			return Config{}, nil, err
		}
	}
	return c, warnings, nil
}

// applyEnv sets the field from the environment, else from the .env file.
func (s setting) applyEnv(c *Config, env Env, dotenv map[string]string, file string) error {
	if s.env == "" {
		return nil
	}
	value, source := strings.TrimSpace(env.Get(s.env)), "the environment variable "+s.env
	if value == "" {
		value, source = strings.TrimSpace(dotenv[s.env]), file+": the variable "+s.env
	}
	if value == "" || s.set(c, value) {
		return nil
	}
	return editors.Errorf(editors.CodeInvalidParams, "%s must be %s.", source, s.expect)
}

// loadFile applies config.toml.
func loadFile(c *Config, path string) ([]Warning, error) {
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		return nil, syntaxError(path, err)
	}
	file := tomlFile{path: path, lines: keyLines(string(text))}
	err = file.apply(c, "", values)
	return file.warnings, err
}

// syntaxError names the line without repeating the text, which might hold a key.
func syntaxError(path string, err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		path = fmt.Sprintf("%s:%d", path, parse.Position.Line)
	}
	return editors.Errorf(editors.CodeInvalidParams, "%s: this is not valid TOML.", path).
		WithRemedy("Correct the file; strings need quotes.")
}

// readBounded returns the content of a regular file of at most maxFile bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxFile)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// tomlFile applies the values of one file and gathers what it did not know.
type tomlFile struct {
	path     string
	lines    map[string]int
	warnings []Warning
}

// apply walks a table whose dotted name and a dot are prefix.
func (f *tomlFile) apply(c *Config, prefix string, table map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if err := f.applyKey(c, prefix+name, table[name]); err != nil {
			return err
		}
	}
	return nil
}

func (f *tomlFile) applyKey(c *Config, key string, value any) error {
	if looksSecret(key) {
		return editors.Errorf(editors.CodeInvalidParams, "%s: %s is a secret and does not belong into this file.", f.at(key), key).
			WithRemedy("Put it into the .env file beside it, as in OPENAI_API_KEY=…, and remove it here.")
	}
	table, isTable := value.(map[string]any)
	if key == "models" && isTable {
		return f.applyModels(c, table)
	}
	if key == "mcp" {
		return f.applyMCP(c, value)
	}
	if i := slices.IndexFunc(settings, func(s setting) bool { return s.key == key }); i >= 0 {
		if !settings[i].setValue(c, value) {
			return editors.Errorf(editors.CodeInvalidParams, "%s: %s must be %s.", f.at(key), key, settings[i].expect)
		}
		return nil
	}
	section := slices.ContainsFunc(settings, func(s setting) bool { return strings.HasPrefix(s.key, key+".") })
	switch {
	case section && isTable:
		return f.apply(c, key+".", table)
	case section:
		return editors.Errorf(editors.CodeInvalidParams, "%s: %s must be a table, as in [%s].", f.at(key), key, key)
	}
	f.warnings = append(f.warnings, Warning{File: f.path, Line: f.lines[key], Key: key, Message: "unknown key " + key + " is ignored"})
	if isTable {
		return refuseSecrets(f, key+".", table)
	}
	return nil
}

// refuseSecrets looks for secrets in a table that is otherwise unknown.
func refuseSecrets(f *tomlFile, prefix string, table map[string]any) error {
	for name, value := range table {
		if looksSecret(name) {
			return f.applyKey(&Config{}, prefix+name, value)
		}
		if inner, ok := value.(map[string]any); ok {
			if err := refuseSecrets(f, prefix+name+".", inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// setValue sets the field from a value of config.toml.
func (s setting) setValue(c *Config, value any) bool {
	switch v := value.(type) {
	case string:
		return s.set(c, strings.TrimSpace(v))
	case int64, float64:
		return s.number && s.set(c, fmt.Sprintf("%v%s", v, s.unit))
	}
	return false
}

// at names the file and, when known, the line of key.
func (f *tomlFile) at(key string) string {
	if line := f.lines[key]; line > 0 {
		return fmt.Sprintf("%s:%d", f.path, line)
	}
	return f.path
}

// keyLines finds the lines of keys for messages. It is no parser: a key in an inline table or a string of several lines
// may be missed or misplaced.
func keyLines(text string) map[string]int {
	lines, prefix := map[string]int{}, ""
	note := func(key string, line int) { // the line of a key is also the first one of the tables it is in
		for ; key != ""; key = key[:max(strings.LastIndexByte(key, '.'), 0)] {
			if lines[key] == 0 {
				lines[key] = line
			}
		}
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if table, ok := strings.CutPrefix(line, "["); ok {
			table, _, _ = strings.Cut(strings.TrimPrefix(table, "["), "]")
			prefix = bareKey(table) + "."
			note(bareKey(table), i+1)
			continue
		}
		if key, _, ok := strings.Cut(line, "="); ok {
			note(prefix+bareKey(key), i+1)
		}
	}
	return lines
}

// bareKey removes the quotes and spaces that TOML allows in keys.
func bareKey(key string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\"'", r) {
			return -1
		}
		return r
	}, key)
}
