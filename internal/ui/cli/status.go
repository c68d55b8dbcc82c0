package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/client/offline"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// logLines is how many lines of the daemon's log a status shows.
const logLines = 10

type statusOptions struct {
	f      *factory
	format string
	json   jsonFlag
}

// A daemonReport is what scv status prints.
type daemonReport struct {
	State              string   `json:"state"` // running, stopped or silent
	Home               string   `json:"home"`
	Socket             string   `json:"socket"`
	Version            string   `json:"version,omitempty"`
	PID                uint32   `json:"pid,omitempty"`
	HomeID             string   `json:"home_id,omitempty"`
	StartedUnixSeconds uint64   `json:"started_unix_seconds,omitempty"`
	Working            int      `json:"working"`
	Queued             int      `json:"queued"`
	NeedYou            int      `json:"need_you"`
	Finished           int      `json:"finished"`
	LiveRuns           int      `json:"live_runs"`
	Problems           []string `json:"problems"`
	Log                []string `json:"log"`
	Next               string   `json:"next"`
}

func newStatusCmd(f *factory, runF func(context.Context, *statusOptions) error) *cobra.Command {
	opts := &statusOptions{f: f}
	cmd := &cobra.Command{
		Use: "status", Args: exactly(),
		Short:   "Show the daemon: where it is, what runs, what is wrong",
		Long:    "Show the daemon: where it is, what runs, what is wrong, and the end of its log.\nThe exit code is 0 when it runs and 5 when it does not or does not answer.",
		Example: "  scv status\n  scv status --json=state,working,problems\n  scv status --format '{need_you?{need_you} need you }{working} working'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runStatus(cmd.Context(), opts)
		},
	}
	addJSON[daemonReport](cmd, &opts.json)
	cmd.Flags().StringVar(&opts.format, "format", "", "one line for a prompt or tmux, by --json's names; exit code 0")
	return cmd
}

