package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

var update = flag.Bool("update", false, "write the golden ledger of this layout and step; those of older ones stay")

// golden is where a ledger of a layout and a step is kept, as the statements that make it.
func golden(layout, step int) string { return fmt.Sprintf("testdata/layout/%d.%d.sql", layout, step) }

// tables that hold rows as JSON, with the column that names them.
func tables() map[string]string {
	return map[string]string{
		"session": "id", "conversation": "id", "job": "num", "run": "handle", "approval": "num", "rule": "num", "hold": "id",
	}
}

// everyKind is a batch with a row of each kind.
func everyKind() row.Batch {
	b := full(1, wire.StateCompleted)
	b.Jobs[0].Key = "key-1"
	open := full(2, wire.StateAwaitingInput)
	b.Jobs, b.Runs, b.Conversations = append(b.Jobs, open.Jobs...), append(b.Runs, open.Runs...), append(b.Conversations, open.Conversations...)
	b.Prompts[open.Jobs[0].Job.Job] = open.Prompts[open.Jobs[0].Job.Job]
	b.Counters = open.Counters
	b.Approvals = []row.Approval{{
		Approval: wire.Approval{
			ID: "ap-1", Job: "job-2", Session: session, Command: "rm -r x", State: wire.ApprovalOpen, ExpiresUnixSeconds: 4102444800,
		}, Num: 1, Conversation: "codex-2", Workspace: "/w", Request: "r-1",
	}}
	b.Rules = []row.Rule{{ApprovalRule: wire.ApprovalRule{ID: "rule-1"}, Num: 1}}
	b.Holds = []row.Hold{{Agent: "codex", Class: wire.ClassQuota, Job: session.Ref("job-2"), SinceUnixSeconds: 7, UntilUnixSeconds: 9}}
	b.Counters.Approvals, b.Counters.Rules = 1, 1
	return b
}

func database(t *testing.T, h *home.Home) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", h.LedgerPath())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func number(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// columns runs a query and returns its rows as text.
func columns(t *testing.T, db *sql.DB, query string) (out [][]string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]string, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// schemaOf are the statements that make the tables and indexes.
func schemaOf(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	for _, r := range columns(t, db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name") {
		out = append(out, r[0]+";")
	}
	return out
}

// dump is a ledger as the statements that make it.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	out := []string{fmt.Sprintf("PRAGMA user_version=%d;", number(t, db, "PRAGMA user_version"))}
	out = append(out, schemaOf(t, db)...)
	for _, table := range columns(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
		var quoted []string
		for _, c := range columns(t, db, fmt.Sprintf("SELECT name FROM pragma_table_info('%s') ORDER BY cid", table[0])) {
			quoted = append(quoted, "quote("+c[0]+")")
		}
		for _, r := range columns(t, db, fmt.Sprintf("SELECT %s FROM %s ORDER BY 1", strings.Join(quoted, ", "), table[0])) {
			out = append(out, fmt.Sprintf("INSERT INTO %s VALUES(%s);", table[0], strings.Join(r, ",")))
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// made is a home whose ledger is that of a golden file, untouched.
func made(t *testing.T, file string) (*home.Home, *sql.DB) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("there is no golden ledger of this layout and step: run with -update: %v", err)
	}
	h := newHome(t, t.TempDir())
	db := database(t, h)
	if _, err := db.Exec(string(text)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.LedgerPath(), home.FileMode); err != nil {
		t.Fatal(err)
	}
	return h, db
}

