package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// errShut is what a read gets after Close.
var errShut = errors.New("the ledger is closed")

// reader returns the reading side, connected on first use: it sees what is committed while the writer writes, and its
// memory goes back when nobody reads for a while.
func (s *Store) reader() (reads, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return reads{}, errShut
	}
	if s.read == nil {
		db, err := sql.Open("sqlite", readerDSN(s.path))
		if err != nil {
			return reads{}, fmt.Errorf("open the ledger for reading: %w", err)
		}
		db.SetMaxOpenConns(2)
		db.SetMaxIdleConns(1)
		db.SetConnMaxIdleTime(30 * time.Second)
		s.read = db
	}
	return reads{s.read}, nil
}

// Job returns a job, also a dismissed one; false when there is none of that name.
func (s *Store) Job(ctx context.Context, session wire.SessionID, id wire.JobID) (row.Job, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Job{}, false, err
	}
	return r.job(ctx, session, id)
}

// JobByKey returns the job that a client's key made, also a dismissed one.
func (s *Store) JobByKey(ctx context.Context, key string) (row.Job, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Job{}, false, err
	}
	return one[row.Job](ctx, r.db, "job", getJobByKey, key)
}

// Conversation returns a conversation of a session.
func (s *Store) Conversation(ctx context.Context, session wire.SessionID, id wire.ConversationID) (row.Conversation, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Conversation{}, false, err
	}
	c, found, err := one[row.Conversation](ctx, r.db, "conversation", getConversation, string(id))
	if c.Session != session {
		found = false
	}
	return c, found, err
}

// Namesake returns another conversation with the same agent that has the agent's own name vendor. It reads the whole
// table, once in the life of a conversation.
func (s *Store) Namesake(ctx context.Context, agent, vendor string, but wire.ConversationID) (row.Conversation, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Conversation{}, false, err
	}
	return one[row.Conversation](ctx, r.db, "conversation", namesake, vendor, agent, string(but))
}

// Session returns a session.
func (s *Store) Session(ctx context.Context, id wire.SessionID) (row.Session, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Session{}, false, err
	}
	return one[row.Session](ctx, r.db, "session", getSession, string(id))
}

// Jobs returns at most limit jobs with a number below beforeNum (0: from the newest), newest first, without dismissed
// ones. The last one's Num is the next page's beforeNum.
func (s *Store) Jobs(ctx context.Context, beforeNum uint64, limit int) ([]row.Job, error) {
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	return r.jobs(ctx, beforeNum, limit)
}

// Approval returns a question of any state; false when there is none of that name.
func (s *Store) Approval(ctx context.Context, id wire.ApprovalID) (row.Approval, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Approval{}, false, err
	}
	return one[row.Approval](ctx, r.db, "approval", getApproval, string(id))
}

// Approvals returns at most limit questions with a number below beforeNum (0: from the newest), newest first.
func (s *Store) Approvals(ctx context.Context, beforeNum uint64, limit int) ([]row.Approval, error) {
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	return r.approvals(ctx, beforeNum, limit)
}

// Result returns what a finished job left, whole; false when it left nothing or is not finished.
func (s *Store) Result(ctx context.Context, id wire.JobID) (row.Result, bool, error) {
	r, err := s.reader()
	if err != nil {
		return row.Result{}, false, err
	}
	return r.result(ctx, id)
}

// Prompt returns a job's prompt, masked and whole.
func (s *Store) Prompt(ctx context.Context, id wire.JobID) (string, bool, error) {
	r, err := s.reader()
	if err != nil {
		return "", false, err
	}
	return r.prompt(ctx, id)
}

// Thread returns the ended jobs of a conversation up to one of them, newest first, at most limit. What only went into
// the turn of another is among them. It reads the whole table when they are few: it is for what a person asks for.
func (s *Store) Thread(ctx context.Context, c wire.ConversationID, upTo wire.JobID, limit int) ([]row.Job, error) {
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	return many[row.Job](ctx, r.db, "a conversation's jobs", threadJobs, string(c), int64(upTo.Number()), max(limit, 0))
}

