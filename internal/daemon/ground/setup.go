package ground

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/home"
	"scv/internal/repo"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

const (
	setupName  = ".scv/setup"
	setupBytes = 1 << 20
	setupTime  = 10 * time.Minute
	trustName  = "state/setup.json"
	doneName   = "scv-setup.done" // in a worktree's git directory: the digest of what ran to its end there
	outputName = "scv-setup.log"  // likewise: what it wrote
)

// Setup reads the set-up script of a checkout, and whether its owner trusts what it holds.
func (g *Ground) Setup(dir string) (wire.SetupScript, error) {
	data, err := readSetup(dir)
	if err != nil {
		return wire.SetupScript{}, err
	}
	if data == nil {
		return wire.SetupScript{}, wire.Refuse(wire.ReasonNotFound, "write one: it runs once in each new worktree", "there is no %s in %s.", setupName, dir)
	}
	s := wire.SetupScript{Path: filepath.Join(dir, setupName), Text: strings.ToValidUTF8(string(data), "\uFFFD"), Digest: digest(data)}
	s.Trusted, err = g.trusts(s.Digest)
	return s, err
}

// Trust remembers that the owner wants a script of exactly this content to run.
func (g *Ground) Trust(d string) error {
	g.trust.Lock()
	defer g.trust.Unlock()
	all, err := g.trusted()
	if err != nil {
		return err
	}
	all[d] = g.Now().Unix()
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	root := g.Home.Root()
	if err := root.WriteFile(trustName+".new", data, home.FileMode); err != nil {
		return err
	}
	return root.Rename(trustName+".new", trustName)
}

func (g *Ground) trusts(d string) (bool, error) {
	g.trust.Lock()
	defer g.trust.Unlock()
	all, err := g.trusted()
	_, ok := all[d]
	return ok, err
}

// trusted reads what is trusted: by digest, since when. The caller holds the lock.
func (g *Ground) trusted() (map[string]int64, error) {
	all := map[string]int64{}
	data, err := g.Home.Root().ReadFile(trustName)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read which set-up scripts are trusted: %w", err)
	}
	return all, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readSetup reads a script below a directory, and follows no link out of it; nil where there is none.
func readSetup(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(setupName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > setupBytes) {
		err = wire.Refuse(wire.ReasonRefused, "make it a plain file", "%s is no plain file of at most %s.", setupName, plain.Size(setupBytes))
	}
	if err != nil {
		return nil, err
	}
	return root.ReadFile(setupName)
}

// setUp runs the set-up script of a worktree, once to its end, if its owner trusts what it holds. The sentence says that
// it was left out; an error that it failed.
func (g *Ground) setUp(ctx context.Context, o row.Order, in repo.Intent) (string, error) {
	data, err := readSetup(in.Path)
	if err != nil || data == nil {
		return "", repo.Refused("the set-up script cannot be read", err)
	}
	held, err := g.Trees.Ways().Open(in.Path)
	if err != nil {
		return "", err
	}
	d, done := digest(data), filepath.Join(held.At.GitDir, doneName)
	if old, err := os.ReadFile(done); err == nil && string(old) == d {
		return "", nil
	}
	if ok, err := g.trusts(d); err != nil || !ok {
		return fmt.Sprintf("The set-up script %s was not run, since its content is not trusted. Look at it: scv agents worktrees trust %s", setupName, in.Repo),
			repo.Refused("whether the set-up script is trusted cannot be told", err)
	}
	if err := g.runSetup(ctx, o, held, data); err != nil {
		return "", err
	}
	return "", os.WriteFile(done, []byte(d), home.FileMode)
}

// runSetup runs exactly the bytes that are trusted, by a shell, with the agent's common variables.
func (g *Ground) runSetup(ctx context.Context, o row.Order, held repo.Held, script []byte) error {
	log := filepath.Join(held.At.GitDir, outputName)
	out, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, home.FileMode)
	if err != nil {
		return repo.Refused("the set-up script was not run", err)
	}
	defer out.Close()
	bounded, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	cmd := exec.CommandContext(bounded, "/bin/sh", "-e", "-s")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = held.Path, bytes.NewReader(script), out, out
	cmd.Env = append(g.Variables(), "SCV_HOME="+g.Home.Path(), "SCV_RUN="+string(o.Run.Handle), "SCV_SOURCE="+held.Repo)
	for name, value := range g.Caches(o) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		err = fmt.Errorf("it took longer than %s", setupTime)
	}
	return wire.Refuse(wire.ReasonRefused, "see "+log+"   Then: scv jobs retry ID", "the set-up script %s failed: %s%s.", setupName, err, lastLine(log))
}

// lastLine is the last thing that a script wrote, for a sentence.
func lastLine(file string) string {
	data, err := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(data[max(0, len(data)-4096):])), "\n")
	if last := plain.Truncate(plain.Line(lines[len(lines)-1]), 160); err == nil && last != "" {
		return " (" + last + ")"
	}
	return ""
}
