"""The token of a data folder is rotated: whoever dies between any two steps, its owner has one that works."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.asking import rotation
from tenure.cli.process import data_files
from tenure.cli.process.data_files import HUB_PART, NEXT_TOKEN_FILE, TOKEN_FILE, local_token, next_local_token
from tenure.cli.process.hub_wiring import running_hub
from tenure.client.hub import HubClient
from tenure.errors import OutcomeUnknownError, UnauthenticatedError
from tenure.runtime.data_folder import open_data_folder
from tenure.runtime.settings import HubSettings
from tests.cli.lab import HubInThread, hub_in_thread


class Killed(BaseException):
    """Stands for a kill -9: nothing of the command goes on."""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[HubInThread]:
    with hub_in_thread(tmp_path / "home") as hub:
        yield hub


def own_token(hub: HubInThread) -> Any:
    (mine,) = [one for one in hub.call("token", "list", "--json").json["tokens"] if one["yours"]]
    return mine


def test_the_token_of_the_data_folder_is_replaced_in_its_file_too(own: HubInThread) -> None:
    before, name = local_token(own.home), own_token(own)["name"]
    done = own.call("token", "rotate", name)
    assert done.code == 0, done
    assert done.out.strip() == local_token(own.home) != before
    assert str(own.home / HUB_PART / TOKEN_FILE) in done.err
    assert (own.home / HUB_PART / TOKEN_FILE).stat().st_mode & 0o077 == 0
    assert next_local_token(own.home) is None
    assert own.call("list").code == 0


def test_it_is_replaced_also_where_another_token_asks_and_a_file_keeps_the_new_one(
    own: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, file = own_token(own)["credential_id"], tmp_path / "kept"
    monkeypatch.setenv("TENURE_TOKEN", own.call("token", "issue", "ann", "--role", "operator").out.strip())
    done = own.call("token", "rotate", mine, "--token-file", str(file))
    assert (done.code, done.out) == (0, file.read_text())
    assert local_token(own.home) == file.read_text().strip()
    again = own.call("token", "rotate", mine, "--token-file", str(file))
    assert (again.code, again.out) == (0, done.out)


def test_a_token_of_somebody_else_leaves_the_own_one_where_it_is(own: HubInThread) -> None:
    before = local_token(own.home)
    own.call("token", "issue", "ci", "--role", "viewer")
    assert own.call("token", "rotate", "ci").code == 0
    assert (local_token(own.home), next_local_token(own.home)) == (before, None)


STEPS = {
    "before the request": (HubClient, "rotate_token"),
    "before it is in place": (rotation, "put_in_place"),
    "before the kept one is removed": (data_files, "write_atomically"),
}


@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize("by_name", [False, True])
def test_a_rotation_that_is_killed_anywhere_is_finished_by_the_same_command(
    own: HubInThread, step: str, by_name: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = own_token(own)
    named = mine["name"] if by_name else mine["credential_id"]
    kept = killed_at(step, own, named, monkeypatch)
    done = own.call("token", "rotate", named)
    assert (done.code, done.out.strip()) == (0, kept), done
    assert (local_token(own.home), next_local_token(own.home)) == (kept, None)
    assert own.call("list").code == 0


@pytest.mark.parametrize("step", list(STEPS))
def test_a_hub_that_starts_after_a_rotation_was_killed_anywhere_lets_its_owner_in(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_in_thread(tmp_path / "home") as hub:
        mine = own_token(hub)["credential_id"]
        kept = killed_at(step, hub, mine, monkeypatch)
    with hub_in_thread(tmp_path / "home") as hub:
        assert hub.call("list").code == 0
        assert (local_token(hub.home) == kept) == (step != "before the request")
        assert hub.call("token", "rotate", mine).out.strip() == kept or step == "before it is in place"
        assert hub.call("list").code == 0


def killed_at(step: str, hub: HubInThread, named: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Kills the command at this step; the new token that it has kept."""
    where, what = STEPS[step]
    whole = getattr(where, what)

    def killed(*values: Any, **more: Any) -> None:
        if step.endswith("removed"):
            whole(*values, **more)
            if values[0].name != TOKEN_FILE:
                return
        raise Killed

    monkeypatch.setattr(where, what, killed)
    with pytest.raises(Killed):
        hub.call("token", "rotate", named)
    monkeypatch.undo()
    kept = next_local_token(hub.home)
    assert kept is not None
    return kept


def test_a_lost_answer_is_told_and_the_same_command_ends_in_success(
    own: HubInThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, whole = own_token(own)["name"], HubClient.rotate_token

    async def loses(*values: Any, **more: Any) -> None:
        await whole(*values, **more)
        raise OutcomeUnknownError("the link broke")

    monkeypatch.setattr(HubClient, "rotate_token", loses)
    lost = own.call("token", "rotate", name)
    assert str(own.home / HUB_PART / NEXT_TOKEN_FILE) in lost.err
    assert "the same command again" in lost.err
    monkeypatch.undo()
    refused = own.call("list")
    assert (refused.code, "cut off" in refused.err) == (77, True)
    done = own.call("token", "rotate", name)
    assert (done.code, done.out) == (0, lost.out)
    assert own.call("list").code == 0


def test_a_revoked_own_token_is_told_with_its_file_and_a_start_without_the_file_makes_a_new_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    path = home / HUB_PART / TOKEN_FILE
    with hub_in_thread(home) as hub:
        assert str(path) in hub.call("token", "revoke", own_token(hub)["credential_id"]).err
        assert str(path) in hub.call("list").err
    with pytest.raises(UnauthenticatedError, match=f"rm {path}"):
        asyncio.run(started(home))
    path.unlink()
    with hub_in_thread(home) as hub:
        assert hub.call("list").code == 0


async def started(home: Path) -> None:
    async with running_hub(open_data_folder(home, "0"), HubSettings()):
        pass


def test_the_same_command_tells_the_same_token_also_where_the_old_one_was_named_by_its_name(
    own: HubInThread, tmp_path: Path
) -> None:
    file = tmp_path / "new"
    own.call("token", "issue", "ci", "--role", "viewer")
    first, second = (own.call("token", "rotate", "ci", "--token-file", str(file)) for _ in range(2))
    assert (first.code, second.code, second.out) == (0, 0, first.out)
    issued = own.call("token", "issue", "wall", "--role", "viewer").out
    file.write_text(issued)
    mistaken = own.call("token", "rotate", "wall", "--token-file", str(file))
    assert (mistaken.code, "nothing would be replaced" in mistaken.err) == (65, True)


def test_whoever_rotates_the_token_they_use_may_give_the_same_command_again(
    own: HubInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_TOKEN", own.call("token", "issue", "ann", "--role", "operator").out.strip())
    words = ("token", "rotate", "ann", "--token-file", str(tmp_path / "new"))
    first, second = own.call(*words), own.call(*words)
    assert (first.code, second.code, second.out) == (0, 0, first.out), second
