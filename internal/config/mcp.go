// This file reads which MCP servers the user has, and the secrets that these name.

package config

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sandboxagent/editors"
)

// MCPServer is one server of the section [mcp.NAME]. It has either a Command, and is then a program on this host, or a URL.
type MCPServer struct {
	Command string            // a name that is looked for in PATH, or an absolute path; ~/ is the home directory
	Args    []string          // plain: everybody on the host can see them
	Env     map[string]string // beside a few harmless variables; ${NAME} stands for a variable or a secret of the .env file
	Dir     string            // where it runs; "": a directory of its own

	URL     string
	Headers map[string]string // ${NAME} as in Env

	Tools        []string      // patterns, as of package path, of the tools to offer; none: all
	Timeout      time.Duration // of one call
	StartTimeout time.Duration // until it has listed its tools
	PerSession   bool          // every session gets one of its own
	Disabled     bool
}

// The defaults of servers, and their limits.
const (
	DefaultMCPTimeout      = 5 * time.Minute
	DefaultMCPStartTimeout = time.Minute

	MaxMCPServers = 32
	MaxMCPName    = 24 // bytes of a name: with the name of a tool it has to fit what models take

	maxMCPTimeout = 2 * time.Hour
	maxMCPStart   = 5 * time.Minute
	maxMCPList    = 256     // arguments, variables, headers or patterns of one server
	maxMCPText    = 8 << 10 // bytes of one of them
)

var (
	mcpNames      = regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)
	variableNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerNames   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	references    = regexp.MustCompile(`\$\{([^}]*)\}?`)
)

// applyMCP reads the tables [mcp.NAME].
func (f *tomlFile) applyMCP(c *Config, value any) error {
	table, ok := value.(map[string]any)
	if !ok {
		return editors.Errorf(editors.CodeInvalidParams, "%s: mcp must hold tables, as in [mcp.NAME].", f.at("mcp"))
	}
	if len(table) > MaxMCPServers {
		return editors.Errorf(editors.CodeInvalidParams, "%s: there are more than %d servers in [mcp].", f.at("mcp"), MaxMCPServers)
	}
	c.MCP = map[string]MCPServer{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fields, ok := table[name].(map[string]any)
		switch {
		case !ok:
			return editors.Errorf(editors.CodeInvalidParams, "%s: mcp.%s must be a table, as in [mcp.%s].", f.at("mcp."+name), name, name)
		case !mcpNames.MatchString(name) || len(name) > MaxMCPName:
			return editors.Errorf(editors.CodeInvalidParams, "%s: %q cannot be the name of an MCP server; it must have up to %d letters, digits, - and single _ between them.",
				f.at("mcp."+name), name, MaxMCPName)
		}
		s := mcpReader{f: f, key: "mcp." + name, server: MCPServer{Timeout: DefaultMCPTimeout, StartTimeout: DefaultMCPStartTimeout}}
		if err := s.read(fields); err != nil {
			return err
		}
		c.MCP[name] = s.server
	}
	return nil
}

// mcpReader reads the table of one server.
type mcpReader struct {
	f      *tomlFile
	key    string // of the table
	server MCPServer
}

func (r *mcpReader) read(fields map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if err := r.field(key, fields[key]); err != nil {
			return err
		}
	}
	s := r.server
	switch {
	case s.Command == "" && s.URL == "":
		return editors.Errorf(editors.CodeInvalidParams, "%s: %s must have a command, or a url.", r.f.at(r.key), r.key)
	case s.Command != "" && s.URL != "":
		return editors.Errorf(editors.CodeInvalidParams, "%s: %s has a command and a url; it can have one of them.", r.f.at(r.key), r.key)
	case s.URL != "" && (s.Args != nil || s.Env != nil || s.Dir != ""):
		return editors.Errorf(editors.CodeInvalidParams, "%s: args, env and dir of %s need a command.", r.f.at(r.key), r.key)
	case s.Command != "" && s.Headers != nil:
		return editors.Errorf(editors.CodeInvalidParams, "%s: headers of %s need a url.", r.f.at(r.key), r.key)
	}
	return nil
}

func (r *mcpReader) field(key string, value any) (err error) {
	s := &r.server
	switch key {
	case "command":
		s.Command, err = r.text(key, value, "the name of a program, or its absolute path", program)
	case "dir":
		s.Dir, err = r.text(key, value, "an absolute path, or one that begins with ~/", absolute)
	case "url":
		s.URL, err = r.text(key, value, "an http or https URL without user info, fragment and keys", serverURL)
	case "args":
		if s.Args, err = r.list(key, value, "a list of texts"); err == nil {
			err = r.arguments(s.Args)
		}
	case "tools":
		if s.Tools, err = r.list(key, value, "a list of patterns such as \"search_*\""); err == nil && slices.ContainsFunc(s.Tools, badPattern) {
			err = r.wrong(key, "a list of patterns such as \"search_*\"")
		}
	case "env":
		s.Env, err = r.table(key, value, variableNames, looksSecret)
	case "headers":
		s.Headers, err = r.table(key, value, headerNames, secretHeader)
	case "timeout":
		s.Timeout, err = r.duration(key, value, maxMCPTimeout)
	case "start_timeout":
		s.StartTimeout, err = r.duration(key, value, maxMCPStart)
	case "per_session":
		s.PerSession, err = r.boolean(key, value)
	case "enabled":
		var enabled bool
		enabled, err = r.boolean(key, value)
		s.Disabled = !enabled
	default:
		if looksSecret(key) {
			return r.secret(key)
		}
		r.f.warnings = append(r.f.warnings, Warning{
			File: r.f.path, Line: r.f.lines[r.key+"."+key], Key: r.key + "." + key, Message: "unknown key " + r.key + "." + key + " is ignored",
		})
	}
	return err
}

