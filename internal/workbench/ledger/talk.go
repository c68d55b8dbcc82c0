package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"scv/internal/failpoint"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

const (
	putTalk        = `INSERT INTO talk(id, updated, ended, body) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(id) DO UPDATE SET updated = ?2, ended = ?3, body = ?4`
	putTalkMessage = `INSERT OR REPLACE INTO talk_message(talk, num, body) VALUES(?1, ?2, ?3)`
	dropMessages   = `DELETE FROM talk_message WHERE talk = ?1 AND num < ?2`
	putTalkPrompt  = `INSERT OR REPLACE INTO talk_prompt(talk, id, body) VALUES(?1, ?2, ?3)`
	dropTalkPrompt = `DELETE FROM talk_prompt WHERE talk = ?1 AND id = ?2`
	getTalk        = `SELECT body FROM talk WHERE id = ?1`
	openTalks      = `SELECT body FROM talk WHERE ended = 0 ORDER BY id`
	listedTalks    = `SELECT body FROM talk WHERE updated < ?1 OR updated = ?1 AND id < ?2 ORDER BY updated DESC, id DESC LIMIT ?3`
	talkMessages   = `SELECT num, body FROM talk_message WHERE talk = ?1 AND num < ?2 ORDER BY num DESC LIMIT ?3`
	talkHistory    = `SELECT num, body FROM talk_message WHERE talk = ?1 AND num >= ?2 ORDER BY num`
	talkOld        = `SELECT num, octet_length(body), substr(body, 1, ?3) FROM talk_message WHERE talk = ?1 AND num < ?2 ORDER BY num`
	talkPrompts    = `SELECT body FROM talk_prompt WHERE talk = ?1`
	oldTalks       = `SELECT id FROM talk WHERE ended > 0 AND ended < ?1`
)

// Talks are the sessions of the model loop in a ledger. Their methods may be called from any goroutine.
type Talks struct{ store *Store }

// TalksOf returns the sessions of the model loop in a ledger.
func TalksOf(s *Store) Talks { return Talks{s} }

// SaveTalk makes a change of a session of the model loop durable: one transaction and one flush. It may be called while
// the hub stores; each waits for the other.
func (k Talks) SaveTalk(ctx context.Context, c row.TalkChange) error {
	s := k.store
	defer write(s)()
	err := inTransaction(ctx, s, func(tx *sql.Tx) error { return writeTalk(ctx, tx, &c) })
	if err != nil {
		s.recover(ctx, err)
		return plain("write a session to the ledger", err)
	}
	return nil
}

