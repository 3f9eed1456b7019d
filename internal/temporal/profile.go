// Package temporal exists to reach Temporal: it decides which server to use, connects to it with the product's
// payload rules, and runs the embedded server where nothing else is configured.
//
// Start with Resolve, which turns flags, Temporal's own environment and profiles, or the embedded server's state
// file into a Profile; then Dial. A process that owns the embedded server also calls StartEmbedded.
package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

const (
	defaultAddress   = "localhost:7233" // Temporal's own default
	defaultNamespace = "default"
)

// ResolveOptions say what is configured. The zero value with a StateDir means: whatever Temporal's environment says,
// else the embedded server.
type ResolveOptions struct {
	// Address, Namespace, APIKey and TLS come from the product's flags or user configuration and win, one by one,
	// over Temporal's environment and profiles.
	Address, Namespace, APIKey string
	TLS                        *envconfig.ClientConfigTLS

	// ProfileName and ConfigFile select a profile like TEMPORAL_PROFILE and TEMPORAL_CONFIG_FILE, and win over them.
	ProfileName, ConfigFile string

	// StateDir is the embedded server's state directory.
	StateDir string
	// Embedded chooses the embedded server whatever the environment says.
	Embedded bool

	// Env replaces the process environment (nil: the process environment).
	Env envconfig.EnvLookup
}

// Profile is one decided way to connect. It holds credentials; String never shows them.
type Profile struct {
	// Embedded says that the server is the one this product starts itself.
	Embedded bool
	// Address is host:port. It is empty for an embedded server that has never run.
	Address string
	// Namespace is never empty.
	Namespace string
	// Source names where the decision came from, for people.
	Source string
	// StateDir is the embedded server's state directory; empty when another server is used.
	StateDir string

	options client.Options
}

// String says where the profile points and why, without secrets.
func (p Profile) String() string {
	address := p.Address
	if address == "" {
		address = "not started yet"
	}
	return fmt.Sprintf("%s, namespace %s (%s)", address, p.Namespace, p.Source)
}

// Resolve decides how to connect, without connecting. It fails for a selected profile that does not exist, an
// unreadable configuration or certificate, and credentials without an address.
func Resolve(ctx context.Context, o ResolveOptions) (Profile, error) {
	if err := ctx.Err(); err != nil {
		return Profile{}, err
	}
	if o.Env == nil {
		o.Env = envconfig.EnvLookupOS
	}
	if o.Embedded {
		return resolveEmbedded(o.StateDir)
	}
	conf, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath: o.ConfigFile, ConfigFileProfile: o.ProfileName, EnvLookup: o.Env,
	})
	if err != nil {
		return Profile{}, fmt.Errorf("reading the Temporal configuration: %w", err)
	}
	source, explicit := describeSource(o)
	override(&conf, o)
	switch {
	case conf.Address != "":
	case explicit:
		conf.Address = defaultAddress
	case conf.APIKey != "":
		return Profile{}, errors.New("a Temporal API key is configured but no address; set TEMPORAL_ADDRESS")
	default:
		return resolveEmbedded(o.StateDir)
	}
	if conf.Namespace == "" {
		conf.Namespace = defaultNamespace
	}
	opts, err := conf.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return Profile{}, fmt.Errorf("using the Temporal configuration from %s: %w", source, err)
	}
	return Profile{Address: conf.Address, Namespace: conf.Namespace, Source: source, options: opts}, nil
}

func override(conf *envconfig.ClientConfigProfile, o ResolveOptions) {
	if o.Address != "" {
		conf.Address = o.Address
	}
	if o.Namespace != "" {
		conf.Namespace = o.Namespace
	}
	if o.APIKey != "" {
		conf.APIKey = o.APIKey
	}
	if o.TLS != nil {
		conf.TLS = o.TLS
	}
}

// describeSource names what decides the address, and whether a profile was asked for by name.
func describeSource(o ResolveOptions) (source string, explicit bool) {
	name, file := o.ProfileName, o.ConfigFile
	if name == "" {
		name, _ = o.Env.LookupEnv("TEMPORAL_PROFILE")
	}
	explicit = name != ""
	if file == "" {
		file, _ = o.Env.LookupEnv("TEMPORAL_CONFIG_FILE")
	}
	if file == "" {
		file = envconfig.DefaultConfigFilePath()
	}
	if o.Address != "" {
		return "configured address", explicit
	}
	if address, _ := o.Env.LookupEnv("TEMPORAL_ADDRESS"); address != "" {
		return "environment variable TEMPORAL_ADDRESS", explicit
	}
	if name == "" {
		name = envconfig.DefaultConfigFileProfile
	}
	return fmt.Sprintf("profile %q of %s", name, file), explicit
}

func resolveEmbedded(stateDir string) (Profile, error) {
	if stateDir == "" {
		return Profile{}, errors.New("no Temporal address is configured and no state directory for the embedded server")
	}
	p := Profile{
		Embedded: true, StateDir: stateDir, Namespace: embeddedNamespace,
		Source: "embedded server in " + stateDir,
	}
	// A server that never ran has no state yet; Dial reads it again.
	if st, err := readServerState(stateDir); err == nil {
		p.Address, p.Namespace = st.Address, st.Namespace
	}
	return p, nil
}
