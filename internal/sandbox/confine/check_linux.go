// This file looks, from inside a jail on Linux, whether privileges and network are what they should be.

package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// status is what /proc must say of a process in a jail.
var status = map[string]string{"CapEff": "0000000000000000", "CapPrm": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}

func (j Jail) inspectSystem() error {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("look at the own privileges: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if want := status[name]; want != "" && strings.TrimSpace(value) != want {
			return fmt.Errorf("privileges are left: %s", strings.TrimSpace(line))
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWUSER); !errors.Is(err, unix.EPERM) {
		return errors.New("system calls are not filtered")
	}
	if j.Network {
		return nil
	}
	return j.inspectNetwork()
}

func (j Jail) inspectNetwork() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if !j.Method.Strong() {
		if err == nil {
			return errors.New("sockets can be opened")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("the own loopback does not work: %w", err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return fmt.Errorf("the own loopback does not work: %w", err)
	}
	_ = conn.Close()
	all, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("look at the network: %w", err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return fmt.Errorf("the network device %s is there", i.Name)
		}
	}
	return nil
}
