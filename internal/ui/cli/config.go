package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

func newConfigCmd(f *factory) *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Show and change the settings",
		Example: "  scv config show\n  scv config set policy.mode read-only\n  scv config edit",
	},
		newConfigShowCmd(f, nil), newConfigPathCmd(f), newConfigGetCmd(f, nil), newConfigSetCmd(f, nil), newConfigEditCmd(f),
	)
}

type configShowOptions struct {
	f    *factory
	all  bool
	json jsonFlag
}

// A setting is one key as --json prints it.
type setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // TOML; <hidden> for a secret
	Origin string `json:"origin"`
	Inert  bool   `json:"inert"` // kept, and does nothing in this version
}

func newConfigShowCmd(f *factory, runF func(context.Context, *configShowOptions) error) *cobra.Command {
	opts := &configShowOptions{f: f}
	cmd := &cobra.Command{
		Use: "show", Args: exactly(),
		Short:   "Print what is in force and where it comes from",
		Long:    "Print what is in force and where each value comes from: keys that are set, and with\n--all those at their default too.",
		Example: "  scv config show --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runConfigShow(opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.all, "all", "a", false, "keys at their default too")
	addJSON[setting](cmd, &opts.json)
	return cmd
}

func runConfigShow(opts *configShowOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	c, err := config.Load(h, f.sys.Environ, config.Overrides{})
	if err != nil {
		return err
	}
	list := []setting{}
	for _, s := range c.Settings(opts.all || f.columns > 0 && len(c.Origins) == 0) {
		list = append(list, setting(s))
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, list)
	}
	for _, file := range c.Files {
		state := "not there"
		if file.Found {
			state = orElse(file.Mode, "read")
		}
		f.say("%s: %s (%s)", file.Layer, home.Pretty(file.Path), state)
	}
	rows := make([][]cell, 0, len(list))
	for _, s := range list {
		origin := text(s.Origin)
		if s.Inert {
			origin = text(s.Origin + ", does nothing here")
		}
		rows = append(rows, []cell{text(s.Key), text(s.Value), origin})
	}
	if err := f.printTable(f.sys.Out, []column{{name: "KEY"}, {name: "VALUE", shrink: 10}, {name: "FROM", shrink: 10}}, rows); err != nil {
		return err
	}
	for _, p := range c.Warnings {
		f.say("note: %s", p.Error())
	}
	if len(list) == 0 {
		f.say("nothing is set; all is at its default. Next: scv config show --all")
	}
	return nil
}

// configPath is what config path tells as JSON.
type configPath struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
}

func newConfigPathCmd(f *factory) *cobra.Command {
	json := jsonFlag{}
	cmd := &cobra.Command{
		Use: "path", Args: exactly(), Short: "Print where the file is", Example: "  scv config path",
		RunE: func(*cobra.Command, []string) error {
			if json.helps(f.sys.Out) {
				return nil
			}
			h, err := f.openHome()
			if err != nil {
				return err
			}
			path := h.ConfigPath()
			if json.on() {
				_, err := os.Stat(path)
				return json.print(f.sys.Out, configPath{path, err == nil})
			}
			_, err = fmt.Fprintln(f.sys.Out, plain.Line(path))
			return err
		},
	}
	addJSON[configPath](cmd, &json)
	return cmd
}

type configGetOptions struct {
	f    *factory
	key  string
	json jsonFlag
}

func newConfigGetCmd(f *factory, runF func(context.Context, *configGetOptions) error) *cobra.Command {
	opts := &configGetOptions{f: f}
	cmd := &cobra.Command{
		Use: "get KEY", Args: exactly("a key, such as policy.mode"), ValidArgsFunction: completeKeys,
		Short: "Print one setting", Example: "  scv config get policy.mode",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.key = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runConfigGet(opts)
		},
	}
	addJSON[setting](cmd, &opts.json)
	return cmd
}

func runConfigGet(opts *configGetOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	c, err := config.Load(h, f.sys.Environ, config.Overrides{})
	if err != nil {
		return err
	}
	s, ok := c.Setting(opts.key)
	if !ok {
		next := "see all of them: scv config show --all"
		if near := config.Nearest(opts.key, config.Keys()); near != "" {
			next = "did you mean: scv config get " + near
		}
		return &fault{code: exitNotFound, message: fmt.Sprintf("there is no key %q", opts.key), next: next}
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, setting(s))
	}
	_, err = fmt.Fprintln(f.sys.Out, plain.Line(s.Value))
	return err
}

