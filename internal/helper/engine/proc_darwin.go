// This file knows processes on macOS, which has no subreaper: a tree is what descends from a process or shares the
// command's process group. A process that leaves both, by setsid after a double fork, is not found.

package engine

import (
	"os"

	"golang.org/x/sys/unix"
)

const hasSubreaper = false

func becomeSubreaper() {}

const zombie = 5 // SZOMB

// tree returns the processes below root or in the process group pgid, and what descends from them.
func tree(root, pgid int, zombies bool) []int {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	in := map[int]bool{root: true}
	var out []int
	for grown := true; grown; {
		grown = false
		for i := range procs {
			p := &procs[i]
			pid := int(p.Proc.P_pid)
			if in[pid] || (!zombies && p.Proc.P_stat == zombie) {
				continue
			}
			if in[int(p.Eproc.Ppid)] || (pgid > 0 && int(p.Eproc.Pgid) == pgid) {
				in[pid] = true
				out = append(out, pid)
				grown = true
			}
		}
	}
	return out
}

// marked finds nothing here: the environment of other processes cannot be read.
func marked(string) []int { return nil }

func selfProgram() (string, error) { return os.Executable() }

// childrenOf is of use only where orphans come to this process.
func childrenOf(int) []int { return nil }
