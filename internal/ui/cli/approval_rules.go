package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

func newRulesCmd(f *factory) *cobra.Command {
	return listing(&cobra.Command{
		Use: "rules", Aliases: []string{"rule"},
		Short: "Rules that answer before you are asked",
		Example: `  scv approvals rules
  scv approvals rules add --allow --command "go test" --repo .
  scv approvals rules add --deny --path .git
  scv approvals rules test --command "go test ./..."`,
	}, newRuleListCmd(f, nil),
		newRuleListCmd(f, nil), newRuleAddCmd(f, nil), newRuleRemoveCmd(f, nil), newRuleTestCmd(f, nil),
	)
}

type ruleOptions struct {
	f       *factory
	id      string
	allow   bool
	deny    bool
	tool    string
	command string
	paths   []string
	repo    string
	period  time.Duration
	mode    string
	risk    string
	json    jsonFlag
}

func newRuleListCmd(f *factory, runF func(context.Context, *ruleOptions) error) *cobra.Command {
	opts := &ruleOptions{f: f}
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: exactly(), Short: "List the rules", Example: "  scv approvals rules list"}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if runF != nil {
			return runF(cmd.Context(), opts)
		}
		return opts.print(cmd.Context(), wire.ApprovalRules{})
	}
	addJSON[wire.ApprovalRule](cmd, &opts.json)
	return cmd
}

func newRuleAddCmd(f *factory, runF func(context.Context, *ruleOptions) error) *cobra.Command {
	opts := &ruleOptions{f: f}
	cmd := &cobra.Command{
		Use: "add", Args: exactly(), Short: "Add a rule; every part that is given must match",
		Long: `Add a rule; every part that is given must match. A command is named by its first words, and
a command of several parts is allowed only when each of them begins so. A denial beats a permission.`,
		Example: "  scv approvals rules add --allow --command \"go test\" --repo .\n  scv approvals rules add --deny --tool WebFetch --for 8h",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if runF != nil {
			return runF(cmd.Context(), opts)
		}
		return runRuleAdd(cmd.Context(), opts)
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.allow, "allow", false, "allow what matches")
	flags.BoolVar(&opts.deny, "deny", false, "deny what matches")
	opts.subject(cmd, "only of")
	addPatience(flags, &opts.period, "for", "only for so long")
	addJSON[wire.ApprovalRule](cmd, &opts.json)
	return cmd
}

// subject adds the flags that say what is spoken of.
func (o *ruleOptions) subject(cmd *cobra.Command, word string) {
	flags := cmd.Flags()
	flags.StringVar(&o.tool, "tool", "", word+" this tool, in the agent's word")
	flags.StringVar(&o.command, "command", "", word+" this command")
	flags.StringSliceVar(&o.paths, "path", nil, word+" this file, or what is below this folder")
	flags.StringVar(&o.repo, "repo", "", "only in this workspace")
}

func runRuleAdd(ctx context.Context, opts *ruleOptions) error {
	if opts.json.helps(opts.f.sys.Out) {
		return nil
	}
	if opts.allow == opts.deny {
		return usage("choose one: --allow or --deny", "a rule allows or denies")
	}
	if len(opts.paths) > 1 {
		return usage("add one rule for each", "a rule names one path")
	}
	rule := wire.ApprovalRule{Effect: wire.RuleDeny, Tool: opts.tool, Command: opts.command}
	if opts.allow {
		rule.Effect = wire.RuleAllow
	}
	if len(opts.paths) == 1 {
		rule.Path = opts.paths[0]
	}
	var err error
	if rule.Repo, err = workspaceOf(opts.repo); err != nil {
		return err
	}
	if opts.period > 0 {
		rule.Expires = new(uint64(opts.f.now().Add(opts.period).Unix()))
	}
	return opts.print(ctx, wire.ApprovalRuleAdd{Rule: rule, Key: client.NewKey()})
}

// workspaceOf is a directory by the name under which the daemon knows it.
func workspaceOf(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", usage("name a directory that is there", "there is no workspace %q", dir)
	}
	return abs, nil
}

