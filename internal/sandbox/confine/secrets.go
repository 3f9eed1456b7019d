// This file lists what commands must not read: credentials, histories, this product's own files, doors to other services.

package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// below the home directory
var homeSecrets = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".docker", ".kube", ".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".vault-token", ".terraform.d", ".terraformrc", ".password-store",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
	".gradle/gradle.properties", ".fly", ".claude", ".claude.json", ".codex", ".gemini",
	".mozilla", ".thunderbird", ".local/share/keyrings", ".local/share/containers", ".local/share/kwalletd",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".lesshst",
	".huggingface", ".cache/huggingface/token", ".kaggle", ".pulumi", ".oci", ".databrickscfg", ".snowsql", ".dbt", ".bluemix",
	".wrangler", ".netlify", ".vercel", ".local/share/com.vercel.cli", ".railway", ".sentryclirc", ".composer/auth.json",
	".nuget/NuGet/NuGet.Config", ".bundle/config", ".pip/pip.conf", ".condarc", ".subversion/auth", ".hgrc", ".rclone.conf",
	".mc/config.json", ".sops", ".Xauthority", ".viminfo", ".local/share/opencode/auth.json",
	".local/share/fish/fish_history", ".colima", ".orbstack", ".lima", "Library/Keychains", "Library/Cookies",
}

// below the directory of configurations
var configSecrets = []string{
	"gh", "glab-cli", "hub", "git/credentials", "gcloud", "doctl", "op", "1Password", "rclone", "heroku", "containers", "pip",
	"google-chrome", "chromium", "BraveSoftware", "sops", "age", "configstore",
	"github-copilot", "hcloud", "helm/registry", "stripe", "ngrok", "netlify", "composer/auth.json",
}

// outside the home directory; a user who is root could read them
var systemSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
	"/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware",
}

// variables that name a secret's path
var secretVariables = []string{
	"GNUPGHOME", "KUBECONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "DOCKER_CONFIG", "GH_CONFIG_DIR", "NETRC",
	"NPM_CONFIG_USERCONFIG", "PGPASSFILE", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CONFIG_DIR", "SSH_AUTH_SOCK", "TEMPORAL_CONFIG_FILE",
}

// secrets returns the existing paths that are to be hidden, links resolved, each once, none below another.
func (h Host) secrets() []string {
	var candidates []string
	config := filepath.Join(h.Home, ".config")
	for _, name := range homeSecrets {
		candidates = append(candidates, filepath.Join(h.Home, name))
	}
	for _, dir := range []string{config, lookup(h.Env, "XDG_CONFIG_HOME")} {
		for _, name := range configSecrets {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, name := range secretVariables {
		candidates = append(candidates, filepath.SplitList(lookup(h.Env, name))...)
	}
	if cargo := lookup(h.Env, "CARGO_HOME"); cargo != "" {
		candidates = append(candidates, filepath.Join(cargo, "credentials.toml"), filepath.Join(cargo, "credentials"))
	}
	keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key")
	candidates = append(candidates, systemSecrets...)
	candidates = append(candidates, keys...)
	candidates = append(candidates, h.Private...)
	return outermost(existing(candidates))
}

// existing resolves the links of paths and leaves out those that are not there, and "/".
func existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil && real != "/" && real != os.DevNull {
			out = append(out, real)
		}
	}
	return out
}

// outermost sorts paths and leaves out those that lie in another one.
func outermost(paths []string) []string {
	paths = slices.Clone(paths)
	slices.SortFunc(paths, comparePaths)
	var out []string
	for _, p := range paths {
		if len(out) == 0 || !within(out[len(out)-1], p) {
			out = append(out, p)
		}
	}
	return out
}

// comparePaths orders paths so that a directory comes before what is in it, and directly before it.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// within reports whether path is dir or lies in it; both are clean.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v
		}
	}
	return ""
}
