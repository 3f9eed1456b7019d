// This file tells by names and first bytes what looks like a secret. It errs on the side of leaving something behind, which
// the user is told and can undo.

package carry

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

const (
	reasonSecrets  = "it may hold secrets"
	reasonKey      = "it looks like a key"
	reasonPassword = "it holds a password"
)

// Names, in lower case, of what holds secrets and of what are keys, and of what looks so and is none.
var (
	secretNames = patterns{
		".env*", ".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg",
		".s3cfg", ".boto", ".terraformrc", ".vault-token", "credentials", "credentials.json", "client_secret*.json",
		"service-account*.json", "service_account*.json", "serviceaccount*.json", "kubeconfig", "secrets.json", "secrets.y*ml", "secrets.toml",
	}
	keyNames = patterns{
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.p8",
	}
	harmlessNames = patterns{"*.pub", ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"}
)

// secretName returns why a file of that name stays, "" if it need not.
func secretName(name string) string {
	name = strings.ToLower(name)
	switch {
	case harmlessNames.match(name, name):
		return ""
	case secretNames.match(name, name):
		return reasonSecrets
	case keyNames.match(name, name):
		return reasonKey
	}
	return ""
}

// secretPath returns why a file stays that is known by the directory it is in.
func secretPath(file string) string {
	dir, name := path.Split(strings.ToLower(file))
	switch path.Base(dir) {
	case ".docker":
		if name == "config.json" {
			return reasonSecrets
		}
	case ".kube":
		if name == "config" {
			return reasonSecrets
		}
	}
	return ""
}

// firstBytes is how much of a file is looked at, in bytes, and maxKey the size beyond which no file is a key alone.
const (
	firstBytes = 512
	maxKey     = 64 << 10
)

var privateKey = regexp.MustCompile(`^-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|^---- BEGIN SSH2 ENCRYPTED PRIVATE KEY|^PuTTY-User-Key-File-|^AGE-SECRET-KEY-`)

// secretContent returns why a file stays that begins so.
func secretContent(first []byte) string {
	if privateKey.Match(bytes.TrimLeft(first, "\ufeff \t\r\n")) {
		return reasonKey
	}
	return ""
}

// Of git's settings: a password in an address, or one that is sent with every request.
var gitPassword = regexp.MustCompile(`(?i)://[^/@\s"]*:[^/@\s"]+@|^\s*extraheader\s*=|\n\s*extraheader\s*=`)

// secretGitConfig returns why a repository's settings stay.
func secretGitConfig(text []byte) string {
	if gitPassword.Match(text) {
		return reasonPassword
	}
	return ""
}
