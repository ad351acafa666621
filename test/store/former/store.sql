PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE "migrations" (
  migration_id integer PRIMARY KEY NOT NULL,
  created_at datetime NOT NULL DEFAULT current_timestamp,
  name VARCHAR(255) NOT NULL
);
CREATE TABLE watermarks (
    name TEXT NOT NULL PRIMARY KEY, timestamp INTEGER NOT NULL, height INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE assets (
    id TEXT NOT NULL PRIMARY KEY, symbol TEXT NOT NULL, name TEXT NOT NULL, decimals INTEGER NOT NULL,
    quantum TEXT NOT NULL, status TEXT NOT NULL, seen_at INTEGER NOT NULL, fields TEXT NOT NULL DEFAULT '', missed INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE asset_transitions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, asset TEXT NOT NULL, symbol TEXT NOT NULL, from_status TEXT, to_status TEXT NOT NULL,
    at INTEGER NOT NULL, handled INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL DEFAULT 'status', changes TEXT NOT NULL DEFAULT '[]') STRICT;
CREATE TABLE parameters (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL, seen_at INTEGER NOT NULL) STRICT;
CREATE TABLE rule_states (
    rule TEXT NOT NULL, subject TEXT NOT NULL, episode INTEGER NOT NULL, firing_since INTEGER,
    observations INTEGER NOT NULL, last_observation INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
    detail TEXT NOT NULL, reason_since INTEGER NOT NULL, decided_at INTEGER NOT NULL, clearing_since INTEGER, told_at INTEGER,
    PRIMARY KEY (rule, subject)) STRICT;
CREATE TABLE decisions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL, decision TEXT NOT NULL,
    reason TEXT, detail TEXT NOT NULL) STRICT;
CREATE TABLE intents (
    id TEXT NOT NULL PRIMARY KEY, treasury TEXT NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL,
    episode INTEGER NOT NULL, from_party TEXT NOT NULL, from_key TEXT NOT NULL, to_party TEXT NOT NULL,
    to_key TEXT NOT NULL, asset TEXT NOT NULL, asset_id TEXT NOT NULL, decimals INTEGER NOT NULL,
    amount TEXT NOT NULL CHECK (amount <> '' AND length(amount) <= 78 AND amount NOT GLOB '*[^0-9]*'), fee_max TEXT NOT NULL CHECK (fee_max <> '' AND length(fee_max) <= 78 AND fee_max NOT GLOB '*[^0-9]*'),
    state TEXT NOT NULL, detail TEXT NOT NULL, fee TEXT, settled_at INTEGER,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, submitted_by TEXT, command TEXT NOT NULL DEFAULT 'transfer', asked_at INTEGER,
    UNIQUE (treasury, rule, subject, episode)) STRICT;
CREATE TABLE attempts (
    intent_id TEXT NOT NULL REFERENCES intents (id), k INTEGER NOT NULL, chain_id TEXT NOT NULL, party TEXT NOT NULL,
    nonce TEXT NOT NULL, anchor_height INTEGER NOT NULL, anchor_hash TEXT NOT NULL, window_blocks INTEGER NOT NULL,
    input_data BLOB NOT NULL, signature TEXT NOT NULL, transfer_id TEXT NOT NULL UNIQUE,
    difficulty INTEGER NOT NULL, work_index INTEGER NOT NULL DEFAULT 0, pow_tid TEXT, pow_nonce TEXT,
    hash_bare TEXT, hash_prefixed TEXT,
    state TEXT NOT NULL, framing TEXT, sends INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL,
    next_height INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, signed_after INTEGER, window_min INTEGER, window_max INTEGER,
    PRIMARY KEY (intent_id, k), UNIQUE (party, nonce)) STRICT;
CREATE TABLE sends (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, intent_id TEXT NOT NULL, k INTEGER NOT NULL, n INTEGER NOT NULL, gateway TEXT NOT NULL,
    framing TEXT NOT NULL, first INTEGER NOT NULL, tx_hash TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER,
    outcome TEXT, code INTEGER, data TEXT, log TEXT,
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) STRICT;
CREATE TABLE evidence (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, intent_id TEXT NOT NULL, k INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
    height INTEGER, gateway TEXT NOT NULL, detail TEXT NOT NULL,
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) STRICT;
CREATE TABLE spends (
    intent_id TEXT NOT NULL, k INTEGER NOT NULL, digest TEXT NOT NULL, signature TEXT NOT NULL, from_key TEXT NOT NULL,
    to_key TEXT NOT NULL, asset_id TEXT NOT NULL, amount TEXT NOT NULL CHECK (amount <> '' AND length(amount) <= 78 AND amount NOT GLOB '*[^0-9]*'),
    spent_at INTEGER NOT NULL, signed_at INTEGER NOT NULL, ended_at INTEGER, PRIMARY KEY (intent_id, k)) STRICT;
CREATE TABLE pauses (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL, at INTEGER NOT NULL,
    until INTEGER, ended_at INTEGER) STRICT;
CREATE TABLE halts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, reason TEXT NOT NULL, detail TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER) STRICT;
CREATE TABLE framings (
    gateway TEXT NOT NULL, chain_id TEXT NOT NULL, framing TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (gateway, chain_id)) STRICT;
CREATE TABLE alerts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, dedup TEXT NOT NULL UNIQUE, severity TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
    detail TEXT NOT NULL, fields TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE deliveries (
    alert INTEGER NOT NULL REFERENCES alerts (seq), receiver TEXT NOT NULL, state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL, error TEXT, updated_at INTEGER NOT NULL,
    PRIMARY KEY (alert, receiver)) STRICT;
CREATE TABLE journal (
    seq INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL, treasury TEXT NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE transfer_cursors (
    party TEXT NOT NULL PRIMARY KEY, cursor TEXT NOT NULL, read_at INTEGER NOT NULL) STRICT;
CREATE TABLE strangers (
    id TEXT NOT NULL PRIMARY KEY, party TEXT NOT NULL, receiver TEXT NOT NULL, asset TEXT NOT NULL,
    amount TEXT NOT NULL CHECK (amount <> '' AND length(amount) <= 78 AND amount NOT GLOB '*[^0-9]*'), reference TEXT NOT NULL, status TEXT NOT NULL, timestamp INTEGER NOT NULL,
    own INTEGER NOT NULL, seen_at INTEGER NOT NULL, known_as TEXT, known_at INTEGER) STRICT;
CREATE TABLE executions (
    transfer_id TEXT NOT NULL, timestamp INTEGER NOT NULL, seen_at INTEGER NOT NULL,
    PRIMARY KEY (transfer_id, timestamp)) STRICT;
CREATE TABLE duplicates (
    intent_id TEXT NOT NULL, n INTEGER NOT NULL, detail TEXT NOT NULL, seen_at INTEGER NOT NULL, acknowledged_at INTEGER,
    PRIMARY KEY (intent_id, n)) STRICT;
CREATE TABLE watches (
    intent_id TEXT NOT NULL, k INTEGER NOT NULL, PRIMARY KEY (intent_id, k),
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) STRICT;
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, epoch INTEGER NOT NULL, until INTEGER NOT NULL) STRICT;
CREATE TABLE openings (
    timestamp INTEGER NOT NULL, asset TEXT NOT NULL, party TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    balance TEXT NOT NULL CHECK (balance <> '' AND length(balance) <= 78 AND balance NOT GLOB '*[^0-9]*'),
    PRIMARY KEY (timestamp, asset, party, market, type)) STRICT, WITHOUT ROWID;
CREATE TABLE backfills (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, since INTEGER NOT NULL, until INTEGER NOT NULL, next INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE gaps (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, since INTEGER NOT NULL, until INTEGER NOT NULL, cause TEXT NOT NULL, seen_at INTEGER NOT NULL) STRICT;
CREATE TABLE account_names (
    id INTEGER PRIMARY KEY AUTOINCREMENT, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    UNIQUE (party, asset, market, type)) STRICT;
CREATE TABLE balances (
    account INTEGER NOT NULL PRIMARY KEY, balance TEXT NOT NULL CHECK (balance <> '' AND length(balance) <= 78 AND balance NOT GLOB '*[^0-9]*'), timestamp INTEGER NOT NULL) STRICT;
CREATE TABLE changes (
    timestamp INTEGER NOT NULL, account INTEGER NOT NULL, balance TEXT NOT NULL CHECK (balance <> '' AND length(balance) <= 78 AND balance NOT GLOB '*[^0-9]*'),
    PRIMARY KEY (timestamp, account)) STRICT, WITHOUT ROWID;
CREATE TABLE drifts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    stored TEXT NOT NULL CHECK (stored <> '' AND length(stored) <= 78 AND stored NOT GLOB '*[^0-9]*'), reported TEXT NOT NULL CHECK (reported <> '' AND length(reported) <= 78 AND reported NOT GLOB '*[^0-9]*'),
    at INTEGER NOT NULL, ended_at INTEGER) STRICT;
