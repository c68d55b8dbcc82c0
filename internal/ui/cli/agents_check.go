package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/home/offer"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// Bounds of a check.
const (
	checkPatience   = 3 * time.Minute // of the whole call
	versionPatience = 20 * time.Second
	stopPatience    = 15 * time.Second // of a job that was told to stop
	checkPrompt     = "Reply with the single word: ready. Do not use any tool."
)

type agentsCheckOptions struct {
	f       *factory
	name    string // empty for every agent that is found
	over    string // the transport; empty for the chosen one
	timeout time.Duration
	json    jsonFlag
}

// A checkReport is what scv agents check prints.
type checkReport struct {
	Agent     string `json:"agent"`
	OK        bool   `json:"ok"`
	Path      string `json:"path"`
	Version   string `json:"version"`   // the first line that its --version printed
	Transport string `json:"transport"` // live or cli
	SignIn    string `json:"sign_in"`   // what the agent says of it
	Steers    bool   `json:"steers"`    // a running turn takes further prompts
	State     string `json:"state"`
	Class     string `json:"class"`
	Detail    string `json:"detail"`
	Reply     string `json:"reply"`
	Next      string `json:"next"`
	// What the agent offers, as it said in this or an earlier live start.
	Models  []wire.AgentChoice `json:"models"`
	Modes   []wire.AgentChoice `json:"modes"`
	Efforts []wire.AgentChoice `json:"efforts"`
}

func newAgentsCheckCmd(f *factory, runF func(context.Context, *agentsCheckOptions) error) *cobra.Command {
	opts := &agentsCheckOptions{f: f}
	cmd := &cobra.Command{
		Use: "check [NAME]", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: f.completeAgents,
		Short:             "Make one real call to an agent and tell what is wrong",
		Long:              "Make one real, tiny call to an agent in an empty directory, read-only, and tell\nwhether it works, over which transport, and what it offers; if it does not work, the\none command that fixes it. Without a name, every agent that is found. A paid model\nmay be asked.",
		Example:           "  scv agents check codex\n  scv agents check gemini --transport cli",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.name = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runAgentsCheck(cmd.Context(), opts)
		},
	}
	opts.timeout = checkPatience
	addPatience(cmd.Flags(), &opts.timeout, "timeout", "give up after this time")
	cmd.Flags().StringVar(&opts.over, "transport", "", "live (one process for all its turns) or cli (one per turn)")
	_ = cmd.RegisterFlagCompletionFunc("transport", cobra.FixedCompletions(transports(), cobra.ShellCompDirectiveNoFileComp))
	addJSON[checkReport](cmd, &opts.json)
	return cmd
}

func runAgentsCheck(ctx context.Context, opts *agentsCheckOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	if opts.over != "" && !slices.Contains(transports(), opts.over) {
		return usage("choose from: "+strings.Join(transports(), " "), "there is no transport %q", opts.over)
	}
	if opts.name == "" {
		return opts.all(ctx)
	}
	agent, err := f.agentNamed(opts.name)
	if err != nil {
		return err
	}
	rep, class, err := opts.check(ctx, agent)
	if err != nil {
		return err
	}
	if opts.json.on() {
		err = opts.json.print(f.sys.Out, rep)
	} else {
		err = f.printCheck(rep)
	}
	if err != nil || rep.OK {
		return err
	}
	return status(outcome(wire.StateFailed, &class))
}

// all checks every agent that is found, one after the other, and ends with the worst outcome.
func (o *agentsCheckOptions) all(ctx context.Context) error {
	list, err := o.f.agents()
	if err != nil {
		return err
	}
	reports := []*checkReport{}
	var failed error
	for i := range list {
		agent := &list[i]
		if !agent.Found || wording.Aside(agent.Name) {
			continue
		}
		rep, class, err := o.check(ctx, agent)
		if err != nil {
			return err
		}
		if !rep.OK && failed == nil {
			failed = status(outcome(wire.StateFailed, &class))
		}
		reports = append(reports, rep)
		if !o.json.on() {
			if err := o.f.printCheck(rep); err != nil {
				return err
			}
		}
	}
	if o.json.on() {
		if err := o.json.print(o.f.sys.Out, reports); err != nil {
			return err
		}
	}
	if len(reports) == 0 {
		o.f.say("no agent is installed. Next: scv agents")
	}
	return failed
}

