"""The key that provider credentials are encrypted under can be replaced, at any moment and through any crash."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tenure.errors import ConfigurationError
from tenure.runtime import credential_store
from tenure.runtime.credential_store import (
    CHANNELS,
    KEY_FILE,
    KEY_VARIABLE,
    STORE_FILE,
    CredentialStore,
    Entry,
)

SECRET = "ghp_canary-of-a-forge"
OLD, NEW = (base64.b64encode(bytes([one]) * 32).decode() for one in (1, 2))


async def filled(part: Path, env: dict[str, str]) -> CredentialStore:
    store = CredentialStore(part, env)
    await store.put("github", lambda _: Entry(kind="github", credential=SECRET))
    channels = CredentialStore(part, env, CHANNELS)
    await channels.put("mail", lambda _: Entry(kind="mailto", url=f"mailto://{SECRET}"))
    return store


def opened(part: Path, env: dict[str, str]) -> list[str | None]:
    one = CredentialStore(part, env).read()["github"].entry
    other = CredentialStore(part, env, CHANNELS).read()["mail"].entry
    return [one.credential if one else None, other.url if other else None]


async def test_the_old_key_opens_nothing_of_the_store_any_more(tmp_path: Path) -> None:
    store = await filled(tmp_path, {})
    old_key, old_store = (tmp_path / KEY_FILE).read_bytes(), (tmp_path / STORE_FILE).read_bytes()
    assert await store.rotate_key() == 2
    assert opened(tmp_path, {}) == [SECRET, f"mailto://{SECRET}"]
    assert old_key.strip() not in (tmp_path / KEY_FILE).read_bytes()
    assert (tmp_path / STORE_FILE).read_bytes() != old_store
    assert SECRET not in (tmp_path / STORE_FILE).read_text()
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0
    (tmp_path / KEY_FILE).write_bytes(old_key)
    assert opened(tmp_path, {}) == [None, None]


async def test_a_crash_between_any_two_steps_leaves_a_store_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await filled(tmp_path, {})
    whole = credential_store.write_atomically
    for crash_at in (1, 2, 3):
        steps = 0

        def stops(*values: object, at: int = crash_at) -> None:
            nonlocal steps
            steps += 1
            if steps == at:
                raise KeyboardInterrupt
            whole(*values)  # type: ignore[arg-type] - as it was called

        monkeypatch.setattr(credential_store, "write_atomically", stops)
        with pytest.raises(KeyboardInterrupt):
            await store.rotate_key()
        assert opened(tmp_path, {}) == [SECRET, f"mailto://{SECRET}"], crash_at
        monkeypatch.setattr(credential_store, "write_atomically", whole)
    await store.rotate_key()
    assert len((tmp_path / KEY_FILE).read_bytes().split()) == 1
    assert opened(tmp_path, {}) == [SECRET, f"mailto://{SECRET}"]


async def test_a_key_in_the_environment_is_replaced_by_the_one_before_it(tmp_path: Path) -> None:
    await filled(tmp_path, {KEY_VARIABLE: OLD})
    both = {KEY_VARIABLE: f"{NEW} {OLD}"}
    assert opened(tmp_path, both) == [SECRET, f"mailto://{SECRET}"]
    assert await CredentialStore(tmp_path, both).rotate_key() == 2
    assert opened(tmp_path, {KEY_VARIABLE: NEW}) == [SECRET, f"mailto://{SECRET}"]
    assert opened(tmp_path, {KEY_VARIABLE: OLD}) == [None, None]


async def test_nothing_is_changed_where_something_cannot_be_read(tmp_path: Path) -> None:
    await filled(tmp_path, {KEY_VARIABLE: OLD})
    before = (tmp_path / STORE_FILE).read_bytes()
    with pytest.raises(ConfigurationError) as refused:
        await CredentialStore(tmp_path, {KEY_VARIABLE: NEW}).rotate_key()
    assert (tmp_path / STORE_FILE).read_bytes() == before
    assert not {NEW, OLD, SECRET} & set(str(refused.value).split())
