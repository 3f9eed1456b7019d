// This file brings the helper program into the engine's containers.

package docker

import (
	"io"
	"os"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
)

// program is a helper program on this host.
type program helper.Program

// path is where the program is in a container. Each build has its own, so that none is replaced while it runs.
func (p program) path() string { return binDir + "/" + p.Build + "/" + helper.Name }

// findProgram returns the helper for a processor by Go's name.
func (b *Backend) findProgram(arch string) (program, error) {
	p, err := helper.ForLinux(opOpen, "the engine's containers", b.opts.HelperBinary, arch)
	return program(p), err
}

// lay puts the program into an archive.
func (p program) lay(to *packer) error {
	f, err := os.Open(p.File)
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
	}
	to.dir(binDir, identity{}, 0o755)
	to.dir(binDir+"/"+p.Build, identity{}, 0o755)
	to.file(p.path(), 0o755, text)
	return to.err
}
