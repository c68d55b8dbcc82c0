// Package repo owns the worktrees that SCV makes for jobs: they are made, listed and removed here. What starts git itself
// is package git below it, and what is done with a job's work is in the other rooms below it.
//
// Who may call it: the daemon, and a command that works without one. All of it may be called from any goroutine; what
// changes one repository is done one after the other inside this process. It keeps nothing in memory: the truth is the
// record beside each worktree (written before git is asked for anything), the link between the worktree and its
// repository, and git's own answers.
//
// Loss: nothing is removed on a negative or missing answer. "Cannot tell" keeps the worktree and says why.
package repo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"scv/internal/home"
	"scv/internal/repo/git"
	"scv/internal/repo/submodule"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

const (
	treesDir    = "worktrees"
	markerName  = "scv.json"
	lockLead    = "scv: "
	recordBytes = 16 << 20
	recordV     = 2
)

// Options are what Trees need from outside.
type Options struct {
	Home    *home.Home
	Environ []string                // of this process; git gets a few of it
	Random  func(digits int) string // lower-case hex
	Now     func() time.Time
	Boot    string // the machine's boot, see proc.BootID
	// Locks is how long a lock of another git process is waited for; 0 for 5 s.
	Locks time.Duration
}

// Trees are the worktrees below $SCV_HOME/worktrees.
type Trees struct {
	shelf
	turns
	git    *helper
	random func(int) string
	now    func() time.Time
	boot   string
}

// shelf is the part of the home where worktrees and their records stand.
type shelf struct{ home *home.Home }

// turns let the changes of one repository follow each other.
type turns struct {
	mu    sync.Mutex
	slots map[string]chan struct{} // by common directory; who holds the one slot may change that repository
}

// New returns the worktrees of a home. It touches nothing.
func New(o Options) *Trees {
	return &Trees{
		shelf: shelf{o.Home}, git: &helper{git.New(o.Environ, o.Locks)}, random: o.Random, now: o.Now, boot: o.Boot,
		turns: turns{slots: map[string]chan struct{}{}},
	}
}

// Intent is a worktree that is to be made: what the ledger keeps before git is asked for anything. It holds all that
// Create, Undo and Reconcile need, also after a crash.
type Intent struct {
	Name        string         `json:"name"`   // directory, such as codex-fix-flaky-retry-3f9a2c
	Path        string         `json:"path"`   // of the worktree
	Branch      string         `json:"branch"` // short name
	Repo        string         `json:"source"` // top of the checkout it comes from
	Common      string         `json:"common"` // that checkout's repository
	GitDir      string         `json:"from"`   // that checkout's own git directory
	Sub         string         `json:"sub,omitempty"`
	Commit      string         `json:"commit"`             // where the branch starts, full hash
	BaseRef     string         `json:"base_ref,omitempty"` // what "merged" is measured against; empty: the commit
	WithChanges bool           `json:"with_changes,omitzero"`
	Run         wire.RunHandle `json:"run,omitempty"`
}

// Ref is the worktree as the protocol shows it.
func (i Intent) Ref() wire.WorktreeRef {
	return wire.WorktreeRef{Path: i.Path, Branch: i.Branch, Repo: i.Repo}
}

// Cwd is where the agent starts: the wished directory where the commit has it, else the top.
func (i Intent) Cwd() string { return filepath.Join(i.Path, i.Sub) }

// group is the directory of the worktrees of the same checkout, below the home.
func (i Intent) group() string { return treesDir + "/" + groupName(i.Repo) }

// record is the file beside a worktree. It exists before the worktree and goes after it.
type record struct {
	V int `json:"v"`
	Intent
	Made     bool               `json:"made"`               // complete: an agent may have worked in it
	Link     string             `json:"link,omitempty"`     // the worktree's own git directory
	Device   uint64             `json:"device,omitempty"`   // of the worktree's directory
	Inode    uint64             `json:"inode,omitempty"`    // of the worktree's directory
	Included []includedFile     `json:"included,omitempty"` // copied ignored files
	Modules  []submodule.Filled `json:"modules,omitempty"`  // filled submodules
	MadeUnix int64              `json:"made_unix_seconds,omitempty"`
}

// includedFile is a file that SCV itself put into a worktree, with the SHA-256 of its bytes.
type includedFile struct {
	Path string `json:"path"`
	Sum  string `json:"sha256"`
}

func (r record) at() git.Place { return git.Place{Top: r.Path, GitDir: r.Link, Common: r.Common} }

func (r record) source() git.Place { return git.Place{Top: r.Repo, GitDir: r.GitDir, Common: r.Common} }

// dir is the worktree's directory below the home; file the record's.
func (r record) dir() string { return r.group() + "/" + r.Name }

func (r record) file() string { return r.dir() + ".json" }

// aside is where a worktree stands while it is being removed.
func (r record) aside() string { return r.group() + "/.removing-" + r.Name }

