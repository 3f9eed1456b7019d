// This file defines what can be configured, its defaults and what is valid.

package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"os/user"
	"slices"
	"strings"
	"time"
	"unicode"

	"sandboxagent/editors"
)

// The defaults.
const (
	DefaultModel             = editors.DefaultModel
	DefaultApprovalMode      = editors.ApprovalAsk
	DefaultOpenAIIdleTimeout = time.Minute
	DefaultWorkerIdleTimeout = 30 * time.Minute
	DefaultConfinement       = "fs+net"
)

// Config is what the user asked for. It holds no secrets; see Secrets.
type Config struct {
	Model        string               // of new sessions
	ApprovalMode editors.ApprovalMode // of new sessions
	Effort       string               // reasoning effort of new sessions; "": the model's own default
	Owner        string               // whose sessions these are; the OS user unless configured
	OpenAI       OpenAI
	Models       map[string]Model     // by name
	MCP          map[string]MCPServer // by name
	Temporal     Temporal
	Worker       Worker
	Local        Local
	Docker       Docker
	E2B          E2B
	Daytona      Daytona
	Checkpoint   Checkpoint
	Carry        Carry
	Log          Log
}

// OpenAI says which model server is spoken to and how.
type OpenAI struct {
	BaseURL     string        // "": OpenAI itself
	API         string        // responses, chat, or "" to find out
	IdleTimeout time.Duration // longest silence within an answer; at least 1 s
}

// Temporal explicitly overrides where Temporal is; empty fields leave it to Temporal's own environment and profiles.
type Temporal struct {
	Address   string // host:port
	Namespace string
	Profile   string // of Temporal's own configuration file
}

// Worker says how the background worker of this host behaves.
type Worker struct {
	IdleTimeout time.Duration // a worker that nobody needs ends after this time; 0: never
}

// Local says how commands in local folders run.
type Local struct {
	Confinement string // none, fs (they write only the workspace and see no secrets) or fs+net (nor have they a network)
}

// Docker says what containers are made of, and what they may take; it holds for new containers. Zero values mean the
// backend's own defaults.
type Docker struct {
	Image   string
	Network string  // none or bridge
	Memory  int64   // bytes
	CPUs    float64 // of the engine's
	Pids    int64   // processes and threads
}

// Checkpoint says what checkpoints may hold. Zero values mean the defaults of package checkpoint.
type Checkpoint struct {
	Exclude  string // doublestar patterns, parted by commas; one without "/" matches a name anywhere
	Files    int64  // paths in a folder
	Bytes    int64  // in all files of a folder
	FileSize int64  // bytes of one file; a larger one is left out
	Quota    int64  // bytes on disk above which checkpoints that nothing refers to go
}

// Excludes returns the patterns of Exclude.
func (c Checkpoint) Excludes() []string { return patterns(c.Exclude) }

// Carry says what of a workspace goes into other sandboxes. The patterns are as those of Checkpoint.Exclude.
type Carry struct {
	Exclude string // stays where it is, whatever the sandbox
	Include string // leaves this machine though it is ignored by git, or looks like a secret
}

// Excludes returns the patterns of Exclude.
func (c Carry) Excludes() []string { return patterns(c.Exclude) }

// Includes returns the patterns of Include.
func (c Carry) Includes() []string { return patterns(c.Include) }

func patterns(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// Log says what is logged.
type Log struct {
	Level slog.Level
}

// Default returns the configuration of an installation without files and environment.
func Default() Config {
	return Config{
		Model:        DefaultModel,
		ApprovalMode: DefaultApprovalMode,
		Owner:        defaultOwner(),
		OpenAI:       OpenAI{IdleTimeout: DefaultOpenAIIdleTimeout},
		Local:        Local{Confinement: DefaultConfinement},
		Worker:       Worker{IdleTimeout: DefaultWorkerIdleTimeout},
		Log:          Log{Level: slog.LevelInfo},
	}
}

// defaultOwner is the OS user's name in the form that Owner allows.
func defaultOwner() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "user"
	}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return '-'
		}
		return r
	}, u.Username)
	return name[:min(len(name), maxName)]
}

