package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// run calls the command line in a home of its own that has no daemon.
func run(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	sys := System{
		Out: &o, Err: &e, Environ: append([]string{"SCV_HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, environ...),
		Exe: "/nowhere/scv", Version: "1.2.3", Now: func() time.Time { return time.Unix(1_000_000, 0) },
	}
	code = Main(t.Context(), args, sys)
	return code, o.String(), e.String()
}

func TestE23_TypoAtAnyDepthIsRefusedWithASuggestion(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"jbos", "did you mean: scv jobs"},
		{"jobs strat", "did you mean: scv jobs start"},
		{"jobs cancle job-1", "did you mean: scv jobs cancel"},
		{"agents chekc", "did you mean: scv agents check"},
		{"config shwo", "did you mean: scv config show"},
		{"jobs zzzzzz", "scv jobs --help"},
		{"jobs list --sate x", "did you mean: --state"},
		{"jobs --agnet x", "did you mean: --agent"},
		{"status --jsno", "did you mean: --json"},
		{"version --hoem x", "did you mean: --home"},
		{"jobs start --mode on-rsik --agent demo x", "did you mean: --mode on-risk"},
		{"jobs list --json=stat", "choose from: session,job,"},
		{"jobs list --state wrking", "choose from: "},
		{"jobs result", "scv jobs result needs a job"},
		{"jobs result job-1 job-2", `does not know what to do with "job-2"`},
		{"jobs wait", "needs a job"},
		{"jobs wait --timeout soon x", "not a time to wait"},
		{"jobs wait --timeout -5s x", "90s or 20 (seconds)"},
		{"jobs log -n -3 job-1", "--tail cannot be -3"},
		{"completion tcsh", "choose from: bash"},
		{"jobs start -x", "comes after --"},
		{"help jbos", "did you mean: scv help jobs"},
		{"help aprovals", "did you mean: scv help approvals"},
		{"help jobs strat", "did you mean: scv jobs start"},
		{"help zzzzzz", "see the topics: scv help"},
		{"jobs list --filter state=wrking", "did you mean: --filter working"},
		{"jobs list --filter agnt=codex", "did you mean: --filter agent"},
		{"jobs list --filter codex", "--filter agent=codex"},
		{"jobs list --template {stat}", "did you mean: state"},
		{"jobs list --template {state", "a { has no }"},
		{"jobs list --template state}", "without its {"},
		{"jobs list --template {job} --jq .", "leave one of them out"},
		{"jobs wait x --for wrking", "did you mean: --for working"},
		{"jobs start --transport lve --agent demo x", "did you mean: --transport live"},
		{"status --format {wrking}", "did you mean: working"},
		{"search", "needs a text"},
		{"search x --since soon", "write it as 7d"},
		{"search x --limit 0", "--all for all jobs"},
		{"usage --by dya", "did you mean: --by day"},
		{"jobs list --page 0", "from 1 on"},
		{"man scv-jbos", "did you mean: scv man scv-jobs"},
	} {
		code, out, errs := run(t, nil, strings.Fields(tt.args)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, tt.want) || !strings.Contains(errs, "Next: ") {
			t.Errorf("scv %s: code %d, out %q, err %q; want 2 and %q", tt.args, code, out, errs, tt.want)
		}
	}
}

// every walks all commands that a person can see.
func every(t *testing.T, visit func(cmd *cobra.Command)) {
	t.Helper()
	root := newRoot(newFactory(System{Out: io.Discard, Err: io.Discard, Now: time.Now, Version: "1"}))
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.Hidden {
			visit(cmd)
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

func TestE27_HelpHasAnExampleAndFits80Columns(t *testing.T) {
	every(t, func(cmd *cobra.Command) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		code, out, errs := run(t, nil, args...)
		if code != 0 || errs != "" {
			t.Errorf("%v: code %d, %q", args, code, errs)
		}
		for line := range strings.Lines(out) {
			if n := len(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%v: %d columns: %q", args, n, line)
			}
		}
	})
}

// TestE22_AGroupThatListsTakesTheFlagsOfItsList: "scv jobs --json" is "scv jobs list --json", at every depth.
func TestE22_AGroupThatListsTakesTheFlagsOfItsList(t *testing.T) {
	seen := 0
	every(t, func(cmd *cobra.Command) {
		if cmd.Name() != "list" {
			return
		}
		seen++
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if cmd.Parent().Flags().Lookup(flag.Name) == nil {
				t.Errorf("%s has no --%s, which %s has", cmd.Parent().CommandPath(), flag.Name, cmd.CommandPath())
			}
		})
	})
	if seen < 5 {
		t.Errorf("only %d groups list", seen)
	}
}

