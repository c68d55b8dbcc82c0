package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"scv/internal/home"
	"scv/internal/ui/tui/model"
)

// copyPatience is how long a clipboard program may take.
const copyPatience = 2 * time.Second

// lend gives the terminal to a program of the owner's and takes it back when the program ends; then runs in the loop's
// goroutine. The daemon's messages are taken meanwhile, so that it does not cut this client for not reading.
func (d *dashboard) lend(ctx context.Context, cmd *exec.Cmd, then func(error)) {
	if d.busy {
		return
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		err = d.screen.Suspend(d.opts.Now())
	}
	if err != nil {
		then(err)
		return
	}
	if cmd.Stdin == nil {
		cmd.Stdin = tty
	}
	cmd.Stdout, cmd.Stderr = tty, tty
	d.busy = true
	go func() {
		err := cmd.Run()
		_ = tty.Close()
		d.post(ctx, func() {
			d.busy = false
			if resumed := d.screen.Resume(); err == nil {
				err = resumed
			}
			then(err)
		})
	}()
}

// edit opens a prompt in the owner's editor, in a file of the home that nobody else can read and that is removed.
func (d *dashboard) edit(ctx context.Context, e model.Edit) {
	answer := func(text string, err error) { d.update(ctx, model.Edited{Then: e.Then, Text: text, Err: err}) }
	dir := filepath.Join(d.opts.Feed.Home.Path(), "state")
	file, err := os.CreateTemp(dir, "prompt-*.md")
	if err != nil {
		answer("", fmt.Errorf("a file for the editor cannot be made: %w", err))
		return
	}
	_, err = io.WriteString(file, e.Text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(file.Name(), home.FileMode)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		answer("", fmt.Errorf("the editor's file cannot be written: %w", err))
		return
	}
	editor := firstSet(d.opts.Env, "VISUAL", "EDITOR")
	if editor == "" {
		editor = "vi"
	}
	d.lend(ctx, exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file.Name()), func(err error) {
		defer os.Remove(file.Name())
		if err != nil {
			answer("", fmt.Errorf("the editor %q: %w; the prompt is as it was. Next: set EDITOR", editor, err))
			return
		}
		data, err := os.ReadFile(file.Name())
		answer(strings.TrimRight(string(data), "\n"), err)
	})
}

// page shows a text in the owner's pager.
func (d *dashboard) page(ctx context.Context, text string) {
	pager := firstSet(d.opts.Env, "PAGER")
	if pager == "" {
		pager = "less"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Stdin = strings.NewReader(text)
	d.lend(ctx, cmd, func(err error) {
		if err != nil {
			d.update(ctx, model.Told{Text: fmt.Sprintf("the pager %q: %v. Next: set PAGER", pager, err), Bad: true})
		}
	})
}

func firstSet(env func(string) string, names ...string) string {
	for _, name := range names {
		if v := strings.TrimSpace(env(name)); v != "" {
			return v
		}
	}
	return ""
}

// copy puts a text on the clipboard: by the desktop's own program, which says whether it did, else by the terminal, which
// does not. The report says which.
func (d *dashboard) copy(ctx context.Context, c model.Copy) {
	name, args := copier(d.opts.Env)
	if name == "" {
		d.offer(ctx, c)
		return
	}
	go func() {
		tried, cancel := context.WithTimeout(ctx, copyPatience)
		defer cancel()
		cmd := exec.CommandContext(tried, name, args...)
		cmd.Stdin = strings.NewReader(c.Text)
		err := cmd.Run()
		d.post(ctx, func() {
			if err != nil {
				d.offer(ctx, c)
				return
			}
			d.update(ctx, model.Told{Text: fmt.Sprintf("%s copied with %s", c.What, name)})
		})
	}()
}

// offer hands a text to the terminal's clipboard.
func (d *dashboard) offer(ctx context.Context, c model.Copy) {
	d.screen.Copy(c.Text)
	d.update(ctx, model.Told{Text: c.What + " sent to the terminal's clipboard, which does not tell whether it took it. Else: y, then the pager"})
}

// post has something done by the loop's goroutine.
func (d *dashboard) post(ctx context.Context, do func()) {
	select {
	case d.back <- do:
	case <-ctx.Done():
	}
}

// copier is the program that reaches this desktop's clipboard; none over ssh, where it would be another desktop's.
func copier(env func(string) string) (name string, args []string) {
	switch {
	case env("SSH_CONNECTION") != "" || env("SSH_TTY") != "":
		return "", nil
	case runtime.GOOS == "darwin":
		name = "pbcopy"
	case env("WAYLAND_DISPLAY") != "":
		name = "wl-copy"
	case env("DISPLAY") != "":
		name, args = "xclip", []string{"-selection", "clipboard"}
	default:
		return "", nil
	}
	if _, err := exec.LookPath(name); err != nil {
		return "", nil
	}
	return name, args
}