func runStatus(ctx context.Context, opts *statusOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	if opts.format != "" {
		return opts.line(ctx)
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	report, err := f.inspect(ctx, h)
	if err != nil {
		return err
	}
	if opts.json.on() {
		if err := opts.json.print(f.sys.Out, report); err != nil {
			return err
		}
	} else if err := f.printStatus(report); err != nil {
		return err
	}
	if report.State != "running" {
		return status(exitUnreachable)
	}
	return nil
}

// line prints the format. A prompt must not wait and must not fail: a daemon that does not answer at once is told by
// its state and by counts of 0, and the disk is not read for it.
func (o *statusOptions) line(ctx context.Context) error {
	f := o.f
	format, err := parseLayout(o.format, fieldNames(o.json.shape))
	if err != nil {
		return err
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	r := &daemonReport{State: "running", Home: h.Path(), Socket: h.Socket(), Problems: []string{}, Log: []string{}}
	asked, cancel := context.WithTimeoutCause(ctx, completionPatience, client.ErrSilent)
	defer cancel()
	if err := f.askStatus(asked, h, r); errors.Is(err, client.ErrNoDaemon) {
		r.State = "stopped"
	} else if err != nil {
		r.State = "silent"
	}
	data, err := compact(r)
	if err != nil {
		return err
	}
	text, err := format.render(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.sys.Out, text)
	return err
}

// inspect asks the daemon, and looks at the home where it does not answer.
func (f *service) inspect(ctx context.Context, h *home.Home) (*daemonReport, error) {
	r := &daemonReport{State: "running", Home: h.Path(), Socket: h.Socket(), Log: lastLog(h), Problems: []string{}}
	if _, err := config.Load(h, f.sys.Environ, config.Overrides{}); err != nil {
		for _, p := range config.Problems(err) {
			r.Problems = append(r.Problems, p.Error())
		}
		r.Next = "scv config edit"
	}
	asked, cancel := context.WithTimeoutCause(ctx, readPatience, client.ErrSilent)
	defer cancel()
	said := r.Problems
	err := f.askStatus(asked, h, r)
	for tries := 0; errors.Is(err, client.ErrBroken) && tries < brokenTries; tries++ {
		r.Problems = said
		err = f.askStatus(asked, h, r)
	}
	switch {
	case err == nil:
	case errors.Is(err, client.ErrNoDaemon):
		r.State, r.Next = "stopped", orElse(r.Next, "scv start")
	case errors.Is(err, client.ErrSilent) || asked.Err() != nil && ctx.Err() == nil:
		r.State, r.Next = "silent", "wait, or: scv restart"
		if pid := lockPID(h); pid > 0 {
			r.PID, r.Next = uint32(pid), fmt.Sprintf("wait, or end it: kill -9 %d   Then: scv start   Runs survive that", pid)
		}
		r.Problems = append(r.Problems, "the daemon does not answer, last sign of it at "+lastSign(h).Local().Format("15:04:05"))
	default:
		return nil, err
	}
	if err != nil {
		r.recall(ctx, h)
	}
	return r, nil
}

// recall counts what lies on disk, for a daemon that does not answer. What cannot be read counts as nothing: the state
// of the daemon is what was asked for.
func (r *daemonReport) recall(ctx context.Context, h *home.Home) {
	disk, err := offline.Open(h)
	if err != nil {
		return
	}
	defer disk.Close()
	if view, err := disk.Snapshot(ctx); err == nil {
		r.count(&view)
	}
}

func (f *service) askStatus(ctx context.Context, h *home.Home, r *daemonReport) error {
	c, err := f.connect(ctx, h)
	if err != nil {
		return err
	}
	defer c.Close()
	st, err := c.Call(ctx, wire.StatusCommand{})
	if err != nil {
		return err
	}
	r.Version, r.PID, r.HomeID = st.Version, st.PID, value(st.Home)
	if st.StartedUnixSeconds != nil {
		r.StartedUnixSeconds = *st.StartedUnixSeconds
	}
	own := r.Problems
	r.Problems = append([]string{}, st.Problems...) // a list, also where there are none
	for _, p := range own {
		if !slices.ContainsFunc(st.Problems, func(said string) bool { return strings.Contains(said, p) }) {
			r.Problems = append(r.Problems, p)
		}
	}
	st, err = c.Call(ctx, wire.WorkbenchCommand{})
	if err != nil || st.Workbench == nil {
		return err
	}
	r.count(st.Workbench)
	r.Next = orElse(r.Next, "scv jobs")
	if r.Version != f.sys.Version {
		r.Problems = append(r.Problems, "the daemon is of release "+r.Version+", this program of "+f.sys.Version)
		r.Next = "scv restart"
	}
	return nil
}

func (r *daemonReport) count(view *wire.Snapshot) {
	for _, job := range view.Jobs {
		switch {
		case job.State.NeedsAttention():
			r.NeedYou++
		case job.State == wire.StateQueued:
			r.Queued++
		case job.State.Final():
			r.Finished++
		default:
			r.Working++
		}
	}
	for _, run := range view.Runs {
		if run.Live {
			r.LiveRuns++
		}
	}
}

func (f *screen) printStatus(r *daemonReport) error {
	daemon := r.State
	if r.PID > 0 {
		daemon += fmt.Sprintf(", process %d", r.PID)
	}
	if r.Version != "" {
		daemon += ", version " + r.Version
	}
	if r.StartedUnixSeconds > 0 {
		daemon += ", since " + f.since(r.StartedUnixSeconds)
	}
	lines := [][2]string{
		{"daemon", daemon}, {"home", home.Pretty(r.Home)}, {"socket", home.Pretty(r.Socket)},
	}
	asOf := ""
	if r.State != "running" {
		asOf = ", when the daemon last wrote"
	}
	lines = append(lines, [2]string{"jobs", fmt.Sprintf("%d working, %d queued, %d need you, %d ended", r.Working, r.Queued, r.NeedYou, r.Finished) + asOf},
		[2]string{"runs", fmt.Sprintf("%d live", r.LiveRuns) + asOf})
	for _, p := range r.Problems {
		lines = append(lines, [2]string{"problem", p})
	}
	for _, l := range r.Log {
		lines = append(lines, [2]string{"log", f.logText(l)})
	}
	lines = append(lines, [2]string{"next", r.Next})
	return f.printPairs(lines)
}

// printPairs writes names with their values: in two columns to a terminal, with a tab between to a pipe. An empty name
// goes on with the value before.
func (f *screen) printPairs(lines [][2]string) error {
	wide := 8
	for _, l := range lines {
		wide = max(wide, plain.Width(l[0]))
	}
	name := ""
	for _, l := range lines {
		name = orElse(l[0], name)
		head, sep := name, "\t"
		if f.columns > 0 {
			head, sep = plain.Pad(l[0], wide), " "
		}
		if _, err := fmt.Fprintln(f.sys.Out, strings.TrimRight(head+sep+f.hang(wide+1, plain.Line(l[1])), " ")); err != nil {
			return err
		}
	}
	return nil
}

// logText is a line of the daemon's log: as it stands for a pipe, shorter for people. A line of another form stays.
func (f *screen) logText(line string) string {
	stamp, rest, ok := strings.Cut(strings.TrimPrefix(line, "time="), " ")
	at, err := time.Parse(time.RFC3339, stamp)
	if f.columns == 0 || !ok || err != nil {
		return line
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "level=INFO "), "level=")
	return at.Local().Format("15:04:05") + " " + strings.Replace(rest, "msg=", "", 1)
}

// since writes a moment for a sentence.
func (f *screen) since(unix uint64) string {
	if f.columns == 0 {
		return f.when(unix).pipe
	}
	return time.Unix(int64(unix), 0).Format("2006-01-02 15:04")
}

// lastLog is the end of the daemon's own log.
func lastLog(h *home.Home) []string {
	info, err := h.Root().Stat("state/daemon.log")
	if err != nil {
		return []string{}
	}
	text := strings.TrimSpace(string(logSince(h, max(0, info.Size()-8<<10))))
	if text == "" {
		return []string{}
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-logLines):]
}