// check makes the call and adds what the agent said of itself.
func (o *agentsCheckOptions) check(ctx context.Context, agent *agentRow) (*checkReport, wire.Class, error) {
	rep := &checkReport{
		Agent: agent.Name, Path: agent.Path, Transport: orElse(o.over, agent.Transport), State: wire.StateFailed.String(),
		Models: []wire.AgentChoice{}, Modes: []wire.AgentChoice{}, Efforts: []wire.AgentChoice{},
	}
	if agent.Found {
		rep.Version = programVersion(ctx, agent)
	}
	class, err := o.call(ctx, agent, rep)
	if err != nil {
		return nil, class, err
	}
	rep.Next = nextStep(agent, rep)
	if said, err := offer.Read(o.f.opened, agent.Name); err == nil {
		rep.SignIn, rep.Steers = said.SignIn, said.Steers && rep.Transport == wire.TransportLive
		rep.Models, rep.Modes = append(rep.Models, said.Models...), append(rep.Modes, said.Modes...)
		rep.Efforts = append(rep.Efforts, said.Efforts...)
	}
	return rep, class, nil
}

func (f *factory) agentNamed(name string) (*agentRow, error) {
	list, err := f.agents()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list))
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
		names = append(names, list[i].Name)
	}
	next := "choose from: " + strings.Join(names, " ")
	if near := config.Nearest(name, names); near != "" {
		next = "did you mean: scv agents check " + near
	}
	return nil, &fault{code: exitNotFound, message: fmt.Sprintf("there is no agent %q", name), next: next}
}

// programVersion is the first line of the program's --version, empty when it gives none.
func programVersion(ctx context.Context, agent *agentRow) string {
	if agent.Name == "demo" {
		return "built in"
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, agent.Path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return ""
	}
	return plain.FirstLine(string(out[:min(len(out), 4096)]), 80)
}

// call runs the check as a job like any other, in an empty directory of the home, and takes the job away again.
func (o *agentsCheckOptions) call(ctx context.Context, agent *agentRow, rep *checkReport) (wire.Class, error) {
	f := o.f
	if _, err := f.openHome(); err != nil {
		return "", err
	}
	dir := filepath.Join(f.opened.Path(), "check")
	if err := f.opened.Root().Mkdir("check", home.DirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make the directory of the check: %w", err)
	}
	defer f.opened.Root().Remove("check")
	start := wire.WorkbenchStart{Workspace: dir, Agent: agent.Name, Prompt: checkPrompt, Mode: new(wire.ModeReadOnly), Check: true, Key: client.NewKey()}
	if o.over != "" {
		start.Transport = &o.over
	}
	st, err := f.call(ctx, start)
	if e, ok := errors.AsType[*wire.Error](err); ok {
		rep.Detail, rep.Next = e.Message, e.Hint
		return wire.ClassStart, nil
	}
	if err != nil {
		return "", err
	}
	if st.WorkbenchJob == nil {
		return "", errors.New("the daemon named no job")
	}
	return o.observe(ctx, *st.WorkbenchJob, rep)
}

// A sighting is what a check has seen of its job. Trouble stays in it: an agent that tries again says so once, and a
// sign of life takes the words out of the job.
type sighting struct {
	last    wire.Job
	trouble string // the last that was said of trying again
	class   wire.Class
}

// look takes a job in and returns the trouble that is new, empty for none.
func (s *sighting) look(j *wire.Job) string {
	s.last = *j
	if j.Class == nil {
		return ""
	}
	s.class = *j.Class
	said := value(j.Detail)
	if said == s.trouble || j.State.Final() {
		return ""
	}
	s.trouble = said
	return said
}

