// Package git starts every git process of SCV, hardened so that a repository can run no program of its own choice
// (security.md section 3). Only package repo and the rooms below it may import it. A Runner keeps nothing and may be used
// from any goroutine.
//
// Known limits: a configuration that is changed between the look at its drivers and the call may still be obeyed
// (security.md section 3 rule 6); what git-lfs must fetch with credentials is not fetched.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"scv/internal/safe/plain"
)

const (
	// gitTime bounds a git command that only looks; LongTime one that checks files out.
	gitTime  = 30 * time.Second
	LongTime = 15 * time.Minute
	// gitOutput is how much of a command's output is read, in bytes; more is an error, never cut.
	gitOutput = 64 << 10
	// stderrKept is how much of what git says about a failure is kept, in bytes.
	stderrKept = 4 << 10
	// lockWait is how long a lock of another git process is waited for before that is said; lockPause is between two tries.
	lockWait  = 5 * time.Second
	lockPause = 100 * time.Millisecond
	// MakingMark is the variable that marks a git process which makes a worktree, with the worktree's path.
	MakingMark = "SCV_WORKTREE"
)

// Place is a work tree with the repository behind it, all absolute. Naming all three keeps git from looking for them.
type Place struct {
	Top    string
	GitDir string
	Common string
}

// Call is one git command.
type Call struct {
	At      Place    // explicit repository; zero: the one that dir lies in
	Dir     string   // where the process runs; empty: at.Top, or the root
	Args    []string // subcommand first; names from outside behind --end-of-options or --
	Stdin   []byte
	Extra   []string // more environment
	Output  int      // bytes of output, gitOutput when 0
	Limit   time.Duration
	Drivers bool // the command may run filter, diff or merge drivers: neutralise those of the repository
	Single  bool // no threads of its own: as many commands as there are processors run already
}

// A Runner runs the git of the machine. It is immutable.
type Runner struct {
	program string
	env     []string
	wait    time.Duration // for locks of other git processes
}

// Error is a git command that failed. Said is the first line of what git wrote, fit to be shown.
type Error struct {
	Command string
	Exit    int // -1: it did not exit by itself
	Said    string
	Lock    string // the file by which another git process kept this one out, empty for none
	err     error
	out     []byte
}

func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Said)
}

func (e *Error) Unwrap() error { return e.err }

// Exited reports whether err is a git command that ended by itself with this code.
func Exited(err error, code int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Exit == code
}

// ErrTooMuch says that a command wrote more than its bound.
var ErrTooMuch = errors.New("more output than expected")

// passed are the variables that git and the owner's own filters (git-lfs) need; all others stay away from them.
func passed(key string) bool {
	switch key {
	case "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR":
		return true
	}
	return false
}

// New returns a runner with a few variables of a process. Locks of other git processes are waited for, for 5 s where the
// given time is 0.
func New(environ []string, locks time.Duration) *Runner {
	g := &Runner{program: "git", wait: cmp.Or(locks, lockWait)}
	for _, kv := range environ {
		if key, _, _ := strings.Cut(kv, "="); passed(key) {
			g.env = append(g.env, kv)
		}
	}
	// GIT_ALLOW_PROTOCOL is stronger than any protocol.*.allow of a repository: no command here talks to another one,
	// so that a partial clone cannot make git start a helper that its configuration names.
	g.env = append(g.env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_SSH_COMMAND=false", "GIT_ASKPASS=false", "GIT_EDITOR=false", "GIT_PAGER=cat")
	return g
}

// always are the settings of security.md section 3 rule 1 and 3, and those that keep submodules from being entered.
func always() []string {
	return []string{
		"--no-pager", "--no-replace-objects",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=", "-c", "core.pager=cat",
		"-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "log.showSignature=false", "-c", "gpg.program=false",
		"-c", "core.sshCommand=false", "-c", "credential.helper=", "-c", "core.askPass=false", "-c", "core.editor=false",
		"-c", "sequence.editor=false", "-c", "protocol.ext.allow=never", "-c", "safe.bareRepository=explicit",
		"-c", "submodule.recurse=false", "-c", "diff.ignoreSubmodules=all", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "core.untrackedCache=false", "-c", "advice.addEmbeddedRepo=false", "-c", "worktree.useRelativePaths=false", "-c", "core.quotePath=false",
	}
}

// Output is Run for a command that answers with an exit code: with that one, what it wrote is the answer too.
func (g *Runner) Output(ctx context.Context, c Call, exit int) ([]byte, error) {
	out, err := g.Run(ctx, c)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == exit {
		return e.out, nil
	}
	return out, err
}

// Run does one command and returns its output. The error is a *Error, or that of ctx. While another git process has the
// index locked it is tried again, as git itself does where a name is locked: neither has changed anything by then.
func (g *Runner) Run(ctx context.Context, c Call) ([]byte, error) {
	for until := time.Now().Add(g.wait); ; {
		out, err := g.try(ctx, c)
		if e, ok := errors.AsType[*Error](err); !ok || filepath.Base(e.Lock) != "index.lock" || time.Now().After(until) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(lockPause):
		}
	}
}

