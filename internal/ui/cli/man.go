package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scv/internal/home"
	"scv/internal/safe/plain"
)

func newManCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR|PAGE", Args: exactly("a directory for all pages, or the name of one, such as scv-jobs-start"),
		Short:   "Write the manual pages, or print one",
		Long:    "Write a manual page for every command into a directory, or print the page of one\ncommand. The directory is made when its name holds a slash.",
		Example: "  scv man ~/.local/share/man/man1/\n  scv man scv-jobs-start | man -l -",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, c := range manCommands(cmd.Root()) {
				out = append(out, manName(c))
			}
			return out, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runMan(f, cmd.Root(), args[0]) },
	}
}

func runMan(f *factory, root *cobra.Command, where string) error {
	pages := manCommands(root)
	names := make([]string, 0, len(pages))
	for _, c := range pages {
		names = append(names, manName(c))
	}
	if at := slices.Index(names, strings.TrimSuffix(where, ".1")); at >= 0 {
		return manPage(f.sys.Out, pages[at], f.sys.Version)
	}
	if !strings.ContainsRune(where, filepath.Separator) {
		if info, err := os.Stat(where); err != nil || !info.IsDir() {
			return oneOf("page or directory", "scv man", where, names)
		}
	}
	if err := os.MkdirAll(where, 0o755); err != nil {
		return fmt.Errorf("make the directory for the pages: %w", err)
	}
	for i, c := range pages {
		if err := writeManPage(filepath.Join(where, names[i]+".1"), c, f.sys.Version); err != nil {
			return err
		}
	}
	f.say("%s in %s. Next: man -M %s scv", plain.Count(len(pages), "page"), home.Pretty(where), home.Pretty(filepath.Dir(filepath.Clean(where))))
	return nil
}

func writeManPage(path string, cmd *cobra.Command, version string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a page: %w", err)
	}
	err = manPage(file, cmd, version)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// manCommands are all commands that have a page.
func manCommands(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			out = append(out, manCommands(c)...)
		}
	}
	return out
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes the page of one command in man(7). It has no date: the same program writes the same page.
func manPage(out io.Writer, cmd *cobra.Command, version string) error {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"scv %s\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(strings.ToUpper(name)), version, roff(name), roff(cmd.Short))
	synopsis := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		synopsis = cmd.CommandPath() + " COMMAND"
	}
	b.WriteString(".B " + roff(synopsis) + "\n.SH DESCRIPTION\n" + roff(orElse(cmd.Long, cmd.Short+".")) + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Name()), roff(c.Short))
			}
		}
	}
	manFlags(&b, "OPTIONS", cmd.LocalNonPersistentFlags())
	shared := cmd.InheritedFlags()
	if !cmd.HasParent() {
		shared = cmd.PersistentFlags()
	}
	manFlags(&b, "OPTIONS OF ALL COMMANDS", shared)
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roff(cmd.Example) + "\n.fi\n")
	}
	if !cmd.HasParent() {
		b.WriteString(".SH EXIT STATUS\n")
		for _, e := range exitCodes() {
			fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(strings.ReplaceAll(e.says, "`", "")))
		}
	} else {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		short := ""
		if flag.Shorthand != "" {
			short = "-" + flag.Shorthand + ", "
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(short+"--"+flag.Name), roff(flag.Usage))
	})
}

// roff writes a text so that man takes none of it for a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
