package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

const secret = "known-secret-value-1234567890"

// cut starts a job with a prompt and loses its process.
func (b *bench) cut(c *raw, prompt string) (session, job string) {
	b.t.Helper()
	session, job = b.start(c, prompt)
	o := <-b.orders
	b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeLost, At: time.Now()})
	return session, job
}

// TestResumeGivesTheWholePrompt: also the part that is masked wherever it is shown, and of a chain the first one's.
func TestResumeGivesTheWholePrompt(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	prompt := "line one\n" + strings.Repeat("x", 100<<10) + "\nuse " + secret
	session, job := b.cut(c, prompt)
	for _, want := range []wire.JobID{"job-2", "job-3"} {
		st := c.status(fmt.Sprintf(`{"action":"workbench_resume","session":%q,"job":%q,"key":%q}`, session, job, want))
		if got := st["workbench_job"]; got != session+"/"+string(want) {
			t.Fatalf("resumed as %v", got)
		}
		p := b.journal.prompt(want)
		if !strings.HasSuffix(p.Original, "\n\n"+prompt) || strings.Contains(p.Text, secret) || strings.Count(p.Original, "cut off") != 1 {
			t.Fatalf("%s is given %d bytes, begins %.300q", want, len(p.Original), p.Original)
		}
		o := <-b.orders
		b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeLost, At: time.Now()})
		c.refused(fmt.Sprintf(`{"action":"workbench_resume","session":%q,"job":%q}`, session, job), "workbench_error")
		job = string(want)
	}
	if st := c.status(fmt.Sprintf(`{"action":"job_prompt","session":%q,"job":%q}`, session, job)); strings.Contains(fmt.Sprint(st["prompt"]), secret) ||
		st["prompt"].(map[string]any)["masked"] != true {
		t.Error("the prompt is shown as it was written")
	}
}

// TestNothingRanMeansNothingIsSaid: a start that was cut off is resumed with the bare prompt.
func TestNothingRanMeansNothingIsSaid(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	session, job := b.start(c, "do it")
	o := <-b.orders
	b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeNotStarted, Class: "lost", Detail: "nothing was run", At: time.Now()})
	c.status(fmt.Sprintf(`{"action":"workbench_resume","session":%q,"job":%q}`, session, job))
	if got := b.journal.prompt("job-2").Text; got != "do it" {
		t.Errorf("given %q", got)
	}
}

func TestFollowersAreRefused(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	session, job := b.cut(c, "x")
	running, _ := b.start(c, "y")
	<-b.orders
	for name, command := range map[string]string{
		"no such job":         fmt.Sprintf(`{"action":"workbench_resume","session":%q,"job":"job-99"}`, session),
		"no job's name":       fmt.Sprintf(`{"action":"workbench_retry","session":%q,"job":"../x"}`, session),
		"no session's name":   `{"action":"workbench_fork","session":"a/b","job":"job-1","prompt":"p"}`,
		"still running":       fmt.Sprintf(`{"action":"workbench_retry","session":%q,"job":"job-2"}`, running),
		"no such agent":       fmt.Sprintf(`{"action":"workbench_fork","session":%q,"job":%q,"agent":"nobody"}`, session, job),
		"a prompt with NUL":   fmt.Sprintf(`{"action":"workbench_fork","session":%q,"job":%q,"prompt":"\u0000"}`, session, job),
		"two places":          fmt.Sprintf(`{"action":"job_move","session":%q,"job":%q,"before":"job-1","after":"job-2"}`, session, job),
		"a place of no name":  fmt.Sprintf(`{"action":"job_move","session":%q,"job":%q,"before":"x"}`, session, job),
		"an edit of what ran": fmt.Sprintf(`{"action":"job_edit","session":%q,"job":%q,"prompt":"z"}`, session, job),
		"an empty edit":       fmt.Sprintf(`{"action":"job_edit","session":%q,"job":%q,"prompt":" "}`, session, job),
		"a pause of nothing":  fmt.Sprintf(`{"action":"conversation_pause","session":%q,"conversation":"codex-77"}`, session),
		"a wrong name":        fmt.Sprintf(`{"action":"conversation_resume","session":%q,"conversation":"CODEX"}`, session),
		"a drop of what runs": fmt.Sprintf(`{"action":"workbench_cancel","session":%q,"job":"job-2","waiting":true}`, running),
	} {
		t.Run(name, func(t *testing.T) { c.refused(command, "workbench_error") })
	}
	if err := os.Remove(b.dir); err != nil {
		t.Fatal(err)
	}
	got := c.refused(fmt.Sprintf(`{"action":"workbench_resume","session":%q,"job":%q}`, session, job), "workbench_error")
	if !strings.Contains(fmt.Sprint(got["message"]), b.dir) {
		t.Errorf("without its directory: %v", got["message"])
	}
}
