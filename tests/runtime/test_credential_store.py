"""Credentials at rest: encrypted, private, bound to their names, and never repeated in a message."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tenure.errors import ConfigurationError, NotFoundError
from tenure.runtime import credential_store as cs
from tenure.runtime.credential_store import CredentialStore, Entry, secret_problem

TOKEN = "ghp_nobodyMayReadThis"
HOOK = "whook-nobody-may-read-this"
URL = "https://hooks.example/T0/B0/secret-path"
KEY = Fernet.generate_key().decode()


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path, {})


def always(entry: Entry) -> Callable[[Entry | None], Entry]:
    return lambda _: entry


def github(**more: str) -> Entry:
    return Entry(**{"kind": "github", "url": URL, "credential": TOKEN, "webhook_secret": HOOK, **more})


def content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.name != cs.KEY_FILE)


async def test_what_is_stored_is_read_again_by_another_process(store: CredentialStore) -> None:
    await store.put("github", always(github()))
    found = CredentialStore(store.part, {}).read()
    assert found["github"].entry == github()
    assert found["github"].problem is None


async def test_nothing_secret_stands_in_the_file_and_both_files_are_private(store: CredentialStore) -> None:
    await store.put("github", always(github()))
    for secret in (TOKEN, HOOK, URL):
        assert secret.encode() not in content(store.part)
    for name in (cs.STORE_FILE, cs.KEY_FILE):
        assert (store.part / name).stat().st_mode & 0o777 == 0o600
    assert json.loads((store.part / cs.STORE_FILE).read_text())["providers"]["github"]["kind"] == "github"


async def test_the_key_from_the_variable_is_never_written(tmp_path: Path) -> None:
    given = CredentialStore(tmp_path, {cs.KEY_VARIABLE: KEY})
    await given.put("github", always(github()))
    assert not (tmp_path / cs.KEY_FILE).exists()
    assert KEY.encode() not in content(tmp_path)
    assert given.read()["github"].entry == github()
    assert given.key_source == cs.KEY_VARIABLE


@pytest.mark.parametrize("env", [{}, {cs.KEY_VARIABLE: Fernet.generate_key().decode()}])
async def test_another_key_or_none_opens_nothing_and_says_so(tmp_path: Path, env: dict[str, str]) -> None:
    await CredentialStore(tmp_path, {cs.KEY_VARIABLE: KEY}).put("github", always(github()))
    stranger = CredentialStore(tmp_path, env)
    found = stranger.read()["github"]
    assert (found.kind, found.entry) == ("github", None)
    assert found.problem is not None
    assert not any(secret in found.problem for secret in (TOKEN, HOOK, KEY))
    with pytest.raises(ConfigurationError):
        await stranger.put("other", always(github()))
    assert not (tmp_path / cs.KEY_FILE).exists(), "a new key must not stand where the right one is missing"
    await stranger.remove("github")
    assert stranger.read() == {}


@pytest.mark.parametrize("key", ["x", "a" * 43, "pass phrase", KEY + "=", KEY[:-2], "é" * 44])
def test_what_is_no_key_is_refused_without_being_repeated(tmp_path: Path, key: str) -> None:
    store = CredentialStore(tmp_path, {cs.KEY_VARIABLE: key})
    with pytest.raises(ConfigurationError) as refused:
        asyncio.run(store.put("github", always(github())))
    assert key not in str(refused.value) or len(key) == 1


async def test_a_key_of_openssl_and_one_of_fernet_are_the_same_key(tmp_path: Path) -> None:
    standard = "+/" + KEY[2:]
    await CredentialStore(tmp_path, {cs.KEY_VARIABLE: standard}).put("github", always(github()))
    found = CredentialStore(tmp_path, {cs.KEY_VARIABLE: "-_" + KEY[2:]}).read()
    assert found["github"].entry == github()


async def test_an_entry_in_anothers_place_is_not_taken(store: CredentialStore) -> None:
    await store.put("github", always(github()))
    await store.put("hook", always(Entry(kind="webhook", url=URL)))
    path = store.part / cs.STORE_FILE
    file = json.loads(path.read_text())
    file["providers"]["hook"] = file["providers"]["github"]
    file["providers"]["github"] = {**file["providers"]["github"], "kind": "gitea"}
    path.write_text(json.dumps(file))
    assert [one.entry for one in store.read().values()] == [None, None]


@pytest.mark.parametrize("data", ["", "{", "[]", '{"format": 1, "providers": 3}', '{"format": 2}', "\xff"])
async def test_a_file_that_is_none_of_ours_is_refused_and_left_as_it_is(
    store: CredentialStore, data: str
) -> None:
    path = store.part / cs.STORE_FILE
    path.write_bytes(data.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(ConfigurationError):
        store.read()
    with pytest.raises(ConfigurationError):
        await store.put("github", always(github()))
    assert path.read_bytes() == data.encode("latin-1")


@pytest.mark.parametrize("name", [cs.STORE_FILE, cs.KEY_FILE])
async def test_a_file_that_others_can_read_is_refused(store: CredentialStore, name: str) -> None:
    await store.put("github", always(github()))
    (store.part / name).chmod(0o640)
    if name == cs.STORE_FILE:
        with pytest.raises(ConfigurationError, match="chmod 600"):
            store.read()
    else:
        assert "chmod 600" in (store.read()["github"].problem or "")


async def test_a_symbolic_link_is_not_followed(store: CredentialStore, tmp_path: Path) -> None:
    await store.put("github", always(github()))
    elsewhere = tmp_path / "elsewhere"
    shutil.move(store.part / cs.STORE_FILE, elsewhere)
    (store.part / cs.STORE_FILE).symlink_to(elsewhere)
    with pytest.raises(ConfigurationError):
        store.read()


async def test_two_who_add_at_once_lose_nothing(store: CredentialStore) -> None:
    names = [f"p{number}" for number in range(8)]
    await asyncio.gather(*(store.put(name, always(github(user=name))) for name in names))
    assert {name: one.entry and one.entry.user for name, one in store.read().items()} == dict(
        zip(names, names, strict=True)
    )


async def test_a_change_sees_what_is_stored_and_a_refused_one_changes_nothing(store: CredentialStore) -> None:
    await store.put("github", always(github()))
    before = (store.part / cs.STORE_FILE).read_bytes()

    def refused(known: Entry | None) -> Entry:
        assert known == github()
        raise ConfigurationError("no")

    with pytest.raises(ConfigurationError):
        await store.put("github", refused)
    assert (store.part / cs.STORE_FILE).read_bytes() == before


async def test_the_stamp_changes_with_every_change(store: CredentialStore) -> None:
    stamps = [store.stamp()]
    for credential in ("first", "secon"):  # of the same length
        await store.put("github", always(github(credential=credential)))
        stamps.append(store.stamp())
    await store.remove("github")
    stamps.append(store.stamp())
    assert len(set(stamps)) == len(stamps)
    with pytest.raises(NotFoundError):
        await store.remove("github")


def test_nothing_that_holds_a_secret_shows_it_in_its_own_text() -> None:
    shown = repr(github()) + repr(cs.Opened("github", "github", github()))
    assert not any(secret in shown for secret in (TOKEN, HOOK, URL))


@pytest.mark.parametrize(
    "text", ["two words", "line\nbreak", "tab\t", "naïve", "\x00", "x" * (cs.SECRET_BYTES + 1)]
)
def test_what_no_header_can_carry_is_no_secret(text: str) -> None:
    problem = secret_problem(text)
    assert problem is not None
    assert text not in problem
    assert secret_problem(TOKEN) is None