func newRuleRemoveCmd(f *factory, runF func(context.Context, *ruleOptions) error) *cobra.Command {
	opts := &ruleOptions{f: f}
	cmd := &cobra.Command{
		Use: "remove ID", Aliases: []string{"rm"}, Args: exactly("a rule, such as rule-1"), Short: "Remove a rule; what it answered stays answered",
		Example: "  scv approvals rules remove rule-1",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			opts.id = args[0]
		}
		if runF != nil {
			return runF(cmd.Context(), opts)
		}
		return opts.print(cmd.Context(), wire.ApprovalRuleRemove{ID: opts.id, Key: client.NewKey()})
	}
	addJSON[wire.ApprovalRule](cmd, &opts.json)
	return cmd
}

// print asks for something that is answered by the rules of then.
func (o *ruleOptions) print(ctx context.Context, cmd wire.Command) error {
	f := o.f
	if o.json.helps(f.sys.Out) {
		return nil
	}
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	var list []wire.ApprovalRule
	if st.ApprovalRules != nil {
		list = *st.ApprovalRules
	}
	if o.json.on() {
		if list == nil {
			list = []wire.ApprovalRule{}
		}
		return o.json.print(f.sys.Out, list)
	}
	if st.WorkbenchNote != nil {
		f.say("%s", *st.WorkbenchNote)
	}
	if len(list) == 0 {
		f.say("no rules. Add one: scv approvals rules add --allow --command \"go test\" --repo .")
		return nil
	}
	var rows [][]cell
	for i := range list {
		rows = append(rows, f.ruleRow(&list[i]))
	}
	return f.printTable(f.sys.Out, []column{{name: "RULE"}, {name: "EFFECT"}, {name: "WHAT", shrink: 10}, {name: "WHERE", keep: 2, shrink: 8}, {name: "UNTIL", keep: 1}}, rows)
}

func (f *screen) ruleRow(r *wire.ApprovalRule) []cell {
	var parts []string
	for _, p := range []struct{ name, text string }{{"tool", r.Tool}, {"command", r.Command}, {"path", r.Path}} {
		if p.text != "" {
			parts = append(parts, p.name+" "+plain.Line(p.text))
		}
	}
	where, until := "everywhere", "it is removed"
	if r.Repo != "" {
		where = r.Repo
	}
	if r.Expires != nil {
		until = f.clock(*r.Expires * 1000)
	}
	return []cell{text(r.ID), text(string(r.Effect)), text(strings.Join(parts, ", ")), text(where), text(until)}
}

func newRuleTestCmd(f *factory, runF func(context.Context, *ruleOptions) error) *cobra.Command {
	opts := &ruleOptions{f: f}
	cmd := &cobra.Command{
		Use: "test", Args: exactly(), Short: "Tell what would be decided, without asking anybody",
		Example: "  scv approvals test --command \"go test ./...\"\n  scv approvals test --mode auto --command \"git push -f origin main\"",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if runF != nil {
			return runF(cmd.Context(), opts)
		}
		return runRuleTest(cmd.Context(), opts)
	}
	flags := cmd.Flags()
	opts.subject(cmd, "of")
	flags.StringVar(&opts.mode, "mode", "on-risk", "permission mode of the job")
	flags.StringVar(&opts.risk, "risk", "process", "risk that the agent names")
	addJSON[wire.ApprovalVerdict](cmd, &opts.json)
	return cmd
}

func runRuleTest(ctx context.Context, opts *ruleOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	repo, err := workspaceOf(orElse(opts.repo, "."))
	if err != nil {
		return err
	}
	st, err := f.call(ctx, wire.ApprovalTest{
		Mode: wire.PermissionMode(opts.mode), Risk: opts.risk, Cwd: repo, Repo: repo, Tool: opts.tool, Command: opts.command, Paths: opts.paths,
	})
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, st.ApprovalTest)
	}
	_, err = fmt.Fprintf(f.sys.Out, "%s\t%s\n", st.ApprovalTest.Decision, plain.Line(st.ApprovalTest.Why))
	return err
}
