package ledger

// schema is layout 1, step 5: step 2 added approvals and rules, step 3 holds, step 4 usage, step 5 sessions of the model loop (talk). Columns beside body hold only what is looked for; the rest of a row is its JSON. The
// partial indexes make a start cost what is live, not what was ever done.
const schema = `
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversation (id TEXT PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS job (
	num INTEGER PRIMARY KEY, session TEXT NOT NULL, conversation TEXT NOT NULL, key TEXT,
	open INTEGER NOT NULL, dismissed INTEGER NOT NULL, body TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS job_key ON job(key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS job_open ON job(num) WHERE open = 1;
CREATE INDEX IF NOT EXISTS job_listed ON job(num) WHERE dismissed = 0;
CREATE TABLE IF NOT EXISTS prompt (num INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS result (num INTEGER PRIMARY KEY, reply TEXT NOT NULL, error TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run (
	handle TEXT PRIMARY KEY, conversation TEXT NOT NULL, live INTEGER NOT NULL, ended INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_live ON run(handle) WHERE live = 1;
CREATE INDEX IF NOT EXISTS run_ended ON run(ended, handle) WHERE live = 0;
CREATE TABLE IF NOT EXISTS approval (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, over INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS approval_open ON approval(num) WHERE over = 0;
CREATE TABLE IF NOT EXISTS rule (num INTEGER PRIMARY KEY, removed INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS usage (num INTEGER PRIMARY KEY, at INTEGER NOT NULL, agent TEXT NOT NULL, input INTEGER, output INTEGER, cost REAL);
CREATE INDEX IF NOT EXISTS usage_at ON usage(at);
CREATE TABLE IF NOT EXISTS hold (id TEXT PRIMARY KEY, over INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS talk (id TEXT PRIMARY KEY, updated INTEGER NOT NULL, ended INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS talk_open ON talk(id) WHERE ended = 0;
CREATE INDEX IF NOT EXISTS talk_updated ON talk(updated, id);
CREATE TABLE IF NOT EXISTS talk_message (talk TEXT NOT NULL, num INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (talk, num)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS talk_prompt (talk TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (talk, id)) WITHOUT ROWID;
`

const (
	putMeta         = `INSERT INTO meta(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2`
	putSession      = `INSERT INTO session(id, body) VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET body = ?2`
	putConversation = `INSERT INTO conversation(id, session, body) VALUES(?1, ?2, ?3) ON CONFLICT(id) DO UPDATE SET session = ?2, body = ?3`
	putJob          = `INSERT INTO job(num, session, conversation, key, open, dismissed, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT(num) DO UPDATE SET session = ?2, conversation = ?3, key = ?4, open = ?5, dismissed = ?6, body = ?7`
	putPrompt = `INSERT INTO prompt(num, body) VALUES(?1, ?2) ON CONFLICT(num) DO UPDATE SET body = ?2`
	putResult = `INSERT INTO result(num, reply, error) VALUES(?1, ?2, ?3) ON CONFLICT(num) DO UPDATE SET reply = ?2, error = ?3`
	putRun    = `INSERT INTO run(handle, conversation, live, ended, body) VALUES(?1, ?2, ?3, ?4, ?5)
		ON CONFLICT(handle) DO UPDATE SET conversation = ?2, live = ?3, ended = ?4, body = ?5`
	putApproval = `INSERT INTO approval(num, id, over, body) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(num) DO UPDATE SET id = ?2, over = ?3, body = ?4`
	putRule     = `INSERT INTO rule(num, removed, body) VALUES(?1, ?2, ?3) ON CONFLICT(num) DO UPDATE SET removed = ?2, body = ?3`
	putUsage    = `INSERT INTO usage(num, at, agent, input, output, cost) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
		ON CONFLICT(num) DO UPDATE SET at = ?2, agent = ?3, input = ?4, output = ?5, cost = ?6`
	putHold = `INSERT INTO hold(id, over, body) VALUES(?1, ?2, ?3) ON CONFLICT(id) DO UPDATE SET over = ?2, body = ?3`
)

const (
	getJob          = `SELECT body FROM job WHERE num = ?1`
	getJobByKey     = `SELECT body FROM job WHERE key = ?1`
	getSession      = `SELECT body FROM session WHERE id = ?1`
	getConversation = `SELECT body FROM conversation WHERE id = ?1`
	getResult       = `SELECT reply, error FROM result WHERE num = ?1`
	getPrompt       = `SELECT body FROM prompt WHERE num = ?1`
	openJobs        = `SELECT body FROM job WHERE open = 1 ORDER BY num`
	finishedJobs    = `SELECT body FROM job WHERE dismissed = 0 AND open = 0 AND num < ?1 ORDER BY num DESC LIMIT ?2`
	listedJobs      = `SELECT body FROM job WHERE dismissed = 0 AND num < ?1 ORDER BY num DESC LIMIT ?2`
	listedTexts     = `SELECT job.body, ifnull(prompt.body, ''), ifnull(result.reply, ''), ifnull(result.error, '') FROM job
		LEFT JOIN prompt ON prompt.num = job.num LEFT JOIN result ON result.num = job.num
		WHERE job.dismissed = 0 AND job.num < ?1 ORDER BY job.num DESC LIMIT ?2`
	threadJobs = `SELECT body FROM job WHERE conversation = ?1 AND num <= ?2 AND open = 0 ORDER BY num DESC LIMIT ?3`
	liveRuns   = `SELECT body FROM run WHERE live = 1`
	endedRuns  = `SELECT body FROM run WHERE live = 0 ORDER BY ended DESC, handle DESC LIMIT ?1`
	namesake   = `SELECT body FROM conversation WHERE instr(body, json_quote(?1)) > 0 AND json_extract(body, '$.vendor') = ?1
		AND json_extract(body, '$.agent') = ?2 AND id <> ?3 ORDER BY id LIMIT 1`
	namedConversations = `SELECT body FROM conversation WHERE id IN (SELECT value FROM json_each(?1))`
	namedSessions      = `SELECT body FROM session WHERE id IN (SELECT value FROM json_each(?1))`
	openPrompts        = `SELECT job.num, prompt.body FROM job JOIN prompt ON prompt.num = job.num WHERE job.open = 1`
	getApproval        = `SELECT body FROM approval WHERE id = ?1`
	openApprovals      = `SELECT body FROM approval WHERE over = 0 ORDER BY num`
	overApprovals      = `SELECT body FROM approval WHERE over = 1 ORDER BY num DESC LIMIT ?1`
	listedApprovals    = `SELECT body FROM approval WHERE num < ?1 ORDER BY num DESC LIMIT ?2`
	usedSince          = `SELECT num, at, agent, input, output, cost FROM usage WHERE at >= ?1 ORDER BY at`
	openHolds          = `SELECT body FROM hold WHERE over = 0 ORDER BY id`
	heldRules          = `SELECT body FROM rule WHERE removed = 0 ORDER BY num`
)