func (r *mcpReader) wrong(key, expect string) error {
	return editors.Errorf(editors.CodeInvalidParams, "%s: %s.%s must be %s.", r.f.at(r.key+"."+key), r.key, key, expect)
}

// secret refuses a secret that stands in the file itself.
func (r *mcpReader) secret(key string) error {
	name := strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key[strings.LastIndexByte(key, '.')+1:]))
	return editors.Errorf(editors.CodeInvalidParams, "%s: %s.%s is a secret and does not belong into this file.", r.f.at(r.key+"."+key), r.key, key).
		WithRemedy("Put it into the .env file beside it, as in " + name + "=…, and write ${" + name + "} here.")
}

func (r *mcpReader) text(key string, value any, expect string, valid func(string) bool) (string, error) {
	text, ok := value.(string)
	if text = strings.TrimSpace(text); !ok || text == "" || len(text) > maxMCPText || strings.ContainsRune(text, 0) || !valid(text) {
		return "", r.wrong(key, expect)
	}
	return text, nil
}

func (r *mcpReader) list(key string, value any, expect string) ([]string, error) {
	values, ok := value.([]any)
	if !ok || len(values) > maxMCPList {
		return nil, r.wrong(key, expect)
	}
	list := []string{}
	for _, v := range values {
		text, ok := v.(string)
		if !ok || len(text) > maxMCPText || strings.ContainsRune(text, 0) {
			return nil, r.wrong(key, expect)
		}
		list = append(list, text)
	}
	return list, nil
}

// arguments refuses secrets where every process of the host can read them.
func (r *mcpReader) arguments(args []string) error {
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		next := !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-")
		if strings.Contains(arg, "${") || strings.HasPrefix(name, "-") && looksSecret(name) && (value != "" || next) {
			return editors.Errorf(editors.CodeInvalidParams, "%s: %s.args must hold no secrets, since other programs can see the arguments of a program.",
				r.f.at(r.key+".args"), r.key).WithRemedy("Hand them over by variables: [" + r.key + ".env]")
		}
	}
	return nil
}

// table reads names and values. What is a secret by its name must come from elsewhere.
func (r *mcpReader) table(key string, value any, names *regexp.Regexp, secret func(string) bool) (map[string]string, error) {
	values, ok := value.(map[string]any)
	if !ok || len(values) > maxMCPList {
		return nil, r.wrong(key, "a table, as in ["+r.key+"."+key+"]")
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[name].(string)
		at := key + "." + name
		switch {
		case !ok || len(text) > maxMCPText || strings.ContainsAny(text, "\x00\r\n"):
			return nil, r.wrong(at, "one line of text")
		case !names.MatchString(name):
			return nil, r.wrong(key, fmt.Sprintf("a table without the name %q", name))
		case secret(name) && text != "" && !strings.Contains(text, "${"):
			return nil, r.secret(at)
		}
		for _, m := range references.FindAllStringSubmatch(text, -1) {
			if !variableNames.MatchString(m[1]) || !strings.HasSuffix(m[0], "}") {
				return nil, r.wrong(at, "text in which ${NAME} stands for the variable NAME")
			}
		}
		out[name] = text
	}
	return out, nil
}

func (r *mcpReader) duration(key string, value any, most time.Duration) (time.Duration, error) {
	var d time.Duration
	var err error
	switch v := value.(type) {
	case int64:
		d = time.Duration(min(v, int64(most/time.Second)+1)) * time.Second
	case string:
		d, err = time.ParseDuration(strings.TrimSpace(v))
	}
	if err != nil || d < time.Second || d > most {
		return 0, r.wrong(key, fmt.Sprintf("a duration such as \"90s\" or \"10m\", from 1s to %v", most))
	}
	return d, nil
}

func (r *mcpReader) boolean(key string, value any) (bool, error) {
	b, ok := value.(bool)
	if !ok {
		return false, r.wrong(key, "true or false")
	}
	return b, nil
}

func absolute(s string) bool { return filepath.IsAbs(s) || strings.HasPrefix(s, "~/") }

// program allows no path that depends on where the worker runs: that could be a folder which others write.
func program(s string) bool { return !strings.ContainsRune(s, filepath.Separator) || absolute(s) }

func badPattern(s string) bool {
	_, err := path.Match(s, "")
	return err != nil
}

// serverURL refuses what holds a key: addresses are logged and shown.
func serverURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	for name := range u.Query() {
		if looksSecret(name) || strings.EqualFold(name, "key") {
			return false
		}
	}
	return true
}

func secretHeader(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie":
		return true
	}
	return looksSecret(name) || strings.HasSuffix(strings.ToLower(name), "-key")
}

// Expand puts variables in place of ${NAME} in a value of Env or Headers; missing is the first one that has no value.
func Expand(text string, value func(name string) string) (expanded, missing string) {
	expanded = references.ReplaceAllStringFunc(text, func(ref string) string {
		name := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		v := value(name)
		if v == "" && missing == "" {
			missing = name
		}
		return v
	})
	return expanded, missing
}

// shortestKey is the length in bytes from which a value is taken for a key whatever its name is.
const shortestKey = 16

// Variable returns the value of any variable of the environment, else of the .env file, for the servers whose configuration
// names it. From then on Redact takes it for a secret, unless it is a path, or short and not named like a secret: these would
// tear up ordinary text.
func (s *Secrets) Variable(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	value := s.get(name)
	for _, v := range []string{s.env.Get(name), s.dotenv[name]} {
		if value == "" {
			value = strings.TrimSpace(v)
		}
	}
	if looksSecret(name) || len(value) >= shortestKey && !filepath.IsAbs(value) {
		s.remember(value)
	}
	return value
}