CREATE TABLE asks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, rule TEXT NOT NULL, subject TEXT NOT NULL, episode INTEGER NOT NULL, from_party TEXT NOT NULL,
    to_party TEXT NOT NULL, asset TEXT NOT NULL, amount TEXT NOT NULL CHECK (amount <> '' AND length(amount) <= 78 AND amount NOT GLOB '*[^0-9]*'), decimals INTEGER NOT NULL,
    detail TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER) STRICT;
CREATE TABLE approvals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, operator TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    signature TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE (key, text)) STRICT;
CREATE TABLE terms (
    seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, terms TEXT NOT NULL, alerts TEXT NOT NULL, rules TEXT NOT NULL,
    at INTEGER NOT NULL) STRICT;
CREATE TABLE terms_waits (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL, weaker TEXT NOT NULL, since INTEGER NOT NULL, block_since INTEGER,
    told_at INTEGER, objected_by TEXT, objection TEXT, objected_at INTEGER, ended_at INTEGER) STRICT;
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (1,'2026-11-23 07:31:21','observations');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (2,'2026-11-23 07:31:21','rules');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (3,'2026-11-23 07:31:21','outbox');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (4,'2026-11-23 07:31:21','guards');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (5,'2026-11-23 07:31:21','rest');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (6,'2026-11-23 07:31:21','findings');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (7,'2026-11-23 07:31:21','leases');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (8,'2026-11-23 07:31:21','subjects');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (9,'2026-11-23 07:31:21','past');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (10,'2026-11-23 07:31:21','account_ids');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (11,'2026-11-23 07:31:21','asset_events');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (12,'2026-11-23 07:31:21','drifts');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (13,'2026-11-23 07:31:21','asks');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (14,'2026-11-23 07:31:21','approvals');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (15,'2026-11-23 07:31:21','settlements');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (16,'2026-11-23 07:31:21','decisions_by_time');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (17,'2026-11-23 07:31:21','alerting');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (18,'2026-11-23 07:31:21','commands');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (19,'2026-11-23 07:31:21','changed_payments');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (20,'2026-11-23 07:31:21','spend_ends');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (21,'2026-11-23 07:31:21','counted_keys');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (22,'2026-11-23 07:31:21','terms');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (23,'2026-11-23 07:31:21','signed_after');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (24,'2026-11-23 07:31:21','asked_anew');
INSERT INTO "migrations" ("migration_id","created_at","name") VALUES (25,'2026-11-23 07:31:21','attempt_windows');
INSERT INTO "watermarks" ("name","timestamp","height","updated_at") VALUES ('balances',1800000015000857000,15,1800000015000);
INSERT INTO "watermarks" ("name","timestamp","height","updated_at") VALUES ('base',1800000001000600000,1,1800000001000);
INSERT INTO "assets" ("id","symbol","name","decimals","quantum","status","seen_at","fields","missed") VALUES ('bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','USDT','Tether USD',6,'1000000','enabled',1800000000000,'{"name":"Tether USD","symbol":"USDT","decimals":"6","quantum":"1000000","source":"builtin","maxFaucetAmountMint":"10000000000"}',0);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('network.transaction.defaultgas','1',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('network.transactions.maxgasperblock','500000',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.pow.difficulty','3',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.pow.hashFunction','sha3_24_rounds',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.pow.increaseDifficulty','1',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.pow.numberOfPastBlocks','20',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.pow.numberOfTxPerBlock','2',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.protection.maxUserTransfersPerEpoch','20',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('spam.protection.minimumWithdrawalQuantumMultiple','10',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('transfer.fee.factor','0.001',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('transfer.fee.maxQuantumAmount','1',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('transfer.feeDiscountDecayFraction','0.8',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('transfer.feeDiscountMinimumTrackedAmount','0.01',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('transfer.minTransferQuantumMultiple','0.1',1800000001000);
INSERT INTO "parameters" ("key","value","seen_at") VALUES ('validators.epoch.length','24h',1800000001000);
INSERT INTO "rule_states" ("rule","subject","episode","firing_since","observations","last_observation","state","reason","detail","reason_since","decided_at","clearing_since","told_at") VALUES ('keep-bob','bob/USDT',1,NULL,0,1800000005000099000,'inactive','in_band','200.00 is not below 100',1800000005000,1800000005000,NULL,NULL);
INSERT INTO "rule_states" ("rule","subject","episode","firing_since","observations","last_observation","state","reason","detail","reason_since","decided_at","clearing_since","told_at") VALUES ('keep-eve','eve/USDT',1,NULL,0,1800000012000329000,'inactive','in_band','200.00 is not below 100',1800000012000,1800000012000,NULL,NULL);
INSERT INTO "rule_states" ("rule","subject","episode","firing_since","observations","last_observation","state","reason","detail","reason_since","decided_at","clearing_since","told_at") VALUES ('keep-gus','gus/USDT',1,1800000014000,2,1800000015000857000,'acting',NULL,'49.90 is below 100',1800000015000,1800000015000,NULL,NULL);
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (1,1800000001000,'keep-bob','bob/USDT','hold','pending','50.00 is below 100; must be seen twice');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (2,1800000001000,'keep-eve','eve/USDT','hold','pending','50.00 is below 100; must be seen twice');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (3,1800000001000,'keep-gus','gus/USDT','hold','in_band','150.00 is not below 100');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (4,1800000002000,'keep-bob','bob/USDT','act',NULL,'50.00 is below 100');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (5,1800000002000,'keep-eve','eve/USDT','act',NULL,'50.00 is below 100');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (6,1800000003000,'keep-bob','bob/USDT','hold','in_flight','150.00 USDT is under way (in_flight)');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (7,1800000003000,'keep-eve','eve/USDT','hold','awaiting_approval','150.00 USDT waits for people');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (8,1800000005000,'keep-bob','bob/USDT','hold','in_band','200.00 is not below 100');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (9,1800000006000,'keep-eve','eve/USDT','hold','in_flight','150.00 USDT is under way (reserved)');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (10,1800000012000,'keep-eve','eve/USDT','hold','in_band','200.00 is not below 100');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (11,1800000014000,'keep-gus','gus/USDT','hold','pending','49.90 is below 100; must be seen twice');
INSERT INTO "decisions" ("seq","at","rule","subject","decision","reason","detail") VALUES (12,1800000015000,'keep-gus','gus/USDT','act',NULL,'49.90 is below 100');
INSERT INTO "intents" ("id","treasury","rule","subject","episode","from_party","from_key","to_party","to_key","asset","asset_id","decimals","amount","fee_max","state","detail","fee","settled_at","created_at","updated_at","submitted_by","command","asked_at") VALUES ('7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','former','keep-bob','bob/USDT',1,'alice','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','bob','533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7','USDT','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba',6,'150000000','750000','confirmed','150.00 USDT alice -> bob, fee 0.15, found by transfer id','150000',1800000004000673000,1800000002000,1800000009000,NULL,'transfer',NULL);
INSERT INTO "intents" ("id","treasury","rule","subject","episode","from_party","from_key","to_party","to_key","asset","asset_id","decimals","amount","fee_max","state","detail","fee","settled_at","created_at","updated_at","submitted_by","command","asked_at") VALUES ('6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','former','keep-eve','eve/USDT',1,'alice','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','eve','9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1','USDT','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba',6,'150000000','750000','in_flight','signed on block 11',NULL,NULL,1800000002000,1800000010000,NULL,'transfer',NULL);
INSERT INTO "intents" ("id","treasury","rule","subject","episode","from_party","from_key","to_party","to_key","asset","asset_id","decimals","amount","fee_max","state","detail","fee","settled_at","created_at","updated_at","submitted_by","command","asked_at") VALUES ('fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','former','keep-gus','gus/USDT',1,'alice','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','gus','ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d','USDT','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba',6,'150100000','750500','unknown','it may or may not be in the network; the same bytes are sent again',NULL,NULL,1800000015000,1800000015000,NULL,'transfer',NULL);
INSERT INTO "attempts" ("intent_id","k","chain_id","party","nonce","anchor_height","anchor_hash","window_blocks","input_data","signature","transfer_id","difficulty","work_index","pow_tid","pow_nonce","hash_bare","hash_prefixed","state","framing","sends","next_at","next_height","created_at","updated_at","signed_after","window_min","window_max") VALUES ('7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,'sandbox-1','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','1470710800447894759',3,'ceb3152707168a67873e0328d6bdfaec49f91b72a0dc42b04acf6afb73a5d70f',20,x'08e7e99be0e4f5c0b4141003a23fb601080412403533336462363233626663356463386339313034353632666432323930666235663438366238643030316461646537636235336564663733373032363037623718042240626631653838643139646234623363613064316435626462373337313861303136383662313863663733316361323661646564663363386238333830326262612a09313530303030303030321e63312e66366334666265342e382e61636566363661313132323536646433aa0600','0430b4ca181d9f5a76b2ceab398e4c9f7c0b7fcb1effd3b9126ba19898162b795f47f5d1d312e9835a32d8b4bfec0523c21062c334eedc262860058040558609','293b24642bc6455423a2f48dcbf32a3654c520b982e8bffd79f456ea1e9f24f9',3,0,'2a2ccc903915be663506e8ac747a3a29185de23a4a0e1b76a6da253e94249b57','4','37a6eac89e7e8f2936ba25876caa239b6307ab0995652a247b16b3c03f1b0eb8','a6d398f288c8491eeef1c2660cc570e882b49df16c11cb778f1067215cc35824','confirmed','bare',2,1800000003000,6,1800000002000,1800000009000,1800000002000842000,NULL,20);
INSERT INTO "attempts" ("intent_id","k","chain_id","party","nonce","anchor_height","anchor_hash","window_blocks","input_data","signature","transfer_id","difficulty","work_index","pow_tid","pow_nonce","hash_bare","hash_prefixed","state","framing","sends","next_at","next_height","created_at","updated_at","signed_after","window_min","window_max") VALUES ('6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37',1,'sandbox-1','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','1248773357526373144',11,'19739db0d4cb7e34a6e9d60213a30ffff6fecf368e03b08f86cd573f11cd2b2c',20,x'0898a6d3e28998a2aa11100ba23fb601080412403933353763343931626265663735663730313937396438396661346663616665343762363033346635383135373139373165626464363135616433383063663118042240626631653838643139646234623363613064316435626462373337313861303136383662313863663733316361323661646564663363386238333830326262612a09313530303030303030321e63312e66366334666265342e712e30633234373763646165363464663739aa0600','395526fc3bfd2902ffb5830ff99aedacb9094f771800c9fbceafc243232fb831b83273d826f5e8dec5e1be7d7bb1bf75b2d87a55525e21b7244aae4f35f50c02','d6db4ecba9392deb54cb378fbfa07ac735b1fec19814de6f9220b0841e0ddcca',3,0,'6d5d6ea4687e0f356eb8eec6501b80ac491d371766e0bdeb11e4a29065a57404','16','a60e38c48b665abb3ca6fb7a456204c88e82eb9a13edcb32a7bc4440626023b4','141520cf39e06267f640d5c6274146949f2e896249b61c87a8f0d9a0e177c923','accepted','bare',1,1800000010000,13,1800000010000,1800000010000,1800000010000007000,NULL,20);
INSERT INTO "attempts" ("intent_id","k","chain_id","party","nonce","anchor_height","anchor_hash","window_blocks","input_data","signature","transfer_id","difficulty","work_index","pow_tid","pow_nonce","hash_bare","hash_prefixed","state","framing","sends","next_at","next_height","created_at","updated_at","signed_after","window_min","window_max") VALUES ('fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0',1,'sandbox-1','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','7990823700777345011',16,'db74ae7aaf31e8b874ceace74dc57026a8e2499c5dae93efd5a623426bd3ba5b',20,x'08f3bfec9c99fac6f26e1010a23fb701080412406261393532663264353930376337353562646462656437623230323466363235396261363835343566623938396230613463343432653134393666623366396418042240626631653838643139646234623363613064316435626462373337313861303136383662313863663733316361323661646564663363386238333830326262612a09313530313030303030321f63312e66366334666265342e31312e39333439313532623830633830306535aa0600','d515e55d4a26c502955955bbee59549f2b65df7096196c952cbe1ba80ebdc882a7d7caf7e02c79390ac08a16ecd80af1188d018568de5111c64d02788446f30d','0e1d819bdece45d30f79983194bd271d25d024a46a970720ab190f7e45461660',3,0,'41f83f79540fc540410d046711a5c2e8224093f4c3405156e6a054a9f297744c','3','161cc0750730f764e52047c57fd94fc537e73e58cbb75c51fce88396788819af','982f72787334ece62eabd7eadedb95415b4ce62acbdbc0cf9dc89edf8ec27174','unknown','bare',1,1800000015002,0,1800000015000,1800000015000,1800000015000857000,NULL,20);
INSERT INTO "sends" ("seq","intent_id","k","n","gateway","framing","first","tx_hash","started_at","ended_at","outcome","code","data","log") VALUES (1,'7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,1,'only','prefixed',1,'a6d398f288c8491eeef1c2660cc570e882b49df16c11cb778f1067215cc35824',1800000002000,1800000002000,'framing',60,'tx.input_data (couldn''t unmarshall input data: proto: cannot parse invalid wire-format data)','');
INSERT INTO "sends" ("seq","intent_id","k","n","gateway","framing","first","tx_hash","started_at","ended_at","outcome","code","data","log") VALUES (2,'7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,2,'only','bare',1,'37a6eac89e7e8f2936ba25876caa239b6307ab0995652a247b16b3c03f1b0eb8',1800000003000,1800000003000,'accepted',0,'','');
INSERT INTO "sends" ("seq","intent_id","k","n","gateway","framing","first","tx_hash","started_at","ended_at","outcome","code","data","log") VALUES (3,'6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37',1,1,'only','bare',1,'a60e38c48b665abb3ca6fb7a456204c88e82eb9a13edcb32a7bc4440626023b4',1800000010000,1800000010000,'accepted',0,'','');
INSERT INTO "sends" ("seq","intent_id","k","n","gateway","framing","first","tx_hash","started_at","ended_at","outcome","code","data","log") VALUES (4,'fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0',1,1,'only','bare',1,'161cc0750730f764e52047c57fd94fc537e73e58cbb75c51fce88396788819af',1800000015000,1800000015000,'ambiguous',NULL,'only: submit: Ambiguous: UND_ERR_SOCKET: other side closed','');
INSERT INTO "evidence" ("seq","intent_id","k","kind","at","height","gateway","detail") VALUES (1,'7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,'refused',1800000002000,NULL,'only','tx.input_data (couldn''t unmarshall input data: proto: cannot parse invalid wire-format data)');
INSERT INTO "evidence" ("seq","intent_id","k","kind","at","height","gateway","detail") VALUES (2,'7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,'accepted',1800000003000,NULL,'only','');
INSERT INTO "evidence" ("seq","intent_id","k","kind","at","height","gateway","detail") VALUES (3,'7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,'executed',1800000009000,NULL,'only','transfer by id: done');
INSERT INTO "evidence" ("seq","intent_id","k","kind","at","height","gateway","detail") VALUES (4,'6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37',1,'accepted',1800000010000,NULL,'only','');
INSERT INTO "evidence" ("seq","intent_id","k","kind","at","height","gateway","detail") VALUES (5,'fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0',1,'silent',1800000015000,NULL,'only','only: submit: Ambiguous: UND_ERR_SOCKET: other side closed');
INSERT INTO "spends" ("intent_id","k","digest","signature","from_key","to_key","asset_id","amount","spent_at","signed_at","ended_at") VALUES ('7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1,'2cf43ddd328616c6109dafeba8b3d5d021fdcc462d9710ab12555d0cdd2b4c43','0430b4ca181d9f5a76b2ceab398e4c9f7c0b7fcb1effd3b9126ba19898162b795f47f5d1d312e9835a32d8b4bfec0523c21062c334eedc262860058040558609','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','150000000',1800000002000,1800000002000,1800000004001);
INSERT INTO "spends" ("intent_id","k","digest","signature","from_key","to_key","asset_id","amount","spent_at","signed_at","ended_at") VALUES ('6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37',1,'d2e01770508b1af1d28725de47758c83aeac450d4bfbe5f107621ca6b3a4cbc1','395526fc3bfd2902ffb5830ff99aedacb9094f771800c9fbceafc243232fb831b83273d826f5e8dec5e1be7d7bb1bf75b2d87a55525e21b7244aae4f35f50c02','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','150000000',1800000010000,1800000010000,NULL);
INSERT INTO "spends" ("intent_id","k","digest","signature","from_key","to_key","asset_id","amount","spent_at","signed_at","ended_at") VALUES ('fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0',1,'9c52ae899fa9b008d0f3bc17ad50caf4856272f6289bba7962c98ad6e6c9c01c','d515e55d4a26c502955955bbee59549f2b65df7096196c952cbe1ba80ebdc882a7d7caf7e02c79390ac08a16ecd80af1188d018568de5111c64d02788446f30d','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','150100000',1800000015000,1800000015000,NULL);
INSERT INTO "framings" ("gateway","chain_id","framing","at") VALUES ('','sandbox-1','bare',1800000009000);
INSERT INTO "alerts" ("seq","dedup","severity","kind","subject","detail","fields","at") VALUES (1,'approval/6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','ticket','approval','c8tx','keep-eve: 150.00 USDT alice -> eve waits for 2 of ana, ben, chloe, until 2027-01-15 12:00 UTC; "approve c8txwzcf"','{"intent":"6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37"}',1800000002000);
INSERT INTO "alerts" ("seq","dedup","severity","kind","subject","detail","fields","at") VALUES (2,'approved/6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','info','approval','c8tx','keep-eve: 150.00 USDT alice -> eve is approved by ana and ben','{"intent":"6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37"}',1800000005000);
INSERT INTO "deliveries" ("alert","receiver","state","tries","next_at","error","updated_at") VALUES (1,'log','pending',0,1800000002000,NULL,1800000002000);
INSERT INTO "deliveries" ("alert","receiver","state","tries","next_at","error","updated_at") VALUES (2,'log','pending',0,1800000005000,NULL,1800000005000);
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (1,1800000000000,'former','config','former','{"detail":"the first configuration","after":"8c4c5938e85b019e6b60de2fee60b595b04b6a24977a7fa5ea53d360778aff05","weaker":[],"policy":"7d8e41f7","mode":"live"}','0000000000000000000000000000000000000000000000000000000000000000','77f06a62fe7bd7ef89f0f59fc6b99b90df73c435508a92026f0bc60e7af1df06');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (2,1800000000000,'former','started','former','{"version":"0.1.0","mode":"live","policy":"7d8e41f7","at":1800000000000}','77f06a62fe7bd7ef89f0f59fc6b99b90df73c435508a92026f0bc60e7af1df06','cf17b33b2d7ad49e7ba2e3b95b335b486f39fc40e1bf8294eee6345faeb79b03');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (3,1800000002000,'former','intent','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"state":"proposed","rule":"keep-bob","about":"bob/USDT","episode":1,"from":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","to":"533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7","asset":"bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","amount":"150000000","fromName":"alice","toName":"bob","symbol":"USDT","decimals":6,"feeMax":"750000","detail":"50.00 is below 100"}','cf17b33b2d7ad49e7ba2e3b95b335b486f39fc40e1bf8294eee6345faeb79b03','65b0468948d43f0dff51b134d7412de181300d6e3ca211d7b37e4c30fc397d2d');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (4,1800000002000,'former','decision','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"rule":"keep-bob","sentence":"50.00 is below 100","policy":"7d8e41f7","line":1,"perTransfer":"200000000","per24h":"1000000000","transfersPer24h":8}','65b0468948d43f0dff51b134d7412de181300d6e3ca211d7b37e4c30fc397d2d','14935fd3be236f3a1851823fe8ba0f586de82f6a6266034284b74fe8a387c0cd');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (5,1800000002000,'former','intent','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"state":"proposed","rule":"keep-eve","about":"eve/USDT","episode":1,"from":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","to":"9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1","asset":"bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","amount":"150000000","fromName":"alice","toName":"eve","symbol":"USDT","decimals":6,"feeMax":"750000","detail":"50.00 is below 100"}','14935fd3be236f3a1851823fe8ba0f586de82f6a6266034284b74fe8a387c0cd','a5d8a9c3f19295e5e68d6c24b461bb2b2da1b01785820a423a4616bb7f4618cb');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (6,1800000002000,'former','decision','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"rule":"keep-eve","sentence":"50.00 is below 100","policy":"7d8e41f7","line":2,"perTransfer":"200000000","per24h":"1000000000","transfersPer24h":8,"approval":"desk"}','a5d8a9c3f19295e5e68d6c24b461bb2b2da1b01785820a423a4616bb7f4618cb','727ce7111157eda4807b9053e729d7d74be5bd0da04aef8e6d2037475c3c848a');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (7,1800000002000,'former','intent','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"state":"awaiting_approval","detail":"waits for 2 of ana, ben, chloe, until 2027-01-15 12:00 UTC"}','727ce7111157eda4807b9053e729d7d74be5bd0da04aef8e6d2037475c3c848a','00c600b685c0fb5ea99dc5e42f83b8c61068496bef12407232fc50bf8f3b9e66');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (8,1800000002000,'former','intent','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"state":"reserved","detail":"permitted; money and limits are set aside"}','00c600b685c0fb5ea99dc5e42f83b8c61068496bef12407232fc50bf8f3b9e66','acef66a112256dd3c2e3b6c4ed6766814450601ee9de56f96a846eea94e1ddc3');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (9,1800000002000,'former','signature','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"digest":"2cf43ddd328616c6109dafeba8b3d5d021fdcc462d9710ab12555d0cdd2b4c43","signature":"0430b4ca181d9f5a76b2ceab398e4c9f7c0b7fcb1effd3b9126ba19898162b795f47f5d1d312e9835a32d8b4bfec0523c21062c334eedc262860058040558609","amount":"150000000","policy":"7d8e41f7","line":1}','acef66a112256dd3c2e3b6c4ed6766814450601ee9de56f96a846eea94e1ddc3','a3e29c7ef414da0ae626b84b7a7e5d07c8d1235bb249aee9967126d4b3a8e763');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (10,1800000002000,'former','attempt','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"state":"signed","chainId":"sandbox-1","party":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","anchorHeight":"3","anchorHash":"ceb3152707168a67873e0328d6bdfaec49f91b72a0dc42b04acf6afb73a5d70f","difficulty":3,"windowBlocks":20,"nonce":"1470710800447894759","transferId":"293b24642bc6455423a2f48dcbf32a3654c520b982e8bffd79f456ea1e9f24f9","inputData":"08e7e99be0e4f5c0b4141003a23fb601080412403533336462363233626663356463386339313034353632666432323930666235663438366238643030316461646537636235336564663733373032363037623718042240626631653838643139646234623363613064316435626462373337313861303136383662313863663733316361323661646564663363386238333830326262612a09313530303030303030321e63312e66366334666265342e382e61636566363661313132323536646433aa0600","signature":"0430b4ca181d9f5a76b2ceab398e4c9f7c0b7fcb1effd3b9126ba19898162b795f47f5d1d312e9835a32d8b4bfec0523c21062c334eedc262860058040558609"}','a3e29c7ef414da0ae626b84b7a7e5d07c8d1235bb249aee9967126d4b3a8e763','a493fe2c3870f87c2d7c7f80fe2cacb85d76697de09946da77e6358427e22e0a');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (11,1800000002000,'former','intent','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"state":"in_flight","detail":"signed on block 3"}','a493fe2c3870f87c2d7c7f80fe2cacb85d76697de09946da77e6358427e22e0a','c5198c669c67bbd5d15d218e261ba66c2d18580d8e06990bb13aeec66e2ebde7');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (12,1800000002000,'former','work','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"tid":"2a2ccc903915be663506e8ac747a3a29185de23a4a0e1b76a6da253e94249b57","nonce":"4","hashBare":"37a6eac89e7e8f2936ba25876caa239b6307ab0995652a247b16b3c03f1b0eb8","hashPrefixed":"a6d398f288c8491eeef1c2660cc570e882b49df16c11cb778f1067215cc35824"}','c5198c669c67bbd5d15d218e261ba66c2d18580d8e06990bb13aeec66e2ebde7','71b2102e78e7d975ed13e8a8e4ad09502d825863734eb08cfcf79aad1559ad60');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (13,1800000002000,'former','attempt','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"state":"sending","n":1,"gateway":"only","framing":"prefixed","txHash":"a6d398f288c8491eeef1c2660cc570e882b49df16c11cb778f1067215cc35824"}','71b2102e78e7d975ed13e8a8e4ad09502d825863734eb08cfcf79aad1559ad60','d47201913aacf971fcc50644bb6893ac7d637b30c505ee5926b1858b0747a2d3');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (14,1800000002000,'former','send','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"n":1,"gateway":"only","outcome":"framing","code":60,"data":"tx.input_data (couldn''t unmarshall input data: proto: cannot parse invalid wire-format data)"}','d47201913aacf971fcc50644bb6893ac7d637b30c505ee5926b1858b0747a2d3','bab28b3934a5bd3c931ad472be081c337851132d5c07f3795626f41eda99b2eb');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (15,1800000002000,'former','evidence','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"kind":"refused","gateway":"only","detail":"tx.input_data (couldn''t unmarshall input data: proto: cannot parse invalid wire-format data)"}','bab28b3934a5bd3c931ad472be081c337851132d5c07f3795626f41eda99b2eb','ec6a7e8ea1817616b46c6ec7ef4226e9201711d13cc71fed215048241c8b19a5');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (16,1800000002000,'former','attempt','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"state":"refused","outcome":"framing"}','ec6a7e8ea1817616b46c6ec7ef4226e9201711d13cc71fed215048241c8b19a5','a39e7071cc4594bf2080dc59ca44352b84434e136b735b7aee56edc232b9813a');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (17,1800000003000,'former','attempt','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"state":"sending","n":2,"gateway":"only","framing":"bare","txHash":"37a6eac89e7e8f2936ba25876caa239b6307ab0995652a247b16b3c03f1b0eb8"}','a39e7071cc4594bf2080dc59ca44352b84434e136b735b7aee56edc232b9813a','3bbf5d965344efd9222d69693615f44f4a78da5d10986a0889ec1e567e40008c');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (18,1800000003000,'former','send','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"n":2,"gateway":"only","outcome":"accepted","code":0,"data":""}','3bbf5d965344efd9222d69693615f44f4a78da5d10986a0889ec1e567e40008c','25b24eae99b052c40eee7427eae3d8b4a1b53d110798421a051d4d854dec113d');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (19,1800000003000,'former','evidence','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"kind":"accepted","gateway":"only","detail":""}','25b24eae99b052c40eee7427eae3d8b4a1b53d110798421a051d4d854dec113d','8ab4ab0a2cefef10a552afacc0b0bd90057cbdd03b8d17d8410226e7c3e15992');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (20,1800000003000,'former','attempt','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"state":"accepted","outcome":"accepted"}','8ab4ab0a2cefef10a552afacc0b0bd90057cbdd03b8d17d8410226e7c3e15992','b13ad8750b2cf9db18346fea8dbeca9d769c0982283c231e54c61edcf6686764');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (21,1800000004000,'former','approval','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"operator":"ana","key":"3c095d132770184eeb6f78b426ef5268a5ba03c2c9d2510a9857472d25485c92","group":"desk","need":2,"policy":"7d8e41f7a07b1cf75c4c8eb065e0deafeb8d724e7552ea5fb3a3f24add5f783a","expires":1800014402000,"chainId":"sandbox-1","version":2,"fromName":"alice","toName":"eve","symbol":"USDT","decimals":6,"signature":"1c5c38652ea067c2e39049d0f1112d48f9c812e2895561664e46ce9b2430aec3df6b94dbb3166ea4d5fb0e20905978a02f23cf7950adba1eed379ac57048090b"}','b13ad8750b2cf9db18346fea8dbeca9d769c0982283c231e54c61edcf6686764','f4900031d47be52d80df790494e1dee89c3897da01310928be362bc55a1a22e4');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (22,1800000004000,'former','approval','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"operator":"ben","key":"1c17180e1b8ff6ecb3b44a69041ab04565c2bc6652df4b7cf578b9c479655fe2","group":"desk","need":2,"policy":"7d8e41f7a07b1cf75c4c8eb065e0deafeb8d724e7552ea5fb3a3f24add5f783a","expires":1800014402000,"chainId":"sandbox-1","version":2,"fromName":"alice","toName":"eve","symbol":"USDT","decimals":6,"signature":"0f60100e131e239e5ba85f460bcbc51278ad57483ae800bf5f64bb3709310bb8c70e4371e22f3ecd044dea415512d1683ab96d7610e79ad76dca7fd44cc90a01"}','f4900031d47be52d80df790494e1dee89c3897da01310928be362bc55a1a22e4','4eb580fae4a792f6cb78b52c9014aa0c00e6f0ce3eafe75b2764cca9ccdcd500');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (23,1800000005000,'former','intent','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"state":"reserved","detail":"approved by ana and ben; money and limits are set aside"}','4eb580fae4a792f6cb78b52c9014aa0c00e6f0ce3eafe75b2764cca9ccdcd500','ab2ad83f433c414df19c69c642f90dab75c633425616aad278f968c7f58604c0');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (24,1800000009000,'former','evidence','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"kind":"executed","gateway":"only","detail":"transfer by id: done"}','ab2ad83f433c414df19c69c642f90dab75c633425616aad278f968c7f58604c0','fe5ac9ca0052396612a31b53573c4a3ccc1363e8a47dda2c3b2260aceb569a89');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (25,1800000009000,'former','attempt','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"k":1,"state":"confirmed","detail":"150.00 USDT alice -> bob, fee 0.15, found by transfer id"}','fe5ac9ca0052396612a31b53573c4a3ccc1363e8a47dda2c3b2260aceb569a89','7b6a2eb4f4a1bde601412f7fb14b9f6fe67113acfae39d1d5b09518e9a96360d');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (26,1800000009000,'former','intent','7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37','{"state":"confirmed","detail":"150.00 USDT alice -> bob, fee 0.15, found by transfer id","fee":"150000","settledAt":"1800000004000673000"}','7b6a2eb4f4a1bde601412f7fb14b9f6fe67113acfae39d1d5b09518e9a96360d','0c2477cdae64df7931595474d32207297d6d0f0a482f3e48f1468c501e9b4302');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (27,1800000010000,'former','signature','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"digest":"d2e01770508b1af1d28725de47758c83aeac450d4bfbe5f107621ca6b3a4cbc1","signature":"395526fc3bfd2902ffb5830ff99aedacb9094f771800c9fbceafc243232fb831b83273d826f5e8dec5e1be7d7bb1bf75b2d87a55525e21b7244aae4f35f50c02","amount":"150000000","policy":"7d8e41f7","line":2,"approval":{"group":"desk","need":2,"by":["ana","ben"]}}','0c2477cdae64df7931595474d32207297d6d0f0a482f3e48f1468c501e9b4302','cd5647cb1da2a7381d7efe1a8cef9728ca1a935ac7d8aa355924c6c2bc4311b1');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (28,1800000010000,'former','attempt','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"state":"signed","chainId":"sandbox-1","party":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","anchorHeight":"11","anchorHash":"19739db0d4cb7e34a6e9d60213a30ffff6fecf368e03b08f86cd573f11cd2b2c","difficulty":3,"windowBlocks":20,"nonce":"1248773357526373144","transferId":"d6db4ecba9392deb54cb378fbfa07ac735b1fec19814de6f9220b0841e0ddcca","inputData":"0898a6d3e28998a2aa11100ba23fb601080412403933353763343931626265663735663730313937396438396661346663616665343762363033346635383135373139373165626464363135616433383063663118042240626631653838643139646234623363613064316435626462373337313861303136383662313863663733316361323661646564663363386238333830326262612a09313530303030303030321e63312e66366334666265342e712e30633234373763646165363464663739aa0600","signature":"395526fc3bfd2902ffb5830ff99aedacb9094f771800c9fbceafc243232fb831b83273d826f5e8dec5e1be7d7bb1bf75b2d87a55525e21b7244aae4f35f50c02"}','cd5647cb1da2a7381d7efe1a8cef9728ca1a935ac7d8aa355924c6c2bc4311b1','f5e71de362b026d5696d9401fd93875402535495fa1090b30de89e527bee2120');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (29,1800000010000,'former','intent','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"state":"in_flight","detail":"signed on block 11"}','f5e71de362b026d5696d9401fd93875402535495fa1090b30de89e527bee2120','e0636b8c11998c9a1f1bab2624c91530b9ff3c35819a95497700704eca39b248');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (30,1800000010000,'former','work','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"tid":"6d5d6ea4687e0f356eb8eec6501b80ac491d371766e0bdeb11e4a29065a57404","nonce":"16","hashBare":"a60e38c48b665abb3ca6fb7a456204c88e82eb9a13edcb32a7bc4440626023b4","hashPrefixed":"141520cf39e06267f640d5c6274146949f2e896249b61c87a8f0d9a0e177c923"}','e0636b8c11998c9a1f1bab2624c91530b9ff3c35819a95497700704eca39b248','a4f8b01a6ddb82b8e0f961fde5c36ae1914112842537993d3758e3d278a9ac2d');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (31,1800000010000,'former','attempt','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"state":"sending","n":1,"gateway":"only","framing":"bare","txHash":"a60e38c48b665abb3ca6fb7a456204c88e82eb9a13edcb32a7bc4440626023b4"}','a4f8b01a6ddb82b8e0f961fde5c36ae1914112842537993d3758e3d278a9ac2d','b8e91f918b7e1c810a8f7a73b8aacbbba25b1cd813064badea1d8f1fbc887933');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (32,1800000010000,'former','send','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"n":1,"gateway":"only","outcome":"accepted","code":0,"data":""}','b8e91f918b7e1c810a8f7a73b8aacbbba25b1cd813064badea1d8f1fbc887933','044b47d8c9cf2d1364ef970c1c22b9d26d1db7af88be85b9e90cd1ec62eab4f4');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (33,1800000010000,'former','evidence','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"kind":"accepted","gateway":"only","detail":""}','044b47d8c9cf2d1364ef970c1c22b9d26d1db7af88be85b9e90cd1ec62eab4f4','5a87ad7dc6a34043997bb80012eb4620f7328c701a17027b887bfafa53c1e73e');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (34,1800000010000,'former','attempt','6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','{"k":1,"state":"accepted","outcome":"accepted"}','5a87ad7dc6a34043997bb80012eb4620f7328c701a17027b887bfafa53c1e73e','b23b12ed64d59260f78f20d6a09d1cd15cf2048f42c514e2ca68f59be0fff3a5');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (35,1800000015000,'former','intent','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"state":"proposed","rule":"keep-gus","about":"gus/USDT","episode":1,"from":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","to":"ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d","asset":"bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","amount":"150100000","fromName":"alice","toName":"gus","symbol":"USDT","decimals":6,"feeMax":"750500","detail":"49.90 is below 100"}','b23b12ed64d59260f78f20d6a09d1cd15cf2048f42c514e2ca68f59be0fff3a5','2d9354bd6323e8b335086c77e3d893c886bb7583aef5735bfe64865439a2802d');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (36,1800000015000,'former','decision','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"rule":"keep-gus","sentence":"49.90 is below 100","policy":"7d8e41f7","line":1,"perTransfer":"200000000","per24h":"1000000000","transfersPer24h":8}','2d9354bd6323e8b335086c77e3d893c886bb7583aef5735bfe64865439a2802d','0fb6dbc6e700fd772da39c3881758b9aaee354a0d1cfe826d5fb2b69c3b4c394');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (37,1800000015000,'former','intent','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"state":"reserved","detail":"permitted; money and limits are set aside"}','0fb6dbc6e700fd772da39c3881758b9aaee354a0d1cfe826d5fb2b69c3b4c394','9349152b80c800e5025bdc104de179ed940cc3172d101e07d654163baaf67f48');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (38,1800000015000,'former','signature','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"digest":"9c52ae899fa9b008d0f3bc17ad50caf4856272f6289bba7962c98ad6e6c9c01c","signature":"d515e55d4a26c502955955bbee59549f2b65df7096196c952cbe1ba80ebdc882a7d7caf7e02c79390ac08a16ecd80af1188d018568de5111c64d02788446f30d","amount":"150100000","policy":"7d8e41f7","line":1}','9349152b80c800e5025bdc104de179ed940cc3172d101e07d654163baaf67f48','e1eec054cf2de57713c6009bf0542cd2fc2db786e97181b017dfe5c111d98376');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (39,1800000015000,'former','attempt','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"state":"signed","chainId":"sandbox-1","party":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","anchorHeight":"16","anchorHash":"db74ae7aaf31e8b874ceace74dc57026a8e2499c5dae93efd5a623426bd3ba5b","difficulty":3,"windowBlocks":20,"nonce":"7990823700777345011","transferId":"0e1d819bdece45d30f79983194bd271d25d024a46a970720ab190f7e45461660","inputData":"08f3bfec9c99fac6f26e1010a23fb701080412406261393532663264353930376337353562646462656437623230323466363235396261363835343566623938396230613463343432653134393666623366396418042240626631653838643139646234623363613064316435626462373337313861303136383662313863663733316361323661646564663363386238333830326262612a09313530313030303030321f63312e66366334666265342e31312e39333439313532623830633830306535aa0600","signature":"d515e55d4a26c502955955bbee59549f2b65df7096196c952cbe1ba80ebdc882a7d7caf7e02c79390ac08a16ecd80af1188d018568de5111c64d02788446f30d"}','e1eec054cf2de57713c6009bf0542cd2fc2db786e97181b017dfe5c111d98376','2bad58a6a51c20c20f48e39f68c3db0dc7947047c67a5100d9fb7c50d77efc17');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (40,1800000015000,'former','intent','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"state":"in_flight","detail":"signed on block 16"}','2bad58a6a51c20c20f48e39f68c3db0dc7947047c67a5100d9fb7c50d77efc17','2877903a5838528a719e80ecbb55b318115fd53646f7e6e0b3f67d9c7d460c1e');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (41,1800000015000,'former','work','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"tid":"41f83f79540fc540410d046711a5c2e8224093f4c3405156e6a054a9f297744c","nonce":"3","hashBare":"161cc0750730f764e52047c57fd94fc537e73e58cbb75c51fce88396788819af","hashPrefixed":"982f72787334ece62eabd7eadedb95415b4ce62acbdbc0cf9dc89edf8ec27174"}','2877903a5838528a719e80ecbb55b318115fd53646f7e6e0b3f67d9c7d460c1e','f26ffbb77674c90f857523b0f00338bb51722b7a40ae88cac1ba177f3fa74c15');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (42,1800000015000,'former','attempt','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"state":"sending","n":1,"gateway":"only","framing":"bare","txHash":"161cc0750730f764e52047c57fd94fc537e73e58cbb75c51fce88396788819af"}','f26ffbb77674c90f857523b0f00338bb51722b7a40ae88cac1ba177f3fa74c15','7a590010628c3ad5f511321771f4a76d4efe08a05ca6909c287115ae8fec7f38');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (43,1800000015000,'former','send','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"n":1,"gateway":"only","outcome":"ambiguous","data":"only: submit: Ambiguous: UND_ERR_SOCKET: other side closed"}','7a590010628c3ad5f511321771f4a76d4efe08a05ca6909c287115ae8fec7f38','06083186192bbf017f9992782bede94acd05acb5861f6670f89c00535fb31bb6');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (44,1800000015000,'former','evidence','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"kind":"silent","gateway":"only","detail":"only: submit: Ambiguous: UND_ERR_SOCKET: other side closed"}','06083186192bbf017f9992782bede94acd05acb5861f6670f89c00535fb31bb6','7979c6aca4d49c9bacdc2bc436feb0b760d51cb0ce1c62137540776fe43fa342');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (45,1800000015000,'former','attempt','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"k":1,"state":"unknown","outcome":"ambiguous"}','7979c6aca4d49c9bacdc2bc436feb0b760d51cb0ce1c62137540776fe43fa342','9f759c7b2a40d42ad6ad509345a3d6866de8149fc56a8f3a4eb0c8ce4a6dd935');
INSERT INTO "journal" ("seq","at","treasury","kind","subject","body","prev","hash") VALUES (46,1800000015000,'former','intent','fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0','{"state":"unknown","detail":"it may or may not be in the network; the same bytes are sent again"}','9f759c7b2a40d42ad6ad509345a3d6866de8149fc56a8f3a4eb0c8ce4a6dd935','f651c3e0aafe34b06d4efbd3542983a183a7047173fdf84f0493e65eb0f548a3');
INSERT INTO "settings" ("key","value") VALUES ('installation','f6c4fbe4');
INSERT INTO "settings" ("key","value") VALUES ('storeFile','10330442:1795419081624233666');
INSERT INTO "settings" ("key","value") VALUES ('gatewaysLast','[{"name":"only","host":"127.0.0.1:1","hash":"10d8eb39449320b2c5808410ff44ca02e3633416d46f60d42077b9e0051c2d17"}]');
INSERT INTO "settings" ("key","value") VALUES ('configHash','8c4c5938e85b019e6b60de2fee60b595b04b6a24977a7fa5ea53d360778aff05');
INSERT INTO "settings" ("key","value") VALUES ('trustedHead/sandbox-1','{"trusted":{"height":"16","at":1800000015000,"epoch":0,"isFirst":false},"stood":{"height":"1","next":{"height":"11","at":1800000010000}},"block":{"height":"1","timestamp":"1800000000000357000"}}');
INSERT INTO "settings" ("key","value") VALUES ('chainRules','{"form":2,"chainId":"sandbox-1","work":{"hashFunction":"sha3_24_rounds","difficulty":3,"pastBlocks":20,"txPerBlock":2,"increasing":true}}');
INSERT INTO "settings" ("key","value") VALUES ('headReadAt','1800000000000');
INSERT INTO "settings" ("key","value") VALUES ('epoch','{"seq":1,"startAt":"1800000000000000000","endsAtMillis":1800086400000,"told":{"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996":{"seq":1,"used":0,"limit":20,"asOf":"1800000000000357000","readAt":1800000000000}},"readAt":1800000000000}');
INSERT INTO "settings" ("key","value") VALUES ('epochReadAt','1800000000000');
INSERT INTO "settings" ("key","value") VALUES ('assetsAsOf','1800000000000357000');
INSERT INTO "settings" ("key","value") VALUES ('assetsReadAt','1800000000000');
INSERT INTO "settings" ("key","value") VALUES ('parametersServed','yes');
INSERT INTO "settings" ("key","value") VALUES ('parametersReadAt','1800000001000');
INSERT INTO "settings" ("key","value") VALUES ('counted/4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','1800000001000');
INSERT INTO "settings" ("key","value") VALUES ('debits/4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','{"from":"1800000001000600000","until":"1800000004000673000","held":[["bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","4849850000","1800000004000673000"]],"used":[["7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37",1]]}');
INSERT INTO "settings" ("key","value") VALUES ('balancesFrom','only');
INSERT INTO "settings" ("key","value") VALUES ('refusedForm/sandbox-1','prefixed');
INSERT INTO "transfer_cursors" ("party","cursor","read_at") VALUES ('4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','eyJ2ZWdhVGltZSI6IjIwMjctMDEtMTVUMDg6MDA6MDQuMDAwNjczWiIsImlkIjoiMjkzYjI0NjQyYmM2NDU1NDIzYTJmNDhkY2JmMzJhMzY1NGM1MjBiOTgyZThiZmZkNzlmNDU2ZWExZTlmMjRmOSJ9',1800000010000);
INSERT INTO "executions" ("transfer_id","timestamp","seen_at") VALUES ('293b24642bc6455423a2f48dcbf32a3654c520b982e8bffd79f456ea1e9f24f9',1800000004000673000,1800000005000);
INSERT INTO "executions" ("transfer_id","timestamp","seen_at") VALUES ('d6db4ecba9392deb54cb378fbfa07ac735b1fec19814de6f9220b0841e0ddcca',1800000011000658000,1800000012000);
INSERT INTO "watches" ("intent_id","k") VALUES ('7b8958fab68da6ca4405c98f4c9d38134316fbf1b124251232ec582168f59b37',1);
INSERT INTO "watches" ("intent_id","k") VALUES ('6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37',1);
INSERT INTO "watches" ("intent_id","k") VALUES ('fe0a857099954cf5511f1811276c36ed02784bfe96ab262b6072772f79fabed0',1);
INSERT INTO "openings" ("timestamp","asset","party","market","type","balance") VALUES (1800000001000599000,'bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','','ACCOUNT_TYPE_GENERAL','5000000000');
INSERT INTO "openings" ("timestamp","asset","party","market","type","balance") VALUES (1800000001000599000,'bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7','','ACCOUNT_TYPE_GENERAL','50000000');
INSERT INTO "openings" ("timestamp","asset","party","market","type","balance") VALUES (1800000001000599000,'bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1','','ACCOUNT_TYPE_GENERAL','50000000');
INSERT INTO "openings" ("timestamp","asset","party","market","type","balance") VALUES (1800000001000599000,'bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d','','ACCOUNT_TYPE_GENERAL','150000000');
INSERT INTO "account_names" ("id","party","asset","market","type") VALUES (1,'533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','','ACCOUNT_TYPE_GENERAL');
INSERT INTO "account_names" ("id","party","asset","market","type") VALUES (2,'4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','','ACCOUNT_TYPE_GENERAL');
INSERT INTO "account_names" ("id","party","asset","market","type") VALUES (3,'9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','','ACCOUNT_TYPE_GENERAL');
INSERT INTO "account_names" ("id","party","asset","market","type") VALUES (4,'ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d','bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba','','ACCOUNT_TYPE_GENERAL');
INSERT INTO "balances" ("account","balance","timestamp") VALUES (1,'200000000',1800000004000673000);
INSERT INTO "balances" ("account","balance","timestamp") VALUES (2,'4699700000',1800000011000658000);
INSERT INTO "balances" ("account","balance","timestamp") VALUES (3,'200000000',1800000011000658000);
INSERT INTO "balances" ("account","balance","timestamp") VALUES (4,'49900000',1800000013000885000);
INSERT INTO "changes" ("timestamp","account","balance") VALUES (1800000004000673000,1,'200000000');
INSERT INTO "changes" ("timestamp","account","balance") VALUES (1800000004000673000,2,'4849850000');
INSERT INTO "changes" ("timestamp","account","balance") VALUES (1800000011000658000,2,'4699700000');
INSERT INTO "changes" ("timestamp","account","balance") VALUES (1800000011000658000,3,'200000000');
INSERT INTO "changes" ("timestamp","account","balance") VALUES (1800000013000885000,4,'49900000');
INSERT INTO "approvals" ("seq","subject","operator","key","text","signature","at") VALUES (1,'6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','ana','3c095d132770184eeb6f78b426ef5268a5ba03c2c9d2510a9857472d25485c92','cofferer approval of a payment, version 2
treasury: former
chain: sandbox-1
payment: 6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37
rule: keep-eve
proposed by: its rule
from: alice
from key: 4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996
to: eve
to key: 9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1
asset: USDT, 6 decimals
asset id: bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba
amount: 150.00 USDT
amount in base units: 150000000
fee, at most: 0.75 USDT
fee in base units, at most: 750000
policy: 7d8e41f7a07b1cf75c4c8eb065e0deafeb8d724e7552ea5fb3a3f24add5f783a
group: desk
void from: 2027-01-15T12:00:02.000Z
','1c5c38652ea067c2e39049d0f1112d48f9c812e2895561664e46ce9b2430aec3df6b94dbb3166ea4d5fb0e20905978a02f23cf7950adba1eed379ac57048090b',1800000004000);
INSERT INTO "approvals" ("seq","subject","operator","key","text","signature","at") VALUES (2,'6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37','ben','1c17180e1b8ff6ecb3b44a69041ab04565c2bc6652df4b7cf578b9c479655fe2','cofferer approval of a payment, version 2
treasury: former
chain: sandbox-1
payment: 6235de7d8fbfb343175f95895d697067f75f618b3b0766353c358df4ec721c37
rule: keep-eve
proposed by: its rule
from: alice
from key: 4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996
to: eve
to key: 9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1
asset: USDT, 6 decimals
asset id: bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba
amount: 150.00 USDT
amount in base units: 150000000
fee, at most: 0.75 USDT
fee in base units, at most: 750000
policy: 7d8e41f7a07b1cf75c4c8eb065e0deafeb8d724e7552ea5fb3a3f24add5f783a
group: desk
void from: 2027-01-15T12:00:02.000Z
','0f60100e131e239e5ba85f460bcbc51278ad57483ae800bf5f64bb3709310bb8c70e4371e22f3ecd044dea415512d1683ab96d7610e79ad76dca7fd44cc90a01',1800000004000);
INSERT INTO "terms" ("seq","hash","terms","alerts","rules","at") VALUES (1,'669e4663c93ee84db002fac50234cdd8b56910f7cff91bb7b6498a38a17177a5','{"chainId":"sandbox-1","mode":"live","maxAgeMillis":30000,"quorum":1,"code":[],"assets":[{"symbol":"USDT","id":"bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","decimals":6}],"parties":[{"name":"alice","publicKey":"4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996","signer":{"sandbox":"alice"},"floor":[],"transfersKept":0},{"name":"bob","publicKey":"533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7","floor":[],"transfersKept":0},{"name":"eve","publicKey":"9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1","floor":[],"transfersKept":0},{"name":"gus","publicKey":"ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d","floor":[],"transfersKept":0}],"policy":{"maxFee":{"numerator":"5","denominator":"1000"},"lines":[{"line":1,"from":["4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996"],"to":["533db623bfc5dc8c9104562fd2290fb5f486b8d001dade7cb53edf73702607b7","ba952f2d5907c755bddbed7b2024f6259ba68545fb989b0a4c442e1496fb3f9d"],"assetId":"bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","perTransfer":"200000000","per24h":"1000000000","transfersPer24h":8},{"line":2,"from":["4ddc73d9b0be88ae37e138ea09fa035b2235ab1955d3684c62bf41bdc8103996"],"to":["9357c491bbef75f701979d89fa4fcafe47b6034f581571971ebdd615ad380cf1"],"assetId":"bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba","perTransfer":"200000000","per24h":"1000000000","transfersPer24h":8,"approval":{"group":{"name":"desk","need":2,"withinMillis":14400000,"of":[["ana","3c095d132770184eeb6f78b426ef5268a5ba03c2c9d2510a9857472d25485c92"],["ben","1c17180e1b8ff6ecb3b44a69041ab04565c2bc6652df4b7cf578b9c479655fe2"],["chloe","ed164dc9e22e590f3616fb54d62f210f70fbd843e9265699b1ca77b73407f672"]]},"above":"0"}}],"cancels":[],"groups":[{"name":"desk","need":2,"withinMillis":14400000,"of":[["ana","3c095d132770184eeb6f78b426ef5268a5ba03c2c9d2510a9857472d25485c92"],["ben","1c17180e1b8ff6ecb3b44a69041ab04565c2bc6652df4b7cf578b9c479655fe2"],["chloe","ed164dc9e22e590f3616fb54d62f210f70fbd843e9265699b1ca77b73407f672"]]}],"digest":"7d8e41f7a07b1cf75c4c8eb065e0deafeb8d724e7552ea5fb3a3f24add5f783a","hash":"7d8e41f7"}}','{"receivers":[{"name":"log","kind":"log","headerFiles":[]}],"routes":[{"severities":["page","ticket","info"],"receivers":["log"]}]}','["keep-bob","keep-eve","keep-gus"]',1800000000000);
INSERT INTO "sqlite_sequence" ("name","seq") VALUES ('account_names',4);
INSERT INTO "sqlite_sequence" ("name","seq") VALUES ('decisions',12);
INSERT INTO "sqlite_sequence" ("name","seq") VALUES ('alerts',2);
INSERT INTO "sqlite_sequence" ("name","seq") VALUES ('sends',4);
INSERT INTO "sqlite_sequence" ("name","seq") VALUES ('evidence',5);
INSERT INTO "sqlite_sequence" ("name","seq") VALUES ('approvals',2);
CREATE INDEX intents_state ON intents (state);
CREATE INDEX intents_created ON intents (created_at);
CREATE UNIQUE INDEX attempts_live ON attempts (intent_id)
    WHERE state IN ('signed', 'sending', 'accepted', 'refused', 'unknown');
CREATE INDEX attempts_anchor ON attempts (party, anchor_height);
CREATE INDEX sends_attempt ON sends (intent_id, k);
CREATE INDEX sends_started ON sends (started_at);
CREATE INDEX evidence_attempt ON evidence (intent_id, k);
CREATE TRIGGER attempts_signed BEFORE UPDATE ON attempts WHEN OLD.input_data <> NEW.input_data OR OLD.signature <> NEW.signature OR OLD.nonce <> NEW.nonce
     OR OLD.transfer_id <> NEW.transfer_id OR OLD.anchor_height <> NEW.anchor_height OR OLD.chain_id <> NEW.chain_id
     OR OLD.party <> NEW.party OR OLD.window_blocks > NEW.window_blocks BEGIN SELECT RAISE(ABORT, 'signed columns never change'); END;
CREATE TRIGGER attempts_final BEFORE UPDATE ON attempts WHEN OLD.state IN ('confirmed', 'failed', 'expired') BEGIN SELECT RAISE(ABORT, 'a final attempt never changes'); END;
CREATE TRIGGER attempts_kept BEFORE DELETE ON attempts WHEN 1 BEGIN SELECT RAISE(ABORT, 'attempts are kept'); END;
CREATE TRIGGER intents_final BEFORE UPDATE ON intents WHEN OLD.state IN ('confirmed', 'failed', 'denied', 'rejected', 'cancelled', 'abandoned', 'rehearsed') BEGIN SELECT RAISE(ABORT, 'a final intent never changes'); END;
CREATE TRIGGER intents_kept BEFORE DELETE ON intents WHEN 1 BEGIN SELECT RAISE(ABORT, 'intents are kept'); END;
CREATE TRIGGER intents_decided BEFORE UPDATE ON intents WHEN OLD.amount <> NEW.amount OR OLD.from_key <> NEW.from_key OR OLD.to_key <> NEW.to_key
     OR OLD.asset_id <> NEW.asset_id BEGIN SELECT RAISE(ABORT, 'a decided payment never changes'); END;
CREATE INDEX spends_time ON spends (spent_at);
CREATE INDEX deliveries_pending ON deliveries (state, next_at);
CREATE INDEX strangers_unknown ON strangers (timestamp) WHERE known_as IS NULL;
CREATE INDEX journal_subject ON journal (subject, seq);
CREATE VIEW accounts AS SELECT party, asset, market, type, balance, timestamp
    FROM balances JOIN account_names ON account_names.id = balances.account;
CREATE VIEW balance_rows AS SELECT timestamp, asset, party, market, type, balance
    FROM changes JOIN account_names ON account_names.id = changes.account;
CREATE UNIQUE INDEX drifts_open ON drifts (party, asset, market, type) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX asks_open ON asks (rule, subject) WHERE ended_at IS NULL;
CREATE INDEX approvals_subject ON approvals (subject);
CREATE TRIGGER approvals_given BEFORE UPDATE ON approvals WHEN 1 BEGIN SELECT RAISE(ABORT, 'an approval never changes'); END;
CREATE TRIGGER approvals_kept BEFORE DELETE ON approvals WHEN 1 BEGIN SELECT RAISE(ABORT, 'approvals are kept'); END;
CREATE TRIGGER intents_approved BEFORE UPDATE ON intents WHEN OLD.submitted_by IS NOT NEW.submitted_by OR OLD.rule <> NEW.rule OR OLD.fee_max <> NEW.fee_max
     OR OLD.created_at <> NEW.created_at BEGIN SELECT RAISE(ABORT, 'what operators approve never changes'); END;
CREATE INDEX intents_settled ON intents (settled_at);
CREATE INDEX decisions_of ON decisions (rule, subject, at, seq);
CREATE TRIGGER intents_commanded BEFORE UPDATE ON intents WHEN OLD.command <> NEW.command
    BEGIN SELECT RAISE(ABORT, 'a decided payment never changes'); END;
CREATE INDEX intents_updated ON intents (updated_at);
CREATE INDEX spends_ended ON spends (ended_at);
CREATE UNIQUE INDEX terms_waits_open ON terms_waits ((ended_at IS NULL)) WHERE ended_at IS NULL;
PRAGMA user_version = 0;
COMMIT;
