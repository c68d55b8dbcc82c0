package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
)

// library makes a repository with one file, and one with a submodule of another in it where that is given.
func (l *lab) library(name, inner string) string {
	l.t.Helper()
	dir := filepath.Join(l.base, name)
	l.must(os.Mkdir(dir, 0o755))
	l.owner(dir, "init", "--quiet")
	l.write(dir+"/lib.c", "int x;\n")
	l.write(dir+"/.gitignore", "*.o\n")
	if inner != "" {
		l.owner(dir, "submodule", "--quiet", "add", inner, "inner")
	}
	l.commit(dir, "lib")
	return dir
}

// P30: submodules are filled from what the checkout has of them, also those inside; one that it does not have, whatever its
// address, is left empty. Both are said, and the job's worktree is made all the same.
func TestP30_SubmodulesAreFilledFromTheCheckout(t *testing.T) {
	l := newLab(t)
	lib := l.library("lib", l.library("inner", ""))
	l.owner(l.top, "submodule", "--quiet", "add", "--name", "group/lib", lib, "deps/the lib")
	l.owner(l.top, "submodule", "--quiet", "add", lib, "missing")
	l.owner(l.top, "submodule", "--quiet", "update", "--init", "--recursive", "--", "deps/the lib")
	l.owner(l.top, "config", "--file", ".gitmodules", "submodule.missing.url", "https://192.0.2.1/missing.git")
	l.commit(l.top, "with submodules")
	l.owner(l.top, "submodule", "--quiet", "deinit", "--force", "missing")
	l.must(os.RemoveAll(l.top + "/.git/modules/missing"))

	in, made := l.made(l.wish())
	want := []string{
		`Filled from what your checkout has: 2 submodules, such as "deps/the lib".`,
		`Left empty: 1 submodule, such as "missing" (your checkout has no copy of it).`,
	}
	if len(made.Notes) != 2 || !strings.HasPrefix(made.Notes[0], want[0]) || !strings.HasPrefix(made.Notes[1], want[1]) {
		t.Errorf("what is said of submodules: %q", made.Notes)
	}
	at := in.Path + "/deps/the lib"
	if l.read(at+"/lib.c")+l.read(at+"/inner/lib.c") != "int x;\nint x;\n" {
		t.Error("their files are not there")
	}
	// The owner's git takes them for its own: nothing is changed, the address is the one it knows, and more can be fetched.
	if out := l.owner(in.Path, "status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("git finds\n%s", out)
	}
	if out := l.owner(in.Path, "submodule", "status", "deps/the lib"); !strings.Contains(out, " deps/the lib (") || strings.ContainsAny(out[:1], "-+U") {
		t.Errorf("git says of its submodule\n%s", out)
	}
	if got := l.owner(at, "remote", "get-url", "origin"); got != lib {
		t.Errorf("it comes from %s", got)
	}
	l.owner(at, "fetch", "--quiet", "origin")
	l.clean(in)
}

// A submodule that SCV filled keeps its worktree only while it may hold work; all that may be some does.
func TestP30_P26_WorkInSubmodulesKeeps(t *testing.T) {
	for name, do := range map[string]func(l *lab, at string){
		"a changed file":   func(l *lab, at string) { l.write(at+"/lib.c", "int y;\n") },
		"a new file":       func(l *lab, at string) { l.write(at+"/new.c", "") },
		"an ignored file":  func(l *lab, at string) { l.write(at+"/lib.o", "") },
		"a commit":         func(l *lab, at string) { l.commit(at, "work") },
		"a commit it left": func(l *lab, at string) { l.commit(at, "work"); l.owner(at, "checkout", "--quiet", "HEAD~1") },
		"a stash":          func(l *lab, at string) { l.write(at+"/lib.c", "int y;\n"); l.owner(at, "stash", "--quiet") },
		"a hidden change": func(l *lab, at string) {
			l.owner(at, "update-index", "--assume-unchanged", "lib.c")
			l.write(at+"/lib.c", "")
		},
		"another one in it": func(l *lab, at string) { l.must(os.Remove(at + "/.git")); l.owner(at, "init", "--quiet") },
		"one more": func(l *lab, at string) {
			l.owner(filepath.Dir(at), "submodule", "--quiet", "add", filepath.Join(l.base, "lib"), "more")
			l.owner(filepath.Dir(at), "reset", "--quiet", "--hard")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.owner(l.top, "submodule", "--quiet", "add", l.library("lib", ""), "lib")
			l.commit(l.top, "with a submodule")
			in, _ := l.made(l.wish())
			do(l, in.Path+"/lib")
			_, err := l.Remove(t.Context(), in.Path, Removal{})
			l.refusal(err, wire.ReasonRefused, "may hold work")
			if _, err := os.Stat(in.Path + "/lib"); err != nil {
				t.Error(err)
			}
			_, err = l.Remove(t.Context(), in.Path, Removal{Force: true})
			l.must(err)
		})
	}
}