// observe waits for the check's job, takes down what came of it, and takes it away.
func (o *agentsCheckOptions) observe(ctx context.Context, ref wire.JobRef, rep *checkReport) (wire.Class, error) {
	f := o.f
	session, job, _ := ref.Split()
	var s sighting
	w := &waiter{f: f, want: finalStates, seen: func(j *wire.Job) {
		if trouble := s.look(j); trouble != "" {
			f.say("%s", trouble)
		}
	}}
	f.say("asking %s for one word; this may take up to %s. ctrl-C ends it", rep.Agent, o.timeout)
	_, err := w.wait(ctx, o.timeout, []wire.JobRef{ref})
	last := s.last
	if err != nil {
		_, _ = f.call(context.WithoutCancel(ctx), wire.WorkbenchCancel{Session: session, Job: job, Key: client.NewKey()})
	}
	if err != nil && !errors.Is(err, errTimeout) {
		if ctx.Err() != nil {
			f.say("the check is given up; %s is being stopped", job)
			return "", status(exitInterrupted)
		}
		return "", err
	}
	rep.OK, rep.State, rep.Detail = last.State == wire.StateCompleted, last.State.String(), value(last.Detail)
	if last.Class != nil {
		rep.Class = string(*last.Class)
	}
	if err != nil { // it is on its way out: no result yet, and a record that can go once it has ended
		rep.Class = string(s.class)
		rep.Detail = fmt.Sprintf("no answer within %s; %s", o.timeout, orElse(orElse(s.trouble, rep.Detail), "it said nothing of why"))
		_, err = (&waiter{f: f, want: finalStates}).wait(ctx, stopPatience, []wire.JobRef{ref})
		if err != nil {
			return wire.Class(rep.Class), nil
		}
	}
	if st, err := f.call(ctx, wire.JobResultCommand{Session: session, Job: job}); err == nil && st.JobResult != nil {
		rep.Reply = plain.FirstLine(value(st.JobResult.Reply), 200)
	}
	if last.Run != nil && rep.Transport == wire.TransportLive { // else its process would wait for another prompt
		_, _ = f.call(ctx, wire.DelegationKillCommand{Handle: last.Run, Key: client.NewKey()}) // it may have left
	}
	_, err = f.call(ctx, wire.WorkbenchDismiss{Session: session, Job: job, Key: client.NewKey()})
	return wire.Class(rep.Class), err
}

// nextStep is the one command that helps.
func nextStep(agent *agentRow, rep *checkReport) string {
	switch {
	case rep.OK:
		return "scv jobs start --agent " + agent.Name + " PROMPT"
	case rep.Next != "":
		return rep.Next
	case !agent.Found:
		return orElse(agent.Install, "install it, or: scv config set agents."+agent.Name+".command PATH")
	}
	switch wire.Class(rep.Class) {
	case wire.ClassAuth:
		return orElse(agent.SignIn, "sign in to "+agent.Name)
	case wire.ClassQuota:
		return "wait until its limit is renewed, or choose another agent: scv agents"
	case wire.ClassNetwork:
		return "look at your network, then: scv agents check " + agent.Name
	case wire.ClassModel:
		return "name another model: scv config set agents." + agent.Name + ".model NAME"
	default:
	}
	return "run it by hand to see more: " + agent.Command
}

// offeredWords lists values, the one in force first.
func offeredWords(list []wire.AgentChoice) string {
	var out []string
	for _, c := range list {
		if c.Used {
			out = append([]string{c.ID + " (in use)"}, out...)
		} else {
			out = append(out, c.ID)
		}
	}
	return strings.Join(out, ", ")
}

func (f *screen) printCheck(rep *checkReport) error {
	verdict := "works"
	if !rep.OK {
		verdict = "does not work"
	}
	lines := [][2]string{
		{"agent", rep.Agent + " " + verdict},
		{"path", home.Pretty(rep.Path)},
		{"version", rep.Version},
		{"transport", rep.Transport},
		{"sign-in", rep.SignIn},
		{"models", offeredWords(rep.Models)},
		{"modes", offeredWords(rep.Modes)},
		{"efforts", offeredWords(rep.Efforts)},
		{"steering", map[bool]string{true: "a running turn takes further prompts"}[rep.Steers]},
		{"state", rep.State},
		{"class", rep.Class},
		{"detail", rep.Detail},
		{"reply", rep.Reply},
		{"next", rep.Next},
	}
	for _, l := range lines {
		if l[1] == "" {
			continue
		}
		name, sep := l[0], "\t"
		if f.columns > 0 {
			name, sep = plain.Pad(l[0], 10), " "
		}
		if _, err := fmt.Fprintln(f.sys.Out, name+sep+f.hang(len(name+sep), plain.Line(l[1]))); err != nil {
			return err
		}
	}
	return nil
}
