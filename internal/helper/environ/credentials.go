// This file takes credentials out of values: addresses of proxies and registries often carry them.

package environ

import (
	"regexp"
	"strings"
)

var (
	// userInfo is what stands before the host in an address, up to the last "@" as programs read it.
	userInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]*@`)
	// bareUserInfo is the same in the address of a proxy, which may lack the scheme.
	bareUserInfo = regexp.MustCompile(`^[^/?#\s]*@`)
	// cutShort is one with a "/" in the password, which some programs accept.
	cutShort = regexp.MustCompile(`://[^\s,|/]*:[^\s,|]*@`)
	// queried names the parameters of addresses.
	queried = regexp.MustCompile(`://[^\s]*?[?#]([^\s]*)`)
)

// WithoutCredentials returns a text with the user names and passwords taken out of its addresses.
func WithoutCredentials(text string) string { return userInfo.ReplaceAllString(text, "$1") }

// harmless returns the value of a variable without what is secret in it; not ok, it cannot be told apart.
func harmless(name, value string) (clean string, ok bool) {
	clean = WithoutCredentials(value)
	if upper := strings.ToUpper(name); strings.HasSuffix(upper, "_PROXY") && upper != "NO_PROXY" {
		clean = bareUserInfo.ReplaceAllString(clean, "")
	}
	for _, m := range queried.FindAllStringSubmatch(clean, -1) {
		if Secret(m[1]) || strings.Contains(strings.ToLower(m[1]), "sig=") {
			return "", false
		}
	}
	return clean, !cutShort.MatchString(clean)
}
