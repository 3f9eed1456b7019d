// This file bounds the processes and the memory of a sandbox.

package confine

// MaxProcesses is how many processes and threads the commands of a helper may be at a time.
const MaxProcesses = 4096