func (r reads) prompt(ctx context.Context, id wire.JobID) (text string, found bool, err error) {
	err = r.db.QueryRowContext(ctx, getPrompt, int64(id.Number())).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read a prompt: %w", err)
	}
	return text, true, nil
}

// name finds the original of the prompt that the job's row speaks of: a move counts a revision and keeps it.
func (s originals) name(id wire.JobID) (string, error) {
	r, err := s.reader()
	if err != nil {
		return "", err
	}
	var body string
	var j row.Job
	err = r.db.QueryRow(getJob, int64(id.Number())).Scan(&body)
	if err == nil {
		err = json.Unmarshal([]byte(body), &j)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for the original prompt of %s: %w", id, err)
	}
	return privateName(s.home, id, j.PromptRevision), nil
}

// Original returns a job's prompt as the owner wrote it: the private copy, which exists only when masking changed it
// and the job can still run. A job without one is fs.ErrNotExist, and its masked prompt is then the original.
func (s *Store) Original(id wire.JobID) (string, error) {
	name, err := originals{s}.name(id)
	if err != nil {
		return "", err
	}
	data, err := s.home.Root().ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the original prompt of %s is not kept: %w", id, err)
		}
		return "", fmt.Errorf("read the original prompt of %s: %w", id, err)
	}
	return string(data), nil
}

// An ahead reads what a start needs while the ledger is opened for writing: what the opening itself writes, tables and
// the count of starts, is in none of the rows. The caller has the home's lock, so nobody else writes.
type ahead struct {
	done   chan struct{}
	loaded row.Loaded // once done
	err    error      // once done
}

// errNothingAhead says that nothing was read beforehand.
var errNothingAhead = errors.New("nothing was read beforehand")

// look makes sure, without writing a byte, that this build knows the ledger's layout, and begins to read.
func look(ctx context.Context, path string) (*ahead, error) {
	a, err := readAhead(ctx, path)
	if code, ok := codeOf(err); ok && code == codeReadOnly {
		if err = undo(ctx, path); err == nil {
			a, err = readAhead(ctx, path)
		}
	}
	return a, err
}

func readAhead(ctx context.Context, path string) (*ahead, error) {
	db, err := sql.Open("sqlite", readerDSN(path))
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	db.SetMaxOpenConns(1)
	go rehearse()
	var step int
	if err = layoutOf(ctx, db); err == nil {
		err = plain("look at the ledger", db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&step))
	}
	if err != nil || step < schemaStep { // tables that are still to be made
		return nil, errors.Join(err, db.Close())
	}
	a := &ahead{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.loaded, a.err = reads{db}.start(ctx)
		a.err = errors.Join(a.err, db.Close())
	}()
	return a, nil
}

// rehearse makes the decoder learn the shape of the rows, which takes about a millisecond, while the file is looked at.
func rehearse() {
	var rows struct {
		Jobs          []row.Job
		Runs          []row.Run
		Conversations []row.Conversation
		Sessions      []row.Session
	}
	_ = json.Unmarshal([]byte(`{"Jobs":[{}],"Runs":[{}],"Conversations":[{}],"Sessions":[{}]}`), &rows)
}

// wait returns when nothing reads any more.
func (a *ahead) wait() {
	if a != nil {
		<-a.done
	}
}

// take waits for what was read; an error means that it must be read again.
func (a *ahead) take() (row.Loaded, error) {
	if a == nil {
		return row.Loaded{}, errNothingAhead
	}
	a.wait()
	return a.loaded, a.err
}

// write takes the writing side of a ledger until the returned function is called. What was read ahead is no longer true
// then.
func write(s *Store) (done func()) {
	s.writing.Lock()
	s.ahead.wait()
	s.ahead = nil
	return s.writing.Unlock
}
