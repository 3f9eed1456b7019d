// This file keeps what was allowed for a workspace, on the host and outside of the folder, so that nothing in the folder can
// allow anything.

package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// Limits of what may be allowed for one workspace.
const (
	MaxRules     = 200
	MaxRuleBytes = 16 << 10 // of all patterns of a backend
)

// ErrFull says that no more can be allowed for a workspace.
var ErrFull = errors.New("as much is allowed for this workspace as is kept; remove some of it with: sandbox-agent rules")

// Rule is what somebody allowed for a workspace, in sandboxes of one kind: what may run in a container is not thereby
// allowed on the machine.
type Rule struct {
	policy.Rule
	Backend editors.BackendKind `json:"backend"`
	By      string              `json:"by,omitempty"`
	At      time.Time           `json:"at"`
}

// ruleFile is the content of a workspace's file. The folder is in it for people, and against collisions.
type ruleFile struct {
	Folder string `json:"folder"`
	Rules  []Rule `json:"rules"`
}

// Rules lists what is allowed for the workspace folder, an absolute path without links, oldest first.
func (s Store) Rules(folder string) ([]Rule, error) {
	data, err := os.ReadFile(s.ruleFile(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f ruleFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.Folder != folder {
		err = fmt.Errorf("it is about %s", f.Folder)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is allowed for %s from %s: %w", folder, s.ruleFile(folder), cause(err))
	}
	return f.Rules, nil
}

// Allow adds a rule for the workspace folder. Adding it again changes nothing.
func (s Store) Allow(folder string, r Rule) error {
	return s.change(folder, func(rules []Rule) ([]Rule, error) {
		count, bytes := 0, len(r.Pattern)
		for _, have := range rules {
			if have.Backend != r.Backend {
				continue
			}
			if have.Rule == r.Rule {
				return rules, nil
			}
			count, bytes = count+1, bytes+len(have.Pattern)
		}
		if count >= MaxRules || bytes > MaxRuleBytes {
			return nil, ErrFull
		}
		return append(rules, r), nil
	})
}

// Forget removes all rules of a pattern from the workspace folder and returns them.
func (s Store) Forget(folder, pattern string) ([]Rule, error) {
	var gone []Rule
	err := s.change(folder, func(rules []Rule) ([]Rule, error) {
		gone = nil
		return slices.DeleteFunc(rules, func(r Rule) bool {
			if r.Pattern != pattern {
				return false
			}
			gone = append(gone, r)
			return true
		}), nil
	})
	return gone, err
}

// change replaces the rules of a folder, one process at a time.
func (s Store) change(folder string, f func([]Rule) ([]Rule, error)) error {
	if err := os.MkdirAll(s.RuleDir, 0o700); err != nil {
		return fmt.Errorf("make the place for what is allowed: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.RuleDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock what is allowed: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock what is allowed: %w", err)
	}
	before, err := s.Rules(folder)
	if err != nil {
		return err
	}
	after, err := f(slices.Clone(before))
	if err != nil || slices.Equal(before, after) {
		return err
	}
	return s.write(folder, after)
}

func (s Store) write(folder string, rules []Rule) error {
	name := s.ruleFile(folder)
	data, err := json.MarshalIndent(ruleFile{folder, rules}, "", "  ")
	if err != nil {
		return fmt.Errorf("write what is allowed: %w", err)
	}
	temp, err := os.CreateTemp(s.RuleDir, ".rules-*")
	if err != nil {
		return fmt.Errorf("write what is allowed: %w", err)
	}
	_, err = temp.Write(append(data, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write what is allowed: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

func (s Store) ruleFile(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(s.RuleDir, hex.EncodeToString(sum[:16])+".json")
}