// Nothing that a submodule names is run, neither by the owner's copy nor by what an agent made of ours; and no name or
// link in it leads anywhere else.
func TestP30_T24_SubmodulesRunNothing(t *testing.T) {
	l := newLab(t)
	lib := l.library("lib", "")
	l.write(lib+"/.gitattributes", "* filter=evil\n")
	l.commit(lib, "attributes")
	l.owner(l.top, "submodule", "--quiet", "add", lib, "lib")
	l.owner(l.top, "submodule", "--quiet", "add", lib, "link")
	l.commit(l.top, "with submodules")
	arm := func(dir string) {
		for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.sshCommand", "uploadpack.packObjectsHook"} {
			l.owner(dir, "config", "--local", key, l.canary(key)+"; cat")
		}
		hooks := l.owner(dir, "rev-parse", "--git-path", "hooks")
		if !filepath.IsAbs(hooks) {
			hooks = filepath.Join(dir, hooks)
		}
		for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
			l.write(hooks+"/"+hook, "#!/bin/sh\n"+l.canary(hook)+"\n")
			l.must(os.Chmod(hooks+"/"+hook, 0o755))
		}
	}
	arm(l.top + "/lib")
	l.owner(l.top, "config", "--local", "submodule.lib.update", "!"+l.canary("update"))
	// A link where git has a folder for it.
	l.must(os.Rename(l.top+"/.git/modules/link", l.base+"/elsewhere"))
	l.must(os.Symlink(l.base+"/elsewhere", l.top+"/.git/modules/link"))
	l.traces()
	in, made := l.made(l.wish())
	if len(made.Notes) != 2 || !strings.Contains(made.Notes[1], `Left empty: 1 submodule, such as "link"`) {
		t.Errorf("what is said of submodules: %q", made.Notes)
	}
	if l.read(in.Path+"/lib/lib.c") != "int x;\n" {
		t.Error("it is not filled")
	}
	arm(in.Path + "/lib")
	l.traces()
	_, err := l.List(t.Context())
	l.must(err)
	l.write(in.Path+"/lib/lib.c", "int z;\n")
	_, err = l.Remove(t.Context(), in.Path, Removal{})
	l.refusal(err, wire.ReasonRefused, "may hold work")
	_, err = l.Remove(t.Context(), in.Path, Removal{Force: true})
	l.must(err)
	if ran := l.traces(); len(ran) > 0 {
		t.Errorf("ran %v", ran)
	}
}

// Names that lead out of the repository, or into that of another submodule, fill nothing, also where there is a copy.
func TestP30_T30_NamesThatLeadElsewhereFillNothing(t *testing.T) {
	l := newLab(t)
	lib := l.library("lib", "")
	l.owner(l.top, "submodule", "--quiet", "add", lib, "lib")
	l.owner(l.top, "submodule", "--quiet", "add", lib, "link")
	l.commit(l.top, "with submodules")
	modules := l.top + "/.git/modules"
	for _, to := range []string{l.top + "/x", l.base + "/copy"} {
		l.must(os.CopyFS(to, os.DirFS(modules+"/lib")))
	}
	l.must(os.MkdirAll(modules+"/lib/modules", 0o755))
	l.must(os.Rename(l.base+"/copy", modules+"/lib/modules/x"))
	for _, entry := range []string{"[submodule \"../../x\"]\n\tpath = lib\n", "[submodule \"lib\"]\n\tpath = ../lib\n", "[submodule \"lib\"]\n\tpath = sub\n", "[submodule \"lib\"]\n\tpath = lib\n[submodule \"lib/modules/x\"]\n\tpath = link\n"} {
		l.write(l.top+"/.gitmodules", entry)
		l.owner(l.top, "add", ".gitmodules")
		l.owner(l.top, "commit", "--quiet", "-m", "hostile")
		in, made := l.made(l.wish())
		if !strings.HasPrefix(made.Notes[len(made.Notes)-1], "Left empty: 1 submodule") {
			t.Errorf("of %q is said %q", entry, made.Notes)
		}
		l.clean(in)
	}
}