func TestE22_EveryListHasJSONWithNamedFields(t *testing.T) {
	every(t, func(cmd *cobra.Command) {
		flag := cmd.Flags().Lookup("json")
		if flag == nil || flag.Value.Type() == "bool" { // exec prints the protocol's events, which have no fields to choose
			return
		}
		args := append(strings.Fields(cmd.CommandPath())[1:], "--json=help")
		takesOne := func(word string) bool { return strings.Contains(cmd.Use, word) }
		if slices.ContainsFunc([]string{"ID", "NAME", "KEY", "CONVERSATION", "QUESTION", "TEXT"}, takesOne) {
			args = append(args, "x")
		}
		code, out, errs := run(t, nil, args...)
		if code != 0 || strings.Count(out, "\n") < 2 || errs != "" {
			t.Errorf("%v: code %d, out %q, err %q", args, code, out, errs)
		}
	})
}

func TestEveryFlagHasADescription(t *testing.T) {
	every(t, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s --%s has none", cmd.CommandPath(), flag.Name)
			}
		})
	})
}

func TestFindJob(t *testing.T) {
	view := &wire.Snapshot{Jobs: []wire.Job{
		{Session: "workbench-aa11", Job: "job-12", CreatedUnixSeconds: 9},
		{Session: "workbench-aa11", Job: "job-3", CreatedUnixSeconds: 5},
		{Session: "workbench-bb22", Job: "job-4", CreatedUnixSeconds: 6},
		{Session: "old", Job: "job-4", CreatedUnixSeconds: 1},
	}}
	for name, want := range map[string]string{
		"job-3": "workbench-aa11/job-3", "3": "workbench-aa11/job-3", "@last": "workbench-aa11/job-12",
		"-": "workbench-aa11/job-12", "workbench-bb/job-4": "workbench-bb22/job-4", "old/job-4": "old/job-4", "workbench-aa11/job-12": "workbench-aa11/job-12",
	} {
		job, err := findJob(view, name)
		if err != nil || string(job.Ref()) != want {
			t.Errorf("%q: %v, %v; want %s", name, job, err, want)
		}
	}
	for name, code := range map[string]int{"job-4": 2, "job-": 2, "job-99": 3, "job-1": 3, "1": 3, "workbench-aa11/job-1": 3, "workbench-aa11/job-4": 3, "": 3, "x": 3} {
		_, err := findJob(view, name)
		e, ok := errors.AsType[*fault](err)
		if !ok || e.code != code || e.next == "" {
			t.Errorf("%q: %v, want code %d", name, err, code)
		}
	}
	if wording.Name(view, &view.Jobs[1]) != "job-3" || wording.Name(view, &view.Jobs[2]) != "workbench-bb22/job-4" {
		t.Error("names")
	}
	if _, err := findJob(&wire.Snapshot{}, "@last"); err == nil {
		t.Error("@last of nothing")
	}
}

func TestFindRun(t *testing.T) {
	view := &wire.Snapshot{
		Jobs: []wire.Job{{Job: "job-3", Conversation: new(wire.ConversationID("codex-3"))}},
		Runs: []wire.Run{
			{Handle: "codex-1f9a2c", Conversation: new(wire.ConversationID("codex-7")), Live: true},
			{Handle: "codex-2b0000", Conversation: new(wire.ConversationID("codex-1"))},
			{Handle: "codex-3c0000", Conversation: new(wire.ConversationID("codex-2")), Live: true},
			{Handle: "codex-2d0000", Conversation: new(wire.ConversationID("codex-2"))},
		},
	}
	for name, want := range map[string]wire.RunHandle{
		"codex-1f9a2c": "codex-1f9a2c", "codex-1f": "codex-1f9a2c", "codex-2": "codex-3c0000", "codex-2b0000": "codex-2b0000",
		"codex-1": "", "codex-3": "", "codex-": "", "codex-2b0": "codex-2b0000", "x": "", "": "",
	} {
		if got, ok := findRun(view, name); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", name, got, ok, want)
		}
	}
}

func TestE28_TablesFitAnyWidth(t *testing.T) {
	columns := jobColumns()
	long := strings.Repeat("修复重试测试 ", 20)
	for width := minColumns; width <= 200; width++ {
		var out bytes.Buffer
		f := &screen{columns: width, sys: System{Now: func() time.Time { return time.Unix(9_000, 0) }}}
		job := &wire.Job{Session: "workbench-0123456789abcdef", Job: "job-12345", Agent: "claude", Task: long, State: wire.StateAwaitingInput, Detail: &long}
		view := &wire.Snapshot{Jobs: []wire.Job{*job}}
		if err := f.printTable(&out, columns, [][]cell{f.jobRow(view, job)}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := cells(strings.TrimRight(line, "\n")); n > width {
				t.Fatalf("width %d: a line of %d cells: %q", width, n, line)
			}
		}
		if !strings.Contains(out.String(), "job-12345") || !strings.Contains(out.String(), "awaiting_input") {
			t.Fatalf("width %d lost the state or the job: %q", width, out.String())
		}
	}
}

