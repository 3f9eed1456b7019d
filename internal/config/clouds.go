// This file defines what can be configured about the sandboxes of clouds.

package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// E2B says how E2B is reached and what is made there; it holds for new sandboxes. Zero values mean the backend's own defaults.
type E2B struct {
	APIURL     string // of the control plane
	Domain     string // below which control plane and sandboxes are
	SandboxURL string // reaches every sandbox
	Template   string // id, name or name:tag
	Root       string // the workspace in a sandbox: absolute, or ~/NAME
	Network    string // none or internet
	Timeout    time.Duration
	Unattended time.Duration
}

// Daytona says how Daytona is reached and what is made there; it holds for new sandboxes. Zero values mean the backend's own
// defaults.
type Daytona struct {
	APIURL     string // of the control plane
	Target     string // the region
	Image      string // what sandboxes are made of: a container image, or snapshot:NAME
	CPUs       int64  // of those made of an image
	Memory     int64  // of those, in GiB
	Disk       int64  // of those, in GiB
	Root       string // the workspace in a sandbox: absolute, or ~/NAME
	Network    string // none or internet
	Timeout    time.Duration
	Unattended time.Duration
	Archive    time.Duration
	Delete     time.Duration
}

const (
	minE2BTimeout     = 15 * time.Second
	minDaytonaTimeout = time.Minute
	maxCloudTimeout   = 24 * time.Hour
	maxUnattended     = 7 * 24 * time.Hour
	maxKept           = 10 * 365 * 24 * time.Hour
)

var cloudSettings = []setting{
	textSetting("e2b.api_url", "E2B_API_URL", "an http or https URL without user info and query", func(c *Config) *string { return &c.E2B.APIURL }, baseURL),
	textSetting("e2b.domain", "E2B_DOMAIN", "the name of a domain", func(c *Config) *string { return &c.E2B.Domain }, domain),
	textSetting("e2b.sandbox_url", "E2B_SANDBOX_URL", "an http or https URL without user info and query",
		func(c *Config) *string { return &c.E2B.SandboxURL }, baseURL),
	textSetting("e2b.template", "SANDBOX_AGENT_E2B_TEMPLATE", "the id or name of a template", func(c *Config) *string { return &c.E2B.Template }, optional),
	rootSetting("e2b.root", "SANDBOX_AGENT_E2B_ROOT", func(c *Config) *string { return &c.E2B.Root }),
	networkSetting("e2b.network", "SANDBOX_AGENT_E2B_NETWORK", func(c *Config) *string { return &c.E2B.Network }),
	spanSetting("e2b.timeout", "SANDBOX_AGENT_E2B_TIMEOUT", minE2BTimeout, maxCloudTimeout, func(c *Config) *time.Duration { return &c.E2B.Timeout }),
	spanSetting("e2b.unattended", "SANDBOX_AGENT_E2B_UNATTENDED", time.Minute, maxUnattended, func(c *Config) *time.Duration { return &c.E2B.Unattended }),
	textSetting("daytona.api_url", "DAYTONA_API_URL", "an http or https URL without user info and query",
		func(c *Config) *string { return &c.Daytona.APIURL }, baseURL),
	textSetting("daytona.target", "DAYTONA_TARGET", "the name of a region", func(c *Config) *string { return &c.Daytona.Target }, optional),
	textSetting("daytona.image", "SANDBOX_AGENT_DAYTONA_IMAGE", "the name of an image, or snapshot:NAME",
		func(c *Config) *string { return &c.Daytona.Image }, optional),
	numberSetting("daytona.cpus", "SANDBOX_AGENT_DAYTONA_CPUS", "a whole number of processors", parseInt, func(c *Config) *int64 { return &c.Daytona.CPUs }),
	numberSetting("daytona.memory", "SANDBOX_AGENT_DAYTONA_MEMORY", "a size in whole gigabytes such as \"4g\"", parseGigabytes,
		func(c *Config) *int64 { return &c.Daytona.Memory }),
	numberSetting("daytona.disk", "SANDBOX_AGENT_DAYTONA_DISK", "a size in whole gigabytes such as \"10g\"", parseGigabytes,
		func(c *Config) *int64 { return &c.Daytona.Disk }),
	rootSetting("daytona.root", "SANDBOX_AGENT_DAYTONA_ROOT", func(c *Config) *string { return &c.Daytona.Root }),
	networkSetting("daytona.network", "SANDBOX_AGENT_DAYTONA_NETWORK", func(c *Config) *string { return &c.Daytona.Network }),
	spanSetting("daytona.timeout", "SANDBOX_AGENT_DAYTONA_TIMEOUT", minDaytonaTimeout, maxCloudTimeout,
		func(c *Config) *time.Duration { return &c.Daytona.Timeout }),
	spanSetting("daytona.unattended", "SANDBOX_AGENT_DAYTONA_UNATTENDED", time.Minute, maxUnattended,
		func(c *Config) *time.Duration { return &c.Daytona.Unattended }),
	spanSetting("daytona.archive", "SANDBOX_AGENT_DAYTONA_ARCHIVE", time.Minute, maxKept, func(c *Config) *time.Duration { return &c.Daytona.Archive }),
	spanSetting("daytona.delete", "SANDBOX_AGENT_DAYTONA_DELETE", time.Minute, maxKept, func(c *Config) *time.Duration { return &c.Daytona.Delete }),
}

func networkSetting(key, env string, field func(*Config) *string) setting {
	return textSetting(key, env, "none or internet", field, oneOf("", "none", "internet"))
}

func rootSetting(key, env string, field func(*Config) *string) setting {
	return textSetting(key, env, "an absolute path, or one that begins with ~/", field, func(s string) bool {
		return optional(s) && (s == "" || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~/"))
	})
}

// spanSetting is a duration within bounds, or 0 for the default.
func spanSetting(key, env string, least, most time.Duration, field func(*Config) *time.Duration) setting {
	s := durationSetting(key, env, 0, field)
	s.expect = fmt.Sprintf("a duration such as \"30m\" or \"2h\", from %v to %v", least, most)
	valid := func(d time.Duration) bool { return d == 0 || least <= d && d <= most }
	parse := s.set
	s.set = func(c *Config, text string) bool { return parse(c, text) && valid(*field(c)) }
	s.check = func(c *Config) string {
		if valid(*field(c)) {
			return ""
		}
		return s.expect
	}
	return s
}

var domains = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$`)

func domain(s string) bool { return s == "" || domains.MatchString(s) }
