PRAGMA user_version=2;
CREATE TABLE approval (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, over INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE conversation (id TEXT PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "conversation" VALUES('demo-1','workbench-dd7c0c282c49221a','{"id":"demo-1","session":"workbench-dd7c0c282c49221a","agent":"demo","cwd":"/w","vendor":"74654cc4-83a6-44a0-8f84-49fadb738604","turns":1,"mode":"on-risk","rev":4294967313}');
INSERT INTO "conversation" VALUES('demo-2','workbench-dd7c0c282c49221a','{"id":"demo-2","session":"workbench-dd7c0c282c49221a","agent":"demo","cwd":"/w","vendor":"a75b60d9-1400-41a7-9513-506ccdaf1446","turns":1,"mode":"on-risk","rev":4294967335}');
INSERT INTO "conversation" VALUES('demo-3','workbench-dd7c0c282c49221a','{"id":"demo-3","session":"workbench-dd7c0c282c49221a","agent":"demo","cwd":"/w","vendor":"fae10504-861b-49cc-8023-fa63a8b59508","turns":1,"mode":"on-risk","rev":4294967350}');
CREATE TABLE job (
	num INTEGER PRIMARY KEY, session TEXT NOT NULL, conversation TEXT NOT NULL, key TEXT,
	open INTEGER NOT NULL, dismissed INTEGER NOT NULL, body TEXT NOT NULL);
INSERT INTO "job" VALUES(1,'workbench-dd7c0c282c49221a','demo-1','dd19949960da823b3ba4c2aa32917a3f',0,0,'{"session":"workbench-dd7c0c282c49221a","job":"job-1","agent":"demo","task":"@@say:hello","workspace":"/w","cwd":"/w","state":"completed","started_by":"owner","conversation":"demo-1","run":"demo-83edac","created_unix_seconds":1796061924,"updated_unix_seconds":1796061924,"rev":4294967315,"mode":"on-risk","usage":{"input_tokens":3,"output_tokens":2},"num":1,"key":"dd19949960da823b3ba4c2aa32917a3f","principal":{"who":"owner","way":"cli"},"turn":1,"finished_unix_seconds":1796061924,"evidence":[{"at_ms":1796061924175,"source":"owner","fact":"asked for by owner through cli"},{"at_ms":1796061924175,"source":"daemon","fact":"turn 1 of demo-1 was given to demo-83edac"},{"at_ms":1796061924213,"source":"process","fact":"process 18764 was started as demo-83edac"},{"at_ms":1796061924218,"source":"agent","fact":"the agent took the prompt"},{"at_ms":1796061924220,"source":"agent","fact":"it completed"}],"home":"229e1dfe-0b70-4906-ba67-181dbbd42266","machine":"local","assigned":1}');
INSERT INTO "job" VALUES(2,'workbench-dd7c0c282c49221a','demo-2','e74b625b27a3d03515d9f81b45ae9738',0,0,'{"session":"workbench-dd7c0c282c49221a","job":"job-2","agent":"demo","task":"@@say:second|tool:ls|say:done","workspace":"/w","cwd":"/w","state":"completed","started_by":"owner","conversation":"demo-2","run":"demo-222525","created_unix_seconds":1796061924,"updated_unix_seconds":1796061924,"rev":4294967337,"mode":"on-risk","usage":{"input_tokens":8,"output_tokens":3},"num":2,"key":"e74b625b27a3d03515d9f81b45ae9738","principal":{"who":"owner","way":"cli"},"turn":1,"finished_unix_seconds":1796061924,"evidence":[{"at_ms":1796061924246,"source":"owner","fact":"asked for by owner through cli"},{"at_ms":1796061924246,"source":"daemon","fact":"turn 1 of demo-2 was given to demo-222525"},{"at_ms":1796061924284,"source":"process","fact":"process 18785 was started as demo-222525"},{"at_ms":1796061924288,"source":"agent","fact":"the agent took the prompt"},{"at_ms":1796061924291,"source":"agent","fact":"it completed"}],"home":"229e1dfe-0b70-4906-ba67-181dbbd42266","machine":"local","assigned":1}');
INSERT INTO "job" VALUES(3,'workbench-dd7c0c282c49221a','demo-3','a6dbd1467a520c041a5e97b97af64ade',1,0,'{"session":"workbench-dd7c0c282c49221a","job":"job-3","agent":"demo","task":"@@say:third|sleep:60000","workspace":"/w","cwd":"/w","state":"working","detail":"third","started_by":"owner","conversation":"demo-3","run":"demo-c05c9e","created_unix_seconds":1796061924,"updated_unix_seconds":1796061924,"rev":4294967355,"mode":"on-risk","num":3,"key":"a6dbd1467a520c041a5e97b97af64ade","principal":{"who":"owner","way":"cli"},"turn":1,"evidence":[{"at_ms":1796061924316,"source":"owner","fact":"asked for by owner through cli"},{"at_ms":1796061924316,"source":"daemon","fact":"turn 1 of demo-3 was given to demo-c05c9e"},{"at_ms":1796061924354,"source":"process","fact":"process 18809 was started as demo-c05c9e"},{"at_ms":1796061924376,"source":"agent","fact":"the agent took the prompt"}],"home":"229e1dfe-0b70-4906-ba67-181dbbd42266","machine":"local","assigned":1}');
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('counters','{"job":3,"runs":3,"conversations":{"demo":3}}');
INSERT INTO "meta" VALUES('home','229e1dfe-0b70-4906-ba67-181dbbd42266');
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
INSERT INTO "run" VALUES('demo-222525','demo-2',0,1796061924,'{"handle":"demo-222525","agent":"demo","session":"workbench-dd7c0c282c49221a","transport":"cli","conversation":"demo-2","turn":1,"jobs":["job-2"],"cwd":"/w","state":"completed","started_unix_seconds":1796061924,"last_activity_unix_seconds":1796061924,"live":false,"rev":4294967347,"pos":{"frame":4,"index":10},"new_id":"a75b60d9-1400-41a7-9513-506ccdaf1446","ended_unix_seconds":1796061924}');
INSERT INTO "run" VALUES('demo-83edac','demo-1',0,1796061924,'{"handle":"demo-83edac","agent":"demo","session":"workbench-dd7c0c282c49221a","transport":"cli","conversation":"demo-1","turn":1,"jobs":["job-1"],"cwd":"/w","state":"completed","started_unix_seconds":1796061924,"last_activity_unix_seconds":1796061924,"live":false,"rev":4294967319,"pos":{"frame":4,"index":6},"new_id":"74654cc4-83a6-44a0-8f84-49fadb738604","ended_unix_seconds":1796061924}');
INSERT INTO "run" VALUES('demo-c05c9e','demo-3',1,0,'{"handle":"demo-c05c9e","agent":"demo","session":"workbench-dd7c0c282c49221a","transport":"cli","conversation":"demo-3","turn":1,"job":"job-3","jobs":["job-3"],"cwd":"/w","state":"working","detail":"third","started_unix_seconds":1796061924,"last_activity_unix_seconds":1796061924,"live":true,"rev":4294967356,"pid":18809,"pos":{"frame":4,"index":3},"new_id":"fae10504-861b-49cc-8023-fa63a8b59508"}');
CREATE TABLE session (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "session" VALUES('workbench-dd7c0c282c49221a','{"id":"workbench-dd7c0c282c49221a","label":"workbench","workspace":"/w","live":true,"state":"working","rev":4294967343,"created_unix_seconds":1796061924}');
CREATE UNIQUE INDEX job_key ON job(key) WHERE key IS NOT NULL;
CREATE INDEX job_open ON job(num) WHERE open = 1;
CREATE INDEX job_listed ON job(num) WHERE dismissed = 0;
CREATE INDEX run_live ON run(handle) WHERE live = 1;
CREATE INDEX run_ended ON run(ended, handle) WHERE live = 0;
CREATE INDEX approval_open ON approval(num) WHERE over = 0;