func cells(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 {
			n++
		}
	}
	return n
}

func TestE21_PipesGetWholeValuesAndNoEscapes(t *testing.T) {
	var out bytes.Buffer
	f := &screen{sys: System{Now: time.Now}}
	evil := "a\x1b]52;c;x\x07b\tc\u202ed"
	job := &wire.Job{Session: "workbench-0123456789abcdef", Job: "job-3", Agent: "codex", Task: evil, Detail: &evil, UpdatedUnixSeconds: 1_000_000}
	if err := f.printTable(&out, jobColumns(), [][]cell{f.jobRow(&wire.Snapshot{}, job)}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.ContainsAny(got, "\x1b\x07\u202e") || strings.Count(got, "\t") != 5 ||
		!strings.Contains(got, "workbench-0123456789abcdef/job-3") || !strings.Contains(got, "1970-01-12T13:46:40Z") {
		t.Errorf("%q", got)
	}
}

func TestT35_JSONEscapesWhatATerminalActsOn(t *testing.T) {
	var out bytes.Buffer
	flag := &jsonFlag{text: allFields}
	if err := flag.print(&out, map[string]string{"x": "a\x1b\x7f\u009b\u202e\u200b\U000e0001b<&>é"}); err != nil {
		t.Fatal(err)
	}
	want := "{\"x\":\"a\\u001b\\u007f\\u009b\\u202e\\u200b\\udb40\\udc01b<&>é\"}\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONFields(t *testing.T) {
	var out bytes.Buffer
	flag := &jsonFlag{text: "state,detail,job"}
	jobs := []wire.Job{{Job: "job-1", State: wire.StateWorking}, {Job: "job-2", State: wire.StateFailed, Detail: new("why")}}
	if err := flag.print(&out, jobs); err != nil {
		t.Fatal(err)
	}
	want := `[{"state":"working","detail":null,"job":"job-1"},{"state":"failed","detail":"why","job":"job-2"}]` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := (&jsonFlag{text: allFields}).print(&out, []wire.Job(nil)); err != nil || out.String() != "[]\n" {
		t.Errorf("no jobs: %q, %v", out.String(), err)
	}
}

func TestP10_Prompts(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		args []string
		want string
		code int
	}{
		"an argument":       {args: []string{"A != B; press Enter\nline 2\x1b[31m"}, want: "A != B; press Enter\nline 2\x1b[31m"},
		"30 lines by stdin": {in: strings.Repeat("line\n", 30), args: []string{"-"}, want: strings.Repeat("line\n", 30)},
		"64 KB by a pipe":   {in: strings.Repeat("é", 32<<10), want: strings.Repeat("é", 32<<10)},
		"0 bytes":           {in: "", args: []string{"-"}, code: 2},
		"blank":             {args: []string{" \n\t"}, code: 2},
		"at the bound":      {in: strings.Repeat("x", wire.MaxPromptBytes), want: strings.Repeat("x", wire.MaxPromptBytes)},
		"above the bound":   {in: strings.Repeat("x", wire.MaxPromptBytes+1), code: 2},
		"5 MiB":             {in: strings.Repeat("x", 5<<20), code: 2},
		"no text":           {args: []string{"a\xff"}, code: 2},
		"NUL":               {args: []string{"a\x00b"}, code: 2},
		"two":               {args: []string{"a", "b"}, code: 2},
	} {
		f := newFactory(System{In: strings.NewReader(tt.in)})
		got, err := f.prompt(t.Context(), tt.args, "")
		e, _ := errors.AsType[*fault](err)
		if tt.code == 0 && (err != nil || got != tt.want) || tt.code != 0 && (e == nil || e.code != tt.code || e.next == "") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Nothing comes through a pipe, and ctrl-C ends the command all the same.
func TestPromptReadingEndsWithTheCommand(t *testing.T) {
	in, silent := io.Pipe()
	defer silent.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := newFactory(System{In: in}).prompt(ctx, nil, "-"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 4 * time.Second: "4s", 3 * time.Minute: "3m", 2 * time.Hour: "2h", 47 * time.Hour: "47h", 120 * time.Hour: "5d",
	} {
		if got := wording.Ago(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}

func TestDaemonEnvironDropsTheMarksOfARun(t *testing.T) {
	f := newFactory(System{Environ: []string{"SCV_HOME=/a", "SCV_RUN=codex-1", "PATH=/bin", "SCV_PARENT=x", "SCV_CONFIG=/c", "X=1"}})
	f.home = t.TempDir()
	h, err := f.openHome()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	want := []string{"PATH=/bin", "SCV_CONFIG=/c", "X=1", "SCV_HOME=" + h.Path()}
	if diff := cmp.Diff(want, f.daemonEnviron(h)); diff != "" {
		t.Error(diff)
	}
}