type configSetOptions struct {
	f          *factory
	key, value string
}

func newConfigSetCmd(f *factory, runF func(context.Context, *configSetOptions) error) *cobra.Command {
	opts := &configSetOptions{f: f}
	return &cobra.Command{
		Use: "set KEY VALUE", Args: exactly("a key, such as policy.mode", "a value"), ValidArgsFunction: completeKeys,
		Short:   "Change one line of the file; comments stay",
		Long:    "Change one line of the file; comments stay. docs/operations.md lists the keys. It\ncounts for what begins from now on, also with a daemon that runs.",
		Example: "  scv config set policy.mode read-only\n  scv config set agents.codex.args \"--search,--verbose\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.key, opts.value = args[0], args[1]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runConfigSet(cmd.Context(), opts)
		},
	}
}

func runConfigSet(ctx context.Context, opts *configSetOptions) error {
	f := opts.f
	h, err := f.openHome()
	if err != nil {
		return err
	}
	if err := ownersAlone(f.sys.Environ, h, "change the settings"); err != nil {
		return err
	}
	if err := config.Set(h, opts.key, opts.value); err != nil {
		if list := config.Problems(err); len(list) == 1 {
			return usage(list[0].Fix, "%s: %s", list[0].Key, list[0].Message)
		}
		return err
	}
	f.say("%s is set in %s. Next: %s", opts.key, home.Pretty(h.ConfigPath()), reload(ctx, f, h))
	return nil
}

// reload has a daemon that runs read its settings now, so that what waits by them need not wait for the next job; it
// returns what to do next. One that does not answer reads them by itself before the next job.
func reload(ctx context.Context, f *factory, h *home.Home) string {
	c, err := f.connect(ctx, h)
	if err != nil {
		return "scv config show"
	}
	defer c.Close()
	if st, err := c.Call(ctx, wire.ReloadCommand{}); err != nil || len(st.Problems) > 0 {
		return "scv status"
	}
	return "nothing; it counts for what begins from now on"
}

func newConfigEditCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use: "edit", Args: exactly(), Short: "Open the file in $EDITOR, then check it", Example: "  EDITOR=vim scv config edit",
		RunE: func(cmd *cobra.Command, _ []string) error { return runConfigEdit(cmd.Context(), f) },
	}
}

func runConfigEdit(ctx context.Context, f *factory) error {
	h, err := f.openHome()
	if err != nil {
		return err
	}
	if err := ownersAlone(f.sys.Environ, h, "change the settings"); err != nil {
		return err
	}
	path, made, err := config.Ensure(h)
	if err != nil {
		return err
	}
	if made {
		f.say("made %s", home.Pretty(path))
	}
	if err := f.openEditor(ctx, path, "EDITOR=nano scv config edit"); err != nil {
		return err
	}
	if _, err := config.Load(h, f.sys.Environ, config.Overrides{}); err != nil {
		return err
	}
	f.say("%s is valid. Next: %s", home.Pretty(path), reload(ctx, f, h))
	return nil
}

// openEditor lets the owner edit a file; again is the command to try with another editor.
func (f *factory) openEditor(ctx context.Context, path, again string) error {
	if f.noInput {
		return usage("leave --no-input out, or edit the file itself: "+home.Pretty(path), "an editor asks for input")
	}
	editor := orElse(orElse(f.env("VISUAL"), f.env("EDITOR")), "vi")
	// The editor may be a command with flags, as everywhere: the shell splits it, the path is an argument of its own.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.sys.In, f.sys.Out, f.sys.Err
	err := cmd.Run()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &fault{code: exitFailed, message: "the editor cannot be started: " + cause(err), next: again}
	case err != nil:
		return &fault{code: exitFailed, message: fmt.Sprintf("the editor %q ended with an error (%v); the file is as it left it", editor, err), next: "choose another: " + again}
	}
	return nil
}

func completeKeys(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, key := range config.Keys() {
		rest, agent := strings.CutPrefix(key, "agents.*.")
		if !agent {
			out = append(out, key)
			continue
		}
		for _, name := range config.Served() {
			out = append(out, "agents."+name+"."+rest)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
