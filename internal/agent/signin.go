package agent

import "slices"

// A SignIn is how an agent's own program signs in and out: arguments after its name. Nil is what the program cannot do;
// an empty list starts it as it is, for the owner to do it inside.
type SignIn struct {
	Login  []string
	Status []string // it ends with 0 when somebody is signed in, and with another code when nobody is
	Logout []string
}

// A PrivateHome is a directory of the home of SCV that an agent keeps its own things in, apart from the owner's.
type PrivateHome struct {
	Env   map[string]string // by which the agent finds it
	Dirs  []string          // absolute, made before its first start
	Files []PrivateFile     // placed where none is: answers to what the agent would ask at its first start
}

// A PrivateFile is placed in a private home.
type PrivateFile struct {
	Path string // absolute
	Data string
}

// A Carried is a part of the owner's environment that an agent with a private home gets all the same.
type Carried struct {
	Names []string
	Why   string
}

// CarriedIntoPrivateHomes lists what such an agent shares with its owner. HOME stays the owner's on purpose: only the
// agent's own files are apart, so that it commits in the owner's name and finds what his tools keep.
func CarriedIntoPrivateHomes() []Carried {
	return []Carried{
		{[]string{"HOME"}, "git name, address and settings, ssh keys and known hosts, what tools keep below it"},
		{[]string{"XDG_*"}, "settings of git, gh and other tools that keep them elsewhere"},
		{[]string{"GIT_AUTHOR_*", "GIT_COMMITTER_*"}, "the name that commits are made in"},
		{[]string{"SSH_AUTH_SOCK"}, "the ssh agent, for git over ssh"},
		{[]string{"GOPATH", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT"}, "toolchains and their caches"},
	}
}

// InPrivateHome is the kind with a home of its own at dir: what the environment holds of sign-ins stays behind, so that
// the home's own counts. False when it is not known how to give the agent one.
func (k Kind) InPrivateHome(dir string) (Kind, PrivateHome, bool) {
	if k.Private == nil {
		return k, PrivateHome{}, false
	}
	place := k.Private(dir)
	k.Pass = slices.DeleteFunc(slices.Clone(k.Pass), credential)
	common := CommonVariables()
	for _, c := range CarriedIntoPrivateHomes() {
		for _, name := range c.Names {
			if !slices.Contains(common, name) {
				k.Granted = append(slices.Clip(k.Granted), name)
			}
		}
	}
	k.Apart, k.Home = true, place.Env
	return k, place, true
}
