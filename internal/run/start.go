package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"scv/internal/agent"
	"scv/internal/failpoint"
	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// noteName is the file in a run's directory that keeps what Plan had to remark, so that every fold says it.
const noteName = "note.txt"

// A beginning is how a run comes to be.
type beginning struct{ *run }

// start plans the process, makes the run's directory and starts the agent behind a shim. After nil the shim lives or
// lived, and the spool tells the rest; an error says that nothing was started.
func (r beginning) start(ctx context.Context) error {
	plan := r.plan
	if r.o.Run.Terminal != nil {
		plan = takeover(r).plan
	}
	w, launch, err := plan(ctx)
	if err != nil {
		return err
	}
	if err := r.lay(launch); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Spawn)
	defer cancel()
	spawned, err := control.Spawn(bounded, r.spawnSpec(w, launch))
	if err != nil {
		return err
	}
	r.launched = true
	if err := spawned.Go(bounded); err != nil {
		r.log.Warn("the start of the agent is not certain", "error", err)
		return nil // follow finds out by the lock
	}
	if r.o.Run.Terminal != nil {
		r.c.Terminals.Open(r.o) // before the program can have ended
	}
	if shim, err := control.ReadShim(r.dir); err == nil && shim.Agent != 0 {
		r.seen = true
		r.report(row.Life{Kind: row.LifeStarted, PID: shim.Agent})
	}
	return nil
}

// ripen waits until the agent can open its conversation again without losing it (agent.Kind.Reopen). When the daemon
// leaves meanwhile, the turn is given back to the queue; an error says that nothing is to be started.
func (r beginning) ripen(leave context.Context) error {
	c := &r.o.Conversation
	if r.kind.Reopen == nil || c.Vendor == "" || c.VendorAt == 0 {
		return nil
	}
	known := time.Unix(int64(c.VendorAt), 0)
	from, why := r.kind.Reopen(known)
	left := min(from.Sub(r.c.Now()), from.Sub(known)) // a clock that went back makes nobody wait longer
	if left <= 0 {
		return nil
	}
	detail := fmt.Sprintf("starts at %s UTC: %s", from.UTC().Format(time.TimeOnly), why)
	r.report(row.Life{Kind: row.LifeWaits, Detail: detail})
	timer := time.NewTimer(left)
	defer timer.Stop()
	for {
		if err := r.stillWanted(); err != nil {
			return err
		}
		select {
		case <-timer.C:
			return nil
		case <-r.wake:
		case <-leave.Done():
			r.report(row.Life{Kind: row.LifeHeldUp, Detail: detail})
			return leave.Err()
		}
	}
}

func (r beginning) stillWanted() error {
	if r.o.Run.Terminal == nil {
		_, err := r.wanted()
		return err
	}
	if r.c.Hub.Wishes(r.h).Stop {
		return errors.New("it was no longer wanted when it could start")
	}
	return nil
}

// plan says how the process of the run starts for its first turn, and makes the ground ready for it.
func (r beginning) plan(ctx context.Context) (row.TurnWish, agent.Launch, error) {
	w, err := r.wanted()
	if err != nil {
		return row.TurnWish{}, agent.Launch{}, err
	}
	turn, err := talk(r).turnOf(*w.Turn)
	if err != nil {
		return row.TurnWish{}, agent.Launch{}, err
	}
	launch, err := r.kind.New(r.set).Plan(turn)
	if err != nil {
		return row.TurnWish{}, agent.Launch{}, err
	}
	notes, err := r.ready(ctx, *w.Turn)
	if err == nil {
		w, err = r.wanted() // a worktree takes its time
	}
	if err != nil {
		return row.TurnWish{}, agent.Launch{}, err
	}
	launch.Note = strings.TrimSpace(launch.Note + " " + notes)
	return *w.Turn, launch, nil
}

// wanted are the wishes while they still ask for a start.
func (r beginning) wanted() (row.Wishes, error) {
	w := r.c.Hub.Wishes(r.h)
	if w.Turn == nil || w.Stop || w.Cancel == w.Turn.Number {
		return w, errors.New("it was no longer wanted when its turn to start came")
	}
	return w, nil
}

// lay makes the run's directory with the files that the agent finds there.
func (r beginning) lay(launch agent.Launch) (err error) {
	create := func() (err error) {
		r.root, err = r.c.Home.CreateRun(r.h)
		return err
	}
	if err = failpoint.Do(failpoint.RunDir, create); errors.Is(err, fs.ErrExist) {
		r.root, err = r.c.Home.RunRoot(r.h)
	}
	if err != nil {
		return err
	}
	files := launch.Files
	if launch.Note != "" {
		files = append(files, agent.File{Name: noteName, Data: []byte(launch.Note)})
	}
	for _, f := range files {
		if f.Name == "" || filepath.Base(f.Name) != f.Name || reserved(f.Name) {
			return fmt.Errorf("the agent's plan wants a file %q in the run's directory, which cannot be", f.Name)
		}
		if err := r.place(f); err != nil {
			return fmt.Errorf("place %s for the agent: %w", f.Name, err)
		}
	}
	return nil
}

