"""`[providers.NAME]`: each mistake told with its place, and no address or secret repeated."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tenure.errors import ConfigurationError
from tenure.runtime.settings import ProviderTable, SettingsPaths, load_settings, parse_settings

HOOK = "https://hooks.example/T0/secret-path"


def refused(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        parse_settings(text, "tenure.toml")
    return error.value.facts["problems"]


def test_providers_are_read_by_name_with_every_key() -> None:
    text = f"""
        [providers.github]
        kind = "github"
        [providers.hook]
        kind = "webhook"
        url = "{HOOK}"
        find_url = "https://hooks.example/{{delivery}}"
        settling_s = 2
        webhook_secret = "github"
        proxy = "http://proxy.example:3128"
        [providers.origin]
        kind = "git"
        url = "ssh://git@forge.example/team"
        credential = "github"
        user = "oauth2"
    """
    providers = parse_settings(text, "x").providers
    assert list(providers) == ["github", "hook", "origin"]
    assert providers["github"] == ProviderTable(kind="github")
    assert (providers["hook"].settling_s, providers["origin"].user) == (2, "oauth2")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[providers.x]\nkind = "githup"', "tenure.toml:2: providers.x.kind 'githup' is refused"),
        ("[providers.x]\n", "tenure.toml:1: providers.x.kind is missing"),
        ('[providers.x]\nkind = "github"\nsettling = 3', "tenure.toml:3: providers.x.settling is not a known key; did you mean settling_s?"),
        ('[providers.x]\nkind = "github"\ntoken = "t"', "tenure.toml:3: providers.x.token is not a known key"),
        ('[providers.x]\nkind = "github"\nsettling_s = -1', "expected a number from 0"),
        ('[providers.x]\nkind = "gitea"', "providers.x.url is missing"),
        ('[providers.x]\nkind = "github"\nuser = "u"', "providers.x.user is read of a git provider only"),
        ('[providers.x]\nkind = "github"\nfind_url = "https://a.example/{delivery}"', "is read of a webhook provider only"),
        ('[providers.Big]\nkind = "github"', "providers.Big is no name for a provider"),
        ('[providers."a:b"]\nkind = "github"', "is no name for a provider"),
        ("providers = 3", "expected one [providers.NAME] table"),
        ("[providers]\nx = 3", "providers.x expected a table"),
        ('[provider.x]\nkind = "github"', "did you mean providers?"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(text: str, says: str) -> None:
    assert any(says in one for one in refused(text)), refused(text)


@pytest.mark.parametrize("key", ["url", "find_url", "proxy"])
def test_an_address_that_is_refused_is_not_repeated(key: str) -> None:
    text = f'[providers.x]\nkind = "webhook"\n{key} = "htps://user:very-secret@hooks.example/ path"\n'
    assert "very-secret" not in "".join(refused(text))


def test_a_file_of_certificates_counts_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "tenure.toml").write_text('[providers.x]\nkind = "github"\nca_file = "ca.pem"\n')
    paths = SettingsPaths(config=None, working_folder=tmp_path, data_folder=tmp_path)
    assert load_settings(paths, {}).providers["x"].ca_file == str(tmp_path / "ca.pem")


def test_every_key_of_a_provider_has_a_meaning() -> None:
    for field in msgspec.structs.fields(ProviderTable):
        assert msgspec.json.schema(field.type).get("description"), f"{field.name} says nothing"
