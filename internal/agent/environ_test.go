package agent_test

import (
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
)

func TestT48_OnlyListedVariablesReachAnAgent(t *testing.T) {
	kind := agent.Kind{Name: "x", Pass: []string{"OWN_API_KEY", "OWN_*"}}
	environ := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_CONFIG_HOME=/c", "XDG_EXTRA_TOKEN=no", "https_proxy=http://p",
		"OWN_API_KEY=yes", "OWN_MODEL=m", "OTHER_API_KEY=no", "GH_TOKEN=no", "AWS_SECRET_ACCESS_KEY=no",
		"SSH_AUTH_SOCK=/s", "SCV_HOME=/from-outside", "broken", "=odd", "EMPTY=",
	}
	launch := agent.Launch{Env: map[string]string{"SET": "by-dialect", "HOME": "/private"}}
	got := agent.Environment(environ, kind, launch, map[string]string{"SCV_RUN": "x-1", "SET": "by-run"})
	want := []string{
		"HOME=/private", "LC_ALL=C", "OWN_API_KEY=yes", "OWN_MODEL=m", "PATH=/bin", "SCV_RUN=x-1", "SET=by-run",
		"XDG_CONFIG_HOME=/c", "https_proxy=http://p",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	allowed := agent.Environment(environ, kind, agent.Launch{}, map[string]string{"SSH_AUTH_SOCK": "/s"})
	if !slices.Contains(allowed, "SSH_AUTH_SOCK=/s") {
		t.Errorf("the owner's own choice is missing in %q", allowed)
	}
}

func TestT48_TheCommonListNamesNoCredential(t *testing.T) {
	for _, name := range agent.CommonVariables() {
		for _, end := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH_SOCK"} {
			if strings.HasSuffix(strings.ToUpper(name), end) {
				t.Errorf("%s is passed on to every agent", name)
			}
		}
	}
}
