"""Settings: one TOML file, every key known and bounded, every mistake told with its place."""

import math
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import ConfigurationError, InsecureBindError
from tenure.runtime.settings import (
    DefaultSettings,
    HubSettings,
    NodeSettings,
    RecipientSettings,
    Settings,
    SettingsPaths,
    find_settings_file,
    is_loopback,
    key_lines,
    load_settings,
    node_name,
    parse_settings,
)
from tenure.runtime.settings_reference import SECTIONS, settings_reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
RECIPIENT = '[[recipients]]\nname = "shell"\nargv = ["true"]\n'


def paths(tmp_path: Path, config: Path | None = None) -> SettingsPaths:
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "home").mkdir(exist_ok=True)
    return SettingsPaths(config=config, working_folder=tmp_path / "work", data_folder=tmp_path / "home")


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_settings(text, "tenure.toml")
    return caught.value.message


def test_the_defaults_are_those_of_the_design_and_fit_together() -> None:
    hub, node = parse_settings("", "x").hub, parse_settings("", "x").node
    assert (hub.bind, hub.port, hub.allow_insecure_bind) == ("127.0.0.1", 8484, False)
    assert (hub.offer_ttl_s, hub.lease_ttl_s, hub.suspect_grace_s) == (10, 30, 60)
    assert (hub.cancel_grace_s, hub.stall_after_s, hub.max_offers) == (60, 600, 5)
    assert (node.renew_every_s, node.margin_s, node.claim_wait_s) == (10, 3, 30)
    recipient = parse_settings(RECIPIENT, "x").recipients[0]
    assert (recipient.harness, recipient.prompt, recipient.capacity) == ("command", "stdin", 1)
    assert (recipient.isolation, recipient.exit_zero_is_completed) == ("open", True)


def test_a_file_says_what_differs() -> None:
    settings = parse_settings(
        """
        [hub]
        port = 9000
        lease_ttl_s = 45.5
        [node]
        name = "laptop"
        [[recipients]]
        name = "reviewer"
        script = "make"
        pools = ["review", "any"]
        env = { MODE = "fast", HOME = "{run_dir}/home" }
        timeout_s = 900
        [[recipients]]
        name = "any"
        allow_command = true
        [defaults]
        checks = ["make test"]
        """,
        "x",
    )
    assert (settings.hub.port, settings.hub.lease_ttl_s, settings.node.name) == (9000, 45.5, "laptop")
    assert settings.recipients[0].pools == ("review", "any")
    assert settings.recipients[0].env == {"MODE": "fast", "HOME": "{run_dir}/home"}
    assert settings.recipients[1].allow_command
    assert settings.defaults.checks == ("make test",)


def test_a_named_file_wins_over_the_variable_over_the_working_folder_over_the_data_folder(
    tmp_path: Path,
) -> None:
    where = paths(tmp_path)
    assert find_settings_file(where, {}) is None
    for folder in (where.data_folder, where.working_folder):
        (folder / "tenure.toml").write_text("")
        assert find_settings_file(where, {}) == folder / "tenure.toml"
    by_variable, by_flag = tmp_path / "v.toml", tmp_path / "f.toml"
    by_variable.write_text("")
    by_flag.write_text("")
    env = {"TENURE_CONFIG": str(by_variable)}
    assert find_settings_file(where, env) == by_variable
    assert find_settings_file(paths(tmp_path, by_flag), env) == by_flag


