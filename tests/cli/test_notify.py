"""`tenure notify`, a hub that tells people, and that an address is nowhere but in the encrypted store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tenure.cli.process.data_files import HUB_PART, local_token
from tenure.cli.process.notify_wiring import REPORT_FILE, keep_reports, read_reports
from tenure.core.attempt import Verdict
from tenure.hub.notify.channel import ChannelReport
from tenure.runtime.credential_store import KEY_FILE
from tenure.runtime.settings_notifications import CHANNELS
from tests.cli.lab import Called, PlayedNode, called, refused
from tests.cli.test_provider import RunningHub, everything_below
from tests.eventually import eventually
from tests.message_receiver import SECRET, Receiver, receiving

DEAD = f"json://u:{SECRET}@127.0.0.1:9/{SECRET}"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    write_settings(home)
    return home


def write_settings(home: Path, text: str = "") -> None:
    (home / "tenure.toml").write_text("[hub]\nport = 0\n" + text)


def notify(home: Path, *words: str, stdin: str = "") -> Called:
    return called("--home", str(home), "notify", *words, stdin=stdin)


def add(home: Path, name: str, url: str) -> None:
    done = notify(home, "add", name, stdin=url + "\n")
    assert done.code == 0, done


def channel(home: Path, name: str = "ops") -> dict[str, object]:
    return next(one for one in notify(home, "list", "--json").json["channels"] if one["name"] == name)


def finding(home: Path, check: str) -> dict[str, str]:
    found = called("--home", str(home), "doctor", "--json").json["findings"]
    return next(one for one in found if one["check"] == check)


def test_a_channel_is_added_listed_tried_and_removed_and_its_address_is_shown_nowhere(
    home: Path, receiver: Receiver
) -> None:
    said = [notify(home, "add", "ops", stdin=receiver.url + "\n"), notify(home, "list"), notify(home, "test")]
    assert [one.code for one in said] == [0, 0, 0], said
    assert "ops (JSON) is stored" in said[0].out
    assert said[2].out == "ops: sent\n"
    assert receiver.got[0]["title"] == "Tenure: test of ops"
    assert channel(home)["service"] == "JSON"
    said += [notify(home, "list", "--json"), called("--home", str(home), "doctor"), called("--home", str(home), "settings")]  # fmt: skip
    assert all(SECRET not in one.out + one.err for one in said)
    assert SECRET.encode() not in everything_below(home)
    assert finding(home, "notify: ops")["level"] == "ok"
    assert notify(home, "remove", "ops").code == 0
    assert notify(home, "list", "--json").json["channels"] == []
    assert finding(home, "notify")["level"] == "ok"


def test_a_test_says_of_each_channel_what_happened_and_ends_with_1_if_one_failed(
    home: Path, receiver: Receiver
) -> None:
    add(home, "ops", receiver.url)
    add(home, "dead", DEAD)
    result = notify(home, "test", "--json")
    assert result.code == 1
    dead, ops = result.json["channels"]
    assert (ops["name"], ops["sent"], ops["problem"]) == ("ops", True, None)
    assert (dead["sent"], dead["code"]) == (False, "unavailable")
    assert "JSON did not take it" in dead["problem"]
    assert SECRET not in result.out + result.err
    assert notify(home, "test", "ops").code == 0
    assert len(receiver.got) == 2


def test_an_address_may_come_from_a_file_or_a_variable(
    home: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.parent / "address"
    path.write_text(receiver.url + "\n")
    assert notify(home, "add", "ops", "--url-file", str(path)).code == 0
    monkeypatch.setenv("OPS_URL", receiver.url)
    assert notify(home, "add", "pager", "--url-env", "OPS_URL").code == 0
    assert notify(home, "test").code == 0
    assert len(receiver.got) == 2


@pytest.mark.parametrize(
    ("words", "stdin", "exit_code", "code", "says"),
    [
        (("add", "ops"), "", 64, "invalid", "a channel needs an address"),
        (("add", "ops"), "two words", 64, "invalid", "this is no address"),
        (("add", "ops"), f"nope://{SECRET}", 78, "configuration", "no address of a service that apprise knows"),
        (("add", "Big"), DEAD, 64, "invalid", "'Big' is no channel's name: expected a name of 1 to"),
        (("add", "a:b"), DEAD, 64, "invalid", "is no channel's name"),
        (("add", "ops", "--url-env", "NO_SUCH"), "", 66, "not_found", "there is no variable 'NO_SUCH'"),
        (("add", "ops", "--url-file", "/no/such"), "", 66, "not_found", "/no/such cannot be read"),
        (("add", "ops", "--url-env", "A", "--url-file", "b"), "", 64, "invalid", "not in both"),
        (("remove", "ops"), "", 66, "not_found", "no channel 'ops' is stored; `tenure notify list`"),
        (("test",), "", 66, "not_found", "there is no channel; `tenure notify add NAME`"),
        (("test", "ops"), "", 66, "not_found", "there is no channel 'ops'"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_with_what_to_do(
    home: Path, words: tuple[str, ...], stdin: str, exit_code: int, code: str, says: str
) -> None:
    done = notify(home, *words, "--json", stdin=stdin)
    assert says in refused(done, exit_code, code)
    assert SECRET not in done.out + done.err


def test_an_address_on_the_command_line_is_no_argument(home: Path) -> None:
    assert notify(home, "add", "ops", DEAD).code == 64


def test_there_is_a_bound_to_channels_and_replacing_one_is_always_possible(home: Path) -> None:
    tables = "".join(f"[notifications.channels.c{number}]\n" for number in range(CHANNELS))
    write_settings(home, tables)
    done = notify(home, "add", "more", "--json", stdin=DEAD)
    assert f"there are {CHANNELS} channels, which is the most" in refused(done, 78, "configuration")
    add(home, "c3", DEAD)


def test_a_table_without_an_address_is_shown_with_what_is_missing(home: Path) -> None:
    write_settings(
        home,
        '[notifications]\nquiet = "22:00-07:00"\nzone = "Europe/Berlin"\n'
        '[notifications.channels.ops]\nleast_severity = "urgent"\nkinds = ["unknown"]\n',
    )
    assert channel(home)["problem"] == "it has no address: `tenure notify add ops` stores one"
    assert finding(home, "notify: ops")["level"] == "fail"
    assert "urgent and graver: unknown" in notify(home, "list").out
    assert "quiet from 22:00 to 07:00 in Europe/Berlin but for what is urgent" in notify(home, "list").out
    assert "it has no address" in notify(home, "test").out
    add(home, "ops", DEAD)
    assert channel(home)["problem"] is None
    assert "notifications.channels.ops.kinds" in called("--home", str(home), "settings").out


def test_a_lost_key_is_told_and_nothing_is_written_under_another_one(home: Path) -> None:
    add(home, "ops", DEAD)
    (home / HUB_PART / KEY_FILE).unlink()
    assert "the key of the stored credentials is missing" in str(channel(home)["problem"])
    assert finding(home, "notify: ops")["level"] == "fail"
    assert notify(home, "add", "pager", stdin=DEAD).code == 78


def test_a_channel_that_fails_is_told_by_list_and_doctor_until_it_is_configured_anew(home: Path) -> None:
    add(home, "ops", DEAD)
    part = home / HUB_PART
    keep_reports(part, {"ops": ChannelReport(sent=3, last_sent_at_ms=1_800_000_000_000)})
    keep_reports(part, {"ops": ChannelReport(failing_since_ms=1_800_000_600_000, problem="down", waiting=2)})
    row = channel(home)
    assert row["last_sent_at"] == "2027-01-15T08:00:00.000Z"
    assert (row["waiting"], row["problem"]) == (2, "failing since 2027-01-15T08:10:00.000Z: down")
    assert finding(home, "notify: ops")["level"] == "warn"
    add(home, "ops", DEAD)
    assert channel(home)["problem"] is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"ops": 3}'])
def test_a_broken_note_of_how_it_goes_says_nothing(home: Path, content: bytes) -> None:
    add(home, "ops", DEAD)
    part = home / HUB_PART
    (part / REPORT_FILE).write_bytes(content)
    assert read_reports(part) == {}
    assert channel(home)["problem"] is None
    keep_reports(part, {"ops": ChannelReport(sent=1, last_sent_at_ms=1)})
    assert read_reports(part)["ops"].sent == 1


# -- a running hub


def test_a_running_hub_tells_a_question_once_over_a_kill_and_leaves_no_trace_of_the_address(
    home: Path, receiver: Receiver
) -> None:
    add(home, "ops", receiver.url)
    hub = RunningHub(home)
    try:
        asks(hub, "first", "which of the two?")
        eventually(lambda: len(receiver.got) == 1, 60)
        assert "which of the two?" in receiver.got[0]["message"]
        assert "You may answer:\n- " in receiver.got[0]["message"]
        eventually(lambda: notified(home) == [1], 30)
        eventually(lambda: channel(home)["last_sent_at"], 30)
    finally:
        hub.process.kill()
        hub.process.wait(20)
        hub.stop()
    hub = RunningHub(home)
    try:
        asks(hub, "second", "and now?")
        eventually(lambda: len(receiver.got) == 2, 60)
        assert "and now?" in receiver.got[1]["message"]
        assert "which of the two?" not in receiver.got[1]["message"]
    finally:
        hub.stop()
    assert SECRET.encode() not in everything_below(home) + hub.log.read_bytes()


def asks(hub: RunningHub, key: str, question: str) -> None:
    """A Task whose agent ends its turn with a question."""
    hub.node = PlayedNode(hub, f"node-{key}", key)  # type: ignore[arg-type]  # it asks only what is here
    headers = {"Authorization": f"Bearer {local_token(hub.home)}", "Idempotency-Key": key}
    reply = httpx.post(f"{hub.url}/v1/tasks", json={"objective": "do it", "to": key}, headers=headers)
    assert reply.status_code == 201, reply.text
    assert hub.node.report(hub.node.take(), Verdict.ASKED, summary=question) == "recorded"


def notified(home: Path) -> list[int]:
    """Versions that the record says were told."""
    events = called("--home", str(home), "events", "--json").out.splitlines()
    found = [json.loads(line) for line in events]
    return [one["body"]["version"] for one in found if one.get("kind") == "attention_notified"]
