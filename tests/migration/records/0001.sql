BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE attempts (
	attempt_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	spec TEXT NOT NULL, 
	spec_digest TEXT NOT NULL, 
	state TEXT NOT NULL, 
	harness TEXT, 
	model TEXT, 
	last_delivery TEXT, 
	created_at_ms INTEGER NOT NULL, 
	started_at_ms INTEGER, 
	ended_at_ms INTEGER, 
	verdict TEXT, 
	outcome TEXT, 
	answer TEXT, 
	answer_because TEXT, 
	answer_by TEXT, 
	answer_at_ms INTEGER, 
	PRIMARY KEY (attempt_id), 
	CONSTRAINT attempts_state CHECK (state IN ('pending', 'leased', 'delivered', 'suspect', 'ended')), 
	CONSTRAINT attempts_verdict CHECK (verdict IN ('completed', 'failed', 'timed_out', 'canceled', 'asked', 'unknown')), 
	CONSTRAINT attempts_answer CHECK (answer IN ('rerun', 'accept', 'retire', 'investigate'))
)
 STRICT

;
INSERT INTO "attempts" VALUES('t_0001/1','t_0001',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0002',1000000000000,NULL,1000000000000,'completed','{"summary":"done","tree_gone":true,"verdict":"completed"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0004/1','t_0004',1,'{"harness":"command","model":"small","objective":"do it","policy":"default-1","worktree":"none"}','8a0e2de55ca459b4745eadd97de297e83154c5e8e6ea2dc11236ab5d4c2d3424','ended','command','small',NULL,1000000000000,NULL,1000000000000,'canceled',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0005/1','t_0005',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0006',1000000000000,NULL,1000000090000,'unknown',NULL,'rerun','I looked','ann',1000000090000);
INSERT INTO "attempts" VALUES('t_0005/2','t_0005',2,'{"follows":1,"hypothesis":{"after_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","because":"I looked","before_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","by":"ann"},"objective":"do it","policy":"default-1","relation":"retry","worktree":"none"}','5c124505d5a412415eb5871b2e03beb1ad8848bbe29b186ee8921d626af45fb2','ended','command',NULL,'d_0008',1000000090000,NULL,1000000180000,'unknown',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0010/1','t_0010',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000090000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0011/1','t_0011',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0012',1000000090000,NULL,1000000090000,'failed','{"summary":"done","tree_gone":true,"verdict":"failed"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0014/1','t_0014',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000090000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0015/1','t_0015',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000090000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0016/1','t_0016',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0017',1000000090000,NULL,1000000180000,'unknown',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0019/1','t_0019',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0020',1000000180000,NULL,1000000180000,'asked','{"summary":"so it ended","tree_gone":true,"verdict":"asked"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0022/1','t_0022',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0023',1000000180000,NULL,1000000180000,'timed_out','{"summary":"so it ended","tree_gone":true,"verdict":"timed_out"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0025/1','t_0025',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','delivered','command',NULL,'d_0027',1000000180000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0026/1','t_0026',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','leased','command',NULL,'d_0028',1000000181000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0030/1','t_0030',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000182000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0031/1','t_0031',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000183000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0032/1','t_0032',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000184000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0033/1','t_0033',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000185000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE attention (
	item_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	open INTEGER NOT NULL, 
	summary TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	opened_at_ms INTEGER NOT NULL, 
	closed_at_ms INTEGER, 
	closed_because TEXT, 
	PRIMARY KEY (item_id), 
	CONSTRAINT attention_kind CHECK (kind IN ('unknown', 'asked', 'late_evidence', 'offers_voided', 'stalled', 'clock_stepped', 'node_quarantined', 'node_incompatible', 'unknown_delivery')), 
	CONSTRAINT attention_open CHECK (open IN (0, 1))
)
 STRICT

;
INSERT INTO "attention" VALUES('unknown:t_0005/1','unknown','t_0005/1',3,0,'nobody reported how t_0005/1 on claude@laptop ended: a late report says completed','{"late_reports":{"d_0006:report:cda1f0254ea98c5f":"completed"},"reason":"a late report says completed","recipient":"claude@laptop"}',1000000090000,1000000090000,'answered rerun by ann');
INSERT INTO "attention" VALUES('clock_stepped:hub','clock_stepped','hub',1,1,'the hub''s wall clock stepped by +90 s. No lease was lost by it; check the time service.','{"at_ms":1000000090000,"step_ms":90000}',1000000090000,NULL,NULL);
INSERT INTO "attention" VALUES('unknown:t_0005/2','unknown','t_0005/2',1,1,'nobody reported how t_0005/2 on claude@laptop ended: the cancellation was not answered in time','{"late_reports":{},"reason":"the cancellation was not answered in time","recipient":"claude@laptop"}',1000000180000,NULL,NULL);
INSERT INTO "attention" VALUES('unknown:t_0016/1','unknown','t_0016/1',1,1,'nobody reported how t_0016/1 on shy@box ended: the lease ran out and nobody reported','{"late_reports":{},"reason":"the lease ran out and nobody reported","recipient":"shy@box"}',1000000180000,NULL,NULL);
INSERT INTO "attention" VALUES('asked:t_0019/1','asked','t_0019/1',1,1,'so it ended','{"reason":"so it ended"}',1000000180000,NULL,NULL);
CREATE TABLE commits (
	commit_no INTEGER NOT NULL, 
	first_seq INTEGER NOT NULL, 
	last_seq INTEGER NOT NULL, 
	wall_ms INTEGER NOT NULL, 
	awake_ms INTEGER NOT NULL, 
	hub TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (commit_no)
)
 STRICT

;
INSERT INTO "commits" VALUES(1,1,1,1000000000000,0,'i_hub1','cb5f98491bdf0266b4137b517256c3a58e9507f0fc74efba7692b00c29c0ec99');
INSERT INTO "commits" VALUES(2,2,2,1000000000000,0,'i_hub1','e6eaeb5c161b4e90c0e7a6891c033ffc7878ef33541f84c184e217da9e44556b');
INSERT INTO "commits" VALUES(3,3,3,1000000000000,0,'i_hub1','e1156e1e9a414d61293472f18a8537e0c9f55b10007fa34f2ac9607848e50f73');
INSERT INTO "commits" VALUES(4,4,4,1000000000000,0,'i_hub1','0869ba775261bfbb7a3ceab982be0f7f8d4ea2202a4d2a93b1d08ba6c1346702');
INSERT INTO "commits" VALUES(5,5,5,1000000000000,0,'i_hub1','061a06ad7024c02a4f49430afd9c0b4a5a9328c2e79354dcb6bac09f8fba57d5');
INSERT INTO "commits" VALUES(6,6,6,1000000000000,0,'i_hub1','dbb67295abe9b39451d59449fc2f9e9aa6071b4868b9b76ce4c875586d99eb54');
INSERT INTO "commits" VALUES(7,7,8,1000000000000,0,'i_hub1','4810703631aee7bc45eb913fac230e43eeab3bd51ed3583f6b3197aef455d13c');
INSERT INTO "commits" VALUES(8,9,9,1000000000000,0,'i_hub1','d70ace17acf6cee81b76a39b1ef2b516698775c1b7dbcea94d182e355c90223e');
INSERT INTO "commits" VALUES(9,10,10,1000000000000,0,'i_hub1','276c3f983979138cc289ed19c83cc09e2aa1f311f3b56508b9e2e9416f8d564f');
INSERT INTO "commits" VALUES(10,11,12,1000000000000,0,'i_hub1','73e620b37fe05b77a200853dac7d59bc7b130af977f383c85d9b18a71a6f04d1');
INSERT INTO "commits" VALUES(11,13,14,1000000000000,0,'i_hub1','f34aed4ff79f050ad5af627df94703cc873097973439738ede503514935930e7');
INSERT INTO "commits" VALUES(12,15,19,1000000000000,0,'i_hub1','3d3f7a2583a00f43fc86f9a21f3a81d52d8677394c6945fc88d70de6b8fdee6d');
INSERT INTO "commits" VALUES(13,20,21,1000000000000,0,'i_hub1','6faece99d7e0165bcc43e57f2c70f4336427ce7d4ad3588475c5a1a0ed092a15');
INSERT INTO "commits" VALUES(14,22,22,1000000000000,0,'i_hub1','f9d04be48decfff11ea51f1a74d8de10a44ed07a18e65d186fd1bcb0e279f54c');
INSERT INTO "commits" VALUES(15,23,23,1000000000000,0,'i_hub1','4b8456a59705b6e46f8702467e272b48f27b614588bb9debbcbff7d38b3039b4');
INSERT INTO "commits" VALUES(16,24,24,1000000000000,0,'i_hub1','365b3b3d0c6681f563d3278fec830e28742ec2a040feb0f7922f09227a8ea793');
INSERT INTO "commits" VALUES(17,25,25,1000000030000,30000,'i_hub1','e7047d23dee8b4882fb8b9d51d9ac75a17c499a098957d0fe87a20344f4a59e4');
INSERT INTO "commits" VALUES(18,26,27,1000000090000,90000,'i_hub1','f0654c249b1c15edeeffc423b27976487b9dcb498f61ac25cb41024ac4edda78');
INSERT INTO "commits" VALUES(19,28,30,1000000090000,90000,'i_hub1','2b54bf0149a4bfee0dba791ec9d5d8b47e902e26b1ce5ecc97ae53da65110be5');
INSERT INTO "commits" VALUES(20,31,31,1000000090000,90000,'i_hub1','7298c57b0d304db21d5572e9d3d733d948cd02f864273dca3569267232d3a2c0');
INSERT INTO "commits" VALUES(21,32,34,1000000090000,90000,'i_hub1','e437b856ebbb8cf5ddd41d0b77c576821e9c4dcf1a3c4d1623eb315768af90f7');
INSERT INTO "commits" VALUES(22,35,35,1000000090000,90000,'i_hub1','5055e7f8c96f2721b79ee67b0c2796d652b92f88ac8d2acd082b8d172a038941');
INSERT INTO "commits" VALUES(23,36,36,1000000090000,90000,'i_hub1','815a5495e58cdc9850b65c8675e5f98ba08c13d33abe22b3b779474e1d880424');
INSERT INTO "commits" VALUES(24,37,37,1000000090000,90000,'i_hub1','e35839dc9f7ea4355f9b3b46a28448ac60d7007e2ab628a0df06a3db54aa143b');
INSERT INTO "commits" VALUES(25,38,38,1000000090000,90000,'i_hub1','0518a3ec52899a44dfdb194f3c9b288a17493c9993d23ded979c13f868916173');
INSERT INTO "commits" VALUES(26,39,40,1000000090000,90000,'i_hub1','c5281cb36af95a2e71696c5bd69f59831fa50c820652cf4f503433aaa639bf1e');
INSERT INTO "commits" VALUES(27,41,42,1000000090000,90000,'i_hub1','bac567f98305f5b9e45b6af9387ee2ca71affcc2d7bc740c5223fdcc621438ee');
INSERT INTO "commits" VALUES(28,43,43,1000000090000,90000,'i_hub1','04d23ffb1630b01d884a887c3fc9b56aababeca97eee32ec5573eab1c3d05dc4');
INSERT INTO "commits" VALUES(29,44,44,1000000090000,90000,'i_hub1','0359b8434805a9ae90f8fbbc4649de748daa81e5473c87782298e62f1e714663');
INSERT INTO "commits" VALUES(30,45,46,1000000090000,90000,'i_hub1','2845dc97deeb96b26c6d0ce47b8cc2fa4399f1b5b65e758c6a1837247df801b4');
INSERT INTO "commits" VALUES(31,47,48,1000000090000,90000,'i_hub1','9c839c0d59aec07d7c68759b77f4f8ba283382a9d8b93401c0bc7900957a9911');
INSERT INTO "commits" VALUES(32,49,50,1000000090000,90000,'i_hub1','8166033fa5515cd27955120aa40565c5d931f745a0c921dee7462a1c9341c1be');
INSERT INTO "commits" VALUES(33,51,51,1000000090000,90000,'i_hub1','2493a793fbe9ce60254371fe0041fd072bed1fb67007bf41bb66511686312840');
INSERT INTO "commits" VALUES(34,52,52,1000000090000,90000,'i_hub1','918bb61e0b86e20908c52b96e157f9d7d434d47d7aeed93fe6d111f03e0a8a81');
INSERT INTO "commits" VALUES(35,53,53,1000000090000,90000,'i_hub1','b509934a5335430f3d573e19d0c8ac56ec9ae4758fb6aa50982e0441f04869b0');
INSERT INTO "commits" VALUES(36,54,55,1000000090000,90000,'i_hub1','c02024fbbc40319693ff010f3776e9f58175c92db212f84f77c28bf1555cd347');
INSERT INTO "commits" VALUES(37,56,56,1000000090000,90000,'i_hub1','5d46553986b2546730a7fa9a9de01b8f13eb8942a6eb9a0bd33b3d1f384c725b');
INSERT INTO "commits" VALUES(38,57,57,1000000090000,90000,'i_hub1','dcaa9ef070d964ceb82c51d2450f716d61d0d29cc3fe9484e746ffb9513ef6b4');
INSERT INTO "commits" VALUES(39,58,58,1000000090000,90000,'i_hub1','66fbddc5706f603ed143dbe0d14b9eac4c2f04006a60f6173c805f9ebeaa820d');
INSERT INTO "commits" VALUES(40,59,59,1000000120000,120000,'i_hub1','e7e9b06f47174578fa4b6e84a3c92efba6c4e52ce2cba56f2f4b44fea233c354');
INSERT INTO "commits" VALUES(41,60,60,1000000120000,120000,'i_hub1','172bf2bd283e3d8ce28675e16ab0f264a7b61a41f313ce089666ba73269435c2');
INSERT INTO "commits" VALUES(42,61,66,1000000180000,180000,'i_hub1','78f688359309c3b1d3ac7b40ac322388967eaed1ea532d4fed763d5e5669d3d9');
INSERT INTO "commits" VALUES(43,67,68,1000000180000,180000,'i_hub1','b4e03b0ecd8062ad39e2988f5669457d7c455f8d1b5509f6aec9fe0c605eb5e8');
INSERT INTO "commits" VALUES(44,69,70,1000000180000,180000,'i_hub1','4b28d2b047b5e0aa98cacc36dec453310cd890b2779371377fc4b296e850f07f');
INSERT INTO "commits" VALUES(45,71,71,1000000180000,180000,'i_hub1','6757f05f76d73d4c872958b4a3cb4c153dde74f6bbc6cfb259679222b1deac3b');
INSERT INTO "commits" VALUES(46,72,72,1000000180000,180000,'i_hub1','76fdfdc302f4073530d04aae40bc335757ff51b02d6c9ef09813b9051b2fcad6');
INSERT INTO "commits" VALUES(47,73,74,1000000180000,180000,'i_hub1','01ba029a0af7a9826d054c996ec80944ddffecb20ee47fa0be9dd19eaceccd98');
INSERT INTO "commits" VALUES(48,75,76,1000000180000,180000,'i_hub1','46df2b795ea9f12a813a9325d4881f3e6080be6c997171dac95993903e8d275f');
INSERT INTO "commits" VALUES(49,77,77,1000000180000,180000,'i_hub1','1bf787814c029070a31de0c20eaba975da59cc088a7b67b47d9cd4492ebea63e');
INSERT INTO "commits" VALUES(50,78,78,1000000180000,180000,'i_hub1','898d5aaf70f96940094fd7c7a441ddad2267562460f40b23bd48b4b6dc501daf');
INSERT INTO "commits" VALUES(51,79,80,1000000180000,180000,'i_hub1','8f3ca7dfe6e16b3fb2b23a4c9336349ab025d486ad4b74ff4516b01ba23f1113');
INSERT INTO "commits" VALUES(52,81,82,1000000180000,180000,'i_hub1','bee480025bca4384e900dc068b8dcff0871017cd618940a5f904c26d72ac1338');
INSERT INTO "commits" VALUES(53,83,84,1000000181000,181000,'i_hub1','b82d77d5bbe601cef28866857c83682636d476bce35de01757d26ce616408099');
INSERT INTO "commits" VALUES(54,85,86,1000000182000,182000,'i_hub1','2a8a886e267b6689586600e55d2315c287e9912f51e8b5d8e0249201141668c5');
INSERT INTO "commits" VALUES(55,87,87,1000000182000,182000,'i_hub1','dc49ae1fa2f0f7df49336494c1faf1aa6be87bad427f30bb8be7d0e35d462feb');
INSERT INTO "commits" VALUES(56,88,88,1000000182000,182000,'i_hub1','f0c1746c99a0fb1ab17ef35545aef8076d19e8aef44b7f906a6052dffc60b358');
INSERT INTO "commits" VALUES(57,89,90,1000000182000,182000,'i_hub1','dd378fa07761a2a9f188d07595a8beb88bb7edaebcecbecd1cf95a027f30ebc6');
INSERT INTO "commits" VALUES(58,91,92,1000000183000,183000,'i_hub1','f8a5cb0ca1dc8ac3b26eece6b3de3c8fb5cb73dab4ff199715c9506e9c190f95');
INSERT INTO "commits" VALUES(59,93,94,1000000184000,184000,'i_hub1','c88d08c1adcd61ae4ac506d90909b1ca40620ad51e713f8124bce18735bc5314');
INSERT INTO "commits" VALUES(60,95,96,1000000185000,185000,'i_hub1','21ac7b2ed6878578e016540fe1d0ee83b7b45fac0df9985ff65531f755101b68');
CREATE TABLE credentials (
	credential_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	token_digest TEXT NOT NULL, 
	issued_at_ms INTEGER NOT NULL, 
	issued_by TEXT NOT NULL, 
	revoked_at_ms INTEGER, 
	revoked_by TEXT, 
	PRIMARY KEY (credential_id), 
	CONSTRAINT credentials_role CHECK (role IN ('viewer', 'submitter', 'operator', 'node', 'join'))
)
 STRICT

;
INSERT INTO "credentials" VALUES('k_1','ann','operator','2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b',1000000000000,'hub',1000000000000,'ann');
INSERT INTO "credentials" VALUES('k_2','bob','viewer','d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa',1000000000000,'hub',NULL,NULL);
CREATE TABLE deliveries (
	delivery_id TEXT NOT NULL, 
	attempt_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	recipient TEXT NOT NULL, 
	node_id TEXT NOT NULL, 
	claim_id TEXT NOT NULL, 
	granted_to TEXT NOT NULL, 
	acknowledged_by TEXT, 
	state TEXT NOT NULL, 
	fence INTEGER NOT NULL, 
	token_digest TEXT NOT NULL, 
	receipt_digest TEXT, 
	report_digest TEXT, 
	slot INTEGER NOT NULL, 
	due_at_ms INTEGER, 
	term TEXT NOT NULL, 
	cancel_term TEXT, 
	counter INTEGER NOT NULL, 
	progress TEXT NOT NULL, 
	progress_at_ms INTEGER NOT NULL, 
	usage TEXT NOT NULL, 
	claimed_at_ms INTEGER NOT NULL, 
	acknowledged_at_ms INTEGER, 
	renewed_at_ms INTEGER, 
	suspect_at_ms INTEGER, 
	ended_at_ms INTEGER, 
	revoked_at_ms INTEGER, 
	end_reason TEXT, 
	denied INTEGER NOT NULL, 
	late_count INTEGER NOT NULL, 
	PRIMARY KEY (delivery_id), 
	CONSTRAINT deliveries_state CHECK (state IN ('claimed', 'delivered', 'reported', 'void')), 
	CONSTRAINT deliveries_slot CHECK (slot IN (0, 1)), 
	CONSTRAINT deliveries_denied CHECK (denied IN (0, 1))
)
 STRICT

;
INSERT INTO "deliveries" VALUES('d_0002','t_0001/1','t_0001',1,'claude@laptop','n_laptop','c_0003','i_daemon1','i_daemon1','reported',1,'8e2eb2d2fe5d669cd00d61e539fa388e5516e1a5533d3b2a38fea51a159683cd','receipt','cda1f0254ea98c5f4cb4defb52fc7a790e8d5a048be5a5ffb8a45fa43d64ee9d',0,NULL,'{"awake_ms":0,"ends_at_ms":1000000030000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000000000,'{}',1000000000000,1000000000000,1000000000000,NULL,1000000000000,NULL,'completed',0,0);
INSERT INTO "deliveries" VALUES('d_0006','t_0005/1','t_0005',1,'claude@laptop','n_laptop','c_0007','i_daemon1','i_daemon1','delivered',1,'7123fc9d3114e6358b3cc5dddfb83c13ea450840db9c15cff9811801a014b2bd','receipt',NULL,0,NULL,'{"awake_ms":30000,"ends_at_ms":1000000090000,"hub":"i_hub1","length_ms":60000}',NULL,1,'{"message":"on it","output_bytes":1}',1000000000000,'{"input_tokens":1}',1000000000000,1000000000000,1000000000000,1000000030000,1000000090000,1000000090000,'the lease ran out and nobody reported',0,1);
INSERT INTO "deliveries" VALUES('d_0008','t_0005/2','t_0005',2,'claude@laptop','n_laptop','c_0009','i_daemon1','i_daemon1','delivered',3,'6fbc787aabd1ac1935d8b7c8ab9daf14c2659a0ba5a1fb3a8ef7e646f66a29fa','receipt',NULL,1,NULL,'{"awake_ms":120000,"ends_at_ms":1000000180000,"hub":"i_hub1","length_ms":60000}',NULL,1,'{"message":"on it","output_bytes":1}',1000000090000,'{"input_tokens":1}',1000000090000,1000000090000,1000000090000,1000000120000,1000000180000,1000000180000,'the cancellation was not answered in time',0,0);
INSERT INTO "deliveries" VALUES('d_0012','t_0011/1','t_0011',1,'claude@laptop','n_laptop','c_0013','i_daemon1','i_daemon1','reported',1,'6db1298329a8c804891b114a37ebf3fda281c04018bf96732dc8e504c63d4bb5','receipt','a55a5d9d4c5017793c3f87b2116bca0826138f5ef683e52d96c055f177e257ec',0,NULL,'{"awake_ms":90000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000090000,'{}',1000000090000,1000000090000,1000000090000,NULL,1000000090000,NULL,'failed',0,0);
INSERT INTO "deliveries" VALUES('d_0017','t_0016/1','t_0016',1,'shy@box','n_box','c_0018','i_daemon2','i_daemon2','delivered',1,'d1f83cfadb1492555a9d05c01f8e081cafb36c175ce3d9c3b6a25aa6745b4e94','receipt',NULL,1,NULL,'{"awake_ms":120000,"ends_at_ms":1000000180000,"hub":"i_hub1","length_ms":60000}',NULL,1,'{"message":"on it","output_bytes":5}',1000000090000,'{"input_tokens":7,"wall_s":2.5}',1000000090000,1000000090000,1000000090000,1000000120000,1000000180000,1000000180000,'the lease ran out and nobody reported',0,0);
INSERT INTO "deliveries" VALUES('d_0020','t_0019/1','t_0019',1,'codex@box','n_box','c_0021','i_daemon2','i_daemon2','reported',1,'9e1649b7c8b379f4a205e86c1ef1276cea7da18c13904e41fbad4ecb1db2f422','receipt','849288cd227769a9122004f91c80bde181ab14aa073012a1c8048e10a13aea01',0,NULL,'{"awake_ms":180000,"ends_at_ms":1000000210000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000180000,'{}',1000000180000,1000000180000,1000000180000,NULL,1000000180000,NULL,'asked',0,0);
INSERT INTO "deliveries" VALUES('d_0023','t_0022/1','t_0022',1,'codex@box','n_box','c_0024','i_daemon2','i_daemon2','reported',1,'2594a3c43737c886df1b915352c877c71ddd3bdf16285714fba7f742c06bdfa7','receipt','a9e11c6b0ce91163136532b3675ff53fd9513f0ca6403c08e731cb7fc0d40077',0,NULL,'{"awake_ms":180000,"ends_at_ms":1000000210000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000180000,'{}',1000000180000,1000000180000,1000000180000,NULL,1000000180000,NULL,'timed_out',0,0);
INSERT INTO "deliveries" VALUES('d_0027','t_0025/1','t_0025',1,'codex@box','n_box','c_0029','i_daemon2','i_daemon2','delivered',1,'0bca74223da0d6503d284654065b7003445fe535f47eec6f2965a08a9a89c98d','receipt',NULL,1,1000000212000,'{"awake_ms":182000,"ends_at_ms":1000000212000,"hub":"i_hub1","length_ms":30000}',NULL,1,'{"message":"on it","output_bytes":5}',1000000182000,'{"input_tokens":7,"wall_s":2.5}',1000000182000,1000000182000,1000000182000,NULL,NULL,NULL,NULL,0,0);
INSERT INTO "deliveries" VALUES('d_0028','t_0026/1','t_0026',1,'codex@box','n_box','c_0029','i_daemon2',NULL,'claimed',1,'e2fd6b5d77f763dfb345d0f7fb9bcabea8845a0796d80d731a483efb49344936',NULL,NULL,1,1000000192000,'{"awake_ms":182000,"ends_at_ms":1000000192000,"hub":"i_hub1","length_ms":10000}',NULL,0,'{}',1000000182000,'{}',1000000182000,NULL,NULL,NULL,NULL,NULL,NULL,0,0);
CREATE TABLE events (
	seq INTEGER NOT NULL, 
	commit_no INTEGER NOT NULL, 
	stream TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	at_ms INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (seq), 
	CONSTRAINT events_of_stream UNIQUE (stream, version)
)
 STRICT

;
INSERT INTO "events" VALUES(1,1,'hub',1,1000000000000,'hub_started','{"event":"hub_started","incarnation":"i_hub1","version":"1"}','65a377848db152bd65f66f18f2bc8afa7bc35763c00b16fc6d643c685b3bbf1b');
INSERT INTO "events" VALUES(2,2,'n_laptop',1,1000000000000,'node_enrolled','{"by":"ann","credential_digest":"5eec0dc419aa8337bf725f026fda9c78c1cb1c642eeaff9d6e1112f37783e942","event":"node_enrolled","name":"laptop","node_id":"n_laptop"}','ddf783d87cba33c73d2bb682aed02127a5aede427593fc2780e4acb31bb00b0b');
INSERT INTO "events" VALUES(3,3,'n_laptop',2,1000000000000,'node_started','{"boot_id":"boot1","compatible":true,"contract":1,"event":"node_started","incarnation":"i_daemon1","node_id":"n_laptop","platform":"linux","recipients":[{"capacity":2,"harness":"command","name":"claude","pools":["pool"]}],"version":"1"}','fb6279afd358e47b30468c83ca553d35c490a36b2e79a8729af34b183bf8121b');
INSERT INTO "events" VALUES(4,4,'hub',2,1000000000000,'credential_issued','{"by":"hub","credential_id":"k_1","event":"credential_issued","name":"ann","role":"operator","token_digest":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}','efc89f538248550ca6d392635cf98cae1cb0089df7af0a8b51302e57dde1b672');
INSERT INTO "events" VALUES(5,5,'hub',3,1000000000000,'credential_revoked','{"by":"ann","credential_id":"k_1","event":"credential_revoked"}','6f037beee750332b8a10a36cc1fd5292fdc1f2f6067c70c3ac43f56cf4687d8c');
INSERT INTO "events" VALUES(6,6,'hub',4,1000000000000,'credential_issued','{"by":"hub","credential_id":"k_2","event":"credential_issued","name":"bob","role":"viewer","token_digest":"d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"}','d16c974d5bb2e9ec36015b60649f611a5fbc548fca485dee97e01313b9083557');
INSERT INTO "events" VALUES(7,7,'t_0001',1,1000000000000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0001","spec":{"labels":{"team":"api"},"objective":"do it","route":"claude"},"task_id":"t_0001"}','d0232434a0a8dea98005c3bc388623e692ebf653bbf07caae2321a900cfbede6');
INSERT INTO "events" VALUES(8,7,'t_0001',2,1000000000000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0001"}','79fcd8c55c0bec4b8a9215c44990de7be96b3c1f85fc7c63fe62067c42d5b3c6');
INSERT INTO "events" VALUES(9,8,'t_0001',3,1000000000000,'delivery_granted','{"claim_id":"c_0003","delivery_id":"d_0002","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon1","node_id":"n_laptop","number":1,"recipient":"claude@laptop","task_id":"t_0001","term_ms":10000,"token_digest":"8e2eb2d2fe5d669cd00d61e539fa388e5516e1a5533d3b2a38fea51a159683cd"}','82909ba33d5e99b5c03ebed4f9115053b35ecd183c98e9c9ccf3548470b809fb');
INSERT INTO "events" VALUES(10,9,'t_0001',4,1000000000000,'delivery_acknowledged','{"delivery_id":"d_0002","event":"delivery_acknowledged","incarnation":"i_daemon1","receipt_digest":"receipt","task_id":"t_0001","term_ms":30000}','bfde7cbbc7333b135a544c91e27e4eeb9606ad97cf3e7f0d1c36b815129567b0');
INSERT INTO "events" VALUES(11,10,'t_0001',5,1000000000000,'report_recorded','{"delivery_id":"d_0002","digest":"cda1f0254ea98c5f4cb4defb52fc7a790e8d5a048be5a5ffb8a45fa43d64ee9d","event":"report_recorded","fence":2,"number":1,"outcome":{"summary":"done","tree_gone":true,"verdict":"completed"},"task_id":"t_0001"}','6b8f89488f6f29e9fe78ea756f9d713d96ddeb17204020411c9867bfc2951499');
INSERT INTO "events" VALUES(12,10,'t_0001',6,1000000000000,'task_ended','{"event":"task_ended","reason":"done","state":"completed","task_id":"t_0001"}','4f86c4e7acc7993007b895314e15c8daca52d4283c6082e2305acf8025883bc3');
INSERT INTO "events" VALUES(13,11,'t_0004',1,1000000000000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0004","spec":{"harness":"command","model":"small","objective":"do it","route":"nobody"},"task_id":"t_0004"}','271fd473016b6e50a69bd87ec9416b3b582366ac9d59aedf87420fd37739565d');
INSERT INTO "events" VALUES(14,11,'t_0004',2,1000000000000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"harness":"command","model":"small","objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"8a0e2de55ca459b4745eadd97de297e83154c5e8e6ea2dc11236ab5d4c2d3424","task_id":"t_0004"}','34a1a41349ac0876e265d75f7317373a7a892e50e6ca07937e2691e87a63670d');
INSERT INTO "events" VALUES(15,12,'t_0004',3,1000000000000,'cancel_advanced','{"because":"not needed","by":"ann","event":"cancel_advanced","grace_ms":60000,"step":"requested","task_id":"t_0004"}','2991ca4ee7356c24d4cf519d3a10b231192ab9983daa3531a5e60c96c456f740');
INSERT INTO "events" VALUES(16,12,'t_0004',4,1000000000000,'attempt_withdrawn','{"event":"attempt_withdrawn","number":1,"task_id":"t_0004"}','caef3bf49223674edb7057f878b9035d1ad193fbb6d7e615bdefe330349bc49f');
INSERT INTO "events" VALUES(17,12,'t_0004',5,1000000000000,'cancel_advanced','{"event":"cancel_advanced","step":"reconciled","task_id":"t_0004"}','2eefe81c12086a7c9a6574df3fc241fd12900da5fe2190b87524b12f956c95ea');
INSERT INTO "events" VALUES(18,12,'t_0004',6,1000000000000,'cancel_advanced','{"event":"cancel_advanced","step":"terminated","task_id":"t_0004"}','2d1f25775b49012db9c40f5d3365f8ca4febd923c7c230b8843e2033fbf86364');
INSERT INTO "events" VALUES(19,12,'t_0004',7,1000000000000,'task_ended','{"event":"task_ended","reason":"not needed","state":"canceled","task_id":"t_0004"}','811de27d19cbf3c84b25980140b6233deea9595f9119fae00a51a0505e36e992');
INSERT INTO "events" VALUES(20,13,'t_0005',1,1000000000000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0005","spec":{"objective":"do it","route":"claude"},"task_id":"t_0005"}','68be5ecf7c31af144fd13941609bb9cc1fc662956b8ee043526902cbc90e04ca');
INSERT INTO "events" VALUES(21,13,'t_0005',2,1000000000000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0005"}','1a12194196bc6fa0bee30b95bbdc8b614cbf1208627d06456198a87c3b2f1be7');
INSERT INTO "events" VALUES(22,14,'t_0005',3,1000000000000,'delivery_granted','{"claim_id":"c_0007","delivery_id":"d_0006","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon1","node_id":"n_laptop","number":1,"recipient":"claude@laptop","task_id":"t_0005","term_ms":10000,"token_digest":"7123fc9d3114e6358b3cc5dddfb83c13ea450840db9c15cff9811801a014b2bd"}','c56c87cb4e0d10fe7600e0934484efad4fd680385dc4fa1c0919631628effe18');
INSERT INTO "events" VALUES(23,15,'t_0005',4,1000000000000,'delivery_acknowledged','{"delivery_id":"d_0006","event":"delivery_acknowledged","incarnation":"i_daemon1","receipt_digest":"receipt","task_id":"t_0005","term_ms":30000}','126ecf9e0bd33711e478d9dd5ce8b304be9934cb1f6af82f779f93d3cc0aae02');
INSERT INTO "events" VALUES(24,16,'t_0005',5,1000000000000,'lease_renewed','{"advanced":true,"counter":1,"delivery_id":"d_0006","event":"lease_renewed","progress":{"message":"on it","output_bytes":1},"task_id":"t_0005","term_ms":30000,"usage":{"input_tokens":1}}','51309f6c3db1a85e60b4dbf9b5af2f8812f6baa332b30c1d48225966c05d2642');
INSERT INTO "events" VALUES(25,17,'t_0005',6,1000000030000,'lease_expired','{"delivery_id":"d_0006","event":"lease_expired","grace_ms":60000,"task_id":"t_0005"}','a31526ec4229fd4cba98d02fb9f320b4c8ec9beb4e4b5ccb773a1ca959aca341');
INSERT INTO "events" VALUES(26,18,'t_0005',7,1000000090000,'lease_revoked','{"delivery_id":"d_0006","event":"lease_revoked","fence":2,"number":1,"reason":"the lease ran out and nobody reported","task_id":"t_0005"}','7c1b2baad7fc0fde9317b1c1b016c3acea107424bbe5dc87402728f882cce32d');
INSERT INTO "events" VALUES(27,18,'t_0005',8,1000000090000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{},\"reason\":\"the lease ran out and nobody reported\",\"recipient\":\"claude@laptop\"}","kind":"unknown","subject":"t_0005/1","summary":"nobody reported how t_0005/1 on claude@laptop ended: the lease ran out and nobody reported","task_id":"t_0005"}','308c20b2c6e4258f02d83d5491aad1022e259b37311f29c20e7eb37cf0d57d94');
INSERT INTO "events" VALUES(28,19,'t_0005',9,1000000090000,'late_heard','{"claimed_fence":1,"delivery_id":"d_0006","digest":"cda1f0254ea98c5f4cb4defb52fc7a790e8d5a048be5a5ffb8a45fa43d64ee9d","event":"late_heard","incarnation":"i_daemon1","kind":"report","number":1,"outcome":{"summary":"done","tree_gone":true,"verdict":"completed"},"task_id":"t_0005"}','ddb66fdb3897a8391a7bed5f0c04a1ecd5906b1f45c5fb0a268f2c9e3fc351a7');
INSERT INTO "events" VALUES(29,19,'t_0005',10,1000000090000,'slot_freed','{"delivery_id":"d_0006","event":"slot_freed","reason":"its node reported late","task_id":"t_0005"}','9317e64427ade9ccd44b9e2f4ea6428b3ab0442aec8365ba397ce19647345329');
INSERT INTO "events" VALUES(30,19,'t_0005',11,1000000090000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{\"d_0006:report:cda1f0254ea98c5f\":\"completed\"},\"reason\":\"a late report says completed\",\"recipient\":\"claude@laptop\"}","kind":"unknown","subject":"t_0005/1","summary":"nobody reported how t_0005/1 on claude@laptop ended: a late report says completed","task_id":"t_0005"}','048728d45e1a091f03bb0cece6ed8c509be0f4e188cc795ecf797a0275c9823c');
INSERT INTO "events" VALUES(31,20,'t_0005',12,1000000090000,'attempt_reconciled','{"answer":"investigate","because":"I looked","by":"ann","event":"attempt_reconciled","number":1,"task_id":"t_0005"}','e7c1fd5197596f1a80c5f4e8712c339f1879f737fffe76af818ca6e8b767c924');
INSERT INTO "events" VALUES(32,21,'t_0005',13,1000000090000,'attempt_reconciled','{"answer":"rerun","because":"I looked","by":"ann","event":"attempt_reconciled","number":1,"task_id":"t_0005"}','e440bfbb83a68dfcb91a52115b6641490e42adf6df1d114916ff2d0bca50c8fc');
INSERT INTO "events" VALUES(33,21,'t_0005',14,1000000090000,'attention_closed','{"because":"answered rerun by ann","event":"attention_closed","kind":"unknown","subject":"t_0005/1","task_id":"t_0005"}','ca4d84434fce48e9b5038253184b3f404a01dcfedd76e5dfca6da9c81c8a6ea9');
INSERT INTO "events" VALUES(34,21,'t_0005',15,1000000090000,'attempt_created','{"event":"attempt_created","number":2,"spec":{"follows":1,"hypothesis":{"after_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","because":"I looked","before_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","by":"ann"},"objective":"do it","policy":"default-1","relation":"retry","worktree":"none"},"spec_digest":"5c124505d5a412415eb5871b2e03beb1ad8848bbe29b186ee8921d626af45fb2","task_id":"t_0005"}','951ec900e6e8e5f04226acd3d67b869ac2c41779b47f7ecba84f5e0779125c4e');
INSERT INTO "events" VALUES(35,22,'t_0005',16,1000000090000,'delivery_granted','{"claim_id":"c_0009","delivery_id":"d_0008","event":"delivery_granted","fence":3,"harness":"command","incarnation":"i_daemon1","node_id":"n_laptop","number":2,"recipient":"claude@laptop","task_id":"t_0005","term_ms":10000,"token_digest":"6fbc787aabd1ac1935d8b7c8ab9daf14c2659a0ba5a1fb3a8ef7e646f66a29fa"}','155f2fe03b1d08a9107c8eb3942272e320d3e9a855ff7af8ae56bbe5d54a7490');
INSERT INTO "events" VALUES(36,23,'t_0005',17,1000000090000,'delivery_acknowledged','{"delivery_id":"d_0008","event":"delivery_acknowledged","incarnation":"i_daemon1","receipt_digest":"receipt","task_id":"t_0005","term_ms":30000}','f78f6d942808a9e9465bb19f6d8d165a984fd25d5cfcb272167e75d8b33f68b5');
INSERT INTO "events" VALUES(37,24,'t_0005',18,1000000090000,'lease_renewed','{"advanced":true,"counter":1,"delivery_id":"d_0008","event":"lease_renewed","progress":{"message":"on it","output_bytes":1},"task_id":"t_0005","term_ms":30000,"usage":{"input_tokens":1}}','b8a5a2b4357470fd0ea7c213b09d41612b00b53b59416ed153a5331e766bf26e');
INSERT INTO "events" VALUES(38,25,'t_0005',19,1000000090000,'cancel_advanced','{"because":"enough","by":"ann","event":"cancel_advanced","grace_ms":60000,"step":"requested","task_id":"t_0005"}','b50df34d8697e8adcaabfd9c2c51629623516b7da0a24c2f1922a9e6adfba570');
INSERT INTO "events" VALUES(39,26,'t_0010',1,1000000090000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0010","spec":{"after":["t_0005","t_0001"],"objective":"do it","route":"claude"},"task_id":"t_0010","waits_for":["t_0005"]}','9347ed1ba11f7d92f05a36d4ee5107681bcd2a532a31d55b69e09464cfe8db76');
INSERT INTO "events" VALUES(40,26,'t_0010',2,1000000090000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0010"}','47491429bd5b04420cd672a4f0f3893e1f9b9be4dc949571bf8b9fc3b881f34c');
INSERT INTO "events" VALUES(41,27,'t_0011',1,1000000090000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0011","spec":{"objective":"do it","route":"claude"},"task_id":"t_0011"}','ce9f28936964b8ecd490fa9cf5d581086686c094c418fcd79de07c989909344b');
INSERT INTO "events" VALUES(42,27,'t_0011',2,1000000090000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0011"}','5062c9ace301f371d0b81857ba33116eb3b211176f60e23be17d03db2cfe4c27');
INSERT INTO "events" VALUES(43,28,'t_0011',3,1000000090000,'delivery_granted','{"claim_id":"c_0013","delivery_id":"d_0012","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon1","node_id":"n_laptop","number":1,"recipient":"claude@laptop","task_id":"t_0011","term_ms":10000,"token_digest":"6db1298329a8c804891b114a37ebf3fda281c04018bf96732dc8e504c63d4bb5"}','5d9a4a08139543c47a7218a8720cb2e177dde8e53561f37541d335a7df376c6d');
INSERT INTO "events" VALUES(44,29,'t_0011',4,1000000090000,'delivery_acknowledged','{"delivery_id":"d_0012","event":"delivery_acknowledged","incarnation":"i_daemon1","receipt_digest":"receipt","task_id":"t_0011","term_ms":30000}','e5b20b67c33c7fc6ddd625757189f2662329c8dd5f829bfe2977d831b7280910');
INSERT INTO "events" VALUES(45,30,'t_0011',5,1000000090000,'report_recorded','{"delivery_id":"d_0012","digest":"a55a5d9d4c5017793c3f87b2116bca0826138f5ef683e52d96c055f177e257ec","event":"report_recorded","fence":2,"number":1,"outcome":{"summary":"done","tree_gone":true,"verdict":"failed"},"task_id":"t_0011"}','f1bb4aa6b4f194135a45843e116ab0521ff80a58b0b2536a98e9c9e3d056fe13');
INSERT INTO "events" VALUES(46,30,'t_0011',6,1000000090000,'task_ended','{"event":"task_ended","reason":"done","state":"failed","task_id":"t_0011"}','8cbb60a0ac03923f4979f83b929ac28bd19f46a668be39c6559ab14784340f29');
INSERT INTO "events" VALUES(47,31,'t_0014',1,1000000090000,'task_submitted','{"by":"ann","event":"task_submitted","failed_dependencies":["t_0011"],"idempotency_key":"t_0014","spec":{"after":["t_0011"],"objective":"do it","route":"claude"},"task_id":"t_0014"}','2ebcd6377b7ed9605619e033e5ee4a9dcd55ac0e5fea224717b2f73b45b9e065');
INSERT INTO "events" VALUES(48,31,'t_0014',2,1000000090000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0014"}','75f1aacae3ae6e4507d5524fd26981433c9b3c09d61aea1985c2e2ad409dc518');
INSERT INTO "events" VALUES(49,32,'t_0015',1,1000000090000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0015","lineage":["t_0011"],"spec":{"because":"with another base","continues":"t_0011","objective":"do it","route":"elsewhere"},"task_id":"t_0015"}','35dec75800baf1b923bbb7c36e35fbbc077588c6d0cf0efa77d988d8e269a350');
INSERT INTO "events" VALUES(50,32,'t_0015',2,1000000090000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0015"}','ca88909aca82e54df505ef0e70a31208b4e36a58c42581816396946864e36df7');
INSERT INTO "events" VALUES(51,33,'hub',5,1000000090000,'hub_attention_opened','{"event":"hub_attention_opened","facts":"{\"at_ms\":1000000090000,\"step_ms\":90000}","kind":"clock_stepped","subject":"hub","summary":"the hub''s wall clock stepped by +90 s. No lease was lost by it; check the time service."}','2ff5b0ac280b4fe43002fec35d30611de480929975f16a2a077771a5245b775e');
INSERT INTO "events" VALUES(52,34,'n_box',1,1000000090000,'node_enrolled','{"by":"ann","credential_digest":"26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae","event":"node_enrolled","name":"box","node_id":"n_box"}','bba86d0ae69c4f9d7ca4d76cd2781a0f08c4210ab367af01ec1b05b4edfc188f');
INSERT INTO "events" VALUES(53,35,'n_box',2,1000000090000,'node_started','{"boot_id":"boot1","compatible":true,"contract":1,"event":"node_started","incarnation":"i_daemon2","node_id":"n_box","platform":"linux","recipients":[{"capacity":3,"harness":"command","name":"codex","pools":["boxes"]},{"harness":"command","name":"shy"}],"version":"1"}','3d11f22359f98131175898b2a75c78e1abe83255d2797f709cad63fe9abad9e2');
INSERT INTO "events" VALUES(54,36,'t_0016',1,1000000090000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0016","spec":{"objective":"do it","route":"shy@box"},"task_id":"t_0016"}','0b6ac5d2e8596f68d7ed64275665605245c1ae046cbe1a7538f8cbbcd4ecb5bd');
INSERT INTO "events" VALUES(55,36,'t_0016',2,1000000090000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0016"}','c4d1c68be70b6b15e8cfa53790e9b836543282f753172d77ae041329c1428a39');
INSERT INTO "events" VALUES(56,37,'t_0016',3,1000000090000,'delivery_granted','{"claim_id":"c_0018","delivery_id":"d_0017","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","node_id":"n_box","number":1,"recipient":"shy@box","task_id":"t_0016","term_ms":10000,"token_digest":"d1f83cfadb1492555a9d05c01f8e081cafb36c175ce3d9c3b6a25aa6745b4e94"}','1aac6da28610b66657d875f800ca530c6f21200dfad34cacd135610757c8da10');
INSERT INTO "events" VALUES(57,38,'t_0016',4,1000000090000,'delivery_acknowledged','{"delivery_id":"d_0017","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0016","term_ms":30000}','1211ee0040745395ae9dfdb08140b2ddc5b56a188f5651774b70bdd1f8110693');
INSERT INTO "events" VALUES(58,39,'t_0016',5,1000000090000,'lease_renewed','{"advanced":true,"counter":1,"delivery_id":"d_0017","event":"lease_renewed","progress":{"message":"on it","output_bytes":5},"task_id":"t_0016","term_ms":30000,"usage":{"input_tokens":7,"wall_s":2.5}}','2209541266abe2f89181d89b51d2f0f1f45c26b855830683c63c3bdbd869bed2');
INSERT INTO "events" VALUES(59,40,'t_0005',20,1000000120000,'lease_expired','{"delivery_id":"d_0008","event":"lease_expired","grace_ms":60000,"task_id":"t_0005"}','6092703126ea1faf6d2d2e6cad71e84abac01bf0e844ac67f11e71a216f0e9d1');
INSERT INTO "events" VALUES(60,41,'t_0016',6,1000000120000,'lease_expired','{"delivery_id":"d_0017","event":"lease_expired","grace_ms":60000,"task_id":"t_0016"}','37da7af97ad54c4f2ee1a0da7338ddce2ba74ba8e15fd74c51ad12d37d4a60c4');
INSERT INTO "events" VALUES(61,42,'t_0005',21,1000000180000,'lease_revoked','{"delivery_id":"d_0008","event":"lease_revoked","fence":4,"number":2,"reason":"the cancellation was not answered in time","task_id":"t_0005"}','bb34e61ab660f1ada387d19d4f88bc8fb9e6bbae2984da6745debdec569abc98');
INSERT INTO "events" VALUES(62,42,'t_0005',22,1000000180000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{},\"reason\":\"the cancellation was not answered in time\",\"recipient\":\"claude@laptop\"}","kind":"unknown","subject":"t_0005/2","summary":"nobody reported how t_0005/2 on claude@laptop ended: the cancellation was not answered in time","task_id":"t_0005"}','53b6b21e1171349dd48fab135f6faf01814367c807bff2908ade278c3f582003');
INSERT INTO "events" VALUES(63,42,'t_0005',23,1000000180000,'cancel_advanced','{"event":"cancel_advanced","step":"unacknowledged","task_id":"t_0005"}','3a5bf8649550898d15b8744b593c6e80ab57263bdd7bebc0634e7df72af28f70');
INSERT INTO "events" VALUES(64,42,'t_0005',24,1000000180000,'cancel_advanced','{"event":"cancel_advanced","step":"reconciled","task_id":"t_0005"}','518372efcdb364def63e324a65a88bcf8afcddc0f1344bd54fc5dc4429bab5d0');
INSERT INTO "events" VALUES(65,42,'t_0005',25,1000000180000,'cancel_advanced','{"event":"cancel_advanced","step":"terminated","task_id":"t_0005"}','41eb669accb488e01963e479c4c2139b1c70bc7d4062ba90b51ea4aff3f5d82a');
INSERT INTO "events" VALUES(66,42,'t_0005',26,1000000180000,'task_ended','{"event":"task_ended","reason":"enough","state":"canceled","task_id":"t_0005"}','94a9548b81df6ab7065d29f2789df581f2ad647f6d4f086c3e4ca456f75d588a');
INSERT INTO "events" VALUES(67,43,'t_0016',7,1000000180000,'lease_revoked','{"delivery_id":"d_0017","event":"lease_revoked","fence":2,"number":1,"reason":"the lease ran out and nobody reported","task_id":"t_0016"}','4b77daf6e58ccd3829a10d918b60cda0db642b4466ec9361d28968893f733681');
INSERT INTO "events" VALUES(68,43,'t_0016',8,1000000180000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{},\"reason\":\"the lease ran out and nobody reported\",\"recipient\":\"shy@box\"}","kind":"unknown","subject":"t_0016/1","summary":"nobody reported how t_0016/1 on shy@box ended: the lease ran out and nobody reported","task_id":"t_0016"}','f9afa9f18bf0047d9904770152d16a9a14faefe8a116eda9f372b9f7a0fccdaf');
INSERT INTO "events" VALUES(69,44,'t_0019',1,1000000180000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0019","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0019"}','9b50ca235892f6303332b92e1a3752b981bc826775b3d96e14cafd192178498f');
INSERT INTO "events" VALUES(70,44,'t_0019',2,1000000180000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0019"}','8aacbec50a22afef93ea76b28e22de45b236838870005b1e5c789f27615b82cd');
INSERT INTO "events" VALUES(71,45,'t_0019',3,1000000180000,'delivery_granted','{"claim_id":"c_0021","delivery_id":"d_0020","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0019","term_ms":10000,"token_digest":"9e1649b7c8b379f4a205e86c1ef1276cea7da18c13904e41fbad4ecb1db2f422"}','a17ecbfb77a1b1c30e860ea809e2ba71c2e4fedc589075902e0c5ebf65c14538');
INSERT INTO "events" VALUES(72,46,'t_0019',4,1000000180000,'delivery_acknowledged','{"delivery_id":"d_0020","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0019","term_ms":30000}','7d386905a7a3ffe10f748e2dadc5fb10ff271f9624f696238b78b1676b876c3d');
INSERT INTO "events" VALUES(73,47,'t_0019',5,1000000180000,'report_recorded','{"delivery_id":"d_0020","digest":"849288cd227769a9122004f91c80bde181ab14aa073012a1c8048e10a13aea01","event":"report_recorded","fence":2,"number":1,"outcome":{"summary":"so it ended","tree_gone":true,"verdict":"asked"},"task_id":"t_0019"}','093441fd8e42b6ecc4afc2f4d2bebb121846a91d657a37ebedd2281557ac764e');
INSERT INTO "events" VALUES(74,47,'t_0019',6,1000000180000,'attention_opened','{"event":"attention_opened","facts":"{\"reason\":\"so it ended\"}","kind":"asked","subject":"t_0019/1","summary":"so it ended","task_id":"t_0019"}','aca455cbb37df73526829e7471a1bb5c934cbd154cd6bf517717763303110b9e');
INSERT INTO "events" VALUES(75,48,'t_0022',1,1000000180000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0022","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0022"}','4c61bfa24341dca08195be662b00ed92edc6f722ee1a18b6234730294e67caa1');
INSERT INTO "events" VALUES(76,48,'t_0022',2,1000000180000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0022"}','51e880787ccd79103bcd25d54604f8b238402310d3e11fe831ca07bd07621982');
INSERT INTO "events" VALUES(77,49,'t_0022',3,1000000180000,'delivery_granted','{"claim_id":"c_0024","delivery_id":"d_0023","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0022","term_ms":10000,"token_digest":"2594a3c43737c886df1b915352c877c71ddd3bdf16285714fba7f742c06bdfa7"}','4b8628d3d2b6c00a8554d9824d2d41a51e02ca7914547527cb366521d30d8df8');
INSERT INTO "events" VALUES(78,50,'t_0022',4,1000000180000,'delivery_acknowledged','{"delivery_id":"d_0023","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0022","term_ms":30000}','ea7e1b8e9a25a041cb4ac5ba7181e688ad364b8ed6331a9fddbe6aeafc21b26a');
INSERT INTO "events" VALUES(79,51,'t_0022',5,1000000180000,'report_recorded','{"delivery_id":"d_0023","digest":"a9e11c6b0ce91163136532b3675ff53fd9513f0ca6403c08e731cb7fc0d40077","event":"report_recorded","fence":2,"number":1,"outcome":{"summary":"so it ended","tree_gone":true,"verdict":"timed_out"},"task_id":"t_0022"}','f9c74138509f63f332cd96690e5a1451b5f0c5973f58cd9e35e9d138da85c60b');
INSERT INTO "events" VALUES(80,51,'t_0022',6,1000000180000,'task_ended','{"event":"task_ended","reason":"so it ended","state":"failed","task_id":"t_0022"}','021afb396fe8200a1f5b2d4628cb051a0c4238a89a35079fe09f47a6a2fe7c25');
INSERT INTO "events" VALUES(81,52,'t_0025',1,1000000180000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0025","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0025"}','c9689b369162c6d8d1ec66f3d8f5bc9d229e6c9b6ca8b85cb3c70eb9f12d257e');
INSERT INTO "events" VALUES(82,52,'t_0025',2,1000000180000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0025"}','f32e293dbb1cf0fe3f154b24150040d79fcd6644b546d181ac8c0db1d68acf1a');
INSERT INTO "events" VALUES(83,53,'t_0026',1,1000000181000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0026","spec":{"objective":"do it","route":"boxes"},"task_id":"t_0026"}','c440f0315d1d1910d7342dbdeacbd92d43093fd6cc13b2c64faaf64b86bab11f');
INSERT INTO "events" VALUES(84,53,'t_0026',2,1000000181000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0026"}','0f4d238e7e2959d7945a9b884b6b98f8d72534dc5aeb5552633efbc0494a324d');
INSERT INTO "events" VALUES(85,54,'t_0025',3,1000000182000,'delivery_granted','{"claim_id":"c_0029","delivery_id":"d_0027","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0025","term_ms":10000,"token_digest":"0bca74223da0d6503d284654065b7003445fe535f47eec6f2965a08a9a89c98d"}','8606dab53b31c86a158f550c76f01c79b7b3e4e157614f10fb63a3424ce9a54f');
INSERT INTO "events" VALUES(86,54,'t_0026',3,1000000182000,'delivery_granted','{"claim_id":"c_0029","delivery_id":"d_0028","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0026","term_ms":10000,"token_digest":"e2fd6b5d77f763dfb345d0f7fb9bcabea8845a0796d80d731a483efb49344936"}','1c7c21f57167e0a72e5f8e882807bbb9f20a6266fc094204efe72bcd2953f604');
INSERT INTO "events" VALUES(87,55,'t_0025',4,1000000182000,'delivery_acknowledged','{"delivery_id":"d_0027","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0025","term_ms":30000}','d7401d2430f772ed2f2048ce729f4137524e21297ac9a1300b4b408cfc775b4d');
INSERT INTO "events" VALUES(88,56,'t_0025',5,1000000182000,'lease_renewed','{"advanced":true,"counter":1,"delivery_id":"d_0027","event":"lease_renewed","progress":{"message":"on it","output_bytes":5},"task_id":"t_0025","term_ms":30000,"usage":{"input_tokens":7,"wall_s":2.5}}','2b86d93b6eaecd50398b9f56fc1eb03fc790cb614751adba38314d11ce5368a6');
INSERT INTO "events" VALUES(89,57,'t_0030',1,1000000182000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0030","spec":{"not_before_ms":1000000232000,"objective":"do it","route":"codex@box"},"task_id":"t_0030"}','66625eadb07e4d13664833c84cd8be22f2dab74b6975e0ee41f8167db054b847');
INSERT INTO "events" VALUES(90,57,'t_0030',2,1000000182000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0030"}','17d329d62f219624926083419322ca584d661db13cd3f9960df09790cfbd186b');
INSERT INTO "events" VALUES(91,58,'t_0031',1,1000000183000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0031","spec":{"objective":"do it","route":"boxes"},"task_id":"t_0031"}','ed1978e5cc40c1d54939e71000054971606b763ee8d220da55f475833a0cc22a');
INSERT INTO "events" VALUES(92,58,'t_0031',2,1000000183000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0031"}','3571c3a6cd8eebcc50adbaf828e8cab037505dc9adc1b74e60b2a968ca902ed4');
INSERT INTO "events" VALUES(93,59,'t_0032',1,1000000184000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0032","spec":{"objective":"do it","route":"codex"},"task_id":"t_0032"}','8c0d994784c3d22833e4cee4b5541343496eae4611a15deba83866e61b339c08');
INSERT INTO "events" VALUES(94,59,'t_0032',2,1000000184000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0032"}','36ec8690bf0fa125ab70719f286e6534b3096d0c92fd228fd0f989df51c8536a');
INSERT INTO "events" VALUES(95,60,'t_0033',1,1000000185000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0033","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0033"}','05171c683b11d7161dd680e617afec63b374b65f5a0255e3dde1707c85aa42e4');
INSERT INTO "events" VALUES(96,60,'t_0033',2,1000000185000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0033"}','53dad51c1d6562718deff65f7c619f3529bcf13f8af2a5f35db379c68de9ab8c');
CREATE TABLE facets (
	facet TEXT NOT NULL, 
	value TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	PRIMARY KEY (facet, value, task_id)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "facets" VALUES('after','t_0001','t_0010');
INSERT INTO "facets" VALUES('after','t_0005','t_0010');
INSERT INTO "facets" VALUES('after','t_0011','t_0014');
INSERT INTO "facets" VALUES('by','ann','t_0001');
INSERT INTO "facets" VALUES('by','ann','t_0004');
INSERT INTO "facets" VALUES('by','ann','t_0005');
INSERT INTO "facets" VALUES('by','ann','t_0010');
INSERT INTO "facets" VALUES('by','ann','t_0011');
INSERT INTO "facets" VALUES('by','ann','t_0014');
INSERT INTO "facets" VALUES('by','ann','t_0015');
INSERT INTO "facets" VALUES('by','ann','t_0016');
INSERT INTO "facets" VALUES('by','ann','t_0019');
INSERT INTO "facets" VALUES('by','ann','t_0022');
INSERT INTO "facets" VALUES('by','ann','t_0025');
INSERT INTO "facets" VALUES('by','ann','t_0026');
INSERT INTO "facets" VALUES('by','ann','t_0030');
INSERT INTO "facets" VALUES('by','ann','t_0031');
INSERT INTO "facets" VALUES('by','ann','t_0032');
INSERT INTO "facets" VALUES('by','ann','t_0033');
INSERT INTO "facets" VALUES('continues','t_0011','t_0015');
INSERT INTO "facets" VALUES('label','team=api','t_0001');
INSERT INTO "facets" VALUES('route','boxes','t_0026');
INSERT INTO "facets" VALUES('route','boxes','t_0031');
INSERT INTO "facets" VALUES('route','claude','t_0001');
INSERT INTO "facets" VALUES('route','claude','t_0005');
INSERT INTO "facets" VALUES('route','claude','t_0010');
INSERT INTO "facets" VALUES('route','claude','t_0011');
INSERT INTO "facets" VALUES('route','claude','t_0014');
INSERT INTO "facets" VALUES('route','codex','t_0032');
INSERT INTO "facets" VALUES('route','codex@box','t_0019');
INSERT INTO "facets" VALUES('route','codex@box','t_0022');
INSERT INTO "facets" VALUES('route','codex@box','t_0025');
INSERT INTO "facets" VALUES('route','codex@box','t_0030');
INSERT INTO "facets" VALUES('route','codex@box','t_0033');
INSERT INTO "facets" VALUES('route','elsewhere','t_0015');
INSERT INTO "facets" VALUES('route','nobody','t_0004');
INSERT INTO "facets" VALUES('route','shy@box','t_0016');
CREATE TABLE hub (
	hub_id TEXT NOT NULL, 
	incarnation TEXT NOT NULL, 
	starts INTEGER NOT NULL, 
	version TEXT NOT NULL, 
	started_at_ms INTEGER NOT NULL, 
	PRIMARY KEY (hub_id)
)
 STRICT

;
INSERT INTO "hub" VALUES('hub','i_hub1',1,'1',1000000000000);
CREATE TABLE late (
	late_id TEXT NOT NULL, 
	delivery_id TEXT NOT NULL, 
	attempt_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	claimed_fence INTEGER NOT NULL, 
	current_fence INTEGER NOT NULL, 
	incarnation TEXT NOT NULL, 
	outcome TEXT, 
	heard_at_ms INTEGER NOT NULL, 
	PRIMARY KEY (late_id), 
	CONSTRAINT late_kind CHECK (kind IN ('acknowledge', 'renew', 'report'))
)
 STRICT

;
INSERT INTO "late" VALUES('d_0006:report:cda1f0254ea98c5f','d_0006','t_0005/1','t_0005','report',1,2,'i_daemon1','{"summary":"done","tree_gone":true,"verdict":"completed"}',1000000090000);
CREATE TABLE nodes (
	node_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	credential_digest TEXT NOT NULL, 
	incarnation TEXT NOT NULL, 
	superseded TEXT NOT NULL, 
	boots TEXT NOT NULL, 
	contract INTEGER NOT NULL, 
	compatible INTEGER NOT NULL, 
	quarantined INTEGER NOT NULL, 
	revoked INTEGER NOT NULL, 
	snapshot_sequence INTEGER NOT NULL, 
	platform TEXT NOT NULL, 
	version TEXT NOT NULL, 
	recipients TEXT NOT NULL, 
	enrolled_at_ms INTEGER NOT NULL, 
	started_at_ms INTEGER NOT NULL, 
	PRIMARY KEY (node_id), 
	CONSTRAINT nodes_compatible CHECK (compatible IN (0, 1)), 
	CONSTRAINT nodes_quarantined CHECK (quarantined IN (0, 1)), 
	CONSTRAINT nodes_revoked CHECK (revoked IN (0, 1))
)
 STRICT

;
INSERT INTO "nodes" VALUES('n_laptop','laptop','5eec0dc419aa8337bf725f026fda9c78c1cb1c642eeaff9d6e1112f37783e942','i_daemon1','[]','["boot1"]',1,1,0,0,0,'linux','1','["claude@laptop"]',1000000000000,1000000000000);
INSERT INTO "nodes" VALUES('n_box','box','26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae','i_daemon2','[]','["boot1"]',1,1,0,0,0,'linux','1','["codex@box","shy@box"]',1000000090000,1000000090000);
CREATE TABLE recipients (
	address TEXT NOT NULL, 
	node_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	harness TEXT NOT NULL, 
	model TEXT, 
	pools TEXT NOT NULL, 
	capacity INTEGER NOT NULL, 
	isolation TEXT NOT NULL, 
	config_digest TEXT NOT NULL, 
	slots_used INTEGER NOT NULL, 
	blocks TEXT NOT NULL, 
	declared INTEGER NOT NULL, 
	declared_at_ms INTEGER NOT NULL, 
	PRIMARY KEY (address), 
	CONSTRAINT recipients_declared CHECK (declared IN (0, 1))
)
 STRICT

;
INSERT INTO "recipients" VALUES('claude@laptop','n_laptop','claude','command',NULL,'["pool"]',2,'open','',1,'["t_0005/2"]',1,1000000000000);
INSERT INTO "recipients" VALUES('codex@box','n_box','codex','command',NULL,'["boxes"]',3,'open','',2,'[]',1,1000000090000);
INSERT INTO "recipients" VALUES('shy@box','n_box','shy','command',NULL,'[]',1,'open','',1,'["t_0016/1"]',1,1000000090000);
CREATE TABLE tasks (
	task_id TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	spec_digest TEXT NOT NULL, 
	state TEXT NOT NULL, 
	fence INTEGER NOT NULL, 
	lease TEXT, 
	attempts INTEGER NOT NULL, 
	voided_offers INTEGER NOT NULL, 
	queue_key TEXT, 
	ready_at_ms INTEGER NOT NULL, 
	waits_for TEXT NOT NULL, 
	failed_dependencies TEXT NOT NULL, 
	lineage TEXT NOT NULL, 
	cancel_step TEXT, 
	cancel_because TEXT, 
	cancel_at_ms INTEGER, 
	submitted_by TEXT NOT NULL, 
	idempotency_key TEXT NOT NULL, 
	submitted_at_ms INTEGER NOT NULL, 
	ended_at_ms INTEGER, 
	end_reason TEXT, 
	PRIMARY KEY (task_id), 
	CONSTRAINT tasks_state CHECK (state IN ('submitted', 'working', 'input_required', 'completed', 'failed', 'canceled', 'rejected')), 
	CONSTRAINT tasks_cancel_step CHECK (cancel_step IN ('requested', 'signaled', 'acknowledged', 'unacknowledged', 'reconciled', 'terminated'))
)
 STRICT

;
INSERT INTO "tasks" VALUES('t_0001','{"labels":{"team":"api"},"objective":"do it","route":"claude"}','a4e743f12b12cd2dfb87c3461dcbc8b6c22ad66563c5e643832b06a83d2f09ba','completed',2,NULL,1,0,NULL,1000000000000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0001',1000000000000,1000000000000,'done');
INSERT INTO "tasks" VALUES('t_0004','{"harness":"command","model":"small","objective":"do it","route":"nobody"}','8bb8f57b0cdcb52a2f50ff6b5e0dd224ca44f2a458c0e209f62df6d1636661c4','canceled',0,NULL,1,0,NULL,1000000000000,'[]','[]','[]','terminated','not needed',1000000000000,'ann','t_0004',1000000000000,1000000000000,'not needed');
INSERT INTO "tasks" VALUES('t_0005','{"objective":"do it","route":"claude"}','f753969f735ae9eff8a4d950a2c37551b672f7d1d7d65dd8a97191e9ea2da8dc','canceled',4,NULL,2,0,NULL,1000000090000,'[]','[]','[]','terminated','enough',1000000090000,'ann','t_0005',1000000000000,1000000180000,'enough');
INSERT INTO "tasks" VALUES('t_0010','{"after":["t_0005","t_0001"],"objective":"do it","route":"claude"}','c9ad7b1f33fb6f6048b3f0e7c4485f3f36b32ce7f88fccce6e2dca5501eb097d','submitted',0,NULL,1,0,NULL,1000000090000,'["t_0005"]','[]','[]',NULL,NULL,NULL,'ann','t_0010',1000000090000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0011','{"objective":"do it","route":"claude"}','f753969f735ae9eff8a4d950a2c37551b672f7d1d7d65dd8a97191e9ea2da8dc','failed',2,NULL,1,0,NULL,1000000090000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0011',1000000090000,1000000090000,'done');
INSERT INTO "tasks" VALUES('t_0014','{"after":["t_0011"],"objective":"do it","route":"claude"}','5dcc87bcc3b26f2f7311b5243674bb43cb7509cf5c628b46c1bc3ec3c4df3f1a','submitted',0,NULL,1,0,NULL,1000000090000,'[]','["t_0011"]','[]',NULL,NULL,NULL,'ann','t_0014',1000000090000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0015','{"because":"with another base","continues":"t_0011","objective":"do it","route":"elsewhere"}','ff90ad6e285297ab7101a91d3e1378be3fc434067a6b42871100bafc4db6f8a0','submitted',0,NULL,1,0,'elsewhere|*|*',1000000090000,'[]','[]','["t_0011"]',NULL,NULL,NULL,'ann','t_0015',1000000090000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0016','{"objective":"do it","route":"shy@box"}','5ef10650fce3a6bc0a4d4ff8f0702209aad573ff8c796fd182d121e91f4e4b17','input_required',2,NULL,1,0,NULL,1000000090000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0016',1000000090000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0019','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','input_required',2,NULL,1,0,NULL,1000000180000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0019',1000000180000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0022','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','failed',2,NULL,1,0,NULL,1000000180000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0022',1000000180000,1000000180000,'so it ended');
INSERT INTO "tasks" VALUES('t_0025','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','working',1,'d_0027',1,0,NULL,1000000180000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0025',1000000180000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0026','{"objective":"do it","route":"boxes"}','f81ba222acebfde124d223910ba54a406ae570f9a4e8d51258b012524ca58533','working',1,'d_0028',1,0,NULL,1000000181000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0026',1000000181000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0030','{"not_before_ms":1000000232000,"objective":"do it","route":"codex@box"}','3ea4115435755c860ddfbd38c6267e00b89611e41e2c16ea66692b0f97d31bab','submitted',0,NULL,1,0,'codex@box|*|*',1000000232000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0030',1000000182000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0031','{"objective":"do it","route":"boxes"}','f81ba222acebfde124d223910ba54a406ae570f9a4e8d51258b012524ca58533','submitted',0,NULL,1,0,'boxes|*|*',1000000183000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0031',1000000183000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0032','{"objective":"do it","route":"codex"}','fb4f591ef13743ca11c7e78eb1ab270d9f05546934265326b0f14f720f22b521','submitted',0,NULL,1,0,'codex|*|*',1000000184000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0032',1000000184000,NULL,NULL);
INSERT INTO "tasks" VALUES('t_0033','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','submitted',0,NULL,1,0,'codex@box|*|*',1000000185000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0033',1000000185000,NULL,NULL);
CREATE UNIQUE INDEX tasks_by_key ON tasks (submitted_by, idempotency_key);
CREATE INDEX tasks_by_state ON tasks (state, task_id);
CREATE INDEX tasks_queued ON tasks (queue_key, ready_at_ms, task_id) WHERE queue_key IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (task_id) WHERE ended_at_ms IS NULL AND (waits_for <> '[]' OR failed_dependencies <> '[]');
CREATE INDEX deliveries_due ON deliveries (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX deliveries_held ON deliveries (node_id) WHERE ended_at_ms IS NULL OR slot = 1;
CREATE INDEX deliveries_of_claim ON deliveries (node_id, claim_id);
CREATE INDEX deliveries_of_task ON deliveries (task_id);
CREATE INDEX nodes_by_credential ON nodes (credential_digest);
CREATE INDEX nodes_by_name ON nodes (name);
CREATE INDEX attention_about ON attention (subject);
CREATE INDEX attention_open ON attention (opened_at_ms) WHERE open = 1;
CREATE INDEX late_about ON late (attempt_id);
CREATE INDEX credentials_by_digest ON credentials (token_digest);
CREATE TRIGGER commits_kept BEFORE DELETE ON commits BEGIN SELECT RAISE(ABORT, 'frozen: no row of commits is ever deleted'); END;
CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'frozen: no row of events is ever deleted'); END;
CREATE TRIGGER facets_kept BEFORE DELETE ON facets BEGIN SELECT RAISE(ABORT, 'frozen: no row of facets is ever deleted'); END;
CREATE TRIGGER tasks_kept BEFORE DELETE ON tasks BEGIN SELECT RAISE(ABORT, 'frozen: no row of tasks is ever deleted'); END;
CREATE TRIGGER attempts_kept BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'frozen: no row of attempts is ever deleted'); END;
CREATE TRIGGER deliveries_kept BEFORE DELETE ON deliveries BEGIN SELECT RAISE(ABORT, 'frozen: no row of deliveries is ever deleted'); END;
CREATE TRIGGER recipients_kept BEFORE DELETE ON recipients BEGIN SELECT RAISE(ABORT, 'frozen: no row of recipients is ever deleted'); END;
CREATE TRIGGER nodes_kept BEFORE DELETE ON nodes BEGIN SELECT RAISE(ABORT, 'frozen: no row of nodes is ever deleted'); END;
CREATE TRIGGER attention_kept BEFORE DELETE ON attention BEGIN SELECT RAISE(ABORT, 'frozen: no row of attention is ever deleted'); END;
CREATE TRIGGER late_kept BEFORE DELETE ON late BEGIN SELECT RAISE(ABORT, 'frozen: no row of late is ever deleted'); END;
CREATE TRIGGER credentials_kept BEFORE DELETE ON credentials BEGIN SELECT RAISE(ABORT, 'frozen: no row of credentials is ever deleted'); END;
CREATE TRIGGER hub_kept BEFORE DELETE ON hub BEGIN SELECT RAISE(ABORT, 'frozen: no row of hub is ever deleted'); END;
CREATE TRIGGER commits_fixed BEFORE UPDATE ON commits BEGIN SELECT RAISE(ABORT, 'frozen: no row of commits ever changes'); END;
CREATE TRIGGER events_fixed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'frozen: no row of events ever changes'); END;
CREATE TRIGGER facets_fixed BEFORE UPDATE ON facets BEGIN SELECT RAISE(ABORT, 'frozen: no row of facets ever changes'); END;
CREATE TRIGGER tasks_fixed BEFORE UPDATE OF task_id, spec, spec_digest, lineage, submitted_by, idempotency_key, submitted_at_ms ON tasks BEGIN SELECT RAISE(ABORT, 'frozen: this column of tasks never changes'); END;
CREATE TRIGGER tasks_once BEFORE INSERT ON tasks WHEN EXISTS (SELECT 1 FROM tasks WHERE task_id = NEW.task_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of tasks is there already'); END;
CREATE TRIGGER attempts_fixed BEFORE UPDATE OF attempt_id, task_id, number, spec, spec_digest, created_at_ms ON attempts BEGIN SELECT RAISE(ABORT, 'frozen: this column of attempts never changes'); END;
CREATE TRIGGER attempts_once BEFORE INSERT ON attempts WHEN EXISTS (SELECT 1 FROM attempts WHERE attempt_id = NEW.attempt_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of attempts is there already'); END;
CREATE TRIGGER deliveries_fixed BEFORE UPDATE OF delivery_id, attempt_id, task_id, number, recipient, node_id, claim_id, granted_to, fence, token_digest, claimed_at_ms ON deliveries BEGIN SELECT RAISE(ABORT, 'frozen: this column of deliveries never changes'); END;
CREATE TRIGGER deliveries_once BEFORE INSERT ON deliveries WHEN EXISTS (SELECT 1 FROM deliveries WHERE delivery_id = NEW.delivery_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of deliveries is there already'); END;
CREATE TRIGGER recipients_fixed BEFORE UPDATE OF address, name ON recipients BEGIN SELECT RAISE(ABORT, 'frozen: this column of recipients never changes'); END;
CREATE TRIGGER recipients_once BEFORE INSERT ON recipients WHEN EXISTS (SELECT 1 FROM recipients WHERE address = NEW.address) BEGIN SELECT RAISE(ABORT, 'frozen: this row of recipients is there already'); END;
CREATE TRIGGER nodes_fixed BEFORE UPDATE OF node_id, name, credential_digest, enrolled_at_ms ON nodes BEGIN SELECT RAISE(ABORT, 'frozen: this column of nodes never changes'); END;
CREATE TRIGGER nodes_once BEFORE INSERT ON nodes WHEN EXISTS (SELECT 1 FROM nodes WHERE node_id = NEW.node_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of nodes is there already'); END;
CREATE TRIGGER attention_fixed BEFORE UPDATE OF item_id, kind, subject ON attention BEGIN SELECT RAISE(ABORT, 'frozen: this column of attention never changes'); END;
CREATE TRIGGER attention_once BEFORE INSERT ON attention WHEN EXISTS (SELECT 1 FROM attention WHERE item_id = NEW.item_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of attention is there already'); END;
CREATE TRIGGER late_fixed BEFORE UPDATE OF late_id, delivery_id, attempt_id, task_id, kind, claimed_fence, current_fence, incarnation, outcome, heard_at_ms ON late BEGIN SELECT RAISE(ABORT, 'frozen: this column of late never changes'); END;
CREATE TRIGGER late_once BEFORE INSERT ON late WHEN EXISTS (SELECT 1 FROM late WHERE late_id = NEW.late_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of late is there already'); END;
CREATE TRIGGER credentials_fixed BEFORE UPDATE OF credential_id, name, role, token_digest, issued_at_ms, issued_by ON credentials BEGIN SELECT RAISE(ABORT, 'frozen: this column of credentials never changes'); END;
CREATE TRIGGER credentials_once BEFORE INSERT ON credentials WHEN EXISTS (SELECT 1 FROM credentials WHERE credential_id = NEW.credential_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of credentials is there already'); END;
CREATE TRIGGER hub_fixed BEFORE UPDATE OF hub_id ON hub BEGIN SELECT RAISE(ABORT, 'frozen: this column of hub never changes'); END;
CREATE TRIGGER hub_once BEFORE INSERT ON hub WHEN EXISTS (SELECT 1 FROM hub WHERE hub_id = NEW.hub_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of hub is there already'); END;
CREATE TRIGGER commits_appended BEFORE INSERT ON commits WHEN NEW.commit_no <= (SELECT max(commit_no) FROM commits) BEGIN SELECT RAISE(ABORT, 'frozen: commits are only ever appended'); END;
CREATE TRIGGER events_appended BEFORE INSERT ON events WHEN NEW.seq <= (SELECT max(seq) FROM events) BEGIN SELECT RAISE(ABORT, 'frozen: events are only ever appended'); END;
CREATE TRIGGER tasks_end_once BEFORE UPDATE ON tasks WHEN OLD.state IN ('canceled', 'completed', 'failed', 'rejected') BEGIN SELECT RAISE(ABORT, 'frozen: a Task that has ended never changes'); END;
CREATE TRIGGER attempts_end_once BEFORE UPDATE ON attempts WHEN OLD.state = 'ended' AND (NEW.state IS NOT OLD.state OR NEW.harness IS NOT OLD.harness OR NEW.model IS NOT OLD.model OR NEW.last_delivery IS NOT OLD.last_delivery OR NEW.started_at_ms IS NOT OLD.started_at_ms OR NEW.ended_at_ms IS NOT OLD.ended_at_ms OR NEW.verdict IS NOT OLD.verdict OR NEW.outcome IS NOT OLD.outcome OR (OLD.answer IN ('accept', 'rerun', 'retire') AND (NEW.answer IS NOT OLD.answer OR NEW.answer_because IS NOT OLD.answer_because OR NEW.answer_by IS NOT OLD.answer_by OR NEW.answer_at_ms IS NOT OLD.answer_at_ms))) BEGIN SELECT RAISE(ABORT, 'frozen: an Attempt that has ended never changes'); END;
CREATE TRIGGER attempts_freeze BEFORE UPDATE OF harness, model ON attempts WHEN (OLD.harness IS NOT NULL AND NEW.harness IS NOT OLD.harness) OR (OLD.model IS NOT NULL AND NEW.model IS NOT OLD.model) BEGIN SELECT RAISE(ABORT, 'frozen: harness and model of an Attempt are frozen once they are set'); END;
PRAGMA user_version = 1;
COMMIT;
