package agent

import (
	"path"
	"slices"
	"strings"
)

// RiskOf is the risk of a tool call by ACP's word for its kind and the files that it names: reading a file that looks
// like a secret is as much as changing one, and a word that is not known is as much as handing the work to somebody
// (behaviour/approvals.md section 3).
func RiskOf(kind string, paths []string) Risk {
	switch kind {
	case "read", "search":
		if slices.ContainsFunc(paths, SecretPath) {
			return RiskFilesystem
		}
		return RiskReadOnly
	case "think":
		return RiskReadOnly
	case "edit", "delete", "move":
		return RiskFilesystem
	case "execute":
		return RiskProcess
	case "fetch":
		return RiskNetwork
	}
	return RiskDelegate
}

// SecretPath reports whether a file's name is one under which people keep credentials.
func SecretPath(file string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(file, "\\", "/")))
	if strings.HasPrefix(name, ".env") || strings.Contains(name, "credential") || strings.Contains(name, "private_key") {
		return true
	}
	for _, end := range []string{".pem", ".key", ".p12", ".pfx", ".kdbx"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	for _, begin := range []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if strings.HasPrefix(name, begin) && !strings.HasSuffix(name, ".pub") {
			return true
		}
	}
	return false
}
