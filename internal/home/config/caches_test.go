package config

import "testing"

// Only variables of cache folders can be shared by all worktrees: none that holds a credential, or by which other programs are
// found.
func TestCacheVariables(t *testing.T) {
	for name, ok := range map[string]bool{
		"CARGO_TARGET_DIR": true, "CCACHE_DIR": true, "npm_config_cache": true, "GOCACHE": true, "PNPM_STORE_PATH": true,
		"PATH": false, "HOME": false, "GIT_DIR": false, "LD_PRELOAD_DIR": false, "SCV_CACHE": false, "A=B_DIR": false, "CCACHE*": false, "": false, "OPENAI_API_KEY": false, "X_CACHE_TOKEN": false,
	} {
		if message, _ := checkCaches([]string{name}); (message == "") != ok {
			t.Errorf("%q: %q", name, message)
		}
	}
}