// check refuses an intent or record whose parts do not fit together, so that none leads outside the home.
func (s *shelf) check(r record) error {
	clean := func(p string) bool { return filepath.IsAbs(p) && filepath.Clean(p) == p && !strings.ContainsRune(p, 0) }
	switch {
	case !validName(r.Name), !clean(r.Repo), !clean(r.Common), !clean(r.GitDir), r.Path != s.abs(r.dir()),
		r.Sub != "" && !filepath.IsLocal(r.Sub), !git.IsHash(r.Commit), checkBranch(r.Branch) != nil,
		r.BaseRef != "" && !strings.HasPrefix(r.BaseRef, "refs/"),
		(r.Made || r.Link != "") && filepath.Dir(r.Link) != filepath.Join(r.Common, "worktrees"):
		return wire.Refuse(wire.ReasonInvalid, "", "%s is not a worktree that SCV could have planned.", plain.Quote(r.Name))
	}
	return nil
}

func (s *shelf) abs(name string) string {
	return filepath.Join(s.home.Path(), filepath.FromSlash(name))
}

// turn waits for the one slot of a repository and returns what gives it back.
func (t *turns) turn(ctx context.Context, common string) (func(), error) {
	t.mu.Lock()
	slot, ok := t.slots[common]
	if !ok {
		slot = make(chan struct{}, 1)
		t.slots[common] = slot
	}
	t.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the repository: %w", context.Cause(ctx))
	}
}

// plainDir refuses a directory below the home that is a link, or is reached by one (security.md T33).
func (s *shelf) plainDir(name string) error {
	for at := treesDir; ; {
		info, err := s.home.Root().Lstat(at)
		if err != nil {
			return fmt.Errorf("look at %s: %w", at, err)
		}
		if !info.IsDir() {
			return wire.Refuse(wire.ReasonRefused, "look who put it there, and move it away",
				"%s is not a directory of its own any more; SCV follows no link there.", pretty(s.abs(at)))
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(name, at), "/")
		if rest == "" {
			return nil
		}
		next, _, _ := strings.Cut(rest, "/")
		at = path.Join(at, next)
	}
}

func (s *shelf) ensureGroup(group string) error {
	for _, name := range []string{treesDir, group} {
		err := s.home.Root().Mkdir(name, home.DirMode)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the directory for worktrees: %w", err)
		}
		if err := s.plainDir(name); err != nil {
			return err
		}
		if err := s.home.Root().Chmod(name, home.DirMode); err != nil {
			return fmt.Errorf("make the directory for worktrees private: %w", err)
		}
	}
	return nil
}

// load reads the record of a worktree; one that is not there is fs.ErrNotExist.
func (s *shelf) load(group, name string) (record, error) {
	if !validGroup(group) || !validName(name) {
		return record{}, fmt.Errorf("worktree %s: %w", plain.Quote(group+"/"+name), fs.ErrNotExist)
	}
	file := treesDir + "/" + group + "/" + name + ".json"
	info, err := s.home.Root().Lstat(file)
	if err != nil {
		return record{}, fmt.Errorf("read the record of worktree %s: %w", name, err)
	}
	if !info.Mode().IsRegular() || info.Size() > recordBytes {
		return record{}, fmt.Errorf("the record of worktree %s is no plain file", name)
	}
	data, err := s.home.Root().ReadFile(file)
	if err != nil {
		return record{}, fmt.Errorf("read the record of worktree %s: %w", name, err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("read the record of worktree %s: %w", name, err)
	}
	if r.V != recordV || r.Name != name || r.group() != treesDir+"/"+group {
		return record{}, fmt.Errorf("the record of worktree %s was not written by this release", name)
	}
	return r, s.check(r)
}

// save replaces the record in one step; a new one must not exist yet (fs.ErrExist).
func (s *shelf) save(r record, fresh bool) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the record of worktree %s: %w", r.Name, err)
	}
	root, target := s.home.Root(), r.file()
	if !fresh {
		target += ".new"
		if err := root.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write the record of worktree %s: %w", r.Name, err)
		}
	}
	f, err := root.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, home.FileMode)
	if err != nil {
		return fmt.Errorf("write the record of worktree %s: %w", r.Name, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && !fresh {
		err = root.Rename(target, r.file())
	}
	if err != nil {
		return fmt.Errorf("write the record of worktree %s: %w", r.Name, err)
	}
	return nil
}

// pretty is a path for a sentence.
func pretty(path string) string { return plain.Line(home.Pretty(path)) }

// identity is the device and inode of a directory, zero when the system does not tell.
func identity(info fs.FileInfo) (device, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}

// refused turns the failure of a step into a sentence that names it. A refusal stays as it is.
func refused(step string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	why := err.Error()
	if e, ok := errors.AsType[*git.Error](err); ok && e.Lock != "" {
		return wire.Refuse(wire.ReasonBusy, "try again when it has ended; where none runs, it left the lock behind: rm "+pretty(e.Lock), "%s: %s.", step, e.Said)
	} else if ok {
		why = cmp.Or(e.Said, errors.Unwrap(e).Error())
	}
	return wire.Refuse(wire.ReasonUnavailable, "look at what git says there, then try again", "%s: %s.",
		step, strings.TrimSuffix(plain.Line(why), "."))
}

// helper is git with the questions that worktrees need answered.
type helper struct{ *git.Runner }
