package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scv/internal/home/config"
)

// newRoot is the tree of all verbs.
func newRoot(f *factory) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "scv",
		Short: "Run coding agents as durable jobs",
		Long: `scv runs coding agents as durable jobs: a background daemon keeps them going
when you close the terminal, and keeps their log, state and result.`,
		Example: `  scv                                       the dashboard
  scv demo                                  see it work; needs nothing installed
  scv jobs start --agent codex "fix the failing test"
  scv jobs log -f @last                     follow it; ctrl-C leaves it running
  scv jobs result @last`,
	},
		newJobsCmd(f), newWhyCmd(f, nil), newSearchCmd(f, nil), newUsageCmd(f, nil), newExportCmd(f, nil),
		newApprovalsCmd(f), newConfirmCmd(f, nil), newForecastCmd(f, nil), newExecCmd(f, nil), newSessionsCmd(f), newServerCmd(f, nil), newMCPCmd(f, nil),
		newAgentsCmd(f), newDemoCmd(f, nil), newReplayCmd(f, nil),
		newRunCmd(f, nil), newStartCmd(f, nil), newStopCmd(f, nil), newStatusCmd(f, nil), newRestartCmd(f, nil),
		newLogsCmd(f, nil), newDoctorCmd(f, nil), newConfigCmd(f), newUninstallCmd(f, nil),
		newVersionCmd(f, nil), newCompletionCmd(f), newManCmd(f), newHelpCmd(f),
	)
	verbs := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return verbs(cmd, args)
		}
		return runDashboard(cmd.Context(), f, f.plain, cmd.Help)
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // ours knows topics too
	root.SetIn(f.sys.In)
	root.SetOut(f.sys.Out)
	root.SetErr(f.sys.Err)
	root.SetFlagErrorFunc(flagMistake)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return blankFlag(cmd) }
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&f.home, "home", "", "home of SCV (default $SCV_HOME, else ~/.scv)")
	flags.StringVar(&f.home, "scv-home", "", "upstream's name of --home")
	hide(flags, "scv-home")
	flags.BoolVar(&f.noStart, "no-start", false, "do not start the daemon when it is not running")
	flags.BoolVar(&f.plain, "plain", f.plain, "no columns and no screen, for screen readers (SCV_ACCESSIBLE=1)")
	flags.BoolVar(&f.noInput, "no-input", false, "ask nothing; waiting for an approval ends with exit code 7")
	flags.BoolP("help", "h", false, "help on this command")
	root.Version = f.sys.Version
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usageText(f.sys.Err, cmd) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = helpText(f.sys.Out, cmd) })
	return root
}

// group makes a command that only holds others. Called by itself it helps; called with a word that is none of its
// commands it refuses, where cobra would help and succeed.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownVerb(cmd, args[0])
	}
	cmd.AddCommand(children...)
	return cmd
}

// unknownVerb refuses a word that no command below cmd has, with the nearest one.
func unknownVerb(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := config.Nearest(word, names); near != "" {
		return usage(fmt.Sprintf("did you mean: %s %s", cmd.CommandPath(), near), "there is no command %q in %s", word, cmd.CommandPath())
	}
	return usage("see what there is: "+cmd.CommandPath()+" --help", "there is no command %q in %s", word, cmd.CommandPath())
}

// flagMistake refuses a flag that is not there, or whose value is wrong.
func flagMistake(cmd *cobra.Command, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		return unknownFlag(cmd, name)
	}
	if rest, ok := strings.CutPrefix(text, "unknown shorthand flag: "); ok {
		return usage("see the flags: "+cmd.CommandPath()+" --help   A prompt that begins with a dash comes after --", "unknown flag %s", rest)
	}
	if wrong, ok := errors.AsType[*fault](err); ok {
		return wrong
	}
	text, _, _ = strings.Cut(text, ": strconv.") // how Go reads numbers is nobody's concern
	return usage("see the flags: "+cmd.CommandPath()+" --help", "%s", text)
}

// blankFlag refuses a flag whose value is empty, as a script's variable that is not set leaves it: --mode "" would be the
// owner's mode, --repo "" every workspace, --home "" another home. Where the empty value is the agent's own choice, or a
// text, nothing is widened by it.
func blankFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "model", "effort", "reason":
			return
		}
		text := flag.Value.String()
		if kind := flag.Value.Type(); kind == "string" && text == "" || kind == "stringSlice" && text == "[]" {
			err = usage("give one, or leave --"+flag.Name+" out", "--%s has no value", flag.Name)
		}
	})
	return err
}

func unknownFlag(cmd *cobra.Command, name string) error {
	name, _, _ = strings.Cut(name, "=")
	var names []string
	visit := func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	}
	cmd.Flags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	slices.Sort(names)
	if near := config.Nearest(name, names); near != "" {
		return usage("did you mean: --"+near, "%s has no flag --%s", cmd.CommandPath(), name)
	}
	return usage("see the flags: "+cmd.CommandPath()+" --help   A prompt that begins with a dash comes after --", "%s has no flag --%s", cmd.CommandPath(), name)
}

// mistake is what is left of an error that no room explained: cobra's own about arguments, else a failure.
func mistake(cmd *cobra.Command, err error) error {
	text := err.Error()
	for _, start := range []string{"accepts ", "requires ", "unknown command ", "invalid argument ", "if any flags in the group", "at least one of the flags"} {
		if strings.HasPrefix(text, start) {
			return usage("see how it is used: "+cmd.CommandPath()+" --help", "%s", text)
		}
	}
	return err
}

// exactly refuses any other number of arguments than the named ones.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage("give it: "+cmd.UseLine(), "%s needs %s", cmd.CommandPath(), names[len(args)])
		}
		if len(args) > len(names) {
			return usage("take it away, or put quotes around a text with spaces: "+cmd.UseLine(), "%s does not know what to do with %q", cmd.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// atLeastOne refuses a call without arguments.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("give it: "+cmd.UseLine(), "%s needs %s", cmd.CommandPath(), name)
		}
		return nil
	}
}

func hide(flags *pflag.FlagSet, name string) {
	if flag := flags.Lookup(name); flag != nil {
		flag.Hidden = true
	}
}
