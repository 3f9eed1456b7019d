// This file finds the helper program on this host: the one for this machine, and those for sandboxes with another processor.

package helper

import (
	"debug/elf"
	"os"

	"sandboxagent/internal/program"
	"sandboxagent/internal/sandbox"
)

// Name is the name of the helper program. One for Linux on another processor has -linux-ARCH behind it.
const Name = "sandbox-helper"

const variable = "SANDBOX_HELPER_BIN"

var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "386": elf.EM_386,
	"ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390, "riscv64": elf.EM_RISCV,
}

// Architectures are processors that sandboxes may have: what uname says, and Go's name.
var Architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Program is a helper program on this host.
type Program struct {
	File  string
	Build string // its identity
}

// Here returns the path of the helper for this machine: the file given, or, where that is empty, what $SANDBOX_HELPER_BIN
// names or program.Own finds.
func Here(op, given string) (string, error) {
	for _, file := range candidates(given, Name) {
		if program.Executable(file) == nil {
			return file, nil
		}
	}
	return "", sandbox.Errorf(sandbox.ClassUnavailable, op, "the program %s was not found: install it beside this program or set %s", Name, variable)
}

// ForLinux returns the helper for sandboxes on a processor by Go's name: the file given, or, where that is empty, the first
// that fits of those that Here would take and those for that processor. whose says what sandboxes they are, as in "E2B's
// sandboxes".
func ForLinux(op, whose, given, arch string) (Program, error) {
	special := Name + "-linux-" + arch
	for _, file := range candidates(given, special, Name) {
		if !fits(file, arch) {
			continue
		}
		build, err := Build(file)
		if err != nil {
			return Program{}, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: op, Message: "the helper program cannot be read: install this program anew", Err: err}
		}
		return Program{file, build}, nil
	}
	return Program{}, sandbox.Errorf(sandbox.ClassUnsupported, op,
		"there is no helper program for %s, which run linux/%s: install %s beside this program, or set %s", whose, arch, special, variable)
}

func candidates(given string, names ...string) []string {
	if given != "" {
		return []string{given}
	}
	return append([]string{os.Getenv(variable)}, program.Own(names...)...)
}

// fits reports whether the file is a Linux program for that processor.
func fits(file, arch string) bool {
	if program.Executable(file) != nil {
		return false
	}
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	machine, known := machines[arch]
	return known && f.Machine == machine
}
