//go:build linux

// This file stops, continues and kills everything that descends from a process. The daemon adopts what its descendants leave.

package e2btest

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

// process is one of the machine's.
type process struct {
	pid, parent int
	dead        bool // a zombie
}

func processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []process
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
		out = append(out, process{pid, parent, fields[0] == "Z" || fields[0] == "X"})
	}
	return out
}

// descendants returns the live processes below one, itself not included.
func descendants(root int) (out []int) {
	children := map[int][]process{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	for todo := []int{root}; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		for _, p := range children[next] {
			todo = append(todo, p.pid)
			if !p.dead {
				out = append(out, p.pid)
			}
		}
	}
	return out
}

// freeze stops a process and all below it.
func freeze(root int) error {
	if err := syscall.Kill(root, syscall.SIGSTOP); err != nil {
		return err
	}
	stopped := map[int]bool{}
	for range maxRounds { // until nobody has forked meanwhile
		before := len(stopped)
		for _, pid := range descendants(root) {
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

// thaw lets a process and all below it go on.
func thaw(root int) error {
	for _, pid := range descendants(root) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	return syscall.Kill(root, syscall.SIGCONT)
}

// killTree kills all below a process, then the process.
func killTree(root int) error {
	if err := freeze(root); err != nil {
		return err
	}
	for range maxRounds {
		all := descendants(root)
		if len(all) == 0 {
			return syscall.Kill(root, syscall.SIGKILL)
		}
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("processes of %d do not end", root)
}
