package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"scv/internal/home"
	programs "scv/internal/repo/git"
)

// agents tells of each agent whether it can be worked with. One that cannot is the owner's affair; that none can is a
// problem.
func agents(_ context.Context, p Patient) (out []Finding) {
	usable, installed, signIn := false, false, ""
	for _, a := range p.Agents {
		f := Finding{Check: "agent " + a.Name, Verdict: OK, Text: "found at " + home.Pretty(a.Path)}
		switch {
		case a.Problem != "":
			f.Verdict, f.Text, f.Fix = Warn, a.Problem, a.Install
		case a.Aside:
			f.Text += ", which comes with SCV"
		case a.SignedIn == nil:
			f.Text += "; a real call tells whether it is signed in: scv agents check " + a.Name
		case !*a.SignedIn:
			f.Verdict, f.Text, f.Fix = Warn, "it says that nobody is signed in", "scv agents login "+a.Name
			if a.Said != "" {
				f.Text += ": " + a.Said
			}
		default:
			f.Text += ", signed in"
		}
		if !a.Aside && a.Problem == "" {
			installed = true
			usable = usable || f.Verdict == OK
			if f.Verdict != OK && signIn == "" {
				signIn = f.Fix
			}
		}
		out = append(out, f)
	}
	switch {
	case usable || len(p.Agents) == 0:
	case installed:
		out = append(out, Finding{Check: "agents", Verdict: Problem, Text: "of the agents that are installed, none is signed in", Fix: signIn})
	default:
		out = append(out, Finding{Check: "agents", Verdict: Problem, Text: "no agent is installed; the demo agent works without one: scv demo", Fix: "install one: scv agents"})
	}
	return out
}

func git(ctx context.Context, _ Patient) []Finding {
	path, err := exec.LookPath("git")
	if err != nil {
		return one(Finding{Check: "git", Verdict: Warn, Text: "git was not found, which worktrees need", Fix: "install git with your system's packages"})
	}
	found, err := programs.New(os.Environ(), 0).Release(ctx)
	switch {
	case err != nil:
		return one(Finding{Check: "git", Verdict: Problem, Text: err.Error(), Fix: path + " version"})
	case found.Before(programs.Least()):
		return one(Finding{
			Check: "git", Verdict: Problem, Text: fmt.Sprintf("%s is git %s; scv jobs apply and the forecast need %s or later", path, found, programs.Least()),
			Fix: "install a newer git",
		})
	}
	return ok("git", fmt.Sprintf("git %s at %s", found, path))
}
