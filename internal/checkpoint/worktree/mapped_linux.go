// This file finds the files that some process can change without leaving a trace in their times: those with a shared,
// writable mapping.

package worktree

import (
	"bytes"
	"os"
	"strconv"
)

// mapped returns the inodes of such files, of whatever file system: one too many only costs reading it.
func mapped() map[uint64]bool {
	out := map[uint64]bool{}
	proc, err := os.Open("/proc")
	if err != nil {
		return out
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return out
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if maps, err := os.ReadFile("/proc/" + name + "/maps"); err == nil {
			addMapped(out, maps)
		}
	}
	return out
}

// addMapped reads lines such as "7f00-7f01 rw-s 00000000 fd:01 1234 /path".
func addMapped(out map[uint64]bool, maps []byte) {
	for line := range bytes.Lines(maps) {
		space := bytes.IndexByte(line, ' ')
		if space < 0 || len(line) < space+5 || line[space+2] != 'w' || line[space+4] != 's' {
			continue
		}
		fields := bytes.Fields(line)
		if len(fields) < 6 || fields[5][0] != '/' {
			continue
		}
		if ino, err := strconv.ParseUint(string(fields[4]), 10, 64); err == nil {
			out[ino] = true
		}
	}
}
