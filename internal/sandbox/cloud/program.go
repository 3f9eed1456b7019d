// This file finds the helper program that runs in sandboxes: for Linux, and for the sandbox's processor.

package cloud

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
)

// HelperName is the name of the helper program.
const HelperName = "sandbox-helper"

const helperEnv = "SANDBOX_HELPER_BIN"

var (
	machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

	// Architectures are the processors that sandboxes may have: what uname says, and Go's name.
	Architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}
)

// Program is a helper program on this host.
type Program struct {
	File  string
	Build string // its identity
}

// FindProgram returns the helper for a cloud's sandboxes on a processor by Go's name: the file given, or, where that is
// empty, sandbox-helper-linux-ARCH or sandbox-helper beside this program, $SANDBOX_HELPER_BIN, or in PATH, whichever fits.
func FindProgram(op, cloud, given, arch string) (Program, error) {
	for _, file := range candidates(given, arch) {
		if !fits(file, arch) {
			continue
		}
		build, err := helper.Build(file)
		if err != nil {
			return Program{}, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: op, Message: "the helper program cannot be read: install this program anew", Err: err}
		}
		return Program{file, build}, nil
	}
	return Program{}, sandbox.Errorf(sandbox.ClassUnsupported, op,
		"there is no helper program for %s's sandboxes: install %s-linux-%s beside this program, or set %s", cloud, HelperName, arch, helperEnv)
}

func candidates(given, arch string) []string {
	if given != "" {
		return []string{given}
	}
	var files []string
	special := HelperName + "-linux-" + arch
	if self, err := os.Executable(); err == nil {
		dir := filepath.Dir(self)
		files = append(files, filepath.Join(dir, special), filepath.Join(dir, HelperName))
	}
	if file := os.Getenv(helperEnv); file != "" {
		files = append(files, file)
	}
	for _, name := range []string{special, HelperName} {
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
