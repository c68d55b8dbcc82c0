package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/daemon"
	"scv/internal/daemon/doctor"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type doctorOptions struct {
	f       *factory
	fix     bool
	rebuild bool
	json    jsonFlag
}

// A doctorReport is what scv doctor prints.
type doctorReport struct {
	OK       bool             `json:"ok"`
	Home     string           `json:"home"`
	Daemon   bool             `json:"daemon"` // one answers
	Findings []doctor.Finding `json:"findings"`
}

func newDoctorCmd(f *factory, runF func(context.Context, *doctorOptions) error) *cobra.Command {
	opts := &doctorOptions{f: f}
	cmd := &cobra.Command{
		Use: "doctor", Args: exactly(),
		Short: "Examine this installation and mend what is safe",
		Long: `Examine this installation, with or without a daemon: modes, lock and socket, ledger,
folders of runs, disk, git, agents and their sign-ins, processes that were left.
Each line is ok, warn or problem, with the command that mends it; --fix does what is
safe.
The exit code is 0, or 1 when a problem is left.`,
		Example: "  scv doctor\n  scv doctor --fix\n  scv stop; scv doctor --rebuild-ledger",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runDoctor(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.fix, "fix", false, "mend what is safe to mend, and say what")
	cmd.Flags().BoolVar(&opts.rebuild, "rebuild-ledger", false, "build the ledger anew from what lies beside it; the old one is kept")
	addJSON[doctorReport](cmd, &opts.json)
	return cmd
}

func runDoctor(ctx context.Context, opts *doctorOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	if opts.rebuild || opts.fix {
		if err := ownersAlone(f.sys.Environ, h, "mend the home"); err != nil {
			return err
		}
	}
	if opts.rebuild {
		said, err := daemon.Rebuild(ctx, daemon.Options{Home: h, Now: f.sys.Now})
		if err != nil {
			return err
		}
		f.say("%s", said)
	}
	patient := doctor.Patient{Home: h, Version: f.sys.Version, Now: f.sys.Now, Daemon: daemonFacts(ctx, f.service, h), Agents: agentFacts(ctx, f.service, h)}
	findings := doctor.Examine(ctx, patient)
	if opts.fix {
		doctor.Mend(patient, findings)
	}
	report := doctorReport{OK: !doctor.Sick(findings), Home: h.Path(), Daemon: patient.Daemon.Running, Findings: findings}
	if opts.json.on() {
		err = opts.json.print(f.sys.Out, &report)
	} else {
		err = f.printDoctor(&report)
	}
	if err == nil && !report.OK {
		return status(exitFailed)
	}
	return err
}

// daemonFacts asks the daemon who it is, if it answers.
func daemonFacts(ctx context.Context, f *service, h *home.Home) doctor.Daemon {
	asked, cancel := context.WithTimeoutCause(ctx, readPatience, client.ErrSilent)
	defer cancel()
	c, err := f.connect(asked, h)
	if err == nil {
		defer c.Close()
		var st *wire.DaemonStatus
		if st, err = c.Call(asked, wire.StatusCommand{}); err == nil {
			return doctor.Daemon{Running: true, PID: int(st.PID), Version: st.Version, Problems: st.Problems}
		}
	}
	return doctor.Daemon{Silent: !errors.Is(err, client.ErrNoDaemon), PID: lockPID(h)}
}

// agentFacts lists the agents; a configuration that is wrong leaves them out, and is told by its own command.
func agentFacts(ctx context.Context, f *service, h *home.Home) (out []doctor.Agent) {
	c, err := config.Load(h, f.sys.Environ, config.Overrides{})
	if err != nil {
		return []doctor.Agent{{Name: "settings", Problem: "the configuration is wrong, so agents were not looked for", Install: "scv config edit"}}
	}
	opt := daemon.Options{Home: h, Config: c, Exe: f.sys.Exe, Environ: f.sys.Environ}
	for _, a := range daemon.Agents(opt) {
		out = append(out, doctor.Agent{Name: a.Name, Path: a.Path, Problem: a.Problem, Install: a.Install, Aside: wording.Aside(a.Name)})
	}
	if insideRun(f.sys.Environ, f.opened) {
		return out // accounts are the owner's
	}
	ctx, cancel := context.WithTimeout(ctx, signInPatience)
	defer cancel()
	var asked sync.WaitGroup
	for i := range out {
		asked.Go(func() { signInFact(ctx, opt, &out[i]) })
	}
	asked.Wait()
	return out
}

// signInPatience bounds what all agents may take to say who is signed in.
const signInPatience = 10 * time.Second

// signInFact asks an agent's own command whether somebody is signed in. Nothing is made for that: a private home that is
// not there yet stays away.
func signInFact(ctx context.Context, opt daemon.Options, a *doctor.Agent) {
	if a.Problem != "" {
		return
	}
	if opt.Config.Agent(a.Name).Private {
		if _, err := os.Stat(opt.Home.AgentHome(a.Name)); err != nil {
			return
		}
	}
	account, found, err := daemon.AccountOf(opt, a.Name)
	if err == nil && found && account.Status != nil {
		a.SignedIn, a.Said = signedIn(ctx, account)
	}
}

func (f *screen) printDoctor(r *doctorReport) error {
	for _, one := range r.Findings {
		verdict, text := string(one.Verdict), one.Text
		if one.Fixed {
			verdict = "fixed"
		} else if one.Fix != "" {
			text += ". Next: " + one.Fix
		}
		if f.columns == 0 {
			if _, err := fmt.Fprintf(f.sys.Out, "%s\t%s\t%s\n", verdict, plain.Line(one.Check), plain.Line(text)); err != nil {
				return err
			}
			continue
		}
		head := plain.Pad(verdict, 8) + " " + plain.Pad(plain.Line(one.Check), 13) + " "
		if _, err := fmt.Fprintln(f.sys.Out, head+f.hang(len(head), plain.Line(text))); err != nil {
			return err
		}
	}
	return nil
}
