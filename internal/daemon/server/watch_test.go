package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// next reads the next page of a watching client.
func (c *raw) page() map[string]any {
	c.t.Helper()
	got := c.read()
	if got["type"] != "watch.page" || got["request_id"] != "w" {
		c.t.Fatalf("got %v", got)
	}
	return got
}

// watchJobs follows pages until want says that it saw enough, and returns the states that were shown for each job.
func watchJobs(c *raw, shown map[string][]string, enough func() bool) (epoch string, generation any) {
	for !enough() {
		p := c.page()
		epoch, generation = p["epoch"].(string), p["generation"]
		delta := p["workbench"].(map[string]any)
		jobs, _ := delta["jobs"].([]any)
		for _, j := range jobs {
			job := j.(map[string]any)
			name := job["job"].(string)
			shown[name] = append(shown[name], job["state"].(string))
		}
	}
	return epoch, generation
}

func TestWorkbenchWatch(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	b.start(c, "before")
	w := b.client("scv-cli")
	first := w.ask("w", `{"action":"workbench_watch"}`)["status"].(map[string]any)["workbench"].(map[string]any)
	if len(first["jobs"].([]any)) != 1 || first["epoch"] != b.hub.Epoch() {
		t.Errorf("first answer: %v", first)
	}
	_, job := b.start(c, "after")
	shown := map[string][]string{}
	watchJobs(w, shown, func() bool { return len(shown[job]) > 0 })
	b.finish(<-b.orders, "done")
	b.finish(<-b.orders, "done")
	final := func() bool {
		return slices.Contains(shown["job-1"], "completed") && slices.Contains(shown[job], "completed")
	}
	epoch, generation := watchJobs(w, shown, final)

	// Who comes back gets only what changed since.
	w.nc.Close()
	_, third := b.start(c, "meanwhile")
	again := b.client("scv-cli")
	st := again.ask("w", fmt.Sprintf(`{"action":"workbench_watch","epoch":%q,"after":%v}`, epoch, generation))["status"].(map[string]any)
	if st["workbench"] != nil {
		t.Error("a resumed watch begins with everything")
	}
	p := again.page()
	jobs := p["workbench"].(map[string]any)["jobs"].([]any)
	if p["full"] != nil || len(jobs) != 1 || jobs[0].(map[string]any)["job"] != third {
		t.Errorf("resumed with %v", p)
	}

	// Another epoch, or a generation of the future, gives everything.
	for _, from := range []string{`"epoch":"other","after":1`, fmt.Sprintf(`"epoch":%q,"after":99999999`, epoch)} {
		other := b.client("scv-cli")
		other.ask("w", `{"action":"workbench_watch",`+from+`}`)
		p := other.page()
		if p["full"] != true || len(p["workbench"].(map[string]any)["jobs"].([]any)) != 3 {
			t.Errorf("from %s: %v", from, p)
		}
	}

	// A watching connection carries nothing else.
	again.write(`{"type":"daemon.control","request_id":"x","command":{"action":"status"}}`)
	for got := again.read(); got["code"] != "invalid_request"; got = again.read() {
		if got["type"] != "watch.page" {
			t.Fatalf("got %v", got)
		}
	}
	again.closed()
}

// TestU1_StateAndReplyBecomeVisibleInOneStep polls and watches many trivial jobs: no completed without its reply, no
// state after a final one.
func TestU1_StateAndReplyBecomeVisibleInOneStep(t *testing.T) {
	b := newBench(t, setup{})
	jobs := 40
	played := make(chan struct{})
	go func() {
		defer close(played)
		for range jobs {
			b.finish(<-b.orders, "the reply")
		}
	}()
	w := b.client("scv-cli")
	w.ask("w", `{"action":"workbench_watch"}`)
	c := b.client("scv-cli")
	for range jobs {
		session, job := b.start(c, "p")
		var seen []string
		for !slices.Contains(seen, "completed") {
			res := c.status(fmt.Sprintf(`{"action":"job_result","session":%q,"job":%q}`, session, job))["job_result"].(map[string]any)
			seen = append(seen, res["state"].(string))
			if (res["state"] == "completed") != (res["reply"] == "the reply") {
				t.Fatalf("%s: state %v with reply %v", job, res["state"], res["reply"])
			}
		}
	}
	<-played
	shown := map[string][]string{}
	done := func() bool {
		n := 0
		for _, states := range shown {
			if states[len(states)-1] == "completed" {
				n++
			}
		}
		return n == jobs
	}
	watchJobs(w, shown, done)
	for name, states := range shown {
		if i := slices.Index(states, "completed"); slices.ContainsFunc(states[i:], func(s string) bool { return s != "completed" }) {
			t.Errorf("%s flapped: %v", name, states)
		}
	}
}

// writeLog writes a run's log as the run does.
type writeLog struct {
	b      *bench
	handle wire.RunHandle
	log    *runlog.Log
	frame  uint64
}

