package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"modernc.org/sqlite"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// statements are prepared once for the writer's connection.
type statements struct {
	meta, session, conversation, job, prompt, result, run, approval, rule, hold, usage *sql.Stmt
}

func (p *statements) all() map[**sql.Stmt]string {
	return map[**sql.Stmt]string{
		&p.meta: putMeta, &p.session: putSession, &p.conversation: putConversation, &p.job: putJob,
		&p.prompt: putPrompt, &p.result: putResult, &p.run: putRun,
		&p.approval: putApproval, &p.rule: putRule, &p.hold: putHold, &p.usage: putUsage,
	}
}

func (p *statements) prepare(ctx context.Context, db *sql.DB) error {
	for into, text := range p.all() {
		stmt, err := db.PrepareContext(ctx, text)
		if err != nil {
			return fmt.Errorf("prepare a statement: %w", err)
		}
		*into = stmt
	}
	return nil
}

func (p *statements) close() {
	for s := range p.all() {
		if *s != nil {
			(*s).Close()
			*s = nil
		}
	}
}

// Store makes a batch durable: private copies and accepted.jsonl first, then one transaction with one flush. On an error
// nothing of it counts, and the same rows may be stored again.
func (s *Store) Store(ctx context.Context, b row.Batch) error {
	if b.Empty() {
		return nil
	}
	defer write(s)()
	if err := (originals{s}).keepPrivate(b.Prompts); err != nil {
		return plain("keep the original of a prompt", err)
	}
	if err := s.accepted.append(slices.Concat(b.Accepted, ends(&b, time.Now()))); err != nil {
		return plain("write accepted.jsonl", err)
	}
	if err := s.commit(ctx, b); err != nil {
		s.recover(ctx, err)
		return plain("write the ledger", err)
	}
	s.counters = b.Counters
	s.counters.Conversations = maps.Clone(b.Counters.Conversations)
	originals{s}.dropReplaced(b.Prompts)
	originals{s}.dropPrivate(b.Jobs)
	return nil
}

func (s *Store) commit(ctx context.Context, b row.Batch) error {
	return inTransaction(ctx, s, func(tx *sql.Tx) error {
		w := batchWriter{ctx: ctx, tx: tx}
		w.rows(&s.stmts, b)
		if !reflect.DeepEqual(b.Counters, s.counters) {
			w.put(s.stmts.meta, "counters", w.encode(b.Counters))
		}
		return w.err
	})
}

// recover reopens the database after an error of the disk: a page that a failed flush left marked as clean must not be
// trusted (reliability.md section 5). When that fails too, the next Store tries again.
func (s *Store) recover(ctx context.Context, cause error) {
	const ioerr = 10
	e, ok := errors.AsType[*sqlite.Error](cause)
	if !ok || e.Code()&0xff != ioerr || s.db == nil {
		return
	}
	s.closeWriter()
	if err := s.open(ctx); err != nil {
		s.log.Error("the ledger cannot be opened again", "error", err)
	}
}

func (s *Store) closeWriter() {
	s.stmts.close()
	if err := s.db.Close(); err != nil {
		s.log.Warn("closing the ledger failed", "error", err)
	}
	s.db = nil
}

// batchWriter puts rows until the first error.
type batchWriter struct {
	ctx context.Context
	tx  *sql.Tx
	err error
}

func (w *batchWriter) put(stmt *sql.Stmt, args ...any) {
	if w.err != nil {
		return
	}
	_, w.err = w.tx.StmtContext(w.ctx, stmt).ExecContext(w.ctx, args...)
}

func (w *batchWriter) encode(v any) string {
	if w.err != nil {
		return ""
	}
	var text string
	text, w.err = encode(v)
	return text
}

// encode writes JSON without the escapes that only HTML needs.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode a row: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func (w *batchWriter) rows(s *statements, b row.Batch) {
	for i := range b.Sessions {
		w.put(s.session, string(b.Sessions[i].ID), w.encode(&b.Sessions[i]))
	}
	for i := range b.Conversations {
		w.put(s.conversation, string(b.Conversations[i].ID), string(b.Conversations[i].Session), w.encode(&b.Conversations[i]))
	}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		w.put(s.job, int64(j.Num), string(j.Session), optional(j.Conversation), keyOf(j), flag(!j.State.Final()), flag(j.Hidden()), w.encode(j))
		if u := j.Usage; u != nil && j.State.Final() {
			w.put(s.usage, int64(j.Num), int64(j.Finished), j.Agent, signed(u.InputTokens), signed(u.OutputTokens), u.CostUSD)
		}
	}
	for id, p := range b.Prompts {
		w.put(s.prompt, int64(id.Number()), p.Text)
	}
	for id, r := range b.Results {
		w.put(s.result, int64(id.Number()), r.Reply, r.Error)
	}
	for i := range b.Runs {
		r := &b.Runs[i]
		w.put(s.run, string(r.Handle), optional(r.Conversation), flag(r.Live), int64(r.Ended), w.encode(r))
	}
	for i := range b.Approvals {
		a := &b.Approvals[i]
		w.put(s.approval, int64(a.Num), string(a.ID), flag(a.Over()), w.encode(a))
	}
	for i := range b.Rules {
		w.put(s.rule, int64(b.Rules[i].Num), flag(b.Rules[i].Removed), w.encode(&b.Rules[i]))
	}
	for i := range b.Holds {
		w.put(s.hold, b.Holds[i].ID(), flag(b.Holds[i].Over), w.encode(&b.Holds[i]))
	}
}

func optional(c *wire.ConversationID) string {
	if c == nil {
		return ""
	}
	return string(*c)
}

func keyOf(j *row.Job) any {
	if j.Key == "" {
		return nil
	}
	return j.Key
}

// signed is a count as the database takes it; nil stays nil.
func signed(n *uint64) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(min(*n, math.MaxInt64)))
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
