// Package store reads the policies of the user and of workspaces, and keeps what was allowed for a workspace. Its files lie
// in the user's directories, but for a workspace's policy, which is read and not trusted: it can only restrict.
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sandboxagent/internal/policy"
)

// WorkspaceFile is where a workspace has its policy, relative to its folder.
const WorkspaceFile = ".sandbox-agent/policy.json"

const (
	maxFile   = 256 << 10 // bytes of a file
	maxPolicy = 32 << 10  // of a policy without its spaces: workflows carry it
)

// Store knows where policies and rules lie. Its methods may be called at the same time, also by several processes.
type Store struct {
	PolicyFile string // of the user
	RuleDir    string // one file for each workspace
}

// Policies are what the user and a workspace say. What cannot be read is in Broken, and says nothing: whoever judges by a
// policy with something in Broken asks about everything.
type Policies struct {
	User, Workspace policy.Policy
	Broken          string   // names file, line and cause
	Notices         []string // what the user should know, a sentence each
}

// Policies reads the user's policy and that of the workspace folder. A file that is not there says nothing.
func (s Store) Policies(folder string) Policies {
	var p Policies
	var broken []error
	var err error
	if p.User, err = s.User(); err != nil {
		broken = append(broken, err)
	}
	if p.Workspace, err = Workspace(folder); err != nil {
		broken = append(broken, err)
	}
	_, p.Notices = policy.Merge(p.User, p.Workspace)
	p.Workspace.Allow = nil
	if err := errors.Join(broken...); err != nil {
		p.User, p.Workspace = policy.Policy{}, policy.Policy{}
		p.Broken = broken[0].Error()
		for _, e := range broken {
			p.Notices = append(p.Notices, "A policy cannot be read, so everything but reading is asked about: "+e.Error()+".")
		}
	}
	return p
}

// User reads the user's policy. The error names the file and the line.
func (s Store) User() (policy.Policy, error) {
	return read(s.PolicyFile, func() (*os.File, error) { return os.OpenFile(s.PolicyFile, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
}

// Workspace reads the policy of a workspace, without leaving its folder by links. The error names the file and the line.
func Workspace(folder string) (policy.Policy, error) {
	name := filepath.Join(folder, WorkspaceFile)
	return read(name, func() (*os.File, error) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.OpenFile(WorkspaceFile, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	})
}

func read(name string, open func() (*os.File, error)) (policy.Policy, error) {
	data, err := content(open)
	if errors.Is(err, fs.ErrNotExist) {
		return policy.Policy{}, nil
	}
	if err != nil {
		return policy.Policy{}, fmt.Errorf("%s: %w", name, cause(err))
	}
	p, err := policy.ParsePolicy(name, data)
	if err != nil {
		return policy.Policy{}, err
	}
	if b, err := json.Marshal(p); err != nil || len(b) > maxPolicy {
		return policy.Policy{}, fmt.Errorf("%s: its patterns take more than %d KiB; remove some", name, maxPolicy>>10)
	}
	return p, nil
}

// content reads a regular file of bounded size.
func content(open func() (*os.File, error)) ([]byte, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has more than %d KiB", maxFile>>10)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}

// cause leaves out of an error what its message would say twice: the path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