func (r beginning) place(f agent.File) error {
	to, err := r.root.OpenFile(f.Name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = to.Write(f.Data)
	return errors.Join(err, to.Close())
}

// reserved reports whether a name in a run's directory belongs to us.
func reserved(name string) bool {
	switch name {
	case control.SpecName, control.ShimName, control.ExitName, control.LogName, control.SpoolName:
		return true
	}
	return strings.HasPrefix(name, "events.") || strings.HasPrefix(name, "tail.")
}

func (r *run) readNote() (string, error) {
	// A pipe that an agent put there is read as empty and makes nobody wait.
	f, err := r.root.OpenFile(noteName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	b := make([]byte, 8<<10)
	n, _ := f.Read(b) // an empty one is no note
	return string(b[:n]), f.Close()
}

func (r beginning) spawnSpec(w row.TurnWish, launch agent.Launch) control.SpawnSpec {
	environ := r.c.Environ
	if r.o.Run.Terminal != nil {
		environ = withoutTerminal(environ)
	}
	if caches := r.c.Ground.Caches(r.o); len(caches) > 0 {
		maps.Copy(caches, launch.Env)
		launch.Env = caches
	}
	return control.SpawnSpec{
		Exe: r.c.Exe, RunDir: r.dir, Argv: launch.Argv,
		Env: agent.Environment(environ, r.kind, launch, r.marks(w)),
		Spec: control.Spec{
			Run: string(r.h), Session: string(w.Session), Job: string(w.Job), Conversation: string(r.o.Conversation.ID),
			Meta: meta(r.o), Home: r.c.HomeID, Binary: r.c.Version, Argv: []string{r.c.Mask().Text(launch.Argv[0])}, Cwd: w.Cwd, Stdin: control.StdinPipe, Terminal: takeover(r).size(), Socket: r.c.Home.CtlSocket(r.h),
		},
	}
}

// meta is what rebuilding a lost ledger needs of an order; it holds masked text only.
func meta(o row.Order) json.RawMessage {
	data, err := json.Marshal(o)
	if err != nil {
		return nil // a rebuild then knows less of the run
	}
	return data
}

// marks are the variables by which a run's processes, and what they start, are known (behaviour/jobs.md 11).
func (r beginning) marks(w row.TurnWish) map[string]string {
	var links []string
	if above := r.environ("SCV_PARENT"); above != "" {
		links = append(links, above)
	}
	for _, run := range append(slices.Clip(w.Above), string(w.Session)+"/"+string(r.h)) {
		links = append(links, r.c.Home.Instance()+"/"+run)
	}
	depth, _ := strconv.Atoi(r.environ("SCV_DELEGATION_DEPTH")) // absent or odd: this is the first level
	return map[string]string{
		"SCV_HOME": r.c.Home.Path(), control.MarkerName: string(r.h), "SCV_PARENT": strings.Join(links, ";"),
		"SCV_DELEGATION_DEPTH": strconv.Itoa(max(depth, 0) + int(w.Depth) + 1),
	}
}

func (r beginning) environ(name string) string {
	for _, entry := range r.c.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// turnOf makes an agent's turn of a wish, with the prompt as the owner gave it.
func (r talk) turnOf(w row.TurnWish) (agent.Turn, error) {
	prompt, err := r.promptText(w.Job, w.Prompt, w.Private)
	if err != nil {
		return agent.Turn{}, err
	}
	if w.Handback {
		prompt = handback + prompt
	}
	t := r.service(w)
	t.Number, t.Key, t.Prompt = w.Number, turnKey(w.Number), prompt
	return t, nil
}

// service is what every process is started with, whether it serves turns or has a terminal.
func (r talk) service(w row.TurnWish) agent.Turn {
	return agent.Turn{
		Session: w.Vendor, NewID: r.o.Run.NewID, Run: r.h, RunDir: r.dir, Cwd: w.Cwd, Model: w.Model, Effort: w.Effort, Mode: agent.Mode(w.Mode),
	}
}

func turnKey(number uint32) string { return "turn:" + strconv.FormatUint(uint64(number), 10) }

// handback stands before the first prompt after a takeover.
const handback = "[While you were not asked anything, the owner worked in this conversation in your own terminal, " +
	"and maybe on the files. Look at how things stand before you go on.]\n\n"

// maxOriginals is how many unmasked prompts a run holds in memory: of its turn, and of what was sent into it.
const maxOriginals = 4

// promptText is a prompt as the owner wrote it.
func (r talk) promptText(job wire.JobID, masked string, private bool) (string, error) {
	if !private {
		return masked, nil
	}
	if text, ok := r.prompts[job]; ok {
		return text, nil
	}
	original, err := r.c.Original(job)
	if err != nil {
		return "", fmt.Errorf("read the prompt of %s: %w", job, err)
	}
	if len(r.prompts) >= maxOriginals {
		clear(r.prompts)
	}
	r.prompts[job] = original
	return original, nil
}
