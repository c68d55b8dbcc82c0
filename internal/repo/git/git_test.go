package git

import (
	"slices"
	"strings"
	"testing"
)

func TestGitGetsACleanEnvironment(t *testing.T) {
	g := New([]string{
		"PATH=/bin", "HOME=/h", "GIT_DIR=/evil", "GIT_SSH_COMMAND=evil", "GIT_EXTERNAL_DIFF=evil", "OPENAI_API_KEY=k", "SSH_AUTH_SOCK=s",
		"GIT_CONFIG_COUNT=1", "EDITOR=evil", "LANG=de_DE.UTF-8", "LD_PRELOAD=evil", "BROKEN",
	}, 0)
	all := strings.Join(g.env, "\n")
	for _, bad := range []string{"evil", "API_KEY", "SSH_AUTH", "CONFIG_COUNT", "de_DE", "BROKEN"} {
		if strings.Contains(all, bad) {
			t.Errorf("git gets %s", bad)
		}
	}
	for _, want := range []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none"} {
		if !slices.Contains(g.env, want) {
			t.Errorf("git does not get %s", want)
		}
	}
}

func FuzzReadDrivers(f *testing.F) {
	f.Add([]byte("local\x00filter.a=b.clean\ncat\x00global\x00filter.lfs.process\ngit-lfs\x00local\x00lfs.customtransfer.x.path\nevil\x00"))
	f.Fuzz(func(t *testing.T, list []byte) {
		s, err := readDrivers(list)
		if err != nil {
			return
		}
		for _, kv := range s.undo() {
			if _, ok := s.trusted[kv[0]]; !ok && kv[1] != "" && kv[1] != "false" {
				t.Errorf("%q gets the value %q of a repository", kv[0], kv[1])
			}
		}
	})
}

// Which lock kept git out is read from its words.
func TestLockIsReadFromGitsWords(t *testing.T) {
	for said, want := range map[string]string{
		"fatal: Unable to create '/x/.git/index.lock': File exists.\n\nAnother git process seems to be running": "/x/.git/index.lock",
		"fatal: cannot lock ref 'HEAD': Unable to create '/x y/.git/HEAD.lock': File exists.":                   "/x y/.git/HEAD.lock",
		"fatal: Unable to create '/x/.git/index.lock': Permission denied":                                       "",
		"index.lock': File exists": "",
		"":                         "",
	} {
		if got := lockIn(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}
