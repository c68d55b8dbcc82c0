package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/home"
	"scv/internal/testkit/census"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SCV_TEST_LEDGER_WRITER"); dir != "" {
		os.Exit(writeForEver(dir))
	}
	os.Exit(census.Main(m))
}

func newHome(t testing.TB, dir string) *home.Home {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func open(t testing.TB, h *home.Home) *ledger.Store {
	t.Helper()
	s, err := ledger.Open(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func store(t testing.TB, s *ledger.Store, b row.Batch) {
	t.Helper()
	if err := s.Store(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

const session = wire.SessionID("workbench-0123456789abcdef")

// job makes a row as the hub does.
func job(n uint64, s wire.AgentState) row.Job {
	conv := wire.NewConversationID("codex", n)
	run := wire.NewRunHandle("codex", fmt.Sprintf("%06x", n))
	mode := wire.ModeOnRisk
	return row.Job{
		Job: wire.Job{
			Session: session, Job: wire.NewJobID(n), Agent: "codex", Task: "mend <it> & go", Workspace: "/w", Cwd: "/w", State: s,
			Detail: new("a detail"), StartedBy: wire.OriginOwner, Conversation: &conv, Run: &run, CreatedUnixSeconds: 1, UpdatedUnixSeconds: 2,
			Rev: n, Mode: &mode, Usage: &wire.JobUsage{InputTokens: new(uint64(3))},
		},
		Num: n, Principal: row.Principal{Who: "owner", Way: "cli"}, Turn: 1, Home: "h", Machine: "local", Assigned: 1,
		Evidence: []wire.Evidence{{AtMs: 1, Source: "owner", Fact: "asked for"}},
	}
}

func runOf(j row.Job, live bool) row.Run {
	r := row.Run{
		Run: wire.Run{
			Handle: *j.Run, Agent: j.Agent, Session: session, Transport: wire.TransportCLI, Conversation: j.Conversation, Turn: new(uint32(1)),
			Jobs: []wire.JobID{j.Job.Job}, Cwd: "/w", State: j.State, StartedUnixSeconds: 1, LastActivityUnixSeconds: 2, Live: live,
		},
		PID: 7, Pos: row.Pos{Frame: 3, Index: 4}, NewID: "uuid",
	}
	if !live {
		r.Ended = j.Num
	}
	return r
}

// full is a batch that holds all of a job.
func full(n uint64, s wire.AgentState) row.Batch {
	j := job(n, s)
	b := row.Batch{
		Sessions:      []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: "/w", Live: true, State: wire.StateIdle}, CreatedUnixSeconds: 1}},
		Conversations: []row.Conversation{{ID: *j.Conversation, Session: session, Agent: "codex", Cwd: "/w", Vendor: fmt.Sprintf("v-%d", n), Turns: 1, Rev: n}},
		Jobs:          []row.Job{j}, Runs: []row.Run{runOf(j, !s.Final())},
		Prompts:  map[wire.JobID]row.Prompt{j.Job.Job: {Text: "prompt " + string(j.Job.Job)}},
		Counters: row.Counters{Job: n, Runs: n, Conversations: map[string]uint64{"codex": n}},
	}
	if s.Final() {
		b.Results = map[wire.JobID]row.Result{j.Job.Job: {Reply: "reply " + string(j.Job.Job), Error: "e"}}
	}
	return b
}

func load(t testing.TB, s *ledger.Store) row.Loaded {
	t.Helper()
	l, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWhatIsStoredComesBack(t *testing.T) {
	h := newHome(t, filepath.Join(t.TempDir(), "odd ?#%26 name"))
	s := open(t, h)
	if first := load(t, s); first.HomeID == "" || first.Starts != 1 || len(first.Jobs) != 0 {
		t.Fatalf("a new ledger holds %+v", first)
	}
	done, runs := full(1, wire.StateCompleted), full(2, wire.StateWorking)
	done.Jobs[0].Key = "key-1"
	store(t, s, done)
	store(t, s, runs)
	id := s.HomeID()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal("closed twice:", err)
	}
	if _, _, err := s.Job(t.Context(), session, "job-1"); err == nil {
		t.Error("a closed ledger answers")
	}
	s = open(t, h)
	l := load(t, s)
	if l.HomeID != id || l.Starts != 2 {
		t.Errorf("home %s, start %d", l.HomeID, l.Starts)
	}
	want := row.Loaded{
		HomeID: id, Starts: 2, Counters: runs.Counters, Sessions: done.Sessions,
		Jobs: []row.Job{runs.Jobs[0], done.Jobs[0]}, Runs: []row.Run{runs.Runs[0], done.Runs[0]},
		Prompts: map[wire.JobID]row.Prompt{"job-2": {Text: "prompt job-2"}},
	}
	got := l
	got.Conversations = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(l.Conversations) != 2 {
		t.Errorf("%d conversations", len(l.Conversations))
	}
	checkReads(t, s, done)
}

func checkReads(t *testing.T, s *ledger.Store, done row.Batch) {
	t.Helper()
	ctx := t.Context()
	j, ok, err := s.Job(ctx, session, "job-1")
	if err != nil || !ok || cmp.Diff(j, done.Jobs[0]) != "" {
		t.Errorf("job: %v %v", ok, err)
	}
	for _, miss := range []wire.JobID{"job-9", "job-0", "nonsense", "job-18446744073709551615"} {
		if _, ok, err := s.Job(ctx, session, miss); ok || err != nil {
			t.Errorf("%s: %v %v", miss, ok, err)
		}
	}
	if _, ok, err := s.Job(ctx, "another", "job-1"); ok || err != nil {
		t.Errorf("job of another session: %v %v", ok, err)
	}
	if j, ok, err := s.JobByKey(ctx, "key-1"); err != nil || !ok || j.Num != 1 {
		t.Errorf("by key: %v %v", ok, err)
	}
	if _, ok, err := s.JobByKey(ctx, "key-2"); err != nil || ok {
		t.Errorf("by no key: %v %v", ok, err)
	}
	c := done.Conversations[0]
	for _, ask := range []struct {
		agent, vendor string
		but           wire.ConversationID
		found         bool
	}{
		{c.Agent, c.Vendor, "", true},
		{c.Agent, c.Vendor, c.ID, false},
		{"another", c.Vendor, "", false},
		{c.Agent, string(c.ID), "", false},
	} {
		if got, ok, err := s.Namesake(ctx, ask.agent, ask.vendor, ask.but); err != nil || ok != ask.found || ok && got.ID != c.ID {
			t.Errorf("of the name of %+v: %+v %v %v", ask, got, ok, err)
		}
	}
	if r, ok, err := s.Result(ctx, "job-1"); err != nil || !ok || r.Reply != "reply job-1" || r.Error != "e" {
		t.Errorf("result: %+v %v %v", r, ok, err)
	}
	if _, ok, err := s.Result(ctx, "job-2"); err != nil || ok {
		t.Errorf("result of a running job: %v %v", ok, err)
	}
	if p, ok, err := s.Prompt(ctx, "job-1"); err != nil || !ok || p != "prompt job-1" {
		t.Errorf("prompt: %q %v %v", p, ok, err)
	}
	if _, ok, err := s.Prompt(ctx, "job-9"); err != nil || ok {
		t.Errorf("no prompt: %v %v", ok, err)
	}
	if c, ok, err := s.Conversation(ctx, session, "codex-1"); err != nil || !ok || c.Vendor != "v-1" {
		t.Errorf("conversation: %v %v", ok, err)
	}
	if _, ok, err := s.Conversation(ctx, "another", "codex-1"); err != nil || ok {
		t.Errorf("conversation of another session: %v %v", ok, err)
	}
	if x, ok, err := s.Session(ctx, session); err != nil || !ok || x.Workspace != "/w" {
		t.Errorf("session: %v %v", ok, err)
	}
}

func TestPagesOfJobs(t *testing.T) {
	s := open(t, newHome(t, t.TempDir()))
	for n := uint64(1); n <= 25; n++ {
		b := full(n, wire.StateCompleted)
		b.Jobs[0].Dismissed = n == 20
		store(t, s, b)
	}
	var nums []uint64
	for before := uint64(0); ; {
		page, err := s.Jobs(t.Context(), before, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, j := range page {
			nums = append(nums, j.Num)
		}
		before = page[len(page)-1].Num
	}
	if len(nums) != 24 || nums[0] != 25 || nums[23] != 1 || nums[5] != 19 {
		t.Errorf("numbers %v", nums)
	}
}

func TestNewerLayoutIsRefusedAndUntouched(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	store(t, s, full(1, wire.StateCompleted))
	s.Close(t.Context())
	db, err := sql.Open("sqlite", h.LedgerPath())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE meta SET value='7' WHERE key='layout'"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before := snapshotOf(t, h)
	for range 2 {
		_, err = ledger.Open(t.Context(), h, nil)
		newer, ok := errors.AsType[*ledger.NewerLayoutError](err)
		if !ok || newer.Found != 7 || newer.Known != ledger.Layout {
			t.Fatalf("open: %v", err)
		}
		if _, err := ledger.OpenReader(t.Context(), h); !errors.As(err, &newer) {
			t.Fatalf("open for reading: %v", err)
		}
	}
	if diff := cmp.Diff(before, snapshotOf(t, h)); diff != "" {
		t.Error("it was touched:", diff)
	}
}

// snapshotOf is the state folder: names and bytes of what holds data.
func snapshotOf(t *testing.T, h *home.Home) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"ledger.db", "accepted.jsonl"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(h.LedgerPath()), name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

func TestPrivateOriginals(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	put := func(n uint64, state wire.AgentState, dismissed bool, prompt row.Prompt) {
		b := full(n, state)
		b.Jobs[0].Private, b.Jobs[0].Dismissed = true, dismissed
		b.Prompts = nil
		if prompt.Text != "" {
			b.Prompts = map[wire.JobID]row.Prompt{b.Jobs[0].Job.Job: prompt}
		}
		store(t, s, b)
	}
	put(1, wire.StateQueued, false, row.Prompt{Text: "use [masked:key]", Original: "use s3cret"})
	if got, err := s.Original("job-1"); err != nil || got != "use s3cret" {
		t.Fatalf("%q, %v", got, err)
	}
	info, err := h.Root().Stat(h.PrivateName("job-1"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	if got, _, _ := s.Prompt(t.Context(), "job-1"); got != "use [masked:key]" {
		t.Errorf("the ledger holds %q", got)
	}
	put(1, wire.StateInterrupted, false, row.Prompt{})
	if _, err := s.Original("job-1"); err != nil {
		t.Error("an interrupted job lost its original:", err)
	}
	put(1, wire.StateInterrupted, true, row.Prompt{})
	if _, err := s.Original("job-1"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a dismissed job keeps its original:", err)
	}
	put(2, wire.StateWorking, false, row.Prompt{Text: "m", Original: "o"})
	put(2, wire.StateCompleted, false, row.Prompt{})
	if _, err := s.Original("job-2"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a completed job keeps its original:", err)
	}
	put(3, wire.StateWorking, false, row.Prompt{Text: "same"})
	if _, err := s.Original("job-3"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an unmasked prompt has a private copy:", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	b := full(1, wire.StateWorking)
	b.Accepted = []row.Accepted{{At: time.Now(), What: "start", Job: b.Jobs[0], Prompt: "p"}}
	store(t, s, b)
	entries, err := os.ReadDir(filepath.Dir(h.LedgerPath()))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || !e.IsDir() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

func TestAcceptedLines(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	at := time.UnixMilli(1_700_000_000_123)
	for n := uint64(1); n <= 3; n++ {
		b := full(n, wire.StateQueued)
		b.Accepted = []row.Accepted{{At: at, What: "start", Job: b.Jobs[0], Prompt: "do <this> \"c\""}}
		store(t, s, b)
	}
	s.Close(t.Context())
	path := filepath.Join(h.Path(), "state", "accepted.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1 // the second line
	if err := os.WriteFile(path, append(data, `{"torn`...), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, h)
	b := full(4, wire.StateQueued)
	b.Accepted = []row.Accepted{{At: at, What: "cancel", Job: b.Jobs[0]}}
	store(t, s, b)
	var good []row.Accepted
	bad := 0
	for a, err := range ledger.Accepted(h) {
		if err != nil {
			bad++
			continue
		}
		good = append(good, a)
	}
	if bad != 1 || len(good) != 3 || good[0].Prompt != "do <this> \"c\"" || good[2].What != "cancel" || !good[0].At.Equal(at) {
		t.Fatalf("%d damaged, %d good: %+v", bad, len(good), good)
	}
	if diff := cmp.Diff(good[0].Job, job(1, wire.StateQueued)); diff != "" {
		t.Error(diff)
	}
}

// TestKeyIsUnique: a second job under a key is refused by the disk itself.
func TestKeyIsUnique(t *testing.T) {
	s := open(t, newHome(t, t.TempDir()))
	a, b := full(1, wire.StateQueued), full(2, wire.StateQueued)
	a.Jobs[0].Key, b.Jobs[0].Key = "k", "k"
	store(t, s, a)
	if err := s.Store(t.Context(), b); err == nil {
		t.Fatal("one key, two jobs")
	}
	if l := load(t, s); len(l.Jobs) != 1 || l.Counters.Job != 1 {
		t.Errorf("a half of the batch was stored: %d jobs, counter %d", len(l.Jobs), l.Counters.Job)
	}
}
