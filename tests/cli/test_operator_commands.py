"""Tokens, nodes, recipients, questions, the audit, settings and doctor."""

import json
from pathlib import Path
from typing import Any

import pytest

from tenure.client.hub import HubClient
from tenure.errors import OutcomeUnknownError, exit_code
from tenure.ledger.migrating import REVISIONS
from tests.cli.lab import HubInThread, PlayedNode, called
from tests.migration.test_migration import at_first_revision, migrated


def test_a_token_is_shown_once_and_works_until_it_is_revoked(
    hub: HubInThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = hub.call("token", "issue", "wall", "--role", "viewer")
    assert issued.code == 0
    token = issued.out.strip()
    assert token.startswith("tnr_")
    tokens = hub.call("token", "list", "--json").json["tokens"]
    mine = next(one for one in tokens if one["name"] == "wall")
    assert token not in json.dumps(tokens)
    monkeypatch.setenv("TENURE_TOKEN", token)
    assert hub.call("list").code == 0
    assert hub.call("submit", "--no-repo", "--to", "x", "Do it", "--json").error["code"] == "forbidden"
    monkeypatch.delenv("TENURE_TOKEN")
    assert hub.call("token", "revoke", mine["credential_id"]).code == 0
    monkeypatch.setenv("TENURE_TOKEN", token)
    assert hub.call("list").code == 77


def test_tokens_of_one_name_are_told_apart_and_one_alone_is_revoked_by_its_name(hub: HubInThread) -> None:
    first = hub.call("token", "issue", "ci", "--role", "viewer", "--json").json["credential_id"]
    second = hub.call("token", "issue", "ci", "--role", "submitter", "--json")
    assert f"{first} (viewer)" in second.err
    both = hub.call("token", "revoke", "ci", "--json")
    assert (both.code, both.error["code"]) == (65, "conflict")
    assert hub.call("token", "revoke", first).code == 0
    rows = [line.split() for line in hub.call("token", "list").out.splitlines()]
    states = {row[0]: row[4] for row in rows if row[1] == "ci"}
    assert states == {first: "revoked", second.json["credential_id"]: "live"}
    assert hub.call("token", "revoke", "ci").code == 0
    assert hub.call("token", "revoke", "ci").code == 66


def test_a_rotated_token_is_kept_in_its_file_before_the_hub_is_asked(
    hub: HubInThread, tmp_path: Path
) -> None:
    old = hub.call("token", "issue", "deploy", "--role", "viewer", "--json").json["credential_id"]
    file = tmp_path / "new.token"
    refused = hub.call("token", "rotate", "c_nobody", "--token-file", str(file))
    assert (refused.code, refused.out) == (66, "")
    kept = file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    first, second = (hub.call("token", "rotate", old, "--token-file", str(file)) for _ in range(2))
    assert first.out == second.out == kept
    assert (first.code, second.code) == (0, 0)
    live = [one for one in hub.call("token", "list", "--json").json["tokens"] if one["name"] == "deploy"]
    assert [one["revoked_at"] is None for one in live].count(True) == 1


@pytest.mark.parametrize("json", [True, False])
def test_a_new_token_is_shown_also_where_the_answer_is_lost(
    hub: HubInThread, json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = hub.call("token", "issue", "wall-lost", "--role", "viewer", "--json").json["credential_id"]
    whole = HubClient.rotate_token

    async def loses(*values: Any, **more: Any) -> None:
        await whole(*values, **more)
        raise OutcomeUnknownError("the link broke")

    monkeypatch.setattr(HubClient, "rotate_token", loses)
    done = hub.call("token", "rotate", old, *(["--json"] if json else []))
    assert done.code == exit_code(OutcomeUnknownError("x"))
    token = done.json["token"] if json else done.out.strip()
    assert "try both" in done.err
    monkeypatch.setenv("TENURE_TOKEN", token)
    assert hub.call("list").code == 0


@pytest.mark.parametrize("role", ["emperor", "", "node"])
def test_a_role_that_is_none_is_refused_with_those_that_are(hub: HubInThread, role: str) -> None:
    done = hub.call("token", "issue", "x", "--role", role)
    assert done.code == 64
    assert "submitter" in done.err


def test_nodes_and_recipients_are_listed_with_what_keeps_them_from_work(hub: HubInThread) -> None:
    node = PlayedNode(hub, "rack", "fixer")
    assert "fixer@rack" in hub.call("recipients").out
    assert "rack" in hub.call("nodes").out
    named = {one["name"]: one for one in hub.call("nodes", "list", "--json").json["nodes"]}
    assert named["rack"]["recipients"] == ["fixer@rack"]
    assert hub.call("nodes", "forget", "rack").code == 64
    assert hub.call("nodes", "forget", "rack", "--because", "sold").code == 0
    assert "forgotten" in hub.call("nodes").out
    assert hub.call("nodes", "forget", "nobody", "--because", "x").code == 66
    node.close()


def test_nothing_needs_you_is_said_and_is_an_empty_list(hub: HubInThread) -> None:
    assert hub.call("attention").err == "nothing needs you\n"
    assert hub.call("attention", "--json").json == {"items": []}
    assert hub.call("attention", "--close", "stalled:x", "--because", "x").code == 66


def test_the_audit_agrees_while_the_hub_runs_and_holds_an_earlier_anchor(
    hub: HubInThread, tmp_path: Path
) -> None:
    anchor = tmp_path / "anchor.json"
    anchor.write_text(hub.call("audit", "head", "--json").out)
    hub.call("submit", "--no-repo", "--to", "x", "One more")
    done = hub.call("audit", "verify", "--anchor", str(anchor))
    assert done.code == 0, done
    assert "agrees with itself" in done.out
    assert "holds the anchor" in done.out


def test_an_anchor_of_another_record_is_named(hub: HubInThread, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    said = hub.call("audit", "head", "--json").json
    anchor.write_text(json.dumps({**said, "hash": "0" * 64}))
    done = hub.call("audit", "verify", "--json", "--anchor", str(anchor))
    assert done.code == 76
    assert [one["table"] for one in done.json["findings"]] == ["commits"]


def test_the_record_is_exported_line_by_line_and_no_file_is_overwritten(
    hub: HubInThread, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in hub.call("audit", "export").out.splitlines()]
    assert next(iter(lines[0])) == "commit"
    assert sum("event" in line for line in lines) == hub.call("audit", "head", "--json").json["events"]
    target = tmp_path / "record.jsonl"
    assert hub.call("audit", "export", "--output", str(target)).code == 0
    assert hub.call("audit", "export", "--output", str(target)).code == 74
    assert len(target.read_text().splitlines()) == len(lines)


AUDITS = pytest.mark.parametrize("word", ["verify", "head", "export"])


@AUDITS
def test_a_record_of_an_older_schema_is_not_said_to_be_tampered_with(tmp_path: Path, word: str) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "record.jsonl"
    at_first_revision(file).close()
    before = file.read_bytes()
    more = ("--output", str(target)) if word == "export" else ()
    done = called("--home", str(tmp_path), "audit", word, "--json", "--database", str(file), *more)
    assert (done.code, done.error["code"]) == (78, "configuration"), done
    assert "the record has schema 0001; start this version's hub once" in done.error["message"]
    assert file.read_bytes() == before
    assert not target.exists()


@AUDITS
@pytest.mark.parametrize(
    "newer",
    ["UPDATE alembic_version SET version_num = '9999'", f"PRAGMA user_version = {len(REVISIONS) + 1}"],
)
def test_a_record_of_a_newer_schema_is_left_to_the_version_that_wrote_it(
    tmp_path: Path, word: str, newer: str
) -> None:
    file = tmp_path / "later.db"
    connection = migrated(file)
    connection.execute(newer)
    connection.commit()
    connection.close()
    done = called("--home", str(tmp_path), "audit", word, "--json", "--database", str(file))
    assert (done.code, done.error["code"]) == (78, "data_folder_too_new"), done
    assert done.out == ""


@pytest.mark.parametrize("content", [None, b"no database at all", b""])
def test_what_is_no_record_cannot_be_verified(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "hub.db"
    if content is not None:
        file.write_bytes(content)
    done = called("--home", str(tmp_path), "audit", "verify", "--json", "--database", str(file))
    assert done.code in {66, 69, 76}, done
    assert "Traceback" not in done.err


def test_settings_say_what_holds_and_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text(
        '[hub]\nport = 9999\n[[recipients]]\nname = "a"\nargv = ["a"]\nenv = { TOKEN = "hush" }\n'
    )
    done = called("--home", str(tmp_path), "--config", str(file), "settings", "--json")
    settings = done.json["settings"]
    assert settings["hub.port"] == {"value": 9999, "source": str(file)}
    assert settings["hub.bind"]["source"] == "default"
    assert settings["node.name"]["source"] == "host name"
    assert settings["recipients[0].name"]["source"] == str(file)
    assert "hush" not in done.out
    plain = called("--home", str(tmp_path / "other"), "settings").out
    assert "local (any program a task brings)" in plain


def test_doctor_says_what_is_well_and_what_to_do(hub: HubInThread) -> None:
    done = hub.call("doctor", "--json")
    levels = {one["check"]: one["level"] for one in done.json["findings"]}
    assert levels["git"] == "ok"
    assert levels["hub"] == "ok"
    assert levels["token"] == "ok"
    assert levels["folder"] == "ok"
    assert all(one["do"] for one in done.json["findings"] if one["level"] != "ok")
    assert done.code == (1 if "fail" in levels.values() else 0)


def test_doctor_says_how_each_recipient_is_kept_apart_and_what_cannot_be(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    file = tmp_path / "tenure.toml"
    file.write_text(
        '[[recipients]]\nname = "a"\nargv = ["x"]\n'
        '[[recipients]]\nname = "b"\nargv = ["x"]\nisolation = "user"\nuser = "no-such-user-here"\n'
    )
    done = called("--home", str(home), "--config", str(file), "doctor", "--json")
    found = {one["check"]: one for one in done.json["findings"]}
    assert found["isolation: a"]["says"].startswith("open: the agent can read what this user can read")
    assert found["isolation: b"]["level"] == "fail"
    assert done.code == 1


def test_doctor_finds_wrong_settings_and_an_open_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    file = tmp_path / "tenure.toml"
    file.write_text("[hub]\nprot = 1\n")
    done = called("--home", str(home), "--config", str(file), "doctor")
    assert done.code == 1
    assert "did you mean port?" in done.out
    assert f"chmod 700 {home}" in done.out
