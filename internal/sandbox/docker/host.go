// This file finds the engine as Docker's own command does: the environment, then the chosen context, then the sockets
// that the known engines have.

package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/docker/client"

	"sandboxagent/internal/sandbox"
)

const (
	unixScheme    = "unix://"
	defaultSocket = "/var/run/docker.sock"
	opFind        = "find the Docker engine"
)

// endpoint says where an engine is.
type endpoint struct {
	host  string // an address such as unix:///var/run/docker.sock
	certs string // directory of ca.pem, cert.pem and key.pem; "" without TLS
	where string // the address and why it is that, for messages
}

func (b *Backend) findEndpoint() (endpoint, error) {
	found, err := b.endpoint()
	if err != nil {
		return found, err
	}
	if strings.HasPrefix(found.host, "ssh://") {
		return found, sandbox.Errorf(sandbox.ClassUnsupported, opFind,
			"engines behind ssh are not supported (%s): forward the engine's socket with ssh -L and set DOCKER_HOST to it", found.where)
	}
	return found, nil
}

func (b *Backend) endpoint() (endpoint, error) {
	if host := b.env("DOCKER_HOST"); host != "" {
		found := endpoint{host: host, where: "at " + host + ", from DOCKER_HOST"}
		if b.env("DOCKER_TLS_VERIFY") != "" || b.env("DOCKER_CERT_PATH") != "" {
			found.certs = b.env("DOCKER_CERT_PATH")
			if found.certs == "" {
				found.certs = b.dockerDir()
			}
		}
		return found, nil
	}
	if name := b.contextName(); name != "" && name != "default" {
		return b.contextEndpoint(name)
	}
	socket := b.socket()
	return endpoint{host: unixScheme + socket, where: "at " + socket}, nil
}

func (b *Backend) env(name string) string {
	if value, ok := b.opts.Env(name); ok {
		return value
	}
	return ""
}

// dockerDir is where Docker's own command keeps its configuration.
func (b *Backend) dockerDir() string {
	if dir := b.env("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(b.env("HOME"), ".docker")
}

func (b *Backend) contextName() string {
	if name := b.env("DOCKER_CONTEXT"); name != "" {
		return name
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	text, err := os.ReadFile(filepath.Join(b.dockerDir(), "config.json"))
	if err != nil || json.Unmarshal(text, &config) != nil {
		return "" // Docker's own command would complain, but the sockets may do
	}
	return config.CurrentContext
}

func (b *Backend) contextEndpoint(name string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	dir := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	text, err := os.ReadFile(filepath.Join(b.dockerDir(), "contexts", "meta", dir, "meta.json"))
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	host := meta.Endpoints["docker"].Host
	if err != nil || host == "" {
		return endpoint{}, &sandbox.Error{
			Class: sandbox.ClassInvalid, Op: opFind, Err: err,
			Message: "the Docker context " + name + " cannot be read: choose another one with docker context use, or set DOCKER_HOST",
		}
	}
	found := endpoint{host: host, where: "at " + host + ", from the Docker context " + name}
	certs := filepath.Join(b.dockerDir(), "contexts", "tls", dir, "docker")
	if _, err := os.Stat(filepath.Join(certs, "ca.pem")); err == nil {
		found.certs = certs
	}
	return found, nil
}

// socket returns the first socket there is of those that the known engines have, else the usual one.
func (b *Backend) socket() string {
	home := b.env("HOME")
	candidates := []string{defaultSocket}
	if dir := b.env("XDG_RUNTIME_DIR"); dir != "" {
		candidates = append(candidates, filepath.Join(dir, "docker.sock"))
	}
	if home != "" {
		for _, path := range []string{".docker/run", ".docker/desktop", ".orbstack/run", ".colima/default", ".rd"} {
			candidates = append(candidates, filepath.Join(home, path, "docker.sock"))
		}
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return defaultSocket
}

// engine is a connection to an engine.
type engine struct {
	*client.Client
	endpoint
}

// arch returns the engine's processor by Go's name.
func (e *engine) arch(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	v, err := e.ServerVersion(ctx)
	if err != nil {
		return "", e.failed(opFind, err)
	}
	if v.Os != "linux" {
		return "", sandbox.Errorf(sandbox.ClassUnsupported, opFind, "the Docker engine %s runs %s containers; switch it to Linux containers", e.where, v.Os)
	}
	return v.Arch, nil
}

// engine returns the connection to the engine that is to be used now.
func (b *Backend) engine() (*engine, error) {
	found, err := b.findEndpoint()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil && b.client.endpoint == found {
		return b.client, nil
	}
	opts := []client.Opt{client.WithHost(found.host), client.WithAPIVersionNegotiation()}
	if dir := found.certs; dir != "" {
		opts = append(opts, client.WithTLSClientConfig(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")))
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassInvalid, Op: opFind, Message: "the Docker engine " + found.where + " cannot be used: correct its address or certificates", Err: err}
	}
	if b.client != nil {
		_ = b.client.Close()
	}
	b.client = &engine{c, found}
	return b.client, nil
}