// TestLedgersOfEachStepAreKept: the tables that this build makes are those of the golden ledger of its number. Who adds
// a table or a column raises the number and makes a file for it with -update; the files of older ones stay.
func TestLedgersOfEachStepAreKept(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	store(t, s, everyKind())
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := database(t, h)
	file := golden(ledger.Layout, number(t, db, "PRAGMA user_version"))
	if *update {
		if _, err := db.Exec("UPDATE meta SET value='5f648232-828f-4ae6-a753-ab7d4887c551' WHERE key='home'"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(dump(t, db)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, kept := made(t, file)
	if got, want := schemaOf(t, db), schemaOf(t, kept); !slices.Equal(got, want) {
		t.Errorf("%s is not what is made now: is the step to be raised? Else run with -update", file)
	}
	for table := range tables() {
		if number(t, kept, "SELECT count(*) FROM "+table) == 0 {
			t.Errorf("%s holds no %s", file, table)
		}
	}
}

// TestOlderLedgersAreRead: of the ledger of each layout and step that there was, as builds of that time left them, every
// row comes back with all that it held, read by a client without a daemon and then brought up to date by a daemon.
func TestOlderLedgersAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/layout/*.sql")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			h, db := made(t, file)
			stored := map[string]string{}
			for table, key := range tables() {
				if number(t, db, fmt.Sprintf("SELECT count(*) FROM sqlite_schema WHERE name='%s'", table)) == 0 {
					continue // made by a later step
				}
				for _, r := range columns(t, db, fmt.Sprintf("SELECT %s, body FROM %s", key, table)) {
					stored[table+" "+r[0]] = r[1]
				}
			}
			replies := columns(t, db, "SELECT num, reply FROM result")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := ledger.OpenReader(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			view, err := r.Snapshot(t.Context())
			if err != nil || len(view.Jobs) == 0 || len(view.Runs) == 0 || r.Close() != nil {
				t.Errorf("without a daemon: %d jobs, %d runs, %v", len(view.Jobs), len(view.Runs), err)
			}
			s := open(t, h)
			comesBack(t, load(t, s), stored)
			for _, reply := range replies {
				if got, ok, err := s.Result(t.Context(), wire.JobID("job-"+reply[0])); err != nil || !ok || got.Reply != reply[1] {
					t.Errorf("the reply of job-%s is %q, %v", reply[0], got.Reply, err)
				}
			}
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Fatal(err)
			}
			fresh := newHome(t, t.TempDir())
			open(t, fresh).Close(context.WithoutCancel(t.Context()))
			if got, want := schemaOf(t, database(t, h)), schemaOf(t, database(t, fresh)); !slices.Equal(got, want) {
				t.Errorf("brought up to date it has other tables than a new one:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// comesBack compares rows as they were stored with rows as they are loaded.
func comesBack(t *testing.T, l row.Loaded, stored map[string]string) {
	t.Helper()
	loaded := map[string]any{}
	for _, s := range l.Sessions {
		loaded["session "+string(s.ID)] = s
	}
	for _, c := range l.Conversations {
		loaded["conversation "+string(c.ID)] = c
	}
	for _, j := range l.Jobs {
		loaded[fmt.Sprint("job ", j.Num)] = j
		if j.State.Final() == (l.Prompts[j.Job.Job].Text != "") {
			t.Errorf("%s is %s, and its prompt %q", j.Job.Job, j.State, l.Prompts[j.Job.Job].Text)
		}
	}
	for _, r := range l.Runs {
		loaded["run "+string(r.Handle)] = r
	}
	for _, a := range l.Approvals {
		loaded[fmt.Sprint("approval ", a.Num)] = a
	}
	for _, r := range l.Rules {
		loaded[fmt.Sprint("rule ", r.Num)] = r
	}
	for _, h := range l.Holds {
		loaded["hold "+h.ID()] = h
	}
	for name, body := range stored {
		value, ok := loaded[name]
		if !ok {
			t.Errorf("%s is lost", name)
			continue
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var was, is any
		for into, text := range map[*any][]byte{&was: []byte(body), &is: again} {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !holdsAll(is, was) {
			t.Errorf("%s was stored as %s and is %s", name, body, again)
		}
	}
}

// holdsAll reports whether all that was is still there: more may be.
func holdsAll(is, was any) bool {
	old, ok := was.(map[string]any)
	if !ok {
		return reflect.DeepEqual(is, was)
	}
	now, ok := is.(map[string]any)
	for key, value := range old {
		ok = ok && holdsAll(now[key], value)
	}
	return ok
}

// TestAnOlderBuildLeavesTheStepOfALaterOne: what a later build of the same layout added stays, and so does its number, so
// that it does not add it twice.
func TestAnOlderBuildLeavesTheStepOfALaterOne(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	store(t, s, everyKind())
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := database(t, h)
	for _, change := range []string{
		"PRAGMA user_version=99", "CREATE TABLE later (id TEXT PRIMARY KEY)", "INSERT INTO later VALUES('x')", "ALTER TABLE job ADD COLUMN later TEXT DEFAULT 'y'",
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, h)
	store(t, s, full(3, wire.StateCompleted))
	if l := load(t, s); len(l.Jobs) != 3 {
		t.Errorf("%d jobs", len(l.Jobs))
	}
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	db = database(t, h)
	if step := number(t, db, "PRAGMA user_version"); step != 99 {
		t.Errorf("the step is %d", step)
	}
	if number(t, db, "SELECT count(*) FROM later") != 1 || number(t, db, "SELECT count(*) FROM job WHERE later='y'") != 3 {
		t.Error("what the later build added is gone")
	}
}