func newLog(t *testing.T, b *bench, handle wire.RunHandle) *writeLog {
	t.Helper()
	root, err := b.home.CreateRun(handle)
	if err != nil {
		t.Fatal(err)
	}
	l, err := runlog.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); root.Close() })
	return &writeLog{b: b, handle: handle, log: l}
}

func (l *writeLog) add(kind wire.RunEventKind, text string) {
	l.b.t.Helper()
	l.frame++
	if _, err := l.log.Append(wire.RunEvent{TsMs: 1, Kind: kind, Text: text}, row.Pos{Frame: l.frame}); err != nil {
		l.b.t.Fatal(err)
	}
	l.b.notify.Notify(l.handle)
}

func TestRunLog(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	b.start(c, "p")
	o := <-b.orders
	handle := o.Run.Handle
	ask := func(rest string) map[string]any {
		t.Helper()
		return c.status(fmt.Sprintf(`{"action":"run_log","handle":%q%s}`, handle, rest))["run_log"].(map[string]any)
	}
	if p := ask(""); p["events"] != nil || fmt.Sprint(p["next"]) != "0" || p["ended"] != nil {
		t.Errorf("before its first line: %v", p)
	}
	l := newLog(t, b, handle)
	for i := range 5 {
		l.add(wire.EventText, fmt.Sprint("line ", i))
	}
	p := ask(`,"limit":2`)
	if len(p["events"].([]any)) != 2 || p["more"] != true || p["handle"] != string(handle) {
		t.Errorf("first page: %v", p)
	}
	p = ask(fmt.Sprintf(`,"after":%v`, p["next"]))
	if len(p["events"].([]any)) != 3 || p["more"] != nil || p["ended"] != nil {
		t.Errorf("second page: %v", p)
	}
	if p := ask(`,"limit":0`); len(p["events"].([]any)) != 1 {
		t.Errorf("limit 0 is not 1: %v", p)
	}
	if p := ask(`,"after":99999999`); p["events"] != nil || p["ended"] != nil {
		t.Errorf("past the end: %v", p)
	}
	l.add(wire.EventRunEnded, "")
	if p := ask(""); p["ended"] != true {
		t.Errorf("after the end: %v", p)
	}
}

// The log of a run that is over ends, even when its end record is missing.
func TestRunLogOfALostRunEnds(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	b.start(c, "p")
	o := <-b.orders
	newLog(t, b, o.Run.Handle).add(wire.EventText, "last words")
	b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeLost, At: time.Now()})
	p := c.status(fmt.Sprintf(`{"action":"run_log","handle":%q}`, o.Run.Handle))["run_log"].(map[string]any)
	if p["ended"] != true || len(p["events"].([]any)) != 1 {
		t.Errorf("got %v", p)
	}
}

func TestRunLogWatch(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	b.start(c, "p")
	o := <-b.orders
	w := b.client("scv-cli")
	first := w.ask("w", fmt.Sprintf(`{"action":"run_log_watch","handle":%q}`, o.Run.Handle))["status"].(map[string]any)
	if first["run_log"].(map[string]any)["events"] != nil {
		t.Errorf("first answer: %v", first)
	}
	l := newLog(t, b, o.Run.Handle)
	texts := []string{}
	var next any
	follow := func(enough func() bool) {
		t.Helper()
		for !enough() {
			p := w.page()["run_log"].(map[string]any)
			events, _ := p["events"].([]any)
			for _, e := range events {
				text, _ := e.(map[string]any)["text"].(string)
				texts = append(texts, text)
			}
			next = p["next"]
			if p["ended"] == true {
				texts = append(texts, "END")
			}
		}
	}
	for i := range 700 { // more than a page
		l.add(wire.EventText, fmt.Sprint(i))
	}
	follow(func() bool { return len(texts) >= 700 })
	w.nc.Close()
	l.add(wire.EventText, "while away")
	w = b.client("scv-cli")
	w.ask("w", fmt.Sprintf(`{"action":"run_log_watch","handle":%q,"after":%v}`, o.Run.Handle, next))
	l.add(wire.EventRunEnded, "")
	follow(func() bool { return slices.Contains(texts, "END") })
	w.closed()
	want := []string{}
	for i := range 700 {
		want = append(want, fmt.Sprint(i))
	}
	// "while away" came with the first answer of the second connection.
	if got := texts[:700]; !slices.Equal(got, want) || len(texts) != 702 {
		t.Errorf("got %d lines: %v ... %v", len(texts), texts[:3], texts[690:])
	}
	again := b.client("scv-cli")
	got := again.ask("w", `{"action":"run_log_watch","handle":"codex-ffffff"}`)
	if got["code"] != "workbench_error" {
		t.Errorf("no such run: %v", got)
	}
	if st := again.status(`{"action":"status"}`); st["version"] == nil {
		t.Error("a refused watch ends the connection")
	}
}