// maxName bounds the names of owners, models, efforts, profiles and namespaces, in bytes.
const maxName = 128

// maxPatterns bounds a list of patterns, in bytes.
const maxPatterns = 8 << 10

// Validate checks c; callers do so after they have applied flags. The error is an *editors.Error with CodeInvalidParams
// that names what is wrong.
func (c Config) Validate() error {
	for _, s := range settings {
		if s.check == nil {
			continue
		}
		if problem := s.check(&c); problem != "" {
			return editors.Errorf(editors.CodeInvalidParams, "The setting %s must be %s.", s.key, problem)
		}
	}
	return nil
}

// setting ties a key of config.toml to a variable and a field.
type setting struct {
	key    string // dotted
	env    string // variable, "" for none
	expect string // what a value must be, for people
	set    func(c *Config, text string) bool
	check  func(c *Config) string // what the field must be, "" when it is
	number bool                   // config.toml may also give a number
	unit   string                 // of that number
}

var settings = slices.Concat(hereSettings, cloudSettings)

var hereSettings = []setting{
	textSetting("model", "SANDBOX_AGENT_MODEL", "the name of a model", func(c *Config) *string { return &c.Model }, required),
	textSetting("approval_mode", "SANDBOX_AGENT_APPROVAL", "one of ask, auto, never, readOnly",
		func(c *Config) *string { return (*string)(&c.ApprovalMode) },
		oneOf(string(editors.ApprovalAsk), string(editors.ApprovalAuto), string(editors.ApprovalNever), string(editors.ApprovalReadOnly))),
	textSetting("effort", "SANDBOX_AGENT_EFFORT", "a reasoning effort such as low, medium or high", func(c *Config) *string { return &c.Effort }, optional),
	textSetting("owner", "SANDBOX_AGENT_OWNER", "a name without spaces and slashes", func(c *Config) *string { return &c.Owner }, ownerName),
	textSetting("openai.base_url", "OPENAI_BASE_URL", "an http or https URL without user info and query", func(c *Config) *string { return &c.OpenAI.BaseURL }, baseURL),
	textSetting("openai.api", "OPENAI_API", "responses or chat", func(c *Config) *string { return &c.OpenAI.API }, oneOf("", "responses", "chat")),
	durationSetting("openai.idle_timeout", "SANDBOX_AGENT_OPENAI_IDLE_TIMEOUT", time.Second, func(c *Config) *time.Duration { return &c.OpenAI.IdleTimeout }),
	textSetting("temporal.address", "", "host:port", func(c *Config) *string { return &c.Temporal.Address }, optional),
	textSetting("temporal.namespace", "", "the name of a namespace", func(c *Config) *string { return &c.Temporal.Namespace }, optional),
	textSetting("temporal.profile", "", "the name of a Temporal profile", func(c *Config) *string { return &c.Temporal.Profile }, optional),
	durationSetting("worker.idle_timeout", "SANDBOX_AGENT_WORKER_IDLE_TIMEOUT", 0, func(c *Config) *time.Duration { return &c.Worker.IdleTimeout }),
	textSetting("local.confinement", "SANDBOX_AGENT_CONFINEMENT", "none, fs or fs+net",
		func(c *Config) *string { return &c.Local.Confinement }, oneOf("none", "fs", DefaultConfinement)),
	textSetting("docker.image", "SANDBOX_AGENT_DOCKER_IMAGE", "the name of an image", func(c *Config) *string { return &c.Docker.Image }, optional),
	textSetting("docker.network", "SANDBOX_AGENT_DOCKER_NETWORK", "none or bridge",
		func(c *Config) *string { return &c.Docker.Network }, oneOf("", "none", "bridge")),
	numberSetting("docker.memory", "SANDBOX_AGENT_DOCKER_MEMORY", "a size such as \"512m\" or \"4g\"", parseSize,
		func(c *Config) *int64 { return &c.Docker.Memory }),
	numberSetting("docker.cpus", "SANDBOX_AGENT_DOCKER_CPUS", "a number of processors such as 1.5", parseFloat,
		func(c *Config) *float64 { return &c.Docker.CPUs }),
	numberSetting("docker.pids", "SANDBOX_AGENT_DOCKER_PIDS", "a number of processes", parseInt, func(c *Config) *int64 { return &c.Docker.Pids }),
	textSetting("checkpoint.exclude", "SANDBOX_AGENT_CHECKPOINT_EXCLUDE", "patterns parted by commas",
		func(c *Config) *string { return &c.Checkpoint.Exclude }, patternList),
	numberSetting("checkpoint.files", "SANDBOX_AGENT_CHECKPOINT_FILES", "a number of files", parseInt, func(c *Config) *int64 { return &c.Checkpoint.Files }),
	numberSetting("checkpoint.size", "SANDBOX_AGENT_CHECKPOINT_SIZE", "a size such as \"4g\"", parseSize, func(c *Config) *int64 { return &c.Checkpoint.Bytes }),
	numberSetting("checkpoint.file_size", "SANDBOX_AGENT_CHECKPOINT_FILE_SIZE", "a size such as \"512m\"", parseSize,
		func(c *Config) *int64 { return &c.Checkpoint.FileSize }),
	numberSetting("checkpoint.quota", "SANDBOX_AGENT_CHECKPOINT_QUOTA", "a size such as \"20g\"", parseSize,
		func(c *Config) *int64 { return &c.Checkpoint.Quota }),
	textSetting("carry.exclude", "SANDBOX_AGENT_CARRY_EXCLUDE", "patterns parted by commas",
		func(c *Config) *string { return &c.Carry.Exclude }, patternList),
	textSetting("carry.include", "SANDBOX_AGENT_CARRY_INCLUDE", "patterns parted by commas",
		func(c *Config) *string { return &c.Carry.Include }, patternList),
	{key: "log.level", env: "SANDBOX_AGENT_LOG", expect: "one of debug, info, warn, error", set: setLevel},
}

