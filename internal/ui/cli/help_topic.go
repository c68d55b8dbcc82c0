package cli

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/home/config"
	"scv/internal/safe/plain"
)

//go:embed topic/*.txt
var topicFiles embed.FS

// A topic is a page of help that is about no single command.
type topic struct{ name, title, text string }

// topics are all of them, in the order in which a newcomer needs them.
func topics() []topic {
	var out []topic
	for _, name := range []string{"getting-started", "approvals", "modes", "worktrees", "config", "automation", "exit-codes", "remote", "safety", "troubleshooting"} {
		text := exitTopic()
		if name != "exit-codes" {
			data, err := topicFiles.ReadFile("topic/" + name + ".txt")
			if err != nil {
				continue // a test sees that each is there
			}
			text = string(data)
		}
		title, _, _ := strings.Cut(text, "\n")
		out = append(out, topic{name: name, title: title, text: text})
	}
	return out
}

func newHelpCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use: "help [TOPIC | COMMAND...]", Args: cobra.ArbitraryArgs,
		Short:   "Explain a topic or a command",
		Long:    "Explain a topic, such as approvals or exit-codes, or a command. Without a word it lists\nthe topics.",
		Example: "  scv help\n  scv help getting-started\n  scv help jobs start",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return helpWords(cmd.Root(), args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runHelp(f, cmd.Root(), args) },
	}
}

func runHelp(f *factory, root *cobra.Command, args []string) error {
	all := topics()
	if len(args) == 0 {
		return listTopics(f.sys.Out, all)
	}
	if at := slices.IndexFunc(all, func(t topic) bool { return t.name == args[0] }); at >= 0 && len(args) == 1 {
		_, err := io.WriteString(f.sys.Out, all[at].text)
		return err
	}
	cmd, rest, err := root.Find(args)
	if err == nil && cmd != root && len(rest) == 0 {
		return helpText(f.sys.Out, cmd)
	}
	if err == nil && cmd != root {
		return unknownVerb(cmd, rest[0])
	}
	next := "see the topics: scv help   or the commands: scv --help"
	if near := config.Nearest(args[0], helpWords(root, nil)); near != "" {
		next = "did you mean: scv help " + near
	}
	return usage(next, "there is no topic and no command %q", args[0])
}

func listTopics(out io.Writer, all []topic) error {
	var b strings.Builder
	b.WriteString("Topics:\n")
	for _, t := range all {
		b.WriteString("  " + plain.Pad(t.name, 17) + t.title + "\n")
	}
	b.WriteString("\nRead one: scv help TOPIC   The commands: scv --help   One of them: scv help jobs start\n")
	_, err := fmt.Fprint(out, b.String())
	return err
}

// helpWords are the words that may follow scv help and these.
func helpWords(root *cobra.Command, args []string) []string {
	var out []string
	at := root
	if len(args) == 0 {
		for _, t := range topics() {
			out = append(out, t.name)
		}
	} else if found, rest, err := root.Find(args); err == nil && len(rest) == 0 {
		at = found
	}
	for _, c := range at.Commands() {
		if c.IsAvailableCommand() {
			out = append(out, c.Name())
		}
	}
	return out
}
