//go:build linux

// This file stops, continues and kills everything that descends from a process. The daemon adopts what its Descendants leave.

package cloudtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const maxRounds = 1000

// Process is one of the machine's.
type Process struct {
	PID, Parent int
	Dead        bool // a zombie
}

// Processes returns all processes of this machine.
func Processes() []Process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		out = append(out, Process{pid, parent, fields[0] == "Z" || fields[0] == "X"})
	}
	return out
}

// Descendants returns the live processes below one, itself not included.
func Descendants(root int) (out []int) {
	children := map[int][]Process{}
	for _, p := range Processes() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	for todo := []int{root}; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		for _, p := range children[next] {
			todo = append(todo, p.PID)
			if !p.Dead {
				out = append(out, p.PID)
			}
		}
	}
	return out
}

// Matching returns the live processes of this machine with text in their command line.
func Matching(text string) (pids []int) {
	for _, p := range Processes() {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
		if err == nil && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// Freeze stops a process and all below it.
func Freeze(root int) error {
	if err := syscall.Kill(root, syscall.SIGSTOP); err != nil {
		return err
	}
	stopped := map[int]bool{}
	for range maxRounds { // until nobody has forked meanwhile
		before := len(stopped)
		for _, pid := range Descendants(root) {
			if !stopped[pid] && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped[pid] = true
			}
		}
		if len(stopped) == before {
			return nil
		}
	}
	return errors.New("processes fork faster than they can be stopped")
}

// Thaw lets a process and all below it go on.
func Thaw(root int) error {
	for _, pid := range Descendants(root) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	return syscall.Kill(root, syscall.SIGCONT)
}

// KillTree kills all below a process, then the process.
func KillTree(root int) error {
	if err := Freeze(root); err != nil {
		return err
	}
	for range maxRounds {
		all := Descendants(root)
		if len(all) == 0 {
			return syscall.Kill(root, syscall.SIGKILL)
		}
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("processes of %d do not end", root)
}