func (g *Runner) try(ctx context.Context, c Call) ([]byte, error) {
	extra := slices.Clone(c.Extra)
	if c.Drivers {
		harmless, err := g.Neutral(ctx, c)
		if err != nil {
			return nil, err
		}
		extra = append(extra, harmless...)
	}
	if c.Limit == 0 {
		c.Limit = gitTime
	}
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	locks := "=" + strconv.FormatInt(g.wait.Milliseconds(), 10)
	waits := []string{"-c", "core.filesRefLockTimeout" + locks, "-c", "core.packedRefsTimeout" + locks}
	cmd := exec.CommandContext(ctx, g.program, append(waits, c.argv()...)...)
	// Its own group: what git started (the owner's filters) ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = cmpDir(c)
	cmd.Env = append(slices.Clip(g.env), extra...)
	if c.At.Common != "" {
		cmd.Env = append(cmd.Env, "GIT_COMMON_DIR="+c.At.Common)
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	stdout := &bounded{left: c.Output, hard: true}
	if c.Output == 0 {
		stdout.left = gitOutput
	}
	stderr := &bounded{left: stderrKept}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if err == nil {
		return stdout.buf.Bytes(), nil
	}
	return nil, g.failure(ctx, c, err, stdout, stderr)
}

func (g *Runner) failure(ctx context.Context, c Call, err error, stdout, stderr *bounded) error {
	out := &Error{Command: c.Args[0], Exit: -1, err: err}
	switch {
	case stdout.over:
		out.err = ErrTooMuch
	case ctx.Err() != nil:
		out.err = context.Cause(ctx)
	default:
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			out.Exit, out.out = e.ExitCode(), stdout.buf.Bytes()
		}
		out.Said = firstWords(stderr.buf.String())
		if out.Lock = lockIn(stderr.buf.String()); out.Lock != "" {
			out.Said = "another git process works there (it holds " + plain.Line(out.Lock) + ")"
		}
	}
	return out
}

// lockIn is the file that kept git out, by its own words such as: Unable to create '/x/.git/index.lock': File exists.
func lockIn(said string) string {
	head, _, ok := strings.Cut(said, ".lock': File exists")
	if i := strings.LastIndexByte(head, '\''); ok && i >= 0 {
		return head[i+1:] + ".lock"
	}
	return ""
}

// firstWords is the line of git's words that tells most: the first that says fatal or error, else the first.
func firstWords(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		for _, lead := range []string{"fatal: ", "error: "} {
			if rest, ok := strings.CutPrefix(line, lead); ok {
				return plain.FirstLine(rest, 300)
			}
		}
	}
	return plain.FirstLine(lines[0], 300)
}

func cmpDir(c Call) string {
	switch {
	case c.Dir != "":
		return c.Dir
	case c.At.Top != "":
		return c.At.Top
	}
	return "/"
}

func (c Call) argv() []string {
	args := always()
	if c.Single {
		args = append(args, "-c", "core.preloadIndex=false", "-c", "index.threads=1")
	}
	if c.At.GitDir != "" {
		args = append(args, "--git-dir="+c.At.GitDir)
	}
	if c.At.Top != "" {
		args = append(args, "--work-tree="+c.At.Top)
	}
	args = append(args, c.Args[0])
	switch c.Args[0] {
	case "diff", "log", "show", "diff-tree", "diff-index", "diff-files":
		args = append(args, "--no-ext-diff", "--no-textconv")
	}
	return append(args, c.Args[1:]...)
}

