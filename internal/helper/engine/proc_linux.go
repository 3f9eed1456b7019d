// This file knows processes on Linux: child subreapers see every descendant, /proc tells who descends from whom.

package engine

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const hasSubreaper = true

// becomeSubreaper makes orphaned descendants children of this process.
func becomeSubreaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// tree returns the descendants of root, with zombies if asked: one whose main thread ended may still have others running.
// The second argument, a process group, is of use elsewhere only.
func tree(root, _ int, zombies bool) []int {
	kids := children(zombies)
	var out []int
	for todo := []int{root}; len(todo) > 0; {
		p := todo[0]
		todo = append(todo[1:], kids[p]...)
		out = append(out, kids[p]...)
	}
	return out
}

// children returns the children of every process that has some.
func children(zombies bool) map[int][]int {
	kids := map[int][]int{}
	for _, pid := range pids() {
		if parent, ok := parentOf(pid, zombies); ok {
			kids[parent] = append(kids[parent], pid)
		}
	}
	return kids
}

func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func parentOf(pid int, zombies bool) (int, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name before may hold anything
	if len(fields) < 2 || (!zombies && (fields[0] == "Z" || fields[0] == "X")) {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// marked returns the processes whose environment holds the pair.
func marked(pair string) []int {
	var out []int
	for _, pid := range pids() {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && bytes.Contains(append([]byte{0}, b...), []byte("\x00"+pair+"\x00")) {
			out = append(out, pid)
		}
	}
	return out
}

// selfProgram is the path by which this process can start itself again, also when its file was replaced.
func selfProgram() (string, error) { return "/proc/self/exe", nil }

// childrenOf returns the direct children of pid, zombies too.
func childrenOf(pid int) []int { return children(true)[pid] }