def test_a_named_file_that_is_missing_is_an_error_and_not_a_default(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--config names"):
        load_settings(paths(tmp_path, tmp_path / "absent.toml"), {})
    with pytest.raises(ConfigurationError, match="TENURE_CONFIG names"):
        load_settings(paths(tmp_path), {"TENURE_CONFIG": "absent.toml"})


def test_loading_names_the_node_and_resolves_paths_from_the_files_folder(tmp_path: Path) -> None:
    where = paths(tmp_path)
    (where.data_folder / "tenure.toml").write_text(
        '[hub]\ntls_cert = "c.pem"\ntls_key = "/k.pem"\nbind = "0.0.0.0"\n'
    )
    settings = load_settings(where, {})
    assert settings.hub.tls_cert == str(where.data_folder / "c.pem")
    assert settings.hub.tls_key == "/k.pem"
    assert parse_settings(f'[node]\nname = "{settings.node.name}"', "x").node.name == settings.node.name


def test_without_any_file_the_defaults_hold_and_the_node_has_a_name(tmp_path: Path) -> None:
    settings = load_settings(paths(tmp_path), {"TENURE_CONFIG": ""})
    assert settings.hub == HubSettings()
    assert settings.recipients == ()
    assert settings.node.name == node_name(socket.gethostname())


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    where = paths(tmp_path)
    (where.working_folder / "tenure.toml").write_text("[hub]\nport = -1")
    with pytest.raises(ConfigurationError) as caught:
        load_settings(where, {})
    assert caught.value.message.startswith(f"{where.working_folder / 'tenure.toml'}:2: hub.port -1")
    assert caught.value.facts["problems"] == [caught.value.message]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Laptop.local", "laptop"),
        ("Anna's Mac", "anna-s-mac"),
        ("", "node"),
        ("---", "node"),
        ("x" * 80, "x" * 64),
    ],
)
def test_a_host_name_becomes_a_valid_node_name(host: str, name: str) -> None:
    assert node_name(host) == name


@given(st.text())
def test_every_host_name_becomes_a_valid_node_name(host: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", node_name(host))


def test_an_unknown_key_names_its_line_and_the_nearest_key() -> None:
    assert refused("[hub]\nport = 1\n\nlease_ttl = 3\n") == (
        "tenure.toml:4: hub.lease_ttl is not a known key; did you mean lease_ttl_s?"
    )


def test_an_unknown_section_names_the_nearest_one() -> None:
    assert refused("[nodes]\n") == "tenure.toml:1: nodes is not a known section; did you mean node?"


def test_a_key_unlike_any_other_gets_the_list_of_all() -> None:
    assert "known: base, check_timeout_s, checks, timeout_s, to" in refused("[defaults]\nzzzzzz = 1\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[hub]\nport = 70000",
            "tenure.toml:2: hub.port 70000 is refused: expected an integer from 0 to 65535",
        ),
        ("[hub]\nport = '80'", "hub.port '80' is refused: expected an integer"),
        ("[hub]\nport = true", "hub.port true is refused: expected an integer"),
        ("[hub]\nlease_ttl_s = nan", "expected a number from 0.5 to 2592000"),
        ("[hub]\nlease_ttl_s = inf", "expected a number from 0.5 to 2592000"),
        ("[hub]\nlease_ttl_s = -1", "hub.lease_ttl_s -1 is refused"),
        ("[hub]\nallow_insecure_bind = 1", "expected true or false"),
        (
            "[node]\nname = 'Bad Name'",
            "node.name 'Bad Name' is refused: expected a name of 1 to 64 lower-case",
        ),
        ("[node]\nname = 'a\\n'", "node.name"),
        ("[node]\nhub_url = 'ftp://x'", "expected an address that begins with http:// or https://"),
        ("hub = 3", "tenure.toml:1: hub expected a table, not 3"),
        ("[recipients]\nname = 'a'", "expected one [[recipients]] table (two brackets)"),
        ("[[recipients]]\nargv = ['x']", "recipients[0].name is missing: expected a name"),
        ("[[recipients]]\nname = 'a'\nargv = ['x', 3]", "(at [1]): expected a list of at most 500"),
        ("[[recipients]]\nname = 'a'\nargv = ['x']\nprompt = 'mail'", '"argument" or "file" or "stdin"'),
        (
            "[[recipients]]\nname = 'a'\nargv = ['x']\nisolation = 'jail'",
            'expected "open" or "sandbox" or "user"',
        ),
        ("[[recipients]]\nname = 'a'\nargv = [\"a\\u0000b\"]", "text without NUL characters"),
        ("[[recipients]]\nname = 'a'\nargv = ['x']\ncapacity = 0", "expected an integer from 1 to 10000"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed(text: str, says: str) -> None:
    assert says in refused(text)


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines() -> None:
    message = refused(
        "[hub]\nport = -1\nbnd = 'x'\n[[recipients]]\nname = 'a'\nargv = ['x']\n[[recipients]]\nname = 7\nharnes = 'x'\n"
    )
    assert [line.split()[0] for line in message.splitlines()] == [
        "tenure.toml:2:",
        "tenure.toml:3:",
        "tenure.toml:8:",
        "tenure.toml:9:",
    ]


def test_values_of_env_are_never_shown_since_they_may_be_secrets() -> None:
    message = refused("[[recipients]]\nname = 'a'\nargv = ['x']\nenv = { KEY = 'hush', OTHER = 5 }")
    assert "recipients[0].env this value is refused" in message
    assert "hush" not in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[hub]\nlease_ttl_s = 23",
            "hub.lease_ttl_s 23 must be more than 2 * node.renew_every_s + node.margin_s = 23",
        ),
        ("[node]\nrenew_every_s = 14", "so that one lost renewal does not pause the work"),
        ("[hub]\nsuspect_grace_s = 10", "renews before its Attempt is given up"),
        ("[hub]\ncancel_grace_s = 20", "must be more than node.renew_every_s + node.stop_grace_s = 20"),
        ("[hub]\nstall_after_s = 20", "since progress arrives with renewals"),
        ("[hub]\ntls_cert = 'c.pem'", "hub.tls_key is missing"),
        ("[hub]\ntls_key = 'k.pem'", "hub.tls_cert is missing"),
        (RECIPIENT + RECIPIENT, "recipients[1].name 'shell' is the name of an earlier recipient"),
        ("[[recipients]]\nname = 'a'", "give argv or script, or allow_command = true"),
        ("[[recipients]]\nname = 'a'\nargv = ['x']\nscript = 'y'", "stands beside argv"),
        ("[[recipients]]\nname = 'a'\nargv = ['']", "begins with an empty word"),
        ("[[recipients]]\nname = 'a'\nargv = ['x', '{promt_file}']", "did you mean {prompt_file}?"),
        (RECIPIENT + "env = { TENURE_TASK = 'x' }", "recipients[0].env.TENURE_TASK is set by Tenure itself"),
        (RECIPIENT + "env = { GIT_CONFIG_COUNT = '0' }", "is set by Tenure itself"),
        (
            RECIPIENT + "keep_env = ['TENURE_TOKEN']",
            "TENURE_TOKEN is set by Tenure itself and cannot be passed on",
        ),
        (RECIPIENT + "cwd = '../up'", "leads out of the worktree"),
        (RECIPIENT + "cwd = '/etc'", "leads out of the worktree"),
    ],
)
def test_settings_that_do_not_fit_together_say_why(text: str, says: str) -> None:
    assert says in refused(text)


