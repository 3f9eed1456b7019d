// This file writes the profile for sandbox-exec on macOS. It is pure and tested everywhere; the profile itself was never
// run by its authors.

package confine

import (
	"fmt"
	"path/filepath"
	"strings"
)

// seatbeltBase is what programs need to live: rules of the system's own profiles for command line tools.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.bsd.dirhelper"))
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name-prefix "apple.shm."))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (regex #"^/dev/tty.*") (literal "/dev/ptmx"))
(allow file-read* file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/dtracehelper"))
(allow file-read*)
`

// Profile writes the profile of the jail. In it the last rule that fits counts.
func (j Jail) Profile() string {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	rule(&b, "deny file-read* file-write*", j.Hide)
	rule(&b, "allow file-read*", j.Read)
	rule(&b, "allow file-read* file-write*", j.Write)
	rule(&b, "deny file-write*", keptPaths(j.Write[0]))
	if j.Network {
		b.WriteString("(allow network-outbound (remote ip))\n(allow network-inbound (local ip))\n(allow network-bind (local ip))\n")
		b.WriteString("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n(allow system-socket)\n")
		return b.String()
	}
	b.WriteString("(allow network-bind (local ip \"localhost:*\"))\n(allow network-inbound (local ip \"localhost:*\"))\n")
	return b.String()
}

// rule writes one rule for paths and all below them.
func rule(b *strings.Builder, what string, paths []string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintf(b, "(%s", what)
	for _, p := range paths {
		fmt.Fprintf(b, "\n  (subpath %s)", schemeString(p))
	}
	b.WriteString(")\n")
}

// keptPaths are the paths of a workspace that git obeys, whether they are there or not.
func keptPaths(workspace string) (out []string) {
	for _, name := range append([]string{"commondir"}, guarded...) {
		out = append(out, filepath.Join(workspace, ".git", name))
	}
	_, keep := repository(workspace)
	return outermost(append(out, keep...))
}

// schemeString writes a string as the profile language wants it.
func schemeString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
