// This file lists where people's programs keep credentials, histories and profiles.

package confine

// homeSecrets are below a home directory. A pattern stands for entries of that directory.
var homeSecrets = []string{
	// keys, and passwords for hosts
	".ssh", ".gnupg", ".pki", ".cert", ".putty", ".netrc", "_netrc", ".authinfo*", ".git-credentials", ".wgetrc", ".curlrc", ".smbcredentials",
	".davfs2", ".vnc", ".Xauthority", ".ICEauthority", ".age", ".sops", ".step", ".env", ".secrets", ".subversion/auth", ".hgrc",
	".msmtprc", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".getmail", ".muttrc", ".mutt",
	// clouds, and services of developers
	".aws", ".azure", ".oci", ".bluemix", ".aliyun", ".tccli", ".scw", ".linode-cli", ".civo.json", ".vultr-cli.yaml", ".exoscale", ".cf", ".fly",
	".heroku", ".wrangler", ".cloudflared", ".ngrok2", ".netlify", ".vercel", ".railway", ".supabase", ".turso", ".doppler", ".infisical", ".expo",
	".docker", ".kube", ".minikube", ".rancher", ".argocd", ".terraform.d", ".terraformrc", ".tofu.d", ".tofurc", ".pulumi", ".vault-token", ".circleci", ".travis",
	".s3cfg", ".boto", ".rclone.conf", ".mc/config.json", ".sentryclirc", ".databrickscfg", ".databricks", ".snowsql", ".snowflake", ".dbt", ".kaggle",
	".huggingface", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".colima", ".orbstack", ".lima", ".jira.d", ".atlassian",
	// registries of packages
	".npmrc", ".yarnrc.yml", ".pypirc", ".pip/pip.conf", ".condarc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
	".bundle/config", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json", ".nuget/NuGet/NuGet.Config",
	// databases
	".pgpass", ".my.cnf", ".mylogin.cnf", ".dbeaver*", ".mongorc.js", ".mongodb", ".redisclirc",
	// agents and editors
	".claude", ".claude.json*", ".codex", ".gemini", ".cursor", ".codeium", ".windsurf", ".continue", ".copilot", ".aider*", ".qwen", ".kiro", ".factory", ".cline", ".roo",
	".openhands", ".vscode-server/data", ".vscode-server-insiders/data", ".cursor-server/data", ".viminfo", ".local/state/nvim", ".local/state/vim",
	// password managers and wallets
	".password-store", ".lpass", ".electrum", ".bitcoin", ".ethereum", ".near-credentials", ".foundry/keystores",
	// browsers and mail
	".mozilla", ".thunderbird", ".icedove", ".librewolf", ".waterfox", ".zen", ".floorp", ".palemoon", ".moonchild productions", ".seamonkey", ".opera*", ".tor-browser*",
	".cache/mozilla", ".cache/google-chrome*", ".cache/chromium*", ".cache/BraveSoftware", ".cache/microsoft-edge*", ".cache/vivaldi*", ".cache/opera*",
	"snap", ".var/app", // what programs in such packages keep
	// histories, whatever the program
	".*hist*", ".lesshst", ".bash_sessions", ".zsh_sessions", ".dbshell", ".ipython/profile_default/history.sqlite", ".local/state/bash", ".local/state/zsh",
	".local/state/python_history",
	// macOS
	"Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Mail", "Library/Messages", "Library/Containers", "Library/Group Containers",
	"Library/Application Support/Google", "Library/Application Support/Chromium", "Library/Application Support/BraveSoftware",
	"Library/Application Support/Microsoft Edge*", "Library/Application Support/Vivaldi", "Library/Application Support/com.operasoftware.*",
	"Library/Application Support/Firefox", "Library/Application Support/Thunderbird", "Library/Application Support/Arc", "Library/Application Support/zen",
	"Library/Application Support/Code*", "Library/Application Support/Cursor", "Library/Application Support/VSCodium", "Library/Application Support/Windsurf",
	"Library/Application Support/1Password*", "Library/Application Support/Bitwarden*", "Library/Application Support/KeePassXC",
	"Library/Application Support/Slack", "Library/Application Support/discord", "Library/Application Support/Signal", "Library/Application Support/JetBrains",
	"Library/Application Support/com.apple.TCC", "Library/Application Support/gcloud",
}

