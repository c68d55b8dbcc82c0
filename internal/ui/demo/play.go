package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// longest bounds the whole show.
const longest = time.Minute

var (
	errOver = errors.New("all jobs have ended")
	errLong = errors.New("the demo's jobs did not end within a minute")
)

// play starts three jobs, shows them live, and then what came of them.
func (s *stage) play(ctx context.Context) error {
	s.say("A daemon of its own runs in a throw-away home. Three jobs of the built-in demo agent:")
	s.say("one that completes, one that fails, and one that waits for the first.")
	s.say("")
	refs, err := s.start(ctx)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, longest, errLong)
	defer cancel()
	jobs, err := s.watch(bounded, refs)
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(s.opts.Err, "scv: interrupted; everything of the demo is being removed")
			return ctx.Err()
		}
		return err
	}
	return s.finale(ctx, refs, jobs)
}

// open shows the dashboard over the demo's jobs.
func (s *stage) open(ctx context.Context) error {
	if _, err := s.start(ctx); err != nil {
		return err
	}
	asks := wire.WorkbenchStart{
		Workspace: s.work, Agent: "demo-live", Key: client.NewKey(),
		Prompt: "Clean up the build directory",
	}
	if _, err := s.call(ctx, asks); err != nil {
		return err
	}
	h, err := home.Open(s.home)
	if err != nil {
		return err
	}
	defer h.Close()
	return s.opts.Dashboard(ctx, h, s.work)
}

func (s *stage) start(ctx context.Context) ([]wire.JobRef, error) {
	var refs []wire.JobRef
	for _, prompt := range []string{"Explain this project in three sentences", "Run the tests; they fail"} {
		st, err := s.call(ctx, wire.WorkbenchStart{Workspace: s.work, Agent: "demo", Prompt: prompt, Key: client.NewKey()})
		if err != nil {
			return nil, err
		}
		if st.WorkbenchJob == nil {
			return nil, errors.New("the demo's daemon named no job")
		}
		refs = append(refs, *st.WorkbenchJob)
	}
	st, err := s.call(ctx, wire.WorkbenchCommand{})
	if err != nil {
		return nil, err
	}
	session, first, _ := refs[0].Split()
	for _, job := range st.Workbench.Jobs {
		if job.Job != first || job.Conversation == nil {
			continue
		}
		st, err := s.call(ctx, wire.WorkbenchSend{
			Session: session, Conversation: *job.Conversation, Prompt: "Now write it down in docs/overview.md", Mode: wire.SendQueue, Key: client.NewKey(),
		})
		if err != nil {
			return nil, err
		}
		if st.WorkbenchJob != nil {
			refs = append(refs, *st.WorkbenchJob)
		}
	}
	return refs, nil
}

// A show prints what the watching goroutine and those that follow a log see, line by line. The end of a job is shown
// after the last line of its log, though the watcher hears of it first.
type show struct {
	s    *stage
	fail func(error)

	mu      sync.Mutex                  // covers what follows, and a write
	reading map[wire.JobID]bool         // jobs whose log is not at its end
	over    map[wire.JobID]func() error // what is to be shown at its end
}

func (s *stage) watch(ctx context.Context, refs []wire.JobRef) (map[wire.JobRef]wire.Job, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var logs sync.WaitGroup
	defer logs.Wait()
	w := &show{s: s, fail: cancel, reading: map[wire.JobID]bool{}, over: map[wire.JobID]func() error{}}
	jobs, followed := map[wire.JobRef]wire.Job{}, map[wire.RunHandle]bool{}
	err := client.WatchWorkbench(ctx, s.target, func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		for _, job := range view.Jobs {
			if job.Run != nil && !followed[*job.Run] {
				followed[*job.Run] = true
				w.open(job.Job)
				logs.Go(func() { w.follow(ctx, *job.Run, job.Job) })
			}
			if old, known := jobs[job.Ref()]; !known || old.State != job.State {
				w.job(&job)
			}
			jobs[job.Ref()] = job
		}
		for _, ref := range refs {
			if job, known := jobs[ref]; !known || !job.State.Final() {
				return nil
			}
		}
		return errOver
	})
	if errors.Is(err, errOver) {
		logs.Wait()
		return jobs, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return nil, err
}

