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

// TestT48_APrivateHomeLeavesSignInsBehind: what the owner allowed by name, his ssh agent and the name that he commits in
// come along; his keys do not, and the home's own place beats the environment's.
func TestT48_APrivateHomeLeavesSignInsBehind(t *testing.T) {
	kind := agent.Kind{
		Name: "x", Pass: []string{"OWN_API_KEY", "OWN_*", "OWN_HOME"}, Granted: []string{"NAMED_TOKEN"},
		Private: func(dir string) agent.PrivateHome {
			return agent.PrivateHome{Env: map[string]string{"OWN_HOME": dir}, Dirs: []string{dir}}
		},
	}
	private, place, ok := kind.InPrivateHome("/scv/agents/x")
	if !ok || !slices.Equal(place.Dirs, []string{"/scv/agents/x"}) {
		t.Fatalf("%+v, %v", place, ok)
	}
	got := agent.Environment([]string{
		"HOME=/h", "OWN_API_KEY=k", "OWN_AUTH_TOKEN=k", "OWN_URL=u", "OWN_HOME=/h/.own", "NAMED_TOKEN=yes", "GIT_AUTHOR_NAME=me",
		"SSH_AUTH_SOCK=/s", "GH_TOKEN=no", "XDG_EXTRA_TOKEN=no", "XDG_CACHE_HOME=/c",
	}, private, agent.Launch{}, nil)
	want := []string{
		"GIT_AUTHOR_NAME=me", "HOME=/h", "NAMED_TOKEN=yes", "OWN_HOME=/scv/agents/x", "OWN_URL=u", "SSH_AUTH_SOCK=/s", "XDG_CACHE_HOME=/c",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if _, _, ok := (agent.Kind{}).InPrivateHome("/d"); ok {
		t.Error("an agent of which nothing is known has a private home")
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