def test_braces_that_are_the_programs_own_are_left_alone() -> None:
    text = "[[recipients]]\nname = 'a'\nargv = ['awk', '{print}', '{worktree}', '{.field}', '{}']\ncwd = '{run_dir}'"
    assert parse_settings(text, "x").recipients[0].argv[1] == "{print}"


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_tls(bind: str) -> None:
    assert is_loopback(bind)
    assert parse_settings(f"[hub]\nbind = '{bind}'", "x").hub.bind == bind


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.168.1.5", "hub.example.org", "127.0.0.1.example.org"])
def test_an_address_that_others_reach_needs_tls_or_the_explicit_flag(bind: str) -> None:
    with pytest.raises(InsecureBindError, match="tls_cert and tls_key, or allow_insecure_bind = true"):
        parse_settings(f"[hub]\nbind = '{bind}'", "x")
    assert parse_settings(f"[hub]\nbind = '{bind}'\nallow_insecure_bind = true", "x").hub.bind == bind
    assert parse_settings(f"[hub]\nbind = '{bind}'\ntls_cert = 'c'\ntls_key = 'k'", "x").hub.bind == bind


@pytest.mark.parametrize("text", ["a = = 1", "[hub", "x = 1\nx = 2", "a = " + "[" * 100_000])
def test_text_that_is_no_toml_is_told_with_its_place(text: str) -> None:
    assert "tenure.toml is not valid TOML" in refused(text)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"#" * 2_000_000])