// inTransaction commits what one does; the caller holds writing.
func inTransaction(ctx context.Context, s *Store, one func(*sql.Tx) error) error {
	if s.db == nil {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := one(tx); err != nil {
		return err
	}
	return failpoint.Do(failpoint.LedgerCommit, tx.Commit)
}

func writeTalk(ctx context.Context, tx *sql.Tx, c *row.TalkChange) error {
	id := string(c.Talk.ID)
	body, err := encode(&c.Talk)
	if err != nil {
		return err
	}
	exec := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	exec(putTalk, id, int64(c.Talk.Updated), int64(c.Talk.Ended), body)
	if c.Below > 0 {
		exec(dropMessages, id, int64(c.Below))
	}
	for _, m := range c.Messages {
		exec(putTalkMessage, id, int64(m.Num), string(m.Body))
	}
	for i := range c.Entries {
		entry, encodeErr := encode(&c.Entries[i])
		err = errors.Join(err, encodeErr)
		exec(putTalkPrompt, id, string(c.Entries[i].QueueID), entry)
	}
	for _, q := range c.Gone {
		exec(dropTalkPrompt, id, string(q))
	}
	if err == nil && c.Other != nil {
		err = writeTalk(ctx, tx, c.Other)
	}
	return err
}

// Talk returns a session of the model loop, with what its model is shown of the history; false when there is none of
// that id.
func (k Talks) Talk(ctx context.Context, id wire.SessionID) (row.LoadedTalk, bool, error) {
	r, err := k.store.reader()
	if err != nil {
		return row.LoadedTalk{}, false, err
	}
	t, found, err := one[row.Talk](ctx, r.db, "session", getTalk, string(id))
	if err != nil || !found {
		return row.LoadedTalk{}, false, err
	}
	out := row.LoadedTalk{Talk: t}
	from := int64(min(t.From, math.MaxInt64))
	if out.Messages, err = messages(ctx, r.db, talkHistory, string(id), from); err != nil {
		return out, false, err
	}
	if out.Old, err = oldMessages(ctx, r.db, string(id), from); err != nil {
		return out, false, err
	}
	waiting, err := many[wire.QueueEntry](ctx, r.db, "waiting prompts", talkPrompts, string(id))
	if err != nil {
		return out, false, err
	}
	for _, want := range t.Order {
		for _, e := range waiting {
			if e.QueueID == want {
				out.Queue = append(out.Queue, e)
			}
		}
	}
	return out, true, nil
}

// OpenTalks returns the sessions of the model loop that have not ended, without their histories.
func (k Talks) OpenTalks(ctx context.Context) ([]row.Talk, error) {
	r, err := k.store.reader()
	if err != nil {
		return nil, err
	}
	return many[row.Talk](ctx, r.db, "open sessions", openTalks)
}

// List returns at most limit sessions of the model loop, newest first; before is the last one of the page before, nil
// for the first page.
func (k Talks) List(ctx context.Context, before *row.Talk, limit int) ([]row.Talk, error) {
	r, err := k.store.reader()
	if err != nil {
		return nil, err
	}
	updated, id := int64(math.MaxInt64), ""
	if before != nil {
		updated, id = int64(before.Updated), string(before.ID)
	}
	return many[row.Talk](ctx, r.db, "sessions", listedTalks, updated, id, max(limit, 0))
}

// TalkMessages returns at most limit messages of a session with a number below before, newest first.
func (k Talks) TalkMessages(ctx context.Context, id wire.SessionID, before uint64, limit int) ([]row.TalkMessage, error) {
	r, err := k.store.reader()
	if err != nil {
		return nil, err
	}
	return messages(ctx, r.db, talkMessages, string(id), int64(min(before, math.MaxInt64)), max(limit, 0))
}

// oldMessages are those of a session with a number below from, without their texts.
func oldMessages(ctx context.Context, q queryer, id string, from int64) (out []row.TalkOld, err error) {
	if from == 0 {
		return nil, nil
	}
	err = scanAll(ctx, q, func(scan func(...any) error) error {
		var num int64
		var m row.TalkOld
		err := scan(&num, &m.Bytes, &m.Head)
		m.Num = uint64(num)
		out = append(out, m)
		return err
	}, talkOld, id, from, row.TalkHead)
	if err != nil {
		return nil, fmt.Errorf("look at a session's history: %w", err)
	}
	return out, nil
}

func messages(ctx context.Context, q queryer, query string, args ...any) ([]row.TalkMessage, error) {
	var out []row.TalkMessage
	err := scanAll(ctx, q, func(scan func(...any) error) error {
		var num int64
		var body []byte
		err := scan(&num, &body)
		out = append(out, row.TalkMessage{Num: uint64(num), Body: json.RawMessage(body)})
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read a session's history: %w", err)
	}
	return out, nil
}

// RetireTalks removes sessions of the model loop that ended before a moment, and returns how many.
func (k Talks) RetireTalks(ctx context.Context, before uint64) (n int, err error) {
	s := k.store
	defer write(s)()
	err = inTransaction(ctx, s, func(tx *sql.Tx) error {
		var old []string
		err := scanAll(ctx, tx, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			old = append(old, id)
			return err
		}, oldTalks, int64(min(before, math.MaxInt64)))
		for _, id := range old {
			for _, table := range []string{"talk_message WHERE talk", "talk_prompt WHERE talk", "talk WHERE id"} {
				if err == nil {
					_, err = tx.ExecContext(ctx, "DELETE FROM "+table+" = ?1", id)
				}
			}
		}
		n = len(old)
		return err
	})
	return n, plain("remove old sessions", err)
}
