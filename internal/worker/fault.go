// This file lets tests of the whole product kill the worker in the middle of something.

package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// FaultVariable is the environment variable by which a test says where the worker dies: STEP=FILE. When the step is first
// reached, FILE is made and the worker kills itself; a worker that finds FILE goes on. The steps are those of package carry
// and those by which the store of checkpoints writes. Without it nothing happens.
const FaultVariable = "SANDBOX_AGENT_TEST_FAULT"

// faultOf returns what is called before every step; nil when no fault is asked for.
func faultOf(text string) (func(step string) error, error) {
	if text == "" {
		return nil, nil
	}
	at, file, ok := strings.Cut(text, "=")
	if !ok || at == "" || file == "" {
		return nil, fmt.Errorf("%s must be STEP=FILE", FaultVariable)
	}
	return func(step string) error {
		if step != at {
			return nil
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("make the file of a fault: %w", err)
		}
		_ = f.Close()
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}, nil
}