func textSetting(key, env, expect string, field func(*Config) *string, valid func(string) bool) setting {
	return setting{
		key: key, env: env, expect: expect,
		set: func(c *Config, text string) bool {
			*field(c) = text
			return valid(text)
		},
		check: func(c *Config) string {
			if valid(*field(c)) {
				return ""
			}
			return expect
		},
	}
}

func durationSetting(key, env string, least time.Duration, field func(*Config) *time.Duration) setting {
	expect := fmt.Sprintf("a duration such as \"90s\" or \"10m\", at least %v", least)
	return setting{
		key: key, env: env, expect: expect, number: true, unit: "s",
		set: func(c *Config, text string) bool {
			d, err := time.ParseDuration(text)
			*field(c) = d
			return err == nil && d >= least
		},
		check: func(c *Config) string {
			if *field(c) >= least {
				return ""
			}
			return expect
		},
	}
}

// numberSetting is a setting that must be positive, or 0 for the default.
func numberSetting[T int64 | float64](key, env, expect string, parse func(string) (T, error), field func(*Config) *T) setting {
	return setting{
		key: key, env: env, expect: expect, number: true,
		set: func(c *Config, text string) bool {
			n, err := parse(text)
			*field(c) = n
			return err == nil && n >= 0
		},
		check: func(c *Config) string {
			if *field(c) >= 0 {
				return ""
			}
			return expect
		},
	}
}

// patternList allows what a list of patterns may be.
func patternList(text string) bool {
	return len(text) <= maxPatterns && !strings.ContainsFunc(text, unicode.IsControl)
}

func setLevel(c *Config, text string) bool {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[strings.ToLower(text)]
	c.Log.Level = level
	return ok
}

func optional(s string) bool {
	return len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func required(s string) bool { return s != "" && optional(s) }

func ownerName(s string) bool { return required(s) && !strings.ContainsAny(s, `/\`) }

func oneOf(values ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(values, s) }
}

// baseURL refuses user info and queries, because keys hide there.
func baseURL(s string) bool {
	if s == "" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == ""
}
