BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
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
INSERT INTO "attempts" VALUES('t_0005/2','t_0005',2,'{"follows":1,"hypothesis":{"after_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","because":"I looked","before_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","by":"ann"},"objective":"do it","policy":"default-1","relation":"retry","worktree":"none"}','5c124505d5a412415eb5871b2e03beb1ad8848bbe29b186ee8921d626af45fb2','ended','command',NULL,'d_0008',1000000090000,NULL,1000000200000,'unknown',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0010/1','t_0010',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000090000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0011/1','t_0011',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0012',1000000090000,NULL,1000000090000,'failed','{"summary":"done","tree_gone":true,"verdict":"failed"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0014/1','t_0014',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000090000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0015/1','t_0015',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000090000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0016/1','t_0016',1,'{"objective":"do it","policy":"default-1","scope":{"approval":["merge"],"branches":["tenure/*"],"kinds":["commit","push","pull_request","comment","label","status","merge","http"],"most":1000,"targets":["forge:*"]},"worktree":"none"}','529651dab762de4bc55772a279d65b607b496047716d7bfadce35e79fc1d04ae','ended','command',NULL,'d_0017',1000000090000,NULL,1000000200000,'unknown',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0028/1','t_0028',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000110000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0029/1','t_0029',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0030',1000000110000,NULL,1000000200000,'unknown',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0032/1','t_0032',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0033',1000000200000,NULL,1000000200000,'asked','{"summary":"so it ended","tree_gone":true,"verdict":"asked"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0035/1','t_0035',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','ended','command',NULL,'d_0036',1000000200000,NULL,1000000200000,'timed_out','{"summary":"so it ended","tree_gone":true,"verdict":"timed_out"}',NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0038/1','t_0038',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','delivered','command',NULL,'d_0040',1000000200000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0039/1','t_0039',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','leased','command',NULL,'d_0041',1000000201000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0043/1','t_0043',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000202000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0044/1','t_0044',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000203000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0045/1','t_0045',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000204000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES('t_0046/1','t_0046',1,'{"objective":"do it","policy":"default-1","worktree":"none"}','19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0','pending',NULL,NULL,NULL,1000000205000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
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
	CONSTRAINT attention_kind CHECK (kind IN ('unknown', 'asked', 'late_evidence', 'offers_voided', 'stalled', 'clock_stepped', 'node_quarantined', 'node_incompatible', 'unknown_delivery', 'approval', 'effect_in_doubt', 'effect_quarantined')), 
	CONSTRAINT attention_open CHECK (open IN (0, 1))
)
 STRICT

;
INSERT INTO "attention" VALUES('unknown:t_0005/1','unknown','t_0005/1',3,0,'nobody reported how t_0005/1 on claude@laptop ended: a late report says completed','{"late_reports":{"d_0006:report:cda1f0254ea98c5f":"completed"},"reason":"a late report says completed","recipient":"claude@laptop"}',1000000090000,1000000090000,'answered rerun by ann');
INSERT INTO "attention" VALUES('effect_quarantined:t_0016/e_0022','effect_quarantined','t_0016/e_0022',1,1,'what is known of pull_request tenure/three at forge:acme/app contradicts itself: two of them. Nothing is called for it until you say what is so.','{"effect_id":"e_0022","kind":"pull_request","reason":"two of them","target":"forge:acme/app"}',1000000110000,NULL,NULL);
INSERT INTO "attention" VALUES('effect_in_doubt:t_0016/e_0023','effect_in_doubt','t_0016/e_0023',1,1,'nobody can tell whether this happened: comment 7:ed251864987c367e at forge:acme/app (the answer was lost; its provider cannot be asked). Look there, then say so.','{"effect_id":"e_0023","kind":"comment","reason":"the answer was lost; its provider cannot be asked","target":"forge:acme/app"}',1000000110000,NULL,NULL);
INSERT INTO "attention" VALUES('approval:t_0016/e_0025','approval','t_0016/e_0025',2,0,'may t_0016/1 do this: merge 7@aaaaaaaaaaaa at forge:acme/app?','{"effect_id":"e_0025","fence":1,"kind":"merge","params_digest":"1dae720091904ec928ed444402d140567269d6a3738686a9af77561ff012a31f","target":"forge:acme/app"}',1000000110000,1000000110000,'approved by ann: it is fine');
INSERT INTO "attention" VALUES('approval:t_0016/e_0026','approval','t_0016/e_0026',2,0,'may t_0016/1 do this: merge 8@aaaaaaaaaaaa at forge:acme/app?','{"effect_id":"e_0026","fence":1,"kind":"merge","params_digest":"4d20691c7c18b05ab8d6975ad0ce2cf3e333201c634bda04b3a225d66dc07084","target":"forge:acme/app"}',1000000110000,1000000200000,'the attempt''s lease ended');
INSERT INTO "attention" VALUES('approval:t_0028/1','approval','t_0028/1',1,1,'may t_0028/1 be started? do it','{"route":"claude","spec_digest":"6c89585b6daf0aefd46bb92519920e0c372d72147dae889614a7d6cde50aad23"}',1000000110000,NULL,NULL);
INSERT INTO "attention" VALUES('clock_stepped:hub','clock_stepped','hub',1,1,'the hub''s wall clock stepped by +90 s. No lease was lost by it; check the time service.','{"at_ms":1000000110000,"step_ms":90000}',1000000110000,NULL,NULL);
INSERT INTO "attention" VALUES('unknown:t_0005/2','unknown','t_0005/2',1,1,'nobody reported how t_0005/2 on claude@laptop ended: the cancellation was not answered in time','{"late_reports":{},"reason":"the cancellation was not answered in time","recipient":"claude@laptop"}',1000000200000,NULL,NULL);
INSERT INTO "attention" VALUES('unknown:t_0016/1','unknown','t_0016/1',1,1,'nobody reported how t_0016/1 on claude@laptop ended: the lease ran out and nobody reported','{"late_reports":{},"reason":"the lease ran out and nobody reported","recipient":"claude@laptop"}',1000000200000,NULL,NULL);
INSERT INTO "attention" VALUES('unknown:t_0029/1','unknown','t_0029/1',1,1,'nobody reported how t_0029/1 on shy@box ended: the lease ran out and nobody reported','{"late_reports":{},"reason":"the lease ran out and nobody reported","recipient":"shy@box"}',1000000200000,NULL,NULL);
INSERT INTO "attention" VALUES('asked:t_0032/1','asked','t_0032/1',1,1,'so it ended','{"reason":"so it ended"}',1000000200000,NULL,NULL);
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
INSERT INTO "commits" VALUES(3,3,3,1000000000000,0,'i_hub1','93d697aa37bf9c9357ec329ca8f689280d72c84f60ddf700a7bc0d081fd6deff');
INSERT INTO "commits" VALUES(4,4,4,1000000000000,0,'i_hub1','71d9603409e9ea881b35cead1db0ad592e5e719e7bb005c0429a3cbe2e8b5a1f');
INSERT INTO "commits" VALUES(5,5,5,1000000000000,0,'i_hub1','48d6b5714305d1ede165fe61c9352dc28c6101b1cc4a058f18268d7c22e08986');
INSERT INTO "commits" VALUES(6,6,6,1000000000000,0,'i_hub1','1a1de5d7380626c91a05223789d1740cd0153b48b65da2309f2485dbfdd2d876');
INSERT INTO "commits" VALUES(7,7,8,1000000000000,0,'i_hub1','7030040c6beb75b159d866ddbc7ece82c0d757d795edef483f63577812b67769');
INSERT INTO "commits" VALUES(8,9,9,1000000000000,0,'i_hub1','d87efe748974e24364a85d45e19b04bdc6d5b7956cc9ef2cc4792a00f42f20fa');
INSERT INTO "commits" VALUES(9,10,10,1000000000000,0,'i_hub1','b51cc635e2d4a25f34d1ff3e27b486aca13c0faf649741e92c6147282ef7bda1');
INSERT INTO "commits" VALUES(10,11,12,1000000000000,0,'i_hub1','03e22c247ac69cee500374cc1af5a4ac5d968022e9299c0a56288aeec9908be4');
INSERT INTO "commits" VALUES(11,13,14,1000000000000,0,'i_hub1','02cdf97eb3c81f166eb5aefb0c551a57238fb557f1b76b24ff5e2a5d1413c490');
INSERT INTO "commits" VALUES(12,15,19,1000000000000,0,'i_hub1','b4de3516e8bede6557477abbea28bf935f97c697b89b102badcff0db17d7f077');
INSERT INTO "commits" VALUES(13,20,21,1000000000000,0,'i_hub1','c638351e69776087a7207a6d1d5fdaedb61a01ccd4c73d0fce430cf93e919211');
INSERT INTO "commits" VALUES(14,22,22,1000000000000,0,'i_hub1','a09703ef595094e08db61f7974d9bcaf7c719f8bacdbff33709a688ad8c4736b');
INSERT INTO "commits" VALUES(15,23,23,1000000000000,0,'i_hub1','b8676811116719e424f6375a5c6f8f5932e889db78bb88559592592d8d0d9d34');
INSERT INTO "commits" VALUES(16,24,24,1000000000000,0,'i_hub1','b6b2d4df58e0c5988c47812fd887ec9ac588032997f1e411bcb33aaed483bfd5');
INSERT INTO "commits" VALUES(17,25,25,1000000030000,30000,'i_hub1','89257bd9e4cf78a729f10b112d79017a2ea25f4065889de55afbc05221eb35b1');
INSERT INTO "commits" VALUES(18,26,27,1000000090000,90000,'i_hub1','4b41225bb2fbebd3b70a83b4b6bd479d258104522e61c008de4d502e07b0c184');
INSERT INTO "commits" VALUES(19,28,30,1000000090000,90000,'i_hub1','9512e0b5e27ca4f19ad5a5fc16d0d3ae9d2d64906292c2f6fe0cad3819a188c3');
INSERT INTO "commits" VALUES(20,31,31,1000000090000,90000,'i_hub1','016f055bf2cc7585a93210a341f02149744d53b836ba4d5aa2957dd4d9b20efe');
INSERT INTO "commits" VALUES(21,32,34,1000000090000,90000,'i_hub1','d610e08263b998be90121f936ee090e89d56e2c3f40520990a648beb6c6a4d94');
INSERT INTO "commits" VALUES(22,35,35,1000000090000,90000,'i_hub1','3d9a1224db3611fbf6375a6311cbea1a5ccfe8b35c76407a997a03534e22286c');
INSERT INTO "commits" VALUES(23,36,36,1000000090000,90000,'i_hub1','3b350ee5eb13e6ff1d8e0045feb4311637a6a6533d087ba5c12824c565b060c0');
INSERT INTO "commits" VALUES(24,37,37,1000000090000,90000,'i_hub1','77932d89d4d25f4dd5ffeeed66aa555b787b3584b1fc13e45368a78d9251180b');
INSERT INTO "commits" VALUES(25,38,38,1000000090000,90000,'i_hub1','15545f13df414e284214f0fb5020e64d4084b3c663bb41e2cf97f183c4768d95');
INSERT INTO "commits" VALUES(26,39,40,1000000090000,90000,'i_hub1','15a52bcfeb6f667129bbde542397ee7c8755b3db39a6f6daaa15eb7d28f8c521');
INSERT INTO "commits" VALUES(27,41,42,1000000090000,90000,'i_hub1','1f85aca26e539cf24e6b773fc8f65a0203e4441bb1a8bec88cd11635ed51c20c');
INSERT INTO "commits" VALUES(28,43,43,1000000090000,90000,'i_hub1','b16b6ed10eb9dc67a7b55c643766cdb484215016609c367a8ba521f2d25882f4');
INSERT INTO "commits" VALUES(29,44,44,1000000090000,90000,'i_hub1','eb17d49e8fb18f82bce3fa98e8204e7d12ef9d775d4ac88968a084d2d9d56fbb');
INSERT INTO "commits" VALUES(30,45,46,1000000090000,90000,'i_hub1','02048b9048e6bcce2730537424b783ba82bd165e37e60db6dd4e4c63ec02d604');
INSERT INTO "commits" VALUES(31,47,48,1000000090000,90000,'i_hub1','4c4805ea490af382c77bee2a8b305cea825cfe474478eb40ae9bef9662df7f71');
INSERT INTO "commits" VALUES(32,49,50,1000000090000,90000,'i_hub1','b0ec53ca831efe8d15ab6ab93a580c2f9f55e118873d1cc1a2b921dd51bbe18c');
INSERT INTO "commits" VALUES(33,51,52,1000000090000,90000,'i_hub1','b1459f6ae71f42208f2167e9defd92bce17845165c1b47e89aa3ebe3e939d75e');
INSERT INTO "commits" VALUES(34,53,53,1000000090000,90000,'i_hub1','56c6f5cdff2cf2a2f490d7a400b75ce063afd200be1d1c39a7bd3be250a50c88');
INSERT INTO "commits" VALUES(35,54,54,1000000090000,90000,'i_hub1','e6379c3ead393bf8e090370b849adf750974bad649e0f3c886e36f55bef802d6');
INSERT INTO "commits" VALUES(36,55,55,1000000090000,90000,'i_hub1','659e9405d50121ab9debbf32137a599cc3ac28cf20084cc165dfd072ecd97742');
INSERT INTO "commits" VALUES(37,56,56,1000000090000,90000,'i_hub1','218dfe66f8e5aa864dcf794c42539b3be0339c567de735b061ffba33122b90bf');
INSERT INTO "commits" VALUES(38,57,57,1000000090000,90000,'i_hub1','1f5be8ddb1fea474a467a73b9c01d904b8a5efeac709cb3610d4d5721c0ba454');
INSERT INTO "commits" VALUES(39,58,58,1000000110000,110000,'i_hub1','f86c8374854b00600308d3730ece0a2dbf969093aadcf10af463f68161a999fa');
INSERT INTO "commits" VALUES(40,59,59,1000000110000,110000,'i_hub1','40a210981371a87d9dcda0a509a8af216480c6635885f41c1ab9bd5e020ed61d');
INSERT INTO "commits" VALUES(41,60,60,1000000110000,110000,'i_hub1','74b54c86e27ac652196ba289af8d6f7fb384eee638c48fa9d88b6423d0a76ec8');
INSERT INTO "commits" VALUES(42,61,61,1000000110000,110000,'i_hub1','319ed77498179cb04c55d8128410ceb5dda5472015fe93a455fce3049e147049');
INSERT INTO "commits" VALUES(43,62,62,1000000110000,110000,'i_hub1','c1ff9b4e798660572cf9b6e96140b2d8f47d05b928fc856fed645ca5c3d27ce5');
INSERT INTO "commits" VALUES(44,63,63,1000000110000,110000,'i_hub1','eed09d5e815a2628d7a75bbcf8bcad685efb9723af6f53fbd6df940ecb2c0b5f');
INSERT INTO "commits" VALUES(45,64,64,1000000110000,110000,'i_hub1','1b343ffb2b77662465363d5a8a60a686f26f943d557a3c0bc9ad907b40e2c91f');
INSERT INTO "commits" VALUES(46,65,65,1000000110000,110000,'i_hub1','8d289f8d453acd34180408d70e65cd842cfd7d8e783ab1d8b978b0858a21a824');
INSERT INTO "commits" VALUES(47,66,66,1000000110000,110000,'i_hub1','b2d62049676eec610e017a8db9dd7536038774df461f8509eb9976ba1cfb42fc');
INSERT INTO "commits" VALUES(48,67,67,1000000110000,110000,'i_hub1','c8801160747dbf368a408da245cd20a02909203f4f03454ec75c12ac0b703f64');
INSERT INTO "commits" VALUES(49,68,69,1000000110000,110000,'i_hub1','8095c51660a33eaa158d6e4c7069b84ef4d82faea812a4aa986ef5fef2f1c538');
INSERT INTO "commits" VALUES(50,70,70,1000000110000,110000,'i_hub1','102e1e458e7b4af817ad42b1df8d6cee624ee29e1549097e3c3b46b715d75b5a');
INSERT INTO "commits" VALUES(51,71,71,1000000110000,110000,'i_hub1','99220ff61ee171ceaf242e97232a3088991e7f0163dc9d6292e34aeb06ec7536');
INSERT INTO "commits" VALUES(52,72,73,1000000110000,110000,'i_hub1','0ac751d049a8d2427da6d28034d0a98a9e36f18cafc1112db8e9e2be98a3d764');
INSERT INTO "commits" VALUES(53,74,74,1000000110000,110000,'i_hub1','d716f32b7fb4396c18e12f2977079bf8c7f7c9f3547be87b3f035e0fedf80d5d');
INSERT INTO "commits" VALUES(54,75,75,1000000110000,110000,'i_hub1','7c7eb2bc873eb24c9f9d78160e5045c5f1c789b6a5a6bf0e80199a029f8e7273');
INSERT INTO "commits" VALUES(55,76,77,1000000110000,110000,'i_hub1','525677cda86a997fd7cf08d0533032f532368e7a66c903447af61b09a449e287');
INSERT INTO "commits" VALUES(56,78,79,1000000110000,110000,'i_hub1','4a249670cf5d46b18191826a1437253310d29ddb4d292dcd57354979cf7b0e45');
INSERT INTO "commits" VALUES(57,80,81,1000000110000,110000,'i_hub1','d9d787b10e934c2410b3652c5f932c3823402295c61cf8f4be849df2a77a4f84');
INSERT INTO "commits" VALUES(58,82,82,1000000110000,110000,'i_hub1','d3a070a28ca4e6ad9ef37a12569c81762da4454a3acaf203177c14d174330eb0');
INSERT INTO "commits" VALUES(59,83,85,1000000110000,110000,'i_hub1','5f597a05413dc4c7b6bf094277f1963643eed25cbd73ceaed2cc458c2972a7fd');
INSERT INTO "commits" VALUES(60,86,86,1000000110000,110000,'i_hub1','aefab2475766a2cd6c621f5c1cb37381ccd713bd32f5e1cd20eae9c7830c1ab5');
INSERT INTO "commits" VALUES(61,87,87,1000000110000,110000,'i_hub1','5e45ce59d01c2d8aae88b3fc3d630b3ffb4f028b189ca199a6f9de2b08c491f7');
INSERT INTO "commits" VALUES(62,88,88,1000000110000,110000,'i_hub1','b7970f21f3f0b7258147f136f5ed60af7520da7146115b90f92453a35c10e0c5');
INSERT INTO "commits" VALUES(63,89,89,1000000110000,110000,'i_hub1','1b85ca4216566e2a9434dd799819b6dac05364da818bad58f02e8f0b49dc97c3');
INSERT INTO "commits" VALUES(64,90,90,1000000110000,110000,'i_hub1','170c5b91348acd4c6e4f5a5a531623d3c1a9a53556396518ae1a19234e7bcdf3');
INSERT INTO "commits" VALUES(65,91,92,1000000110000,110000,'i_hub1','eb49947a2a1bb0f03af7fad2ae9f3f13d4afc7cdaf360556aaa6f668d5a0cd06');
INSERT INTO "commits" VALUES(66,93,93,1000000110000,110000,'i_hub1','c421a13f48a244fe9b932a3216905ded83caec3ed146682ef1d59f56d8c939aa');
INSERT INTO "commits" VALUES(67,94,94,1000000110000,110000,'i_hub1','04f87ee7935dc3fc199c58285fb17bc414145c0e4c24bac724a2bb8ff9268d6d');
INSERT INTO "commits" VALUES(68,95,95,1000000110000,110000,'i_hub1','6a5f58ee98ff5fe3b7df2a03f49ccf56b1749fd1a0fee766ba8a454954f453e5');
INSERT INTO "commits" VALUES(69,96,96,1000000140000,140000,'i_hub1','1157fb21c4cd1d5ac42a809721c6902124b7b09ba7e4c402fbad3eddd7de7144');
INSERT INTO "commits" VALUES(70,97,97,1000000140000,140000,'i_hub1','291547b69dff27dbb2bddd474e0376e2e530e5ed146a9f0451c59be4a1f4b3d2');
INSERT INTO "commits" VALUES(71,98,98,1000000140000,140000,'i_hub1','785cb377365eb59ab4fbc228251c3982795e87fea055b08175cce61b1a0a7381');
INSERT INTO "commits" VALUES(72,99,104,1000000200000,200000,'i_hub1','6255c67b30e8c7f67fe86feda3f3399640e421ef29845ad92d3e678693158376');
INSERT INTO "commits" VALUES(73,105,111,1000000200000,200000,'i_hub1','2ec1bf64e54c1c063b0cfa0dde4f5be4472232c94f183dd9702a8c2735c6707a');
INSERT INTO "commits" VALUES(74,112,113,1000000200000,200000,'i_hub1','20a9d8d2ae34a494095edf3f46e9cd717574f3616c76f8ebbfe255e8faf46833');
INSERT INTO "commits" VALUES(75,114,115,1000000200000,200000,'i_hub1','7be11c94f759e3ff444b8194fe1d87e7a630334f16002d23ea7aa6faff6d3498');
INSERT INTO "commits" VALUES(76,116,116,1000000200000,200000,'i_hub1','3314dd75ed9e2e54085258032c870021c606c70ef51628c5b7aaf41fd90dc117');
INSERT INTO "commits" VALUES(77,117,117,1000000200000,200000,'i_hub1','eaa3b49883a0715e38131134996a31412a1a24c3486bb0aee19eb87070c0620f');
INSERT INTO "commits" VALUES(78,118,119,1000000200000,200000,'i_hub1','38c003b4542f9de329bbce29bc8e7c4b75ee7ff39559c9a06fa0fd6029c2a607');
INSERT INTO "commits" VALUES(79,120,121,1000000200000,200000,'i_hub1','a36a37cdf05dabaf2b040798f2175e258859af82c0f10c6a3b73240cdbfebecd');
INSERT INTO "commits" VALUES(80,122,122,1000000200000,200000,'i_hub1','81f0d9d8e7ce5c41d403562cc4a8f32bbe7ef6e8ec1f9006d5df40d4256d8151');
INSERT INTO "commits" VALUES(81,123,123,1000000200000,200000,'i_hub1','b5214d3aa020f2a9cac2472f5c0fc5c9fc501db329dc69a32cd14e032817c7df');
INSERT INTO "commits" VALUES(82,124,125,1000000200000,200000,'i_hub1','5ced4fe5e96ed1fd39e58247573c48fd94bb3f258045e65dd536159787acf98a');
INSERT INTO "commits" VALUES(83,126,127,1000000200000,200000,'i_hub1','cc6c9a4554aba6ec991f4f84ad6bbec19ab6ff1cc0c05a743677300760ce5a21');
INSERT INTO "commits" VALUES(84,128,129,1000000201000,201000,'i_hub1','5e8712d0414bacdf6d60a51075dc98c3a8367544480f52362737b7d6cc7e8b3b');
INSERT INTO "commits" VALUES(85,130,131,1000000202000,202000,'i_hub1','0de22c706d2838c8495fc0b2487bce64123f018792271a1883384b0e8725bf96');
INSERT INTO "commits" VALUES(86,132,132,1000000202000,202000,'i_hub1','c078c13a3ff77277836ce39358b286da612e436144178d2bb76a52d52d5be3bb');
INSERT INTO "commits" VALUES(87,133,133,1000000202000,202000,'i_hub1','e6becfaaa8aeddffdac03786874892a94e6f190e619a2a3f4e132bea402a395c');
INSERT INTO "commits" VALUES(88,134,135,1000000202000,202000,'i_hub1','d06e04ea86382a1140465aea112ac49dba8593efd3d24d223ca81e9a15ed2f94');
INSERT INTO "commits" VALUES(89,136,137,1000000203000,203000,'i_hub1','1f94784f6b193b8db3930c72bf5ca43ccca198d9e552bca59067be2f29b6bb30');
INSERT INTO "commits" VALUES(90,138,139,1000000204000,204000,'i_hub1','c528d25e5a070ff4baec2fb10048462d00357335678753aad8fd2f816616ae24');
INSERT INTO "commits" VALUES(91,140,141,1000000205000,205000,'i_hub1','f3c1d5dd71d5738d8ac0144264986653efd2adf3599713d1c1af10c401fbbc8d');
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
INSERT INTO "deliveries" VALUES('d_0008','t_0005/2','t_0005',2,'claude@laptop','n_laptop','c_0009','i_daemon1','i_daemon1','delivered',3,'6fbc787aabd1ac1935d8b7c8ab9daf14c2659a0ba5a1fb3a8ef7e646f66a29fa','receipt',NULL,1,NULL,'{"awake_ms":140000,"ends_at_ms":1000000200000,"hub":"i_hub1","length_ms":60000}',NULL,1,'{"message":"on it","output_bytes":1}',1000000090000,'{"input_tokens":1}',1000000090000,1000000090000,1000000090000,1000000140000,1000000200000,1000000200000,'the cancellation was not answered in time',0,0);
INSERT INTO "deliveries" VALUES('d_0012','t_0011/1','t_0011',1,'claude@laptop','n_laptop','c_0013','i_daemon1','i_daemon1','reported',1,'6db1298329a8c804891b114a37ebf3fda281c04018bf96732dc8e504c63d4bb5','receipt','a55a5d9d4c5017793c3f87b2116bca0826138f5ef683e52d96c055f177e257ec',0,NULL,'{"awake_ms":90000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000090000,'{}',1000000090000,1000000090000,1000000090000,NULL,1000000090000,NULL,'failed',0,0);
INSERT INTO "deliveries" VALUES('d_0017','t_0016/1','t_0016',1,'claude@laptop','n_laptop','c_0018','i_daemon1','i_daemon1','delivered',1,'d1f83cfadb1492555a9d05c01f8e081cafb36c175ce3d9c3b6a25aa6745b4e94','receipt',NULL,1,NULL,'{"awake_ms":140000,"ends_at_ms":1000000200000,"hub":"i_hub1","length_ms":60000}',NULL,0,'{}',1000000090000,'{}',1000000090000,1000000090000,1000000090000,1000000140000,1000000200000,1000000200000,'the lease ran out and nobody reported',0,0);
INSERT INTO "deliveries" VALUES('d_0030','t_0029/1','t_0029',1,'shy@box','n_box','c_0031','i_daemon2','i_daemon2','delivered',1,'34fb2d8a4e09e926df2c72c783fbaff2e96fa4420b972e73d83db4bb74e449d3','receipt',NULL,1,NULL,'{"awake_ms":140000,"ends_at_ms":1000000200000,"hub":"i_hub1","length_ms":60000}',NULL,1,'{"message":"on it","output_bytes":5}',1000000110000,'{"input_tokens":7,"wall_s":2.5}',1000000110000,1000000110000,1000000110000,1000000140000,1000000200000,1000000200000,'the lease ran out and nobody reported',0,0);
INSERT INTO "deliveries" VALUES('d_0033','t_0032/1','t_0032',1,'codex@box','n_box','c_0034','i_daemon2','i_daemon2','reported',1,'54a61c8e37ee40ffc403e5a21c5f9ae11a2fbc7dbbe234cb5dbef8d076e64b34','receipt','849288cd227769a9122004f91c80bde181ab14aa073012a1c8048e10a13aea01',0,NULL,'{"awake_ms":200000,"ends_at_ms":1000000230000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000200000,'{}',1000000200000,1000000200000,1000000200000,NULL,1000000200000,NULL,'asked',0,0);
INSERT INTO "deliveries" VALUES('d_0036','t_0035/1','t_0035',1,'codex@box','n_box','c_0037','i_daemon2','i_daemon2','reported',1,'c27f010ed26801635c586868849f13b59e723ba19bd566ea309a833808872e02','receipt','a9e11c6b0ce91163136532b3675ff53fd9513f0ca6403c08e731cb7fc0d40077',0,NULL,'{"awake_ms":200000,"ends_at_ms":1000000230000,"hub":"i_hub1","length_ms":30000}',NULL,0,'{}',1000000200000,'{}',1000000200000,1000000200000,1000000200000,NULL,1000000200000,NULL,'timed_out',0,0);
INSERT INTO "deliveries" VALUES('d_0040','t_0038/1','t_0038',1,'codex@box','n_box','c_0042','i_daemon2','i_daemon2','delivered',1,'5b4e043fea7c3cf38b21f9fe876ea75a12ae147d32b08a8db84f2cc08942d02c','receipt',NULL,1,1000000232000,'{"awake_ms":202000,"ends_at_ms":1000000232000,"hub":"i_hub1","length_ms":30000}',NULL,1,'{"message":"on it","output_bytes":5}',1000000202000,'{"input_tokens":7,"wall_s":2.5}',1000000202000,1000000202000,1000000202000,NULL,NULL,NULL,NULL,0,0);
INSERT INTO "deliveries" VALUES('d_0041','t_0039/1','t_0039',1,'codex@box','n_box','c_0042','i_daemon2',NULL,'claimed',1,'804848c39094c737183d15b3ef44fb7e8b5fc3caf8a3426cd064cd6b67fe51d1',NULL,NULL,1,1000000212000,'{"awake_ms":202000,"ends_at_ms":1000000212000,"hub":"i_hub1","length_ms":10000}',NULL,0,'{}',1000000202000,'{}',1000000202000,NULL,NULL,NULL,NULL,NULL,NULL,0,0);
CREATE TABLE effects (
	effect_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	target TEXT NOT NULL, 
	idempotency_key TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	params TEXT NOT NULL, 
	params_digest TEXT NOT NULL, 
	identity TEXT NOT NULL, 
	twin TEXT, 
	finds INTEGER NOT NULL, 
	settling_ms INTEGER NOT NULL, 
	again TEXT, 
	again_of TEXT, 
	number INTEGER NOT NULL, 
	delivery_id TEXT NOT NULL, 
	fence INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	quarantined INTEGER NOT NULL, 
	call_id TEXT, 
	called_by TEXT, 
	call_term TEXT, 
	calls INTEGER NOT NULL, 
	not_found_term TEXT, 
	due_at_ms INTEGER, 
	result TEXT, 
	code TEXT, 
	reason TEXT, 
	intended_at_ms INTEGER NOT NULL, 
	settled_at_ms INTEGER, 
	PRIMARY KEY (effect_id), 
	CONSTRAINT effects_kind CHECK (kind IN ('commit', 'push', 'pull_request', 'comment', 'label', 'status', 'merge', 'http')), 
	CONSTRAINT effects_finds CHECK (finds IN (0, 1)), 
	CONSTRAINT effects_state CHECK (state IN ('awaiting_approval', 'intended', 'issued', 'in_doubt', 'confirmed', 'absent')), 
	CONSTRAINT effects_quarantined CHECK (quarantined IN (0, 1))
)
 STRICT

;
INSERT INTO "effects" VALUES('e_0019','t_0016','push','forge:acme/app','push:t_0016:forge:acme/app/tenure/x@bbbbbbbbbbbb..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','tenure/x@bbbbbbbbbbbb..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"new":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","old":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","ref":"tenure/x"}','54f76604852eee14518ac14364f9309d89004f67307d55c12ec60c47baed14ea','forge:acme/app#push:tenure/x:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',NULL,1,2000,NULL,NULL,1,'d_0017',1,'in_doubt',0,'call of e_0019','i_hub1','{"awake_ms":90000,"ends_at_ms":1000000100000,"hub":"i_hub1","length_ms":10000}',1,'{"awake_ms":110000,"ends_at_ms":1000000112000,"hub":"i_hub1","length_ms":2000}',1000000112000,NULL,NULL,'the answer was lost',1000000090000,NULL);
INSERT INTO "effects" VALUES('e_0020','t_0016','pull_request','forge:acme/app','pull_request:t_0016:forge:acme/app/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"base":"main","head":"tenure/one","head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","title":"A change","tree":"cccccccccccccccccccccccccccccccccccccccc"}','22fad296a48d96e089a6c5d28ea4cceaa2c85db1849e8e2943e6170b5dbf6610','forge:acme/app#pull_request:tenure/one->main','forge:acme/app#pull_request:tree:cccccccccccccccccccccccccccccccccccccccc->main',1,2000,NULL,NULL,1,'d_0017',1,'confirmed',0,'call of e_0020','i_hub1','{"awake_ms":110000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":10000}',1,NULL,NULL,'{"number":7}',NULL,NULL,1000000110000,1000000110000);
INSERT INTO "effects" VALUES('e_0021','t_0016','pull_request','forge:acme/app','pull_request:t_0016:forge:acme/app/tenure/two','tenure/two','{"base":"main","head":"tenure/two","title":"A change"}','688142c5e91da8108eaa9a2b7df2217034e276aadfb4fe96ae21a189200e0648','forge:acme/app#pull_request:tenure/two->main',NULL,1,2000,NULL,NULL,1,'d_0017',1,'absent',0,'call of e_0021','i_hub1','{"awake_ms":110000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":10000}',1,NULL,NULL,NULL,'so it said',NULL,1000000110000,1000000110000);
INSERT INTO "effects" VALUES('e_0022','t_0016','pull_request','forge:acme/app','pull_request:t_0016:forge:acme/app/tenure/three','tenure/three','{"base":"main","head":"tenure/three","title":"A change"}','324400916d171c750957b455e3a16b3838ef8cfe90da8f12bdba25e106bbbf7f','forge:acme/app#pull_request:tenure/three->main',NULL,1,2000,NULL,NULL,1,'d_0017',1,'in_doubt',1,'call of e_0022','i_hub1','{"awake_ms":110000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":10000}',1,NULL,NULL,NULL,NULL,'two of them',1000000110000,NULL);
INSERT INTO "effects" VALUES('e_0023','t_0016','comment','forge:acme/app','comment:t_0016:forge:acme/app/7:ed251864987c367e','7:ed251864987c367e','{"body":"Done.","number":7}','3603888b2c7348ff144338630f8948b1fe16ca60e071d365fd6f1be7c50ce0f7','forge:acme/app#key:t_0016:comment:t_0016:forge:acme/app/7:ed251864987c367e',NULL,0,2000,NULL,NULL,1,'d_0017',1,'in_doubt',0,'call of e_0023','i_hub1','{"awake_ms":110000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":10000}',1,NULL,NULL,NULL,NULL,'the answer was lost',1000000110000,NULL);
INSERT INTO "effects" VALUES('e_0024','t_0016','pull_request','forge:acme/app','pull_request:t_0016:forge:acme/app/tenure/four','tenure/four','{"base":"main","head":"tenure/four","title":"A change"}','1b61fabe7d5f35cf03d9e93fa6d74f862ef6628fea0be04f9f46668ecd30ec17','forge:acme/app#pull_request:tenure/four->main',NULL,1,2000,NULL,NULL,1,'d_0017',1,'in_doubt',0,'a call','i_hub1','{"awake_ms":110000,"ends_at_ms":1000000120000,"hub":"i_hub1","length_ms":10000}',1,NULL,1000000200000,NULL,NULL,'the lease was revoked while the call was under way',1000000110000,NULL);
INSERT INTO "effects" VALUES('e_0025','t_0016','merge','forge:acme/app','merge:t_0016:forge:acme/app/7@aaaaaaaaaaaa','7@aaaaaaaaaaaa','{"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","number":7}','1dae720091904ec928ed444402d140567269d6a3738686a9af77561ff012a31f','forge:acme/app#merge:7:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',NULL,1,2000,NULL,NULL,1,'d_0017',1,'absent',0,NULL,NULL,NULL,0,NULL,NULL,NULL,'stale_fence','never called: the lease ended',1000000110000,1000000200000);
INSERT INTO "effects" VALUES('e_0026','t_0016','merge','forge:acme/app','merge:t_0016:forge:acme/app/8@aaaaaaaaaaaa','8@aaaaaaaaaaaa','{"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","number":8}','4d20691c7c18b05ab8d6975ad0ce2cf3e333201c634bda04b3a225d66dc07084','forge:acme/app#merge:8:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',NULL,1,2000,NULL,NULL,1,'d_0017',1,'absent',0,NULL,NULL,NULL,0,NULL,NULL,NULL,'stale_fence','never called: the lease ended',1000000110000,1000000200000);
INSERT INTO "effects" VALUES('e_0027','t_0016','pull_request','forge:acme/app','pull_request:t_0016:forge:acme/app/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa#again:603ac7d3e833','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"base":"main","head":"tenure/one","head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","title":"A change","tree":"cccccccccccccccccccccccccccccccccccccccc"}','22fad296a48d96e089a6c5d28ea4cceaa2c85db1849e8e2943e6170b5dbf6610','forge:acme/app#pull_request:tenure/one->main#e9af10a7bb0d',NULL,1,2000,'closed by mistake','e_0020',1,'d_0017',1,'absent',0,NULL,NULL,NULL,0,NULL,NULL,NULL,'stale_fence','never called: the lease ended',1000000110000,1000000200000);
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
INSERT INTO "events" VALUES(3,3,'n_laptop',2,1000000000000,'node_started','{"boot_id":"boot1","compatible":true,"contract":1,"event":"node_started","incarnation":"i_daemon1","node_id":"n_laptop","platform":"linux","recipients":[{"capacity":3,"harness":"command","name":"claude","pools":["pool"]}],"version":"1"}','9a07a8f3dc6f5769472d445927cc68909c35a2624d9c3e633ce22b29b03ed982');
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
INSERT INTO "events" VALUES(51,33,'t_0016',1,1000000090000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0016","spec":{"objective":"do it","route":"claude","scope":{"approval":["merge"],"branches":["tenure/*"],"kinds":["commit","push","pull_request","comment","label","status","merge","http"],"most":1000,"targets":["forge:*"]}},"task_id":"t_0016"}','ef66bb434fbfeee028f118e68a91bf823ebb40d215af6a051be78fbb7af1ec00');
INSERT INTO "events" VALUES(52,33,'t_0016',2,1000000090000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","scope":{"approval":["merge"],"branches":["tenure/*"],"kinds":["commit","push","pull_request","comment","label","status","merge","http"],"most":1000,"targets":["forge:*"]},"worktree":"none"},"spec_digest":"529651dab762de4bc55772a279d65b607b496047716d7bfadce35e79fc1d04ae","task_id":"t_0016"}','52372b975e71cf11815a4fefdab5e6e3108fcb8ad8d5ef62f39b5e7c6e31943e');
INSERT INTO "events" VALUES(53,34,'t_0016',3,1000000090000,'delivery_granted','{"claim_id":"c_0018","delivery_id":"d_0017","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon1","node_id":"n_laptop","number":1,"recipient":"claude@laptop","task_id":"t_0016","term_ms":10000,"token_digest":"d1f83cfadb1492555a9d05c01f8e081cafb36c175ce3d9c3b6a25aa6745b4e94"}','bff2e3fe2fd35d0e34bcd034941e78a0f85d4523e42ae5cb0ad1a6a7d831b488');
INSERT INTO "events" VALUES(54,35,'t_0016',4,1000000090000,'delivery_acknowledged','{"delivery_id":"d_0017","event":"delivery_acknowledged","incarnation":"i_daemon1","receipt_digest":"receipt","task_id":"t_0016","term_ms":30000}','b44c1956b38ce91ce206e7c312a559c6d6092339b3a2e9e075ef97c2cb72702c');
INSERT INTO "events" VALUES(55,36,'t_0016',5,1000000090000,'effect_begun','{"delivery_id":"d_0017","effect_id":"e_0019","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"push:t_0016:forge:acme/app/tenure/x@bbbbbbbbbbbb..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","identity":"forge:acme/app#push:tenure/x:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","kind":"push","number":1,"params":"{\"new\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"old\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\"ref\":\"tenure/x\"}","params_digest":"54f76604852eee14518ac14364f9309d89004f67307d55c12ec60c47baed14ea","settling_ms":2000,"subject":"tenure/x@bbbbbbbbbbbb..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","target":"forge:acme/app","task_id":"t_0016"}','8c51a5f16dc66770cc3e41c1fad948698ce41e32f6803250bae1a304473a49e0');
INSERT INTO "events" VALUES(56,37,'t_0016',6,1000000090000,'effect_issued','{"call_id":"call of e_0019","caller":"i_hub1","effect_id":"e_0019","event":"effect_issued","task_id":"t_0016","within_ms":10000}','7c932d787b4c46f31fc9fae2a5d809991af607b6b2cfa84361bf488accc7ae5b');
INSERT INTO "events" VALUES(57,38,'t_0016',7,1000000090000,'effect_doubted','{"effect_id":"e_0019","event":"effect_doubted","reason":"the answer was lost","task_id":"t_0016"}','5a64ec74be1754714b61506434cf4541859d1fa93a57bc2d127fc7ef1022d124');
INSERT INTO "events" VALUES(58,39,'t_0016',8,1000000110000,'effect_looked_up','{"again_after_ms":2000,"effect_id":"e_0019","event":"effect_looked_up","task_id":"t_0016"}','06d68e56460bba0b4506165448a2962be5c554ff2867863dd3c414a76bcaac60');
INSERT INTO "events" VALUES(59,40,'t_0016',9,1000000110000,'effect_begun','{"delivery_id":"d_0017","effect_id":"e_0020","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"pull_request:t_0016:forge:acme/app/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","identity":"forge:acme/app#pull_request:tenure/one->main","kind":"pull_request","number":1,"params":"{\"base\":\"main\",\"head\":\"tenure/one\",\"head_sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"title\":\"A change\",\"tree\":\"cccccccccccccccccccccccccccccccccccccccc\"}","params_digest":"22fad296a48d96e089a6c5d28ea4cceaa2c85db1849e8e2943e6170b5dbf6610","settling_ms":2000,"subject":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","target":"forge:acme/app","task_id":"t_0016","twin":"forge:acme/app#pull_request:tree:cccccccccccccccccccccccccccccccccccccccc->main"}','2d3e08087758904b9978901ce1ad0c66c116b3654d1ef7465a31d20bc2a59737');
INSERT INTO "events" VALUES(60,41,'t_0016',10,1000000110000,'effect_issued','{"call_id":"call of e_0020","caller":"i_hub1","effect_id":"e_0020","event":"effect_issued","task_id":"t_0016","within_ms":10000}','b324fedeb3489c769f3e59014b52a073e42c59b52d88de53f6cf055fbb43ea76');
INSERT INTO "events" VALUES(61,42,'t_0016',11,1000000110000,'effect_settled','{"effect_id":"e_0020","event":"effect_settled","result":"{\"number\":7}","state":"confirmed","task_id":"t_0016"}','881873f769076c0ad9267da9c7899cb17110d10490b1e2ba3bf8b839bb1df83a');
INSERT INTO "events" VALUES(62,43,'t_0016',12,1000000110000,'effect_begun','{"delivery_id":"d_0017","effect_id":"e_0021","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"pull_request:t_0016:forge:acme/app/tenure/two","identity":"forge:acme/app#pull_request:tenure/two->main","kind":"pull_request","number":1,"params":"{\"base\":\"main\",\"head\":\"tenure/two\",\"title\":\"A change\"}","params_digest":"688142c5e91da8108eaa9a2b7df2217034e276aadfb4fe96ae21a189200e0648","settling_ms":2000,"subject":"tenure/two","target":"forge:acme/app","task_id":"t_0016"}','3f43296b1e96bd8871b606155bc16f06308bfc0d9917206f59014fd855942f1d');
INSERT INTO "events" VALUES(63,44,'t_0016',13,1000000110000,'effect_issued','{"call_id":"call of e_0021","caller":"i_hub1","effect_id":"e_0021","event":"effect_issued","task_id":"t_0016","within_ms":10000}','9d869c4b03cfc990fce46895d60baa41e956a802444cd30b7c585fffe2b4e44e');
INSERT INTO "events" VALUES(64,45,'t_0016',14,1000000110000,'effect_settled','{"code":"so it said","effect_id":"e_0021","event":"effect_settled","state":"absent","task_id":"t_0016"}','3624491ae0d06e80835a28df35b81b723922152483e4b1e08e520f53cbb482bf');
INSERT INTO "events" VALUES(65,46,'t_0016',15,1000000110000,'effect_begun','{"delivery_id":"d_0017","effect_id":"e_0022","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"pull_request:t_0016:forge:acme/app/tenure/three","identity":"forge:acme/app#pull_request:tenure/three->main","kind":"pull_request","number":1,"params":"{\"base\":\"main\",\"head\":\"tenure/three\",\"title\":\"A change\"}","params_digest":"324400916d171c750957b455e3a16b3838ef8cfe90da8f12bdba25e106bbbf7f","settling_ms":2000,"subject":"tenure/three","target":"forge:acme/app","task_id":"t_0016"}','dd29d8bd1b12261e23f16e4ccfb6779c9c20eee5790e5dc069fbe520834bfc55');
INSERT INTO "events" VALUES(66,47,'t_0016',16,1000000110000,'effect_issued','{"call_id":"call of e_0022","caller":"i_hub1","effect_id":"e_0022","event":"effect_issued","task_id":"t_0016","within_ms":10000}','b121551220ba68ca0fd4448b490d1b1695248be320b87073e0adad577ff6af87');
INSERT INTO "events" VALUES(67,48,'t_0016',17,1000000110000,'effect_doubted','{"effect_id":"e_0022","event":"effect_doubted","reason":"the answer was lost","task_id":"t_0016"}','80061bf1f66e757e3d935ff0fe9448323b36d0454c754d2be64b751f3829208b');
INSERT INTO "events" VALUES(68,49,'t_0016',18,1000000110000,'effect_quarantined','{"effect_id":"e_0022","event":"effect_quarantined","reason":"two of them","task_id":"t_0016"}','d58132cc5600a7bcfcc1be1de5aac4f7973820e9eabae3a498d6848fa9bc2932');
INSERT INTO "events" VALUES(69,49,'t_0016',19,1000000110000,'attention_opened','{"event":"attention_opened","facts":"{\"effect_id\":\"e_0022\",\"kind\":\"pull_request\",\"reason\":\"two of them\",\"target\":\"forge:acme/app\"}","kind":"effect_quarantined","subject":"t_0016/e_0022","summary":"what is known of pull_request tenure/three at forge:acme/app contradicts itself: two of them. Nothing is called for it until you say what is so.","task_id":"t_0016"}','e7f4a6e03e316be96192325d0ba8463510c841deb54515c525734168c338c862');
INSERT INTO "events" VALUES(70,50,'t_0016',20,1000000110000,'effect_begun','{"delivery_id":"d_0017","effect_id":"e_0023","event":"effect_begun","fence":1,"idempotency_key":"comment:t_0016:forge:acme/app/7:ed251864987c367e","identity":"forge:acme/app#key:t_0016:comment:t_0016:forge:acme/app/7:ed251864987c367e","kind":"comment","number":1,"params":"{\"body\":\"Done.\",\"number\":7}","params_digest":"3603888b2c7348ff144338630f8948b1fe16ca60e071d365fd6f1be7c50ce0f7","settling_ms":2000,"subject":"7:ed251864987c367e","target":"forge:acme/app","task_id":"t_0016"}','b15c5e57315a2632ed94b2e90ab7caaf83e55fa7d9106be1a7f83fd95573fa92');
INSERT INTO "events" VALUES(71,51,'t_0016',21,1000000110000,'effect_issued','{"call_id":"call of e_0023","caller":"i_hub1","effect_id":"e_0023","event":"effect_issued","task_id":"t_0016","within_ms":10000}','9ad294080da169c8a16e490105f51a6f7a1cee277750f6dd87caf66228cf2663');
INSERT INTO "events" VALUES(72,52,'t_0016',22,1000000110000,'effect_doubted','{"effect_id":"e_0023","event":"effect_doubted","reason":"the answer was lost","task_id":"t_0016"}','f94ebf3e7f8a08d458f0e3d18a85b61a8c3779ab3a5085c9d2fa64194c75ccfd');
INSERT INTO "events" VALUES(73,52,'t_0016',23,1000000110000,'attention_opened','{"event":"attention_opened","facts":"{\"effect_id\":\"e_0023\",\"kind\":\"comment\",\"reason\":\"the answer was lost; its provider cannot be asked\",\"target\":\"forge:acme/app\"}","kind":"effect_in_doubt","subject":"t_0016/e_0023","summary":"nobody can tell whether this happened: comment 7:ed251864987c367e at forge:acme/app (the answer was lost; its provider cannot be asked). Look there, then say so.","task_id":"t_0016"}','8b4dd7bb08c4cadc065986dc7a5eb67d417bed7a46aedae2daeac0e75e6ee622');
INSERT INTO "events" VALUES(74,53,'t_0016',24,1000000110000,'effect_begun','{"delivery_id":"d_0017","effect_id":"e_0024","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"pull_request:t_0016:forge:acme/app/tenure/four","identity":"forge:acme/app#pull_request:tenure/four->main","kind":"pull_request","number":1,"params":"{\"base\":\"main\",\"head\":\"tenure/four\",\"title\":\"A change\"}","params_digest":"1b61fabe7d5f35cf03d9e93fa6d74f862ef6628fea0be04f9f46668ecd30ec17","settling_ms":2000,"subject":"tenure/four","target":"forge:acme/app","task_id":"t_0016"}','30d56e25c08f5f7ff378f6aceb69a6b88769c9136d1fa84d7e9d3707a04e1526');
INSERT INTO "events" VALUES(75,54,'t_0016',25,1000000110000,'effect_issued','{"call_id":"a call","caller":"i_hub1","effect_id":"e_0024","event":"effect_issued","task_id":"t_0016","within_ms":10000}','a33e0dfde6cbecf98f3986d038bc3a38e517e7e595a96c4648a8b946b4a7ef05');
INSERT INTO "events" VALUES(76,55,'t_0016',26,1000000110000,'effect_begun','{"approval":true,"delivery_id":"d_0017","effect_id":"e_0025","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"merge:t_0016:forge:acme/app/7@aaaaaaaaaaaa","identity":"forge:acme/app#merge:7:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","kind":"merge","number":1,"params":"{\"head_sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"number\":7}","params_digest":"1dae720091904ec928ed444402d140567269d6a3738686a9af77561ff012a31f","settling_ms":2000,"subject":"7@aaaaaaaaaaaa","target":"forge:acme/app","task_id":"t_0016"}','edd0419ea83580699e43b6801579bcd087f2225d71659eec363b96957c8236ec');
INSERT INTO "events" VALUES(77,55,'t_0016',27,1000000110000,'attention_opened','{"event":"attention_opened","facts":"{\"effect_id\":\"e_0025\",\"fence\":1,\"kind\":\"merge\",\"params_digest\":\"1dae720091904ec928ed444402d140567269d6a3738686a9af77561ff012a31f\",\"target\":\"forge:acme/app\"}","kind":"approval","subject":"t_0016/e_0025","summary":"may t_0016/1 do this: merge 7@aaaaaaaaaaaa at forge:acme/app?","task_id":"t_0016"}','8ddbd57fb8868795d7b740a36e00a4fabac7da134af0369bcb2d8f521f8bf8c9');
INSERT INTO "events" VALUES(78,56,'t_0016',28,1000000110000,'attention_closed','{"because":"approved by ann: it is fine","event":"attention_closed","kind":"approval","subject":"t_0016/e_0025","task_id":"t_0016"}','1c5b842ff5f6058256eb988c45573870c4517eb0c3a2b97a376781f78188510c');
INSERT INTO "events" VALUES(79,56,'t_0016',29,1000000110000,'effect_approved','{"because":"it is fine","by":"ann","effect_id":"e_0025","event":"effect_approved","task_id":"t_0016"}','440a213b33f5a65c523690d0fb7b78733467a2a8a7f9934735787223b874e156');
INSERT INTO "events" VALUES(80,57,'t_0016',30,1000000110000,'effect_begun','{"approval":true,"delivery_id":"d_0017","effect_id":"e_0026","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"merge:t_0016:forge:acme/app/8@aaaaaaaaaaaa","identity":"forge:acme/app#merge:8:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","kind":"merge","number":1,"params":"{\"head_sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"number\":8}","params_digest":"4d20691c7c18b05ab8d6975ad0ce2cf3e333201c634bda04b3a225d66dc07084","settling_ms":2000,"subject":"8@aaaaaaaaaaaa","target":"forge:acme/app","task_id":"t_0016"}','8a994f45f76e95f8d69a2222018f63e0735f7af61922c06e26ce9f16b26c3864');
INSERT INTO "events" VALUES(81,57,'t_0016',31,1000000110000,'attention_opened','{"event":"attention_opened","facts":"{\"effect_id\":\"e_0026\",\"fence\":1,\"kind\":\"merge\",\"params_digest\":\"4d20691c7c18b05ab8d6975ad0ce2cf3e333201c634bda04b3a225d66dc07084\",\"target\":\"forge:acme/app\"}","kind":"approval","subject":"t_0016/e_0026","summary":"may t_0016/1 do this: merge 8@aaaaaaaaaaaa at forge:acme/app?","task_id":"t_0016"}','f2172ff4f9eb14bcb0c47d5ae00f089976357b2ea8cda62b185f4d6184002ac1');
INSERT INTO "events" VALUES(82,58,'t_0016',32,1000000110000,'effect_begun','{"again":"closed by mistake","again_of":"e_0020","delivery_id":"d_0017","effect_id":"e_0027","event":"effect_begun","fence":1,"finds":true,"idempotency_key":"pull_request:t_0016:forge:acme/app/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa#again:603ac7d3e833","identity":"forge:acme/app#pull_request:tenure/one->main#e9af10a7bb0d","kind":"pull_request","number":1,"params":"{\"base\":\"main\",\"head\":\"tenure/one\",\"head_sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"title\":\"A change\",\"tree\":\"cccccccccccccccccccccccccccccccccccccccc\"}","params_digest":"22fad296a48d96e089a6c5d28ea4cceaa2c85db1849e8e2943e6170b5dbf6610","settling_ms":2000,"subject":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","target":"forge:acme/app","task_id":"t_0016"}','6efcd1b7eb4f1f0da3e2ed01799e016c126ad6cc9df78fd32f8e1eb8d3759706');
INSERT INTO "events" VALUES(83,59,'t_0028',1,1000000110000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0028","spec":{"approval":true,"objective":"do it","route":"claude"},"task_id":"t_0028"}','90b899d2fd873894a987842316176a72806eed945c8c4e4c016bcf53dfdfab3e');
INSERT INTO "events" VALUES(84,59,'t_0028',2,1000000110000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0028"}','5789bfee6f6defa70a1053def1de4873a1dcd72594397ef716f044e1351eef18');
INSERT INTO "events" VALUES(85,59,'t_0028',3,1000000110000,'attention_opened','{"event":"attention_opened","facts":"{\"route\":\"claude\",\"spec_digest\":\"6c89585b6daf0aefd46bb92519920e0c372d72147dae889614a7d6cde50aad23\"}","kind":"approval","subject":"t_0028/1","summary":"may t_0028/1 be started? do it","task_id":"t_0028"}','e9d0d668e09e581aa107c7d25130a96b65ea96910fc8085f6fb042be06c43196');
INSERT INTO "events" VALUES(86,60,'hub',5,1000000110000,'webhook_received','{"digest":"230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5","event":"webhook_received","inbound_id":"forge:delivery-1","kind":"push","provider":"forge"}','a83ae90499bfa096e859d952e82dda95fb3d9f65b10ae0b8dbc35f60d23ef1ab');
INSERT INTO "events" VALUES(87,61,'hub',6,1000000110000,'webhook_refused','{"digest":"867ad8c10a26b2e9273f73e17e4d0005c77b54c85fdebe168b354dee49477d7e","event":"webhook_refused","inbound_id":"forge:delivery-1"}','f8a7e804783ed13b6099e451bec2737172ad8aeab9ce9e585cbce1ed909b29f9');
INSERT INTO "events" VALUES(88,62,'hub',7,1000000110000,'hub_attention_opened','{"event":"hub_attention_opened","facts":"{\"at_ms\":1000000110000,\"step_ms\":90000}","kind":"clock_stepped","subject":"hub","summary":"the hub''s wall clock stepped by +90 s. No lease was lost by it; check the time service."}','1050a9dfdaace55ba36746a01a2b9039f2fcc0cc94a76855132e2433eb81572a');
INSERT INTO "events" VALUES(89,63,'n_box',1,1000000110000,'node_enrolled','{"by":"ann","credential_digest":"26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae","event":"node_enrolled","name":"box","node_id":"n_box"}','e120bf73a93cbd5769b73f93aebea303d709e7eee367319a5042b0fd9c1a6cc0');
INSERT INTO "events" VALUES(90,64,'n_box',2,1000000110000,'node_started','{"boot_id":"boot1","compatible":true,"contract":1,"event":"node_started","incarnation":"i_daemon2","node_id":"n_box","platform":"linux","recipients":[{"capacity":3,"harness":"command","isolation":"user","name":"codex","pools":["boxes"]},{"harness":"command","isolation":"user","name":"shy"}],"version":"1"}','ac28d47fd02ddd9ccf445f357774bd7e40681403b5b20cfd67e443c0d3fc98e4');
INSERT INTO "events" VALUES(91,65,'t_0029',1,1000000110000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0029","spec":{"objective":"do it","route":"shy@box"},"task_id":"t_0029"}','28a511189f4b75358ee36337c89eb4bf5e2825251729f9cc8b24e4d6bf34899a');
INSERT INTO "events" VALUES(92,65,'t_0029',2,1000000110000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0029"}','c40dd992500b29db4e08a29381e1df28116fa0b1d5f0388b095f4bfe4e186880');
INSERT INTO "events" VALUES(93,66,'t_0029',3,1000000110000,'delivery_granted','{"claim_id":"c_0031","delivery_id":"d_0030","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","isolation":"user","node_id":"n_box","number":1,"recipient":"shy@box","task_id":"t_0029","term_ms":10000,"token_digest":"34fb2d8a4e09e926df2c72c783fbaff2e96fa4420b972e73d83db4bb74e449d3"}','6c12b52c1f06162a81b60a49223376cf7d1eb8e06299dee95b5bb193591abc90');
INSERT INTO "events" VALUES(94,67,'t_0029',4,1000000110000,'delivery_acknowledged','{"delivery_id":"d_0030","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0029","term_ms":30000}','1ff65ef550cc282f327148dc1d475de108d55ff2be9fae2003c369ee5be17d9b');
INSERT INTO "events" VALUES(95,68,'t_0029',5,1000000110000,'lease_renewed','{"advanced":true,"counter":1,"delivery_id":"d_0030","event":"lease_renewed","progress":{"message":"on it","output_bytes":5},"task_id":"t_0029","term_ms":30000,"usage":{"input_tokens":7,"wall_s":2.5}}','a997863dd8b591991a9a5aaedaf03add48778ac60cd358dd5202ad4327ee256c');
INSERT INTO "events" VALUES(96,69,'t_0005',20,1000000140000,'lease_expired','{"delivery_id":"d_0008","event":"lease_expired","grace_ms":60000,"task_id":"t_0005"}','69cbff4f6a27602dbc0ab8399e8bb395bb2ddff45d0577bbad21dd0a7b9d5512');
INSERT INTO "events" VALUES(97,70,'t_0016',33,1000000140000,'lease_expired','{"delivery_id":"d_0017","event":"lease_expired","grace_ms":60000,"task_id":"t_0016"}','c835cad0e5dedb1b239352c30caaef508056d32c4cc402060bac3e5373ae50e7');
INSERT INTO "events" VALUES(98,71,'t_0029',6,1000000140000,'lease_expired','{"delivery_id":"d_0030","event":"lease_expired","grace_ms":60000,"task_id":"t_0029"}','f0069b7ee5d896b5e3916af54bde65572cfb387c833eb6bb0cf3b989c73275fa');
INSERT INTO "events" VALUES(99,72,'t_0005',21,1000000200000,'lease_revoked','{"delivery_id":"d_0008","event":"lease_revoked","fence":4,"number":2,"reason":"the cancellation was not answered in time","task_id":"t_0005"}','2603b1435c58d28da845bd6b1b5b056223d4bac27ee20aa5d05e618a23919e5a');
INSERT INTO "events" VALUES(100,72,'t_0005',22,1000000200000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{},\"reason\":\"the cancellation was not answered in time\",\"recipient\":\"claude@laptop\"}","kind":"unknown","subject":"t_0005/2","summary":"nobody reported how t_0005/2 on claude@laptop ended: the cancellation was not answered in time","task_id":"t_0005"}','c2763ae4fe1d7eb3f3cbc56357fcc9bea90c01a5bb65501648e3c365041c32a6');
INSERT INTO "events" VALUES(101,72,'t_0005',23,1000000200000,'cancel_advanced','{"event":"cancel_advanced","step":"unacknowledged","task_id":"t_0005"}','8b984a6ce9a1acd92f976de85a9c9d02dd1c5fe37b40abf6a4b985d588faf602');
INSERT INTO "events" VALUES(102,72,'t_0005',24,1000000200000,'cancel_advanced','{"event":"cancel_advanced","step":"reconciled","task_id":"t_0005"}','c7fd99572389f7dccd1cdbb0ac7749d5a87ae1232c8b6fbb4d05840a5db2a073');
INSERT INTO "events" VALUES(103,72,'t_0005',25,1000000200000,'cancel_advanced','{"event":"cancel_advanced","step":"terminated","task_id":"t_0005"}','68bd8e58369c8b1b6a0ec3f640d4b778ebe0a046ff0a8af7553ea2b0421a5848');
INSERT INTO "events" VALUES(104,72,'t_0005',26,1000000200000,'task_ended','{"event":"task_ended","reason":"enough","state":"canceled","task_id":"t_0005"}','cf511c8a68cd131d3816bc201394f3aa8d6de6ed36a55facade7ab19e71518ff');
INSERT INTO "events" VALUES(105,73,'t_0016',34,1000000200000,'lease_revoked','{"delivery_id":"d_0017","event":"lease_revoked","fence":2,"number":1,"reason":"the lease ran out and nobody reported","task_id":"t_0016"}','ef66704dbe2891b87f463ab30bec6c9158c4972610bd1518bf98adec847f92e9');
INSERT INTO "events" VALUES(106,73,'t_0016',35,1000000200000,'effect_doubted','{"effect_id":"e_0024","event":"effect_doubted","reason":"the lease was revoked while the call was under way","task_id":"t_0016"}','79afd8b2636ae706b86c6b650c116089a348cebe35a81c5cea45480c5d00678f');
INSERT INTO "events" VALUES(107,73,'t_0016',36,1000000200000,'effect_settled','{"code":"stale_fence","effect_id":"e_0025","event":"effect_settled","reason":"never called: the lease ended","state":"absent","task_id":"t_0016"}','a735a154ff554ca9f7cc866d2b2f8765f74e57fb5b6508df55ff0688b9493a32');
INSERT INTO "events" VALUES(108,73,'t_0016',37,1000000200000,'effect_settled','{"code":"stale_fence","effect_id":"e_0026","event":"effect_settled","reason":"never called: the lease ended","state":"absent","task_id":"t_0016"}','6adc4841f4d112209b8458fd7b41a63b6207dde81ec6477ea94827c1b1fadc6f');
INSERT INTO "events" VALUES(109,73,'t_0016',38,1000000200000,'attention_closed','{"because":"the attempt''s lease ended","event":"attention_closed","kind":"approval","subject":"t_0016/e_0026","task_id":"t_0016"}','da63f69800b75ea155cd52fc762adf72e4f8bbaa2b17a7a73734d82f86100fec');
INSERT INTO "events" VALUES(110,73,'t_0016',39,1000000200000,'effect_settled','{"code":"stale_fence","effect_id":"e_0027","event":"effect_settled","reason":"never called: the lease ended","state":"absent","task_id":"t_0016"}','db25312136f6922d6436225e3b44e0fe4ae65a47e64f81ce47f42df48ea9faf6');
INSERT INTO "events" VALUES(111,73,'t_0016',40,1000000200000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{},\"reason\":\"the lease ran out and nobody reported\",\"recipient\":\"claude@laptop\"}","kind":"unknown","subject":"t_0016/1","summary":"nobody reported how t_0016/1 on claude@laptop ended: the lease ran out and nobody reported","task_id":"t_0016"}','73980f6e79f6f48c10a207e164ba26b24707e4059f60451d5f3e1fb1a612960c');
INSERT INTO "events" VALUES(112,74,'t_0029',7,1000000200000,'lease_revoked','{"delivery_id":"d_0030","event":"lease_revoked","fence":2,"number":1,"reason":"the lease ran out and nobody reported","task_id":"t_0029"}','c5e52e2cd40fa5727339ceb7a69c9a22c8ad23ced1e68ec8863b71960fc1cf09');
INSERT INTO "events" VALUES(113,74,'t_0029',8,1000000200000,'attention_opened','{"event":"attention_opened","facts":"{\"late_reports\":{},\"reason\":\"the lease ran out and nobody reported\",\"recipient\":\"shy@box\"}","kind":"unknown","subject":"t_0029/1","summary":"nobody reported how t_0029/1 on shy@box ended: the lease ran out and nobody reported","task_id":"t_0029"}','c2b6945feac42e525bbabd81058100e3e54040fb852857fc5f48d8bde26d0330');
INSERT INTO "events" VALUES(114,75,'t_0032',1,1000000200000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0032","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0032"}','c754b6a2b98a103f875c4572b68c3baa743533e54c6d1e3d3aa594e5c60881f2');
INSERT INTO "events" VALUES(115,75,'t_0032',2,1000000200000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0032"}','d444321afb394bf0900fc7ee833238138597a92d9b6c383b21605f936c780d03');
INSERT INTO "events" VALUES(116,76,'t_0032',3,1000000200000,'delivery_granted','{"claim_id":"c_0034","delivery_id":"d_0033","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","isolation":"user","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0032","term_ms":10000,"token_digest":"54a61c8e37ee40ffc403e5a21c5f9ae11a2fbc7dbbe234cb5dbef8d076e64b34"}','291e22db374510f24cc008cb060145730fb769b6c6e6683fd4e0c6e2fa26172c');
INSERT INTO "events" VALUES(117,77,'t_0032',4,1000000200000,'delivery_acknowledged','{"delivery_id":"d_0033","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0032","term_ms":30000}','5906a2f71501ad066ab23585f7a66ec2e34d3408acc9f0460059c4496f27645c');
INSERT INTO "events" VALUES(118,78,'t_0032',5,1000000200000,'report_recorded','{"delivery_id":"d_0033","digest":"849288cd227769a9122004f91c80bde181ab14aa073012a1c8048e10a13aea01","event":"report_recorded","fence":2,"number":1,"outcome":{"summary":"so it ended","tree_gone":true,"verdict":"asked"},"task_id":"t_0032"}','bfabb5a9fe78a448081a9ae2c9ad905e90dadbcc962d5601cb20d5484a8bbd1e');
INSERT INTO "events" VALUES(119,78,'t_0032',6,1000000200000,'attention_opened','{"event":"attention_opened","facts":"{\"reason\":\"so it ended\"}","kind":"asked","subject":"t_0032/1","summary":"so it ended","task_id":"t_0032"}','000127bba4672dbd6fa026d40db36a4031dca72704ae025cbfc76830461dc91f');
INSERT INTO "events" VALUES(120,79,'t_0035',1,1000000200000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0035","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0035"}','edbc3cc502b57e72407a351c2dbfcd48a2c45b879d2f1e0e1929254010d9f03f');
INSERT INTO "events" VALUES(121,79,'t_0035',2,1000000200000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0035"}','c8b66cd2ffd4dddde9555ce4ebeea145899da27c3003627e6eb2cc458c534345');
INSERT INTO "events" VALUES(122,80,'t_0035',3,1000000200000,'delivery_granted','{"claim_id":"c_0037","delivery_id":"d_0036","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","isolation":"user","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0035","term_ms":10000,"token_digest":"c27f010ed26801635c586868849f13b59e723ba19bd566ea309a833808872e02"}','866d30d05f64118fba1f94e778129e9f9c83ff591c9e2354485a8ea5d0e347cd');
INSERT INTO "events" VALUES(123,81,'t_0035',4,1000000200000,'delivery_acknowledged','{"delivery_id":"d_0036","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0035","term_ms":30000}','1d7253ad9b9cba8c16299e52d6158721a9218d67368746911828b27340457d1e');
INSERT INTO "events" VALUES(124,82,'t_0035',5,1000000200000,'report_recorded','{"delivery_id":"d_0036","digest":"a9e11c6b0ce91163136532b3675ff53fd9513f0ca6403c08e731cb7fc0d40077","event":"report_recorded","fence":2,"number":1,"outcome":{"summary":"so it ended","tree_gone":true,"verdict":"timed_out"},"task_id":"t_0035"}','e7ccd7a33c3d4fd30018e0bd27bc1f06b22b14ab0e891f46270cde9f47c7d7fd');
INSERT INTO "events" VALUES(125,82,'t_0035',6,1000000200000,'task_ended','{"event":"task_ended","reason":"so it ended","state":"failed","task_id":"t_0035"}','67efde9b5a1300925d2d720dc128f84586c4b889c4a9e7c6037efc273c441ae8');
INSERT INTO "events" VALUES(126,83,'t_0038',1,1000000200000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0038","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0038"}','7775e45a32bb9d3e008fe2a1d86e86c4a7f0b2a1a5c9e5bd3c812269a318577e');
INSERT INTO "events" VALUES(127,83,'t_0038',2,1000000200000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0038"}','1ceeece24b4aaaff0e503f792099e5957a78b74a003212524d9d505604e228b3');
INSERT INTO "events" VALUES(128,84,'t_0039',1,1000000201000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0039","spec":{"objective":"do it","route":"boxes"},"task_id":"t_0039"}','fd7df99157d4a2d6453a166a73163103891d73b593f2fa501a458d8061eba833');
INSERT INTO "events" VALUES(129,84,'t_0039',2,1000000201000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0039"}','14008ec38c243af676010e5b44f27fb5e64b89a13b4139615efabe6ac878f022');
INSERT INTO "events" VALUES(130,85,'t_0038',3,1000000202000,'delivery_granted','{"claim_id":"c_0042","delivery_id":"d_0040","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","isolation":"user","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0038","term_ms":10000,"token_digest":"5b4e043fea7c3cf38b21f9fe876ea75a12ae147d32b08a8db84f2cc08942d02c"}','252647ff7341eea503ee8c78ad42e08677356887de58f48b818a3fbdf56fd4c7');
INSERT INTO "events" VALUES(131,85,'t_0039',3,1000000202000,'delivery_granted','{"claim_id":"c_0042","delivery_id":"d_0041","event":"delivery_granted","fence":1,"harness":"command","incarnation":"i_daemon2","isolation":"user","node_id":"n_box","number":1,"recipient":"codex@box","task_id":"t_0039","term_ms":10000,"token_digest":"804848c39094c737183d15b3ef44fb7e8b5fc3caf8a3426cd064cd6b67fe51d1"}','1ec4c4a4a80c0ba3e5e778eac71d415348597bc6b11a3326057340ff62116009');
INSERT INTO "events" VALUES(132,86,'t_0038',4,1000000202000,'delivery_acknowledged','{"delivery_id":"d_0040","event":"delivery_acknowledged","incarnation":"i_daemon2","receipt_digest":"receipt","task_id":"t_0038","term_ms":30000}','61816ff70174f4f8d38b8dbc7b9e11725b7cbec099fdfa6fc40be2e50edcabda');
INSERT INTO "events" VALUES(133,87,'t_0038',5,1000000202000,'lease_renewed','{"advanced":true,"counter":1,"delivery_id":"d_0040","event":"lease_renewed","progress":{"message":"on it","output_bytes":5},"task_id":"t_0038","term_ms":30000,"usage":{"input_tokens":7,"wall_s":2.5}}','2dfa9b8289ce471fd90017d4325619218ca6ae5afd51be88628730fa2c70b461');
INSERT INTO "events" VALUES(134,88,'t_0043',1,1000000202000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0043","spec":{"not_before_ms":1000000252000,"objective":"do it","route":"codex@box"},"task_id":"t_0043"}','365f5b0bf3bc91989bad4b23d5f2f9d44858f3d7833f7bc8d11967409d426d11');
INSERT INTO "events" VALUES(135,88,'t_0043',2,1000000202000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0043"}','91136583825abd33d2001ff56249ce2ad3ef31be1af20517a5eedcf15e5b6c25');
INSERT INTO "events" VALUES(136,89,'t_0044',1,1000000203000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0044","spec":{"objective":"do it","route":"boxes"},"task_id":"t_0044"}','f6bc99acee53c397f30f81633e2ea319c324a05320db37a978d061a13f09b569');
INSERT INTO "events" VALUES(137,89,'t_0044',2,1000000203000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0044"}','c49f993e017169ee9c5fee9214b1c8f46412b59fad4d74d96732c1101d2e5c35');
INSERT INTO "events" VALUES(138,90,'t_0045',1,1000000204000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0045","spec":{"objective":"do it","route":"codex"},"task_id":"t_0045"}','8f213dbd47753eabadac099e8ea0ac6f276d962e3c2b047eb9fc2c320867de55');
INSERT INTO "events" VALUES(139,90,'t_0045',2,1000000204000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0045"}','33a1081a66d4148ac267368a23b2ec3504c92f2c33de563b09568944cdf7e662');
INSERT INTO "events" VALUES(140,91,'t_0046',1,1000000205000,'task_submitted','{"by":"ann","event":"task_submitted","idempotency_key":"t_0046","spec":{"objective":"do it","route":"codex@box"},"task_id":"t_0046"}','c06d1e796a2a912e241048cb88f27bd3c2ebef7740475702e8d4c1edd6a9eeec');
INSERT INTO "events" VALUES(141,91,'t_0046',2,1000000205000,'attempt_created','{"event":"attempt_created","number":1,"spec":{"objective":"do it","policy":"default-1","worktree":"none"},"spec_digest":"19842576fa3218c5c313e21adbd68d3a6774ac0f918773ff01abf94ae12b04e0","task_id":"t_0046"}','7dd8029067498350589135f7fe593f9d853545afd09ab3b15fea5f48afaa106e');
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
INSERT INTO "facets" VALUES('by','ann','t_0028');
INSERT INTO "facets" VALUES('by','ann','t_0029');
INSERT INTO "facets" VALUES('by','ann','t_0032');
INSERT INTO "facets" VALUES('by','ann','t_0035');
INSERT INTO "facets" VALUES('by','ann','t_0038');
INSERT INTO "facets" VALUES('by','ann','t_0039');
INSERT INTO "facets" VALUES('by','ann','t_0043');
INSERT INTO "facets" VALUES('by','ann','t_0044');
INSERT INTO "facets" VALUES('by','ann','t_0045');
INSERT INTO "facets" VALUES('by','ann','t_0046');
INSERT INTO "facets" VALUES('continues','t_0011','t_0015');
INSERT INTO "facets" VALUES('label','team=api','t_0001');
INSERT INTO "facets" VALUES('route','boxes','t_0039');
INSERT INTO "facets" VALUES('route','boxes','t_0044');
INSERT INTO "facets" VALUES('route','claude','t_0001');
INSERT INTO "facets" VALUES('route','claude','t_0005');
INSERT INTO "facets" VALUES('route','claude','t_0010');
INSERT INTO "facets" VALUES('route','claude','t_0011');
INSERT INTO "facets" VALUES('route','claude','t_0014');
INSERT INTO "facets" VALUES('route','claude','t_0016');
INSERT INTO "facets" VALUES('route','claude','t_0028');
INSERT INTO "facets" VALUES('route','codex','t_0045');
INSERT INTO "facets" VALUES('route','codex@box','t_0032');
INSERT INTO "facets" VALUES('route','codex@box','t_0035');
INSERT INTO "facets" VALUES('route','codex@box','t_0038');
INSERT INTO "facets" VALUES('route','codex@box','t_0043');
INSERT INTO "facets" VALUES('route','codex@box','t_0046');
INSERT INTO "facets" VALUES('route','elsewhere','t_0015');
INSERT INTO "facets" VALUES('route','nobody','t_0004');
INSERT INTO "facets" VALUES('route','shy@box','t_0029');
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
	CONSTRAINT late_kind CHECK (kind IN ('acknowledge', 'renew', 'report', 'effect'))
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
INSERT INTO "nodes" VALUES('n_box','box','26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae','i_daemon2','[]','["boot1"]',1,1,0,0,0,'linux','1','["codex@box","shy@box"]',1000000110000,1000000110000);
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
INSERT INTO "recipients" VALUES('claude@laptop','n_laptop','claude','command',NULL,'["pool"]',3,'open','',2,'["t_0005/2","t_0016/1"]',1,1000000000000);
INSERT INTO "recipients" VALUES('codex@box','n_box','codex','command',NULL,'["boxes"]',3,'user','',2,'[]',1,1000000110000);
INSERT INTO "recipients" VALUES('shy@box','n_box','shy','command',NULL,'[]',1,'user','',1,'["t_0029/1"]',1,1000000110000);
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
	effects INTEGER NOT NULL, 
	open_effects TEXT NOT NULL, 
	needs_approval INTEGER NOT NULL, 
	last_effect_of TEXT, 
	PRIMARY KEY (task_id), 
	CONSTRAINT tasks_state CHECK (state IN ('submitted', 'working', 'input_required', 'completed', 'failed', 'canceled', 'rejected')), 
	CONSTRAINT tasks_cancel_step CHECK (cancel_step IN ('requested', 'signaled', 'acknowledged', 'unacknowledged', 'reconciled', 'terminated')), 
	CONSTRAINT tasks_needs_approval CHECK (needs_approval IN (0, 1))
)
 STRICT

;
INSERT INTO "tasks" VALUES('t_0001','{"labels":{"team":"api"},"objective":"do it","route":"claude"}','a4e743f12b12cd2dfb87c3461dcbc8b6c22ad66563c5e643832b06a83d2f09ba','completed',2,NULL,1,0,NULL,1000000000000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0001',1000000000000,1000000000000,'done',0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0004','{"harness":"command","model":"small","objective":"do it","route":"nobody"}','8bb8f57b0cdcb52a2f50ff6b5e0dd224ca44f2a458c0e209f62df6d1636661c4','canceled',0,NULL,1,0,NULL,1000000000000,'[]','[]','[]','terminated','not needed',1000000000000,'ann','t_0004',1000000000000,1000000000000,'not needed',0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0005','{"objective":"do it","route":"claude"}','f753969f735ae9eff8a4d950a2c37551b672f7d1d7d65dd8a97191e9ea2da8dc','canceled',4,NULL,2,0,NULL,1000000090000,'[]','[]','[]','terminated','enough',1000000090000,'ann','t_0005',1000000000000,1000000200000,'enough',0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0010','{"after":["t_0005","t_0001"],"objective":"do it","route":"claude"}','c9ad7b1f33fb6f6048b3f0e7c4485f3f36b32ce7f88fccce6e2dca5501eb097d','submitted',0,NULL,1,0,NULL,1000000090000,'["t_0005"]','[]','[]',NULL,NULL,NULL,'ann','t_0010',1000000090000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0011','{"objective":"do it","route":"claude"}','f753969f735ae9eff8a4d950a2c37551b672f7d1d7d65dd8a97191e9ea2da8dc','failed',2,NULL,1,0,NULL,1000000090000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0011',1000000090000,1000000090000,'done',0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0014','{"after":["t_0011"],"objective":"do it","route":"claude"}','5dcc87bcc3b26f2f7311b5243674bb43cb7509cf5c628b46c1bc3ec3c4df3f1a','submitted',0,NULL,1,0,NULL,1000000090000,'[]','["t_0011"]','[]',NULL,NULL,NULL,'ann','t_0014',1000000090000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0015','{"because":"with another base","continues":"t_0011","objective":"do it","route":"elsewhere"}','ff90ad6e285297ab7101a91d3e1378be3fc434067a6b42871100bafc4db6f8a0','submitted',0,NULL,1,0,'elsewhere|*|*',1000000090000,'[]','[]','["t_0011"]',NULL,NULL,NULL,'ann','t_0015',1000000090000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0016','{"objective":"do it","route":"claude","scope":{"approval":["merge"],"branches":["tenure/*"],"kinds":["commit","push","pull_request","comment","label","status","merge","http"],"most":1000,"targets":["forge:*"]}}','0b9c7ba4283b8a1ca862fa0075c5cbb4d8fbc9e753226d774eeee0057726c4f8','input_required',2,NULL,1,0,NULL,1000000090000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0016',1000000090000,NULL,NULL,9,'["e_0019","e_0022","e_0023","e_0024"]',0,'d_0017');
INSERT INTO "tasks" VALUES('t_0028','{"approval":true,"objective":"do it","route":"claude"}','6c89585b6daf0aefd46bb92519920e0c372d72147dae889614a7d6cde50aad23','submitted',0,NULL,1,0,NULL,1000000110000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0028',1000000110000,NULL,NULL,0,'[]',1,NULL);
INSERT INTO "tasks" VALUES('t_0029','{"objective":"do it","route":"shy@box"}','5ef10650fce3a6bc0a4d4ff8f0702209aad573ff8c796fd182d121e91f4e4b17','input_required',2,NULL,1,0,NULL,1000000110000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0029',1000000110000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0032','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','input_required',2,NULL,1,0,NULL,1000000200000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0032',1000000200000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0035','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','failed',2,NULL,1,0,NULL,1000000200000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0035',1000000200000,1000000200000,'so it ended',0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0038','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','working',1,'d_0040',1,0,NULL,1000000200000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0038',1000000200000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0039','{"objective":"do it","route":"boxes"}','f81ba222acebfde124d223910ba54a406ae570f9a4e8d51258b012524ca58533','working',1,'d_0041',1,0,NULL,1000000201000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0039',1000000201000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0043','{"not_before_ms":1000000252000,"objective":"do it","route":"codex@box"}','c9a586478dad5f763f557f9e2976056e6175b4e303fab07f28d30f62627e2c34','submitted',0,NULL,1,0,'codex@box|*|*',1000000252000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0043',1000000202000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0044','{"objective":"do it","route":"boxes"}','f81ba222acebfde124d223910ba54a406ae570f9a4e8d51258b012524ca58533','submitted',0,NULL,1,0,'boxes|*|*',1000000203000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0044',1000000203000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0045','{"objective":"do it","route":"codex"}','fb4f591ef13743ca11c7e78eb1ab270d9f05546934265326b0f14f720f22b521','submitted',0,NULL,1,0,'codex|*|*',1000000204000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0045',1000000204000,NULL,NULL,0,'[]',0,NULL);
INSERT INTO "tasks" VALUES('t_0046','{"objective":"do it","route":"codex@box"}','3b7618bb161afb7bd49b83700a908bb00d4d5dc0869d3b089f9b7f60b0a31789','submitted',0,NULL,1,0,'codex@box|*|*',1000000205000,'[]','[]','[]',NULL,NULL,NULL,'ann','t_0046',1000000205000,NULL,NULL,0,'[]',0,NULL);
CREATE TABLE webhooks (
	inbound_id TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	event TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	effects TEXT NOT NULL, 
	received_at_ms INTEGER NOT NULL, 
	refused_digest TEXT, 
	refused_at_ms INTEGER, 
	PRIMARY KEY (inbound_id)
)
 STRICT

;
INSERT INTO "webhooks" VALUES('forge:delivery-1','forge','push','230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5','[]',1000000110000,'867ad8c10a26b2e9273f73e17e4d0005c77b54c85fdebe168b354dee49477d7e',1000000110000);
CREATE INDEX deliveries_due ON deliveries (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX deliveries_held ON deliveries (node_id) WHERE ended_at_ms IS NULL OR slot = 1;
CREATE INDEX deliveries_of_claim ON deliveries (node_id, claim_id);
CREATE INDEX deliveries_of_task ON deliveries (task_id);
CREATE INDEX nodes_by_credential ON nodes (credential_digest);
CREATE INDEX nodes_by_name ON nodes (name);
CREATE INDEX credentials_by_digest ON credentials (token_digest);
CREATE TRIGGER commits_kept BEFORE DELETE ON commits BEGIN SELECT RAISE(ABORT, 'frozen: no row of commits is ever deleted'); END;
CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'frozen: no row of events is ever deleted'); END;
CREATE TRIGGER facets_kept BEFORE DELETE ON facets BEGIN SELECT RAISE(ABORT, 'frozen: no row of facets is ever deleted'); END;
CREATE TRIGGER attempts_kept BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'frozen: no row of attempts is ever deleted'); END;
CREATE TRIGGER deliveries_kept BEFORE DELETE ON deliveries BEGIN SELECT RAISE(ABORT, 'frozen: no row of deliveries is ever deleted'); END;
CREATE TRIGGER recipients_kept BEFORE DELETE ON recipients BEGIN SELECT RAISE(ABORT, 'frozen: no row of recipients is ever deleted'); END;
CREATE TRIGGER nodes_kept BEFORE DELETE ON nodes BEGIN SELECT RAISE(ABORT, 'frozen: no row of nodes is ever deleted'); END;
CREATE TRIGGER credentials_kept BEFORE DELETE ON credentials BEGIN SELECT RAISE(ABORT, 'frozen: no row of credentials is ever deleted'); END;
CREATE TRIGGER hub_kept BEFORE DELETE ON hub BEGIN SELECT RAISE(ABORT, 'frozen: no row of hub is ever deleted'); END;
CREATE TRIGGER commits_fixed BEFORE UPDATE ON commits BEGIN SELECT RAISE(ABORT, 'frozen: no row of commits ever changes'); END;
CREATE TRIGGER events_fixed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'frozen: no row of events ever changes'); END;
CREATE TRIGGER facets_fixed BEFORE UPDATE ON facets BEGIN SELECT RAISE(ABORT, 'frozen: no row of facets ever changes'); END;
CREATE TRIGGER attempts_fixed BEFORE UPDATE OF attempt_id, task_id, number, spec, spec_digest, created_at_ms ON attempts BEGIN SELECT RAISE(ABORT, 'frozen: this column of attempts never changes'); END;
CREATE TRIGGER attempts_once BEFORE INSERT ON attempts WHEN EXISTS (SELECT 1 FROM attempts WHERE attempt_id = NEW.attempt_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of attempts is there already'); END;
CREATE TRIGGER deliveries_fixed BEFORE UPDATE OF delivery_id, attempt_id, task_id, number, recipient, node_id, claim_id, granted_to, fence, token_digest, claimed_at_ms ON deliveries BEGIN SELECT RAISE(ABORT, 'frozen: this column of deliveries never changes'); END;
CREATE TRIGGER deliveries_once BEFORE INSERT ON deliveries WHEN EXISTS (SELECT 1 FROM deliveries WHERE delivery_id = NEW.delivery_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of deliveries is there already'); END;
CREATE TRIGGER recipients_fixed BEFORE UPDATE OF address, name ON recipients BEGIN SELECT RAISE(ABORT, 'frozen: this column of recipients never changes'); END;
CREATE TRIGGER recipients_once BEFORE INSERT ON recipients WHEN EXISTS (SELECT 1 FROM recipients WHERE address = NEW.address) BEGIN SELECT RAISE(ABORT, 'frozen: this row of recipients is there already'); END;
CREATE TRIGGER nodes_fixed BEFORE UPDATE OF node_id, name, credential_digest, enrolled_at_ms ON nodes BEGIN SELECT RAISE(ABORT, 'frozen: this column of nodes never changes'); END;
CREATE TRIGGER nodes_once BEFORE INSERT ON nodes WHEN EXISTS (SELECT 1 FROM nodes WHERE node_id = NEW.node_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of nodes is there already'); END;
CREATE TRIGGER credentials_fixed BEFORE UPDATE OF credential_id, name, role, token_digest, issued_at_ms, issued_by ON credentials BEGIN SELECT RAISE(ABORT, 'frozen: this column of credentials never changes'); END;
CREATE TRIGGER credentials_once BEFORE INSERT ON credentials WHEN EXISTS (SELECT 1 FROM credentials WHERE credential_id = NEW.credential_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of credentials is there already'); END;
CREATE TRIGGER hub_fixed BEFORE UPDATE OF hub_id ON hub BEGIN SELECT RAISE(ABORT, 'frozen: this column of hub never changes'); END;
CREATE TRIGGER hub_once BEFORE INSERT ON hub WHEN EXISTS (SELECT 1 FROM hub WHERE hub_id = NEW.hub_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of hub is there already'); END;
CREATE TRIGGER commits_appended BEFORE INSERT ON commits WHEN NEW.commit_no <= (SELECT max(commit_no) FROM commits) BEGIN SELECT RAISE(ABORT, 'frozen: commits are only ever appended'); END;
CREATE TRIGGER events_appended BEFORE INSERT ON events WHEN NEW.seq <= (SELECT max(seq) FROM events) BEGIN SELECT RAISE(ABORT, 'frozen: events are only ever appended'); END;
CREATE TRIGGER attempts_end_once BEFORE UPDATE ON attempts WHEN OLD.state = 'ended' AND (NEW.state IS NOT OLD.state OR NEW.harness IS NOT OLD.harness OR NEW.model IS NOT OLD.model OR NEW.last_delivery IS NOT OLD.last_delivery OR NEW.started_at_ms IS NOT OLD.started_at_ms OR NEW.ended_at_ms IS NOT OLD.ended_at_ms OR NEW.verdict IS NOT OLD.verdict OR NEW.outcome IS NOT OLD.outcome OR (OLD.answer IN ('accept', 'rerun', 'retire') AND (NEW.answer IS NOT OLD.answer OR NEW.answer_because IS NOT OLD.answer_because OR NEW.answer_by IS NOT OLD.answer_by OR NEW.answer_at_ms IS NOT OLD.answer_at_ms))) BEGIN SELECT RAISE(ABORT, 'frozen: an Attempt that has ended never changes'); END;
CREATE TRIGGER attempts_freeze BEFORE UPDATE OF harness, model ON attempts WHEN (OLD.harness IS NOT NULL AND NEW.harness IS NOT OLD.harness) OR (OLD.model IS NOT NULL AND NEW.model IS NOT OLD.model) BEGIN SELECT RAISE(ABORT, 'frozen: harness and model of an Attempt are frozen once they are set'); END;
CREATE UNIQUE INDEX tasks_by_key ON tasks (submitted_by, idempotency_key);
CREATE INDEX tasks_queued ON tasks (queue_key, ready_at_ms, task_id) WHERE queue_key IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (state, task_id);
CREATE INDEX tasks_waiting ON tasks (task_id) WHERE ended_at_ms IS NULL AND (waits_for <> '[]' OR failed_dependencies <> '[]');
CREATE TRIGGER tasks_kept BEFORE DELETE ON tasks BEGIN SELECT RAISE(ABORT, 'frozen: no row of tasks is ever deleted'); END;
CREATE TRIGGER tasks_fixed BEFORE UPDATE OF task_id, spec, spec_digest, lineage, submitted_by, idempotency_key, submitted_at_ms ON tasks BEGIN SELECT RAISE(ABORT, 'frozen: this column of tasks never changes'); END;
CREATE TRIGGER tasks_once BEFORE INSERT ON tasks WHEN EXISTS (SELECT 1 FROM tasks WHERE task_id = NEW.task_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of tasks is there already'); END;
CREATE INDEX late_about ON late (attempt_id);
CREATE TRIGGER late_kept BEFORE DELETE ON late BEGIN SELECT RAISE(ABORT, 'frozen: no row of late is ever deleted'); END;
CREATE TRIGGER late_fixed BEFORE UPDATE OF late_id, delivery_id, attempt_id, task_id, kind, claimed_fence, current_fence, incarnation, outcome, heard_at_ms ON late BEGIN SELECT RAISE(ABORT, 'frozen: this column of late never changes'); END;
CREATE TRIGGER late_once BEFORE INSERT ON late WHEN EXISTS (SELECT 1 FROM late WHERE late_id = NEW.late_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of late is there already'); END;
CREATE INDEX attention_open ON attention (opened_at_ms) WHERE open = 1;
CREATE INDEX attention_about ON attention (subject);
CREATE TRIGGER attention_kept BEFORE DELETE ON attention BEGIN SELECT RAISE(ABORT, 'frozen: no row of attention is ever deleted'); END;
CREATE TRIGGER attention_fixed BEFORE UPDATE OF item_id, kind, subject ON attention BEGIN SELECT RAISE(ABORT, 'frozen: this column of attention never changes'); END;
CREATE TRIGGER attention_once BEFORE INSERT ON attention WHEN EXISTS (SELECT 1 FROM attention WHERE item_id = NEW.item_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of attention is there already'); END;
CREATE UNIQUE INDEX effects_by_key ON effects (task_id, idempotency_key);
CREATE INDEX effects_about ON effects (task_id, kind, subject);
CREATE INDEX effects_by_identity ON effects (identity);
CREATE INDEX effects_by_twin ON effects (twin) WHERE twin IS NOT NULL;
CREATE INDEX effects_due ON effects (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TRIGGER effects_kept BEFORE DELETE ON effects BEGIN SELECT RAISE(ABORT, 'frozen: no row of effects is ever deleted'); END;
CREATE TRIGGER effects_fixed BEFORE UPDATE OF effect_id, task_id, kind, target, idempotency_key, subject, params, params_digest, identity, twin, again, again_of ON effects BEGIN SELECT RAISE(ABORT, 'frozen: this column of effects never changes'); END;
CREATE TRIGGER effects_once BEFORE INSERT ON effects WHEN EXISTS (SELECT 1 FROM effects WHERE effect_id = NEW.effect_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of effects is there already'); END;
CREATE TRIGGER webhooks_kept BEFORE DELETE ON webhooks BEGIN SELECT RAISE(ABORT, 'frozen: no row of webhooks is ever deleted'); END;
CREATE TRIGGER webhooks_fixed BEFORE UPDATE OF inbound_id, provider, event, digest, effects, received_at_ms ON webhooks BEGIN SELECT RAISE(ABORT, 'frozen: this column of webhooks never changes'); END;
CREATE TRIGGER webhooks_once BEFORE INSERT ON webhooks WHEN EXISTS (SELECT 1 FROM webhooks WHERE inbound_id = NEW.inbound_id) BEGIN SELECT RAISE(ABORT, 'frozen: this row of webhooks is there already'); END;
CREATE TRIGGER effects_confirm_once BEFORE UPDATE ON effects WHEN OLD.state = 'confirmed' BEGIN SELECT RAISE(ABORT, 'frozen: an Effect that is confirmed never changes'); END;
CREATE TRIGGER tasks_end_once BEFORE UPDATE ON tasks WHEN OLD.state IN ('canceled', 'completed', 'failed', 'rejected') BEGIN SELECT RAISE(ABORT, 'frozen: a Task that has ended never changes'); END;
PRAGMA user_version = 2;
COMMIT;
