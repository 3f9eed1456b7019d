// This file finds the helper program that runs in the engine's containers: for Linux, and for the engine's processor.

package docker

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
)

const (
	helperName = "sandbox-helper"
	helperEnv  = "SANDBOX_HELPER_BIN"
)

var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "386": elf.EM_386,
	"ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390, "riscv64": elf.EM_RISCV,
}

// program is a helper program on this host.
type program struct {
	file  string
	build string // its identity
}

// path is where the program is in a container. Each build has its own, so that none is replaced while it runs.
func (p program) path() string { return binDir + "/" + p.build + "/" + helperName }

// findProgram returns the helper for a processor by Go's name.
func (b *Backend) findProgram(arch string) (program, error) {
	for _, file := range b.programs(arch) {
		if !fits(file, arch) {
			continue
		}
		build, err := helper.Build(file)
		if err != nil {
			return program{}, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
		}
		return program{file, build}, nil
	}
	special := helperName + "-linux-" + arch
	return program{}, sandbox.Errorf(sandbox.ClassUnavailable, opOpen,
		"there is no helper program for the engine, which runs linux/%s: install %s beside this program, or set %s", arch, special, helperEnv)
}

func (b *Backend) programs(arch string) []string {
	if b.opts.HelperBinary != "" {
		return []string{b.opts.HelperBinary}
	}
	var files []string
	special := helperName + "-linux-" + arch
	if self, err := os.Executable(); err == nil {
		dir := filepath.Dir(self)
		files = append(files, filepath.Join(dir, special), filepath.Join(dir, helperName))
	}
	if file := b.env(helperEnv); file != "" {
		files = append(files, file)
	}
	for _, name := range []string{special, helperName} {
		if file, err := exec.LookPath(name); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// fits reports whether the file is a Linux program for that processor.
func fits(file, arch string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	machine, known := machines[arch]
	return known && f.Machine == machine
}

// lay puts the program into an archive.
func (p program) lay(to *packer) error {
	f, err := os.Open(p.file)
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
	}
	to.dir(binDir, identity{}, 0o755)
	to.dir(binDir+"/"+p.build, identity{}, 0o755)
	to.file(p.path(), 0o755, text)
	return to.err
}
