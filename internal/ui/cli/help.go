package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scv/internal/safe/plain"
)

// helpWidth is the widest line of a help text. Cobra's own templates would link a template engine for it.
const helpWidth = 80

// helpText is what --help prints.
func helpText(out io.Writer, cmd *cobra.Command) error {
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	if _, err := fmt.Fprintf(out, "%s\n\n", wrap(about, helpWidth)); err != nil {
		return err
	}
	return usageText(out, cmd)
}

func usageText(out io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	switch {
	case cmd.Runnable() && !cmd.HasAvailableSubCommands():
		b.WriteString("  " + cmd.UseLine() + "\n")
	case cmd.HasParent() && cmd.LocalNonPersistentFlags().HasAvailableFlags(): // without a command it lists
		b.WriteString("  " + cmd.CommandPath() + " [list] [flags]\n  " + cmd.CommandPath() + " COMMAND\n")
	default:
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if len(cmd.Aliases) > 0 {
		b.WriteString("\nAlso called: " + strings.Join(cmd.Aliases, ", ") + "\n")
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				b.WriteString("  " + plain.Pad(c.Name(), 12) + c.Short + "\n")
			}
		}
	}
	flagText(&b, "\nFlags:\n", cmd.LocalNonPersistentFlags())
	shared := cmd.InheritedFlags()
	if !cmd.HasParent() {
		shared = cmd.PersistentFlags()
	}
	flagText(&b, "\nFlags of all commands:\n", shared)
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nMore about one: " + cmd.CommandPath() + " COMMAND --help\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func flagText(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(title)
	b.WriteString(flags.FlagUsagesWrapped(helpWidth))
}

// wrap breaks a text at its spaces, paragraph by paragraph.
func wrap(text string, width int) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				out = append(out, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		out = append(out, line, "")
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}
