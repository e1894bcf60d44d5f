-- A ledger as the first version of the tables had it, with something in every one of them.
PRAGMA application_id = 1431063623;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE capacities (
        name TEXT PRIMARY KEY,
        revision INTEGER NOT NULL REFERENCES journal (revision),
        capacity TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "capacities" VALUES('drive/a/d1',1,'{"name":"drive/a/d1","offers":{"ullage.dev/volume-space":100663296,"ullage.dev/whole-drive":1},"disk":{"name":"d1","node":"a","storageClass":"HDD","sizeBytes":104857600}}');
INSERT INTO "capacities" VALUES('group/a/vg',1,'{"name":"group/a/vg","offers":{"ullage.dev/volume-space":100663296},"disk":{"name":"vg","node":"a","storageClass":"HDDLVG","sizeBytes":100663296}}');
INSERT INTO "capacities" VALUES('node/a',1,'{"name":"node/a","offers":{"cpu":4000,"memory":8589934592}}');
INSERT INTO "capacities" VALUES('quota/team',1,'{"name":"quota/team","offers":{"cpu":2000},"unbounded":["memory"]}');
CREATE TABLE entries (
        place INTEGER PRIMARY KEY,
        entry TEXT NOT NULL
    ) STRICT;
INSERT INTO "entries" VALUES(50331648,'["r2","v1","group/a/vg","other",{"ullage.dev/volume-space":12582912},"RESERVED",false,120,900,null,"",""]');
INSERT INTO "entries" VALUES(67108864,'["r3","v1","","other",{"ullage.dev/volume-space":12582912},"WAITING",false,130,900,1,"r2",""]');
INSERT INTO "entries" VALUES(83886080,'["r1","web","node/a","team",{"cpu":1000,"memory":1073741824},"BOUND",false,110,null,null,"",""]');
INSERT INTO "entries" VALUES(83886081,'["r1","web","quota/team","team",{"cpu":1000},"BOUND",false,110,null,null,"",""]');
CREATE TABLE journal (
        revision INTEGER PRIMARY KEY,
        at_seconds INTEGER NOT NULL,
        key TEXT NOT NULL,
        command TEXT NOT NULL,
        decision TEXT NOT NULL,
        hash BLOB NOT NULL CHECK (length(hash) = 32)
    ) STRICT;
INSERT INTO "journal" VALUES(1,100,'','{"command":"supply","capacities":[{"name":"node/a","offers":{"cpu":4000,"memory":8589934592}},{"name":"quota/team","offers":{"cpu":2000},"unbounded":["memory"]},{"name":"drive/a/d1","offers":{"ullage.dev/volume-space":100663296,"ullage.dev/whole-drive":1},"disk":{"name":"d1","node":"a","storageClass":"HDD","sizeBytes":104857600}},{"name":"group/a/vg","offers":{"ullage.dev/volume-space":100663296},"disk":{"name":"vg","node":"a","storageClass":"HDDLVG","sizeBytes":100663296}}]}','{"accepted":true,"capacities":[{"name":"node/a","offers":{"cpu":4000,"memory":8589934592}},{"name":"quota/team","offers":{"cpu":2000},"unbounded":["memory"]},{"name":"drive/a/d1","offers":{"ullage.dev/volume-space":100663296,"ullage.dev/whole-drive":1},"disk":{"name":"d1","node":"a","storageClass":"HDD","sizeBytes":104857600}},{"name":"group/a/vg","offers":{"ullage.dev/volume-space":100663296},"disk":{"name":"vg","node":"a","storageClass":"HDDLVG","sizeBytes":100663296}}]}',X'ABC29A3AA24BA86391BA74C72189A257A495BA4463E04A7362BBE1E93DD8194E');
INSERT INTO "journal" VALUES(2,110,'first','{"command":"reserve","reservation":"r1","owner":"team","expiresSeconds":1000,"holds":[{"request":"web","capacity":"node/a","resources":{"cpu":1000,"memory":1073741824}},{"request":"web","capacity":"quota/team","resources":{"cpu":1000}}]}','{"accepted":true,"changed":[{"reservation":"r1","request":"web","capacity":"node/a","owner":"team","resources":{"cpu":1000,"memory":1073741824},"state":"RESERVED","createdSeconds":110,"expiresSeconds":1000},{"reservation":"r1","request":"web","capacity":"quota/team","owner":"team","resources":{"cpu":1000},"state":"RESERVED","createdSeconds":110,"expiresSeconds":1000}]}',X'655FA6FCA630B65A32DB9D391B249EF24A4B6CC8B05D7B230E5B3EE3DD3B7E3F');
INSERT INTO "journal" VALUES(3,120,'','{"command":"reserve","reservation":"r2","owner":"other","expiresSeconds":900,"nodes":["a"],"volumes":[{"name":"v1","storageClass":"HDDLVG","sizeBytes":10485760}],"mode":"compat"}','{"accepted":true,"changed":[{"reservation":"r2","request":"v1","capacity":"group/a/vg","owner":"other","resources":{"ullage.dev/volume-space":12582912},"state":"RESERVED","createdSeconds":120,"expiresSeconds":900}]}',X'DC39BC9F5222A6DD3A0C535EEC7F0A27A58FC21BC179D41BAA683E39D9C9C88E');
INSERT INTO "journal" VALUES(4,130,'','{"command":"reserve","reservation":"r3","owner":"other","expiresSeconds":900,"nodes":["a"],"volumes":[{"name":"v1","storageClass":"HDDLVG","sizeBytes":10485760}],"mode":"compat"}','{"accepted":true,"changed":[{"reservation":"r3","request":"v1","capacity":"","owner":"other","resources":{"ullage.dev/volume-space":12582912},"state":"WAITING","createdSeconds":130,"expiresSeconds":900,"queuePosition":1,"blockedBy":"r2"}],"waiting":[{"command":"reserve","reservation":"r3","owner":"other","expiresSeconds":900,"nodes":["a"],"volumes":[{"name":"v1","storageClass":"HDDLVG","sizeBytes":10485760}],"mode":"compat"}]}',X'E9D107E52088E52DEDF4168DB10CF32585D5DDC1B8E78D4D5108E42ACC7C4EA5');
INSERT INTO "journal" VALUES(5,140,'','{"command":"bind","reservation":"r1"}','{"accepted":true,"changed":[{"reservation":"r1","request":"web","capacity":"node/a","owner":"team","resources":{"cpu":1000,"memory":1073741824},"state":"BOUND","createdSeconds":110},{"reservation":"r1","request":"web","capacity":"quota/team","owner":"team","resources":{"cpu":1000},"state":"BOUND","createdSeconds":110}]}',X'C13EF2302D142841EB2F417484ECA5B5221619B6B94A2F91EB1D57E453E7F3E4');
INSERT INTO "journal" VALUES(6,151,'','{"command":"reserve","reservation":"r5","owner":"team","expiresSeconds":160,"holds":[{"request":"web","capacity":"node/a","resources":{"cpu":500}}]}','{"accepted":true,"changed":[{"reservation":"r5","request":"web","capacity":"node/a","owner":"team","resources":{"cpu":500},"state":"RESERVED","createdSeconds":151,"expiresSeconds":160}]}',X'0F0B9CFC7EEED51443F2CE712E0C4D715EB279139574BE7E1EA4BD33C4ECA11B');
INSERT INTO "journal" VALUES(7,200,'','{"command":"expire"}','{"accepted":true,"changed":[{"reservation":"r5","request":"web","capacity":"node/a","owner":"team","resources":{"cpu":500},"state":"EXPIRED","createdSeconds":151,"expiresSeconds":160}]}',X'42BA6BEF22029D67C750719BF04DFB15C288A2863AE7770F5DAF7645406110A3');
CREATE TABLE waiting (
        position INTEGER PRIMARY KEY,
        reservation TEXT NOT NULL UNIQUE,
        command TEXT NOT NULL
    ) STRICT;
INSERT INTO "waiting" VALUES(1,'r3','{"command":"reserve","reservation":"r3","owner":"other","expiresSeconds":900,"nodes":["a"],"volumes":[{"name":"v1","storageClass":"HDDLVG","sizeBytes":10485760}],"mode":"compat"}');
CREATE UNIQUE INDEX journal_key ON journal (key) WHERE key <> '';
CREATE TRIGGER journal_has_no_gaps BEFORE INSERT ON journal
        WHEN new.revision <> (SELECT coalesce(max(revision), 0) + 1 FROM journal)
        BEGIN SELECT raise(ABORT, 'the journal has no gaps'); END;
CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
        BEGIN SELECT raise(ABORT, 'the journal is only appended to'); END;
CREATE TRIGGER journal_is_not_shortened BEFORE DELETE ON journal
        BEGIN SELECT raise(ABORT, 'the journal is only appended to'); END;
COMMIT;
