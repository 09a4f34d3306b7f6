"""Providers and channels share a store and a key, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenure.errors import ConfigurationError, NotFoundError
from tenure.runtime import credential_store as cs
from tenure.runtime.credential_store import CHANNELS, CredentialStore, Entry

URL = "slack://tokenA/tokenB/nobody-may-read-this"


def stores(part: Path) -> tuple[CredentialStore, CredentialStore]:
    return CredentialStore(part, {}), CredentialStore(part, {}, CHANNELS)


async def put(store: CredentialStore, name: str, entry: Entry) -> None:
    await store.put(name, lambda _: entry)


async def test_one_name_may_stand_for_a_provider_and_a_channel(tmp_path: Path) -> None:
    providers, channels = stores(tmp_path)
    await put(providers, "ops", Entry(kind="github", credential="token"))
    await put(channels, "ops", Entry(kind="Slack", url=URL))
    assert providers.read()["ops"].entry == Entry(kind="github", credential="token")
    assert channels.read()["ops"].entry == Entry(kind="Slack", url=URL)
    assert URL.encode() not in (tmp_path / cs.STORE_FILE).read_bytes()
    await channels.remove("ops")
    assert (channels.read(), list(providers.read())) == ({}, ["ops"])


async def test_an_entry_that_is_put_on_the_other_shelf_is_refused(tmp_path: Path) -> None:
    providers, channels = stores(tmp_path)
    await put(providers, "ops", Entry(kind="webhook", url="https://hooks.example/secret"))
    file = json.loads((tmp_path / cs.STORE_FILE).read_text())
    file["channels"] = file["providers"]
    (tmp_path / cs.STORE_FILE).write_text(json.dumps(file))
    assert channels.read()["ops"].entry is None
    assert "tenure notify remove" in str(channels.read()["ops"].problem)


async def test_a_lost_key_is_not_replaced_while_the_other_shelf_has_entries(tmp_path: Path) -> None:
    providers, channels = stores(tmp_path)
    await put(providers, "ops", Entry(kind="github", credential="token"))
    (tmp_path / cs.KEY_FILE).unlink()
    with pytest.raises(ConfigurationError, match="the key of the stored credentials is missing"):
        await put(channels, "ops", Entry(kind="Slack", url=URL))
    assert not (tmp_path / cs.KEY_FILE).exists()


async def test_a_store_without_channels_is_read_as_before(tmp_path: Path) -> None:
    providers, channels = stores(tmp_path)
    await put(providers, "ops", Entry(kind="github", credential="token"))
    file = json.loads((tmp_path / cs.STORE_FILE).read_text())
    del file["channels"]
    (tmp_path / cs.STORE_FILE).write_text(json.dumps(file))
    assert channels.read() == {}
    await put(channels, "pager", Entry(kind="Slack", url=URL))
    assert list(providers.read()) == ["ops"]


async def test_a_channel_that_is_not_stored_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no channel 'ops' is stored; `tenure notify list` shows them"):
        await stores(tmp_path)[1].remove("ops")