// driver is a family of settings by which a repository can name a program, such as filter.lfs.
type driver struct{ section, name string }

// variables are the settings of a family that git obeys, with the value that makes each harmless.
func (d driver) variables() [][2]string {
	switch d.section {
	case "filter":
		return [][2]string{{"clean", ""}, {"smudge", ""}, {"process", ""}, {"required", "false"}}
	case "diff":
		return [][2]string{{"textconv", ""}, {"command", ""}}
	case "merge":
		return [][2]string{{"driver", "false"}} // a conflict: "true" would take our side in silence
	}
	return nil
}

// Neutral returns, as environment, settings that undo every driver which the repository itself names. A driver that the
// owner's or the system's configuration names as well keeps the value it has there (security.md section 3 rule 2). It is
// handed over as environment, because a name may hold an equals sign, at which -c would cut.
func (g *Runner) Neutral(ctx context.Context, c Call) ([]string, error) {
	c.Args = []string{"config", "--show-scope", "-z", "--get-regexp", `^(filter|diff|merge|lfs)\.`}
	c.Drivers, c.Stdin, c.Limit, c.Output, c.Extra = false, nil, gitTime, 1<<20, nil
	out, err := g.Run(ctx, c)
	if Exited(err, 1) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	said, err := readDrivers(out)
	if err != nil {
		return nil, err
	}
	set := said.undo()
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(set))}
	for i, kv := range set {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return env, nil
}

// settings are what git config lists: values of the owner and the system, and what the repository itself sets.
type settings struct {
	trusted  map[string]string
	local    map[string]bool
	named    map[driver]bool // families that the repository touches
	programs []string        // settings of the repository by which git-lfs finds programs
}

func readDrivers(list []byte) (settings, error) {
	s := settings{trusted: map[string]string{}, local: map[string]bool{}, named: map[driver]bool{}}
	fields := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	if len(fields)%2 != 0 {
		return settings{}, errors.New("git config: unexpected output")
	}
	for pair := range slices.Chunk(fields, 2) {
		key, value, _ := strings.Cut(pair[1], "\n")
		section, rest, _ := strings.Cut(key, ".")
		name := rest[:max(0, strings.LastIndexByte(rest, '.'))]
		switch {
		case pair[0] == "system", pair[0] == "global":
			s.trusted[key] = value
		case pair[0] == "command": // ours
		case section == "lfs":
			if lfsProgram(rest) && !s.local[key] {
				s.programs = append(s.programs, key)
			}
			s.local[key] = true
		case name != "":
			s.named[driver{section, name}] = true
			s.local[key] = true
		}
	}
	return s, nil
}

// undo lists the settings that give every touched family back what the owner set, or nothing.
func (s settings) undo() [][2]string {
	var set [][2]string
	for d := range s.named {
		vars := d.variables()
		key := func(v [2]string) string { return d.section + "." + d.name + "." + v[0] }
		owned := slices.ContainsFunc(vars, func(v [2]string) bool { _, ok := s.trusted[key(v)]; return ok })
		for _, v := range vars {
			value, ok := s.trusted[key(v)]
			switch {
			case ok:
				set = append(set, [2]string{key(v), value})
			case !owned || s.local[key(v)]: // an empty process would switch off the owner's clean and smudge
				set = append(set, v)
				set[len(set)-1][0] = key(v)
			}
		}
	}
	for _, key := range s.programs {
		set = append(set, [2]string{key, s.trusted[key]})
	}
	return set
}

// lfsProgram reports whether a setting of git-lfs, without its section, can name a program.
func lfsProgram(rest string) bool {
	return strings.HasPrefix(rest, "customtransfer.") || strings.HasPrefix(rest, "extension.") ||
		strings.HasSuffix(rest, "standalonetransferagent")
}

// bounded keeps the first bytes written to it. Behind the bound a hard one fails the writer, another drops.
type bounded struct {
	buf  bytes.Buffer
	left int
	hard bool
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.buf.Write(p[:n])
	b.left -= n
	if n < len(p) {
		b.over = true
		if b.hard {
			return n, ErrTooMuch
		}
	}
	return len(p), nil
}