func (w *show) open(job wire.JobID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading[job] = true
}

// follow prints what an agent does, as it does it.
func (w *show) follow(ctx context.Context, run wire.RunHandle, job wire.JobID) {
	err := client.FollowLog(ctx, w.s.target, run, client.LogPosition{}, func(page wire.RunLogPage) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range page.Events {
			switch e.Kind {
			case wire.EventText, wire.EventTool, wire.EventToolFailed, wire.EventPlan, wire.EventNote:
				if strings.TrimSpace(e.Text) == "" {
					continue
				}
				if err := w.line(e.TsMs, string(job), string(e.Kind), e.Text, "2"); err != nil {
					return err
				}
			default:
			}
		}
		return nil
	})
	if err == nil {
		err = w.close(job)
	}
	if err != nil && ctx.Err() == nil {
		w.fail(err)
	}
}

// close shows how a job ended, if that is known already.
func (w *show) close(job wire.JobID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading[job] = false
	if end := w.over[job]; end != nil {
		return end()
	}
	return nil
}

func (w *show) job(job *wire.Job) {
	what := job.Task
	if (job.State.Final() || job.State == wire.StateQueued) && job.Detail != nil && *job.Detail != "" {
		what += " (" + *job.Detail + ")"
	}
	end := func() error {
		return w.line(job.UpdatedUnixSeconds*1000, string(job.Job), job.State.String(), what, colourOf(job.State))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if job.State.Final() && w.reading[job.Job] {
		w.over[job.Job] = end
		return
	}
	if err := end(); err != nil {
		w.fail(err)
	}
}

func colourOf(s wire.AgentState) string {
	switch s {
	case wire.StateCompleted:
		return "1;32"
	case wire.StateFailed, wire.StateInterrupted:
		return "1;31"
	default:
	}
	return "1;36"
}

// line writes one line; the caller holds the lock.
func (w *show) line(ms uint64, job, word, text, colour string) error {
	word = plain.Pad(plain.Line(word), 11)
	if w.s.opts.Colour {
		word = "\x1b[" + colour + "m" + word + "\x1b[0m"
	}
	text = plain.Line(text)
	if n := w.s.opts.Columns; n > 0 {
		text = plain.Truncate(text, max(10, n-30))
	}
	_, err := fmt.Fprintf(w.s.opts.Out, "%s  %s  %s  %s\n", time.UnixMilli(int64(ms)).Format("15:04:05"), plain.Pad(job, 5), word, text)
	return err
}

// finale prints what each job said and what to do next.
func (s *stage) finale(ctx context.Context, refs []wire.JobRef, jobs map[wire.JobRef]wire.Job) error {
	for _, ref := range refs {
		session, job, _ := ref.Split()
		st, err := s.call(ctx, wire.JobResultCommand{Session: session, Job: job})
		if err != nil {
			return err
		}
		s.say("")
		s.say("%s %s: %s", job, jobs[ref].State, jobs[ref].Task)
		if st.JobResult == nil {
			continue
		}
		said := ""
		for _, part := range []*string{st.JobResult.Reply, st.JobResult.Detail, st.JobResult.Error} {
			if part != nil && said == "" {
				said = plain.Block(*part)
			}
		}
		for line := range strings.Lines(strings.TrimSpace(said)) {
			s.say("    %s", strings.TrimRight(line, "\n"))
		}
	}
	s.say("")
	s.say("That was all, and nothing is left of it. With an agent of yours (scv agents lists them):")
	s.say("    scv jobs start --agent codex \"fix the failing test\"")
	s.say("    scv jobs log -f @last        follow it; ctrl-C leaves it running")
	s.say("    scv jobs result @last")
	return nil
}

// say writes a line of the demo itself. Nothing of an agent's goes through here uncleaned.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintln(s.opts.Out, plain.Line(fmt.Sprintf(format, args...)))
}
