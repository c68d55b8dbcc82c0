package agent

import (
	"maps"
	"slices"
	"strings"
)

// CommonVariables lists the environment variables that every agent inherits when the daemon has them; a trailing *
// matches a prefix. All else stays behind unless the agent's own Kind.Pass or the owner's configuration names it, so
// a credential of one tool never reaches the agent of another (security.md section 8).
func CommonVariables() []string {
	return []string{
		// Who and where.
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "XDG_*",
		// Language and time.
		"LANG", "LANGUAGE", "LC_*", "TZ",
		// The way out: proxies and what they are trusted by.
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
		// Where toolchains are, so that a build in a job finds what the owner's shell finds.
		"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT",
		"VIRTUAL_ENV", "CONDA_PREFIX", "NIX_PATH",
	}
}

// Environment returns the environment of an agent's process, sorted: of the daemon's only the common variables and
// those that the kind may inherit, then what the launch and the owner's configuration set, then extra, which wins. An owner's own choice of
// variables, as SSH_AUTH_SOCK, comes in by extra. A variable that a prefix lets through is held back when its name
// ends like a credential's, unless the kind's own list covers it.
func Environment(environ []string, kind Kind, launch Launch, extra map[string]string) []string {
	set := make(map[string]string)
	common := CommonVariables()
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		passed := listed(kind.Pass, name) && !(kind.Apart && credential(name))
		if passed || listed(kind.Granted, name) || listed(common, name) && !credential(name) {
			set[name] = value
		}
	}
	maps.Copy(set, kind.Home)
	maps.Copy(set, launch.Env)
	maps.Copy(set, kind.Env)
	maps.Copy(set, extra)
	out := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, name+"="+set[name])
	}
	return out
}

// listed reports whether a list of names and prefixes covers name.
func listed(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if prefix, ok := strings.CutSuffix(entry, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return entry == name
	})
}

// credential reports whether a variable's name ends as those of credentials do.
func credential(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc([]string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"}, func(end string) bool {
		return strings.HasSuffix(upper, end)
	})
}
