// This file finds the helper program that runs in sandboxes: for Linux, and for the sandbox's processor.

package e2b

import (
	"debug/elf"
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

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// helperProgram is a helper program on this host.
type helperProgram struct {
	file  string
	build string // its identity
}

// findProgram returns the helper for a processor by Go's name.
func (b *Backend) findProgram(arch string) (helperProgram, error) {
	for _, file := range b.programs(arch) {
		if !fits(file, arch) {
			continue
		}
		build, err := helper.Build(file)
		if err != nil {
			return helperProgram{}, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read: install this program anew", Err: err}
		}
		return helperProgram{file, build}, nil
	}
	return helperProgram{}, sandbox.Errorf(sandbox.ClassUnsupported, opOpen,
		"there is no helper program for E2B's sandboxes: install %s-linux-%s beside this program, or set %s", helperName, arch, helperEnv)
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
	if file := b.opts.env(helperEnv); file != "" {
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
