PRAGMA user_version=3;
CREATE TABLE approval (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, over INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE conversation (id TEXT PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "conversation" VALUES('demo-1','workbench-220f2f56bdae63e0','{"id":"demo-1","session":"workbench-220f2f56bdae63e0","agent":"demo","cwd":"/w","vendor":"2540dd16-1556-4c28-8d6e-e46ae0917c4f","turns":1,"mode":"on-risk","rev":4294967314}');
INSERT INTO "conversation" VALUES('demo-2','workbench-220f2f56bdae63e0','{"id":"demo-2","session":"workbench-220f2f56bdae63e0","agent":"demo","cwd":"/w","vendor":"8ff91d51-6f56-4c70-aa6d-64b89365fd56","turns":1,"mode":"on-risk","rev":4294967336}');
INSERT INTO "conversation" VALUES('demo-3','workbench-220f2f56bdae63e0','{"id":"demo-3","session":"workbench-220f2f56bdae63e0","agent":"demo","cwd":"/w","vendor":"f5bf9a8f-f7fe-4324-afa6-78d1162483e0","turns":1,"mode":"on-risk","rev":4294967353}');
CREATE TABLE hold (id TEXT PRIMARY KEY, over INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE job (
	num INTEGER PRIMARY KEY, session TEXT NOT NULL, conversation TEXT NOT NULL, key TEXT,
	open INTEGER NOT NULL, dismissed INTEGER NOT NULL, body TEXT NOT NULL);
INSERT INTO "job" VALUES(1,'workbench-220f2f56bdae63e0','demo-1','3b8c73b2d9bd36a74b18e721d0ea2249',0,0,'{"session":"workbench-220f2f56bdae63e0","job":"job-1","agent":"demo","task":"@@say:hello","workspace":"/w","cwd":"/w","state":"completed","started_by":"owner","conversation":"demo-1","run":"demo-bd43ff","created_unix_seconds":1796061999,"updated_unix_seconds":1796062000,"rev":4294967316,"mode":"on-risk","usage":{"input_tokens":3,"output_tokens":2},"num":1,"key":"3b8c73b2d9bd36a74b18e721d0ea2249","principal":{"who":"owner","way":"cli"},"turn":1,"finished_unix_seconds":1796062000,"evidence":[{"at_ms":1796061999940,"source":"owner","fact":"asked for by owner through cli"},{"at_ms":1796061999940,"source":"daemon","fact":"turn 1 of demo-1 was given to demo-bd43ff"},{"at_ms":1796061999993,"source":"process","fact":"process 21842 was started as demo-bd43ff"},{"at_ms":1796062000001,"source":"agent","fact":"the agent took the prompt"},{"at_ms":1796062000007,"source":"agent","fact":"it completed"}],"home":"90aa9cfc-8115-43ec-9d48-c13632b0c584","machine":"local","assigned":1}');
INSERT INTO "job" VALUES(2,'workbench-220f2f56bdae63e0','demo-2','8aa68b841dfa8561d1e4556066a1786c',0,0,'{"session":"workbench-220f2f56bdae63e0","job":"job-2","agent":"demo","task":"@@say:second|tool:ls|say:done","workspace":"/w","cwd":"/w","state":"completed","started_by":"owner","conversation":"demo-2","run":"demo-5b7b78","created_unix_seconds":1796062000,"updated_unix_seconds":1796062000,"rev":4294967338,"mode":"on-risk","usage":{"input_tokens":8,"output_tokens":3},"num":2,"key":"8aa68b841dfa8561d1e4556066a1786c","principal":{"who":"owner","way":"cli"},"turn":1,"finished_unix_seconds":1796062000,"evidence":[{"at_ms":1796062000039,"source":"owner","fact":"asked for by owner through cli"},{"at_ms":1796062000039,"source":"daemon","fact":"turn 1 of demo-2 was given to demo-5b7b78"},{"at_ms":1796062000080,"source":"process","fact":"process 21869 was started as demo-5b7b78"},{"at_ms":1796062000088,"source":"agent","fact":"the agent took the prompt"},{"at_ms":1796062000089,"source":"agent","fact":"it completed"}],"home":"90aa9cfc-8115-43ec-9d48-c13632b0c584","machine":"local","assigned":1}');
INSERT INTO "job" VALUES(3,'workbench-220f2f56bdae63e0','demo-3','1a01758a1afb3f7b3d4f30fe352b0695',1,0,'{"session":"workbench-220f2f56bdae63e0","job":"job-3","agent":"demo","task":"@@say:third|sleep:60000","workspace":"/w","cwd":"/w","state":"working","detail":"third","started_by":"owner","conversation":"demo-3","run":"demo-f9b2f1","created_unix_seconds":1796062000,"updated_unix_seconds":1796062000,"rev":4294967356,"mode":"on-risk","num":3,"key":"1a01758a1afb3f7b3d4f30fe352b0695","principal":{"who":"owner","way":"cli"},"turn":1,"evidence":[{"at_ms":1796062000128,"source":"owner","fact":"asked for by owner through cli"},{"at_ms":1796062000128,"source":"daemon","fact":"turn 1 of demo-3 was given to demo-f9b2f1"},{"at_ms":1796062000182,"source":"process","fact":"process 21892 was started as demo-f9b2f1"},{"at_ms":1796062000191,"source":"agent","fact":"the agent took the prompt"}],"home":"90aa9cfc-8115-43ec-9d48-c13632b0c584","machine":"local","assigned":1}');
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('counters','{"job":3,"runs":3,"conversations":{"demo":3}}');
INSERT INTO "meta" VALUES('home','90aa9cfc-8115-43ec-9d48-c13632b0c584');
INSERT INTO "meta" VALUES('layout','1');
INSERT INTO "meta" VALUES('starts','1');
CREATE TABLE prompt (num INTEGER PRIMARY KEY, body TEXT NOT NULL);
INSERT INTO "prompt" VALUES(1,'@@say:hello');
INSERT INTO "prompt" VALUES(2,'@@say:second|tool:ls|say:done');
INSERT INTO "prompt" VALUES(3,'@@say:third|sleep:60000');
CREATE TABLE result (num INTEGER PRIMARY KEY, reply TEXT NOT NULL, error TEXT NOT NULL);
INSERT INTO "result" VALUES(1,'hello','');
INSERT INTO "result" VALUES(2,'done','');
CREATE TABLE rule (num INTEGER PRIMARY KEY, removed INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE run (
	handle TEXT PRIMARY KEY, conversation TEXT NOT NULL, live INTEGER NOT NULL, ended INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "run" VALUES('demo-5b7b78','demo-2',0,1796062000,'{"handle":"demo-5b7b78","agent":"demo","session":"workbench-220f2f56bdae63e0","transport":"cli","conversation":"demo-2","turn":1,"jobs":["job-2"],"cwd":"/w","state":"completed","started_unix_seconds":1796062000,"last_activity_unix_seconds":1796062000,"live":false,"rev":4294967342,"pos":{"frame":3,"index":11},"new_id":"8ff91d51-6f56-4c70-aa6d-64b89365fd56","ended_unix_seconds":1796062000}');
INSERT INTO "run" VALUES('demo-bd43ff','demo-1',0,1796062000,'{"handle":"demo-bd43ff","agent":"demo","session":"workbench-220f2f56bdae63e0","transport":"cli","conversation":"demo-1","turn":1,"jobs":["job-1"],"cwd":"/w","state":"completed","started_unix_seconds":1796061999,"last_activity_unix_seconds":1796062000,"live":false,"rev":4294967326,"pos":{"frame":4,"index":5},"new_id":"2540dd16-1556-4c28-8d6e-e46ae0917c4f","ended_unix_seconds":1796062000}');
INSERT INTO "run" VALUES('demo-f9b2f1','demo-3',1,0,'{"handle":"demo-f9b2f1","agent":"demo","session":"workbench-220f2f56bdae63e0","transport":"cli","conversation":"demo-3","turn":1,"job":"job-3","jobs":["job-3"],"cwd":"/w","state":"working","detail":"third","started_unix_seconds":1796062000,"last_activity_unix_seconds":1796062000,"live":true,"rev":4294967357,"pid":21892,"pos":{"frame":3,"index":4},"new_id":"f5bf9a8f-f7fe-4324-afa6-78d1162483e0"}');
CREATE TABLE session (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "session" VALUES('workbench-220f2f56bdae63e0','{"id":"workbench-220f2f56bdae63e0","label":"workbench","workspace":"/w","live":true,"state":"working","rev":4294967346,"created_unix_seconds":1796061999}');
CREATE UNIQUE INDEX job_key ON job(key) WHERE key IS NOT NULL;
CREATE INDEX job_open ON job(num) WHERE open = 1;
CREATE INDEX job_listed ON job(num) WHERE dismissed = 0;
CREATE INDEX run_live ON run(handle) WHERE live = 1;
CREATE INDEX run_ended ON run(ended, handle) WHERE live = 0;
CREATE INDEX approval_open ON approval(num) WHERE over = 0;