def test_a_file_that_is_no_settings_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.toml").write_bytes(data)
    with pytest.raises(ConfigurationError, match=r"t\.toml is (not UTF-8|longer)"):
        load_settings(paths(tmp_path, tmp_path / "t.toml"), {})


def test_a_mistake_in_a_table_of_a_recipient_is_told_with_the_tables_line() -> None:
    message = refused(
        "[[recipients]]\nname = 'a'\nargv = ['x']\n[recipients.env]\n'B' = '2'\nTENURE_X = '1'\n"
    )
    assert message.startswith("tenure.toml:6: recipients[0].env.TENURE_X is set")
    message = refused("[[recipients]]\nname = 'a'\nargv = ['x']\n[[recipients]]\nargv = ['x']\n")
    assert message.startswith("tenure.toml:4: recipients[1].name is missing")
    message = refused("defaults = { base = 7 }\n")
    assert message.startswith("tenure.toml:1: defaults.base 7")


def test_a_recipient_of_another_harness_needs_no_command_here() -> None:
    text = "[[recipients]]\nname = 'a'\nharness = 'other'\n"
    assert parse_settings(text, "x").recipients[0].harness == "other"


def test_lines_are_found_past_comments_strings_dotted_and_quoted_keys() -> None:
    lines = key_lines(
        'hub.port = 1 # port = 2\n[node] # comment\n"name" = "x"\n[defaults]\nchecks = ["""\nto = "in a string"\n"""]\n'
        "to = 'y'\n[[recipients]]\nname = 'a'\n[recipients.env]\nA = '1'\n[[recipients]]\nname = 'b'\n"
    )
    assert lines["hub.port"] == 1
    assert lines["node.name"] == 3
    assert lines["defaults.to"] == 8
    assert lines["recipients[0].name"] == 10
    assert lines["recipients[0].env.A"] == 12
    assert lines["recipients[1].name"] == 14


@given(st.text(max_size=200))
def test_any_text_gives_settings_or_one_clear_error(text: str) -> None:
    try:
        parse_settings(text, "x")
    except ConfigurationError as error:
        assert error.message  # noqa: PT017 - both ways are right; the third, another error, fails by itself


values: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(SECTIONS), st.data())
def test_any_value_of_any_key_is_taken_within_its_bounds_or_refused_with_the_key(
    section: tuple[str, type[msgspec.Struct]], data: st.DataObject
) -> None:
    header, kind = section
    field = data.draw(st.sampled_from(msgspec.structs.fields(kind)))
    value = data.draw(values)
    try:
        text = f"{header}\n{field.name} = {toml(value)}\n"
        tomllib.loads(text)
    except (ValueError, UnicodeError):
        return
    try:
        parse_settings(text, "x")
    except ConfigurationError as error:
        assert error.message  # noqa: PT017 - as above
    else:
        assert not (isinstance(value, float) and not math.isfinite(value))


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{msgspec.json.encode(k).decode()} = {toml(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return msgspec.json.encode(value).decode() if isinstance(value, str) else str(value).lower()


def test_every_key_has_a_meaning_and_the_reference_page_is_up_to_date() -> None:
    for kind in (HubSettings, NodeSettings, RecipientSettings, DefaultSettings):
        for field in msgspec.structs.fields(kind):
            assert msgspec.json.schema(field.type).get("description"), (
                f"{kind.__name__}.{field.name} says nothing"
            )
    assert PAGE.read_text(encoding="utf-8") == settings_reference(), (
        "docs/reference/settings.md is out of date: run `python -m tenure.runtime.settings_reference`"
    )


def test_the_example_on_the_reference_page_is_valid() -> None:
    example = settings_reference().partition("```toml\n")[2].partition("```")[0]
    assert parse_settings(example, "example").recipients[0].name == "reviewer"


def test_every_default_satisfies_its_own_bounds() -> None:
    settings = msgspec.structs.replace(Settings(), node=NodeSettings(name="n"))
    assert msgspec.convert(msgspec.to_builtins(settings), Settings) == settings