// configSecrets are below a directory of configurations.
var configSecrets = []string{
	"gh", "glab-cli", "hub", "tea", "git/credentials", "gcloud", "doctl", "hcloud", "scw", "linode-cli", "exoscale", "op", "heroku", "stripe", "ngrok", "netlify",
	"configstore", ".wrangler", "supabase", "planetscale", "turso", "neonctl", "argocd", "infisical", "vault", "containers", "helm/registry", "helm/repositories.yaml", "rclone",
	"pip", "pypoetry/auth.toml", "composer/auth.json", "NuGet", "sops", "age", "wandb", "solana", "msmtp", "mutt", "neomutt", "isync", "aerc", "evolution", "geary",
	"google-chrome*", "chromium*", "BraveSoftware", "microsoft-edge*", "vivaldi*", "opera*", "yandex-browser*", "falkon", "qutebrowser", "net.imput.helium",
	"Code*", "VSCodium*", "Cursor*", "Windsurf*", "Trae*", "JetBrains", "zed", "github-copilot", "goose", "opencode", "amp",
	"1Password", "Bitwarden*", "keepassxc", "KeePass", "Enpass", "Proton*", "lpass", "gopass", "joplin*", "Slack", "discord*", "Signal*", "Element*", "teams*", "Microsoft*",
	"WhatsApp*", "Postman", "Insomnia", "filezilla", "remmina", "nushell/history*", "dbeaver*",
}

// dataSecrets are below a directory of data.
var dataSecrets = []string{
	"keyrings", "kwalletd", "containers", "com.vercel.cli", "atuin", "mcfly*", "fish/fish_history", "zsh", "powershell/PSReadLine", "nvim/shada", "python_history",
	"opencode", "goose", "amp", "zed/threads", "zed/db", "code-server/User", "uv/credentials", "lpass", "gopass", "password-store", "evolution", "epiphany", "falkon", "qutebrowser",
	"torbrowser", "TelegramDesktop", "DBeaverData", "remmina", "geary",
}

// systemSecrets are outside of home directories; a user who is root could read them.
var systemSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/letsencrypt",
	"/etc/wireguard", "/etc/openvpn", "/etc/NetworkManager/system-connections", "/etc/ppp", "/etc/kubernetes", "/etc/rancher", "/var/lib/kubelet", "/var/lib/rancher",
	"/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware",
}

// sometimesSecret are files that people want commands to read unless an address in them carries a password.
var sometimesSecret = []string{".gitconfig", ".config/git/config", ".config/go/env", ".config/uv/uv.toml", ".yarnrc", ".gemrc"}

// secretVariables name a secret's path.
var secretVariables = []string{
	"GNUPGHOME", "KUBECONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "GH_CONFIG_DIR", "NETRC", "GLAB_CONFIG_DIR",
	"NPM_CONFIG_USERCONFIG", "PIP_CONFIG_FILE", "PGPASSFILE", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "OCI_CLI_CONFIG_FILE", "BOTO_CONFIG",
	"TF_CLI_CONFIG_FILE", "HELM_REGISTRY_CONFIG", "SOPS_AGE_KEY_FILE", "PASSWORD_STORE_DIR", "KAGGLE_CONFIG_DIR", "SSH_AUTH_SOCK", "XAUTHORITY", "TEMPORAL_CONFIG_FILE",
	"CLAUDE_CONFIG_DIR", "CODEX_HOME",
	"HISTFILE", "LESSHISTFILE", "PYTHON_HISTORY", "NODE_REPL_HISTORY", "PSQL_HISTORY", "MYSQL_HISTFILE", "SQLITE_HISTORY", "REDISCLI_HISTFILE",
}
