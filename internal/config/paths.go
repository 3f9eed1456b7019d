// This file decides where everything lies on disk.

// Package config knows the files, the environment and their precedence, the directories of an installation and its
// secrets. It never reads anything from a workspace or the current directory: a workspace cannot configure the product.
//
// Where things lie follows the XDG base directories on every system, macOS included, so that a private HOME or a
// private set of XDG_* variables is a private installation that shares nothing with any other.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// product names the directories of an installation.
const product = "sandbox-agent"

// MaxSocketPath is the longest path of a socket in bytes that every supported system takes.
const MaxSocketPath = 100

// Env looks a variable up; os.LookupEnv is one. A variable that is set to nothing counts as not set.
type Env func(name string) (value string, ok bool)

// Get returns the value of name, "" when it is not set.
func (e Env) Get(name string) string {
	if e == nil {
		return ""
	}
	value, _ := e(name)
	return value
}

// Paths are the directories and files of one installation, all absolute.
type Paths struct {
	ConfigDir  string // what the user writes: $XDG_CONFIG_HOME/sandbox-agent
	StateDir   string // what the product remembers: $XDG_STATE_HOME/sandbox-agent
	DataDir    string // large, shared content: $XDG_DATA_HOME/sandbox-agent
	RuntimeDir string // sockets, gone after a reboot: $XDG_RUNTIME_DIR/sandbox-agent, else a private temporary directory

	ConfigFile    string // config.toml
	EnvFile       string // .env beside it: keys
	PolicyFile    string // policy.json beside it: what commands may do
	RuleDir       string // what was allowed for workspaces
	TemporalDir   string // of the embedded Temporal server
	BlobDir       string
	CheckpointDir string
	SandboxDir    string // of the local backends
	ForkDir       string // where forks that run locally have their folders: beside DataDir, as people open them
	LogDir        string
	HostIDFile    string
	WorkerLock    string // held by the one worker of the installation
	WorkerSocket  string // where that worker listens unless WorkerState says otherwise; at most MaxSocketPath bytes
	WorkerState   string // JSON of a WorkerInfo
}

// ResolvePaths returns the paths that env asks for: XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME and XDG_RUNTIME_DIR,
// else the defaults below HOME (else the user's home). As the XDG specification says, values that are not absolute are
// ignored. It makes nothing.
func ResolvePaths(env Env) (Paths, error) {
	home := env.Get("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return Paths{}, fmt.Errorf("finding the home directory: %w", err)
		}
	}
	if !filepath.IsAbs(home) {
		return Paths{}, fmt.Errorf("HOME is %q, which is not an absolute path", home)
	}
	below := func(name, fallback string) string {
		if dir := env.Get(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, product)
		}
		return filepath.Join(home, fallback, product)
	}
	p := Paths{
		ConfigDir: below("XDG_CONFIG_HOME", ".config"),
		StateDir:  below("XDG_STATE_HOME", ".local/state"),
		DataDir:   below("XDG_DATA_HOME", ".local/share"),
	}
	p.ConfigFile = filepath.Join(p.ConfigDir, "config.toml")
	p.EnvFile = filepath.Join(p.ConfigDir, ".env")
	p.PolicyFile = filepath.Join(p.ConfigDir, "policy.json")
	p.RuleDir = filepath.Join(p.StateDir, "rules")
	p.TemporalDir = filepath.Join(p.StateDir, "temporal")
	p.SandboxDir = filepath.Join(p.StateDir, "sandboxes")
	p.LogDir = filepath.Join(p.StateDir, "log")
	p.HostIDFile = filepath.Join(p.StateDir, "host-id")
	p.WorkerLock = filepath.Join(p.StateDir, "worker.lock")
	p.WorkerState = filepath.Join(p.StateDir, "worker.json")
	p.BlobDir = filepath.Join(p.DataDir, "blobs")
	p.CheckpointDir = filepath.Join(p.DataDir, "checkpoints")
	p.ForkDir = p.DataDir + "-forks" // beside what commands are shut off from
	if err := p.chooseSocket(env); err != nil {
		return Paths{}, err
	}
	return p, nil
}

// chooseSocket takes the first runtime directory whose socket path is short enough. The state directory is part of every
// candidate, so that two installations never meet.
func (p *Paths) chooseSocket(env Env) error {
	sum := sha256.Sum256([]byte(p.StateDir))
	installation := hex.EncodeToString(sum[:8])
	private := product + "-" + strconv.Itoa(os.Getuid()) + "-" + installation
	var candidates []string
	if dir := env.Get("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		candidates = append(candidates, filepath.Join(dir, product))
	}
	if dir := env.Get("TMPDIR"); filepath.IsAbs(dir) {
		candidates = append(candidates, filepath.Join(dir, private))
	}
	candidates = append(candidates, filepath.Join("/tmp", private))
	for _, dir := range candidates {
		socket := filepath.Join(dir, "worker-"+installation+".sock")
		if len(socket) <= MaxSocketPath {
			p.RuntimeDir, p.WorkerSocket = dir, socket
			return nil
		}
	}
	return errors.New("finding a place for the worker's socket: all paths are too long")
}

// Ensure makes the directories that are missing, mode 0700, and takes group and world permissions from those that have
// them. It refuses a runtime directory that belongs to somebody else or is a link, since others can write where it lies.
func (p Paths) Ensure() error {
	for _, dir := range []string{p.ConfigDir, p.StateDir, p.DataDir, p.TemporalDir, p.BlobDir, p.CheckpointDir, p.SandboxDir, p.LogDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the directories of the installation: %w", err)
		}
		if err := closeDir(dir); err != nil {
			return fmt.Errorf("closing the directories of the installation to others: %w", err)
		}
	}
	if err := os.MkdirAll(p.RuntimeDir, 0o700); err != nil {
		return fmt.Errorf("making the runtime directory: %w", err)
	}
	if err := ownDir(p.RuntimeDir); err != nil {
		return fmt.Errorf("checking the runtime directory: %w", err)
	}
	return nil
}

// closeDir takes the permissions of others from a directory of ours.
func closeDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()&0o700)
}
