"""Between node and hub: who is believed to be whom, over real sockets and real handshakes."""

from __future__ import annotations

import asyncio
import datetime
import shutil
import socket
import ssl
import subprocess
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
import trustme
from msgspec.structs import replace

from tenure.client.agent import AgentClient, told_to
from tenure.client.hub import HubClient
from tenure.client.trust import tls_context
from tenure.core.access import Role
from tenure.errors import ConfigurationError, ForbiddenError, OutcomeUnknownError, UnavailableError
from tenure.node.link import HttpLegs
from tenure.servers.rest import serve as serving_module
from tenure.servers.rest.app import create_app
from tenure.servers.rest.certificates import Certificates
from tenure.servers.rest.peer import Facing
from tenure.servers.rest.serve import Bind, Listening, serve
from tenure.wire import legs as ws
from tests.eventually import eventually_so
from tests.hub.lab import Lab
from tests.servers.face import TOKENS, admit
from tools.guarantees import ROOT

HOST = "127.0.0.1"
PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
FUTURE, LATER = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2090, 2091))


class Pki:
    """Files of a CA for the hub and one for nodes, and of what they issue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hubs, self.nodes, self.others = trustme.CA(), trustme.CA(), trustme.CA()
        for name, ca in (("hubs", self.hubs), ("nodes", self.nodes), ("others", self.others)):
            ca.cert_pem.write_to_path(str(folder / f"{name}.pem"))

    def file(self, name: str) -> str:
        return str(self.folder / name)

    def issue(self, ca: trustme.CA, name: str, identity: str, **more: Any) -> tuple[str, str]:
        made = ca.issue_cert(identity, **more)
        cert, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        cert.write_bytes(b"".join(one.bytes() for one in made.cert_chain_pems))
        key.write_bytes(made.private_key_pem.bytes())
        return str(cert), str(key)


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


@asynccontextmanager
async def hub(
    pki: Pki, *, identity: str = HOST, mutual: bool = True, **more: Any
) -> AsyncGenerator[Listening]:
    cert, key = pki.issue(pki.hubs, "hub", identity, **more)
    async with hub_with(cert, key, pki.file("nodes.pem") if mutual else None) as listening:
        yield listening


@asynccontextmanager
async def hub_with(cert: str, key: str, client_ca: str | None) -> AsyncGenerator[Listening]:
    lab = Lab()
    async with lab.running():
        await admit(lab)
        stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        app = create_app(lab.hub, face=Facing(nodes_show_certificates=client_ca is not None))
        bind = Bind(host=HOST, tls_cert=cert, tls_key=key, client_ca=client_ca)
        serving = asyncio.ensure_future(
            serve(app, bind, stop, on_ready=ready.set_result, on_stopping=lab.hub.let_go, grace_s=1)
        )
        try:
            yield await asyncio.wait_for(ready, 10)
        finally:
            stop.set()
            await asyncio.wait_for(serving, 10)


async def enrolled(listening: Listening, verify: bool | ssl.SSLContext, name: str = "box") -> HttpLegs:
    legs = HttpLegs(listening.url, verify=verify)
    request = ws.EnrollRequest(
        name=name,
        credential="tnr_" + "n" * 40,
        incarnation="i_1",  # type: ignore[arg-type] - any text will do
        boot_id="boot",
        contract=ws.CONTRACT_VERSION,
        platform="linux",
        version="1",
        recipients=(),
    )
    try:
        await legs.enroll(request, TOKENS[Role.JOIN])
        legs.use("tnr_" + "n" * 40)
        await legs.renew(ws.RenewRequest(incarnation="i_1", items=()))  # type: ignore[arg-type] - any text
    finally:
        await legs.close()
    return legs


async def test_a_node_and_a_hub_that_know_each_other_talk(pki: Pki) -> None:
    mine = pki.issue(pki.nodes, "box", "box")
    async with hub(pki) as listening:
        assert listening.url.startswith("https://")
        await enrolled(listening, tls_context(pki.file("hubs.pem"), *mine))


async def test_people_need_no_certificate_but_their_token(pki: Pki) -> None:
    async with hub(pki) as listening:
        verify = tls_context(pki.file("hubs.pem"))
        async with HubClient(listening.url, TOKENS[Role.VIEWER], verify=verify) as people:
            assert (await people.tasks()).tasks == ()


async def test_a_node_without_a_certificate_is_told_to_show_one(pki: Pki) -> None:
    async with hub(pki) as listening:
        with pytest.raises(ForbiddenError, match=r"node\.tls_cert"):
            await enrolled(listening, tls_context(pki.file("hubs.pem")))


async def test_a_node_with_another_machines_certificate_is_refused(pki: Pki) -> None:
    """A stolen credential alone is not enough, and neither is the certificate of any other machine."""
    async with hub(pki) as listening:
        other = tls_context(pki.file("hubs.pem"), *pki.issue(pki.nodes, "other", "other"))
        with pytest.raises(ForbiddenError, match="other, not of node box"):
            await enrolled(listening, other)
        mine = tls_context(pki.file("hubs.pem"), *pki.issue(pki.nodes, "box", "box"))
        await enrolled(listening, mine)
        stolen = HttpLegs(listening.url, verify=other)
        stolen.use("tnr_" + "n" * 40)
        try:
            with pytest.raises(ForbiddenError, match="not of node box"):
                await stolen.renew(ws.RenewRequest(incarnation="i_1", items=()))  # type: ignore[arg-type] - any text
        finally:
            await stolen.close()


async def test_a_certificate_that_names_no_host_is_a_groups(pki: Pki) -> None:
    mine = pki.issue(pki.nodes, "group", "nodes@example.org")
    async with hub(pki) as listening:
        await enrolled(listening, tls_context(pki.file("hubs.pem"), *mine))


@pytest.mark.parametrize(("ca", "more"), [("others", {}), ("nodes", {"not_after": PAST})])
async def test_a_certificate_of_a_wrong_ca_or_of_yesterday_gets_nothing_done(
    pki: Pki, ca: str, more: dict[str, Any]
) -> None:
    mine = pki.issue(getattr(pki, ca), "box", "box", **more)
    async with hub(pki) as listening:
        with pytest.raises((OutcomeUnknownError, UnavailableError), match=r"tls_client_ca.*node\.tls_cert"):
            await enrolled(listening, tls_context(pki.file("hubs.pem"), *mine))
        async with HubClient(
            listening.url, TOKENS[Role.VIEWER], verify=tls_context(pki.file("hubs.pem"))
        ) as one:
            assert await one.nodes() == ()


@pytest.mark.parametrize(
    ("identity", "more", "trusts", "says"),
    [
        (HOST, {}, "others.pem", "not trusted here .*node.ca_file"),
        (HOST, {"not_after": PAST}, "hubs.pem", "certificate has expired"),
        (HOST, {"not_before": FUTURE, "not_after": LATER}, "hubs.pem", "not valid yet; .*clock"),
        (
            "elsewhere.example",
            {},
            "hubs.pem",
            r"names elsewhere\.example, and not 127\.0\.0\.1; .*subjectAltName",
        ),
        ("nobody@elsewhere.example", {}, "hubs.pem", r"does not name 127\.0\.0\.1; have one made"),
    ],
)
async def test_a_hub_that_is_not_the_one_gets_no_token(
    pki: Pki, identity: str, more: dict[str, Any], trusts: str, says: str
) -> None:
    async with hub(pki, identity=identity, mutual=False, **more) as listening:
        with pytest.raises(UnavailableError, match=says):
            await enrolled(listening, tls_context(pki.file(trusts)))


async def test_a_node_checks_its_hub_however_the_address_is_written(pki: Pki) -> None:
    async with hub(pki, mutual=False) as listening:
        odd = replace(listening, url=listening.url.replace("https:", "HTTPS:"))
        with pytest.raises(UnavailableError, match="not trusted here"):
            await enrolled(odd, tls_context(pki.file("others.pem")))
        await enrolled(odd, tls_context(pki.file("hubs.pem")))


async def test_a_stream_from_a_hub_that_is_not_trusted_says_what_to_do(pki: Pki) -> None:
    async with hub(pki, mutual=False) as listening:
        verify = tls_context(pki.file("others.pem"))
        async with HubClient(listening.url, TOKENS[Role.VIEWER], verify=verify) as people:
            with pytest.raises(UnavailableError, match=r"no connection .*not trusted here .*node\.ca_file"):
                _ = [one async for one in people.follow()]


async def test_an_agent_that_cannot_trust_the_hub_is_told_that_others_have_to_mend_it(pki: Pki) -> None:
    async with hub(pki, mutual=False) as listening:
        verify = tls_context(pki.file("others.pem"))
        async with AgentClient(listening.url, "tnc_x", verify=verify) as agent:
            with pytest.raises(UnavailableError) as raised:
                await agent.context()
    told = told_to(raised.value)
    assert "Nothing happened. Asking again does not help" in told
    assert "the owner of this machine has to" in told
    assert "a little later" not in told
    assert told.casefold().count("nothing") == 1


async def test_plain_http_to_a_port_with_tls_and_the_other_way_say_what_is_wrong(pki: Pki) -> None:
    async with hub(pki) as listening:
        plain = listening.url.replace("https:", "http:")
        async with HubClient(plain, TOKENS[Role.VIEWER]) as people:
            with pytest.raises(UnavailableError, match="https://"):
                await people.tasks()
    async with Lab().running() as lab:
        stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        app = create_app(lab.hub)
        serving = asyncio.ensure_future(
            serve(app, Bind(host=HOST), stop, on_ready=ready.set_result, grace_s=1)
        )
        url = (await asyncio.wait_for(ready, 10)).url.replace("http:", "https:")
        try:
            async with HubClient(
                url, TOKENS[Role.VIEWER], verify=tls_context(pki.file("hubs.pem"))
            ) as people:
                with pytest.raises(UnavailableError, match="speaks no TLS"):
                    await people.tasks()
        finally:
            stop.set()
            await asyncio.wait_for(serving, 10)


@pytest.mark.parametrize("label", ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"])
def test_the_certificate_that_is_shown_is_never_taken_to_be_that_of_its_ca(pki: Pki, label: str) -> None:
    """Whoever trusts exactly it would else trust whatever that CA has ever made, for any name."""
    cert, key = pki.issue(pki.hubs, "hub", HOST)
    own = Path(cert).read_text().partition("-----END CERTIFICATE-----\n")
    first = f"{own[0]}{own[1]}".replace(" CERTIFICATE-----", f" {label}-----")
    Path(cert).write_text(first + Path(pki.file("hubs.pem")).read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    assert Certificates(context, cert, key, None).shown == first


def test_files_that_are_no_certificates_are_named(pki: Pki) -> None:
    broken = Path(pki.file("broken.pem"))
    broken.write_text("no certificate")
    with pytest.raises(ConfigurationError, match=r"broken\.pem"):
        tls_context(str(broken))
    cert, _ = pki.issue(pki.nodes, "one", "one")
    _, key = pki.issue(pki.nodes, "two", "two")
    with pytest.raises(ConfigurationError, match=r"one\.crt and .*two\.key"):
        tls_context(None, cert, key)


@pytest.mark.parametrize("wrong", ["tls_cert", "tls_key", "client_ca"])
async def test_a_hub_whose_files_cannot_be_used_says_which(pki: Pki, wrong: str) -> None:
    cert, key = pki.issue(pki.hubs, "hub", HOST)
    files: dict[str, Any] = {"tls_cert": cert, "tls_key": key, "client_ca": pki.file("nodes.pem")}
    files[wrong] = pki.file("nothing.pem")
    async with Lab().running() as lab:
        with pytest.raises(ConfigurationError, match=r"nothing\.pem"):
            await serve(create_app(lab.hub), Bind(host=HOST, **files), asyncio.Event())


@pytest.mark.parametrize(
    ("mutual", "version", "is_spoken"),
    [
        (False, ssl.TLSVersion.TLSv1_1, False),
        (False, ssl.TLSVersion.TLSv1_2, True),
        (True, ssl.TLSVersion.TLSv1_2, False),
        (True, ssl.TLSVersion.TLSv1_3, True),
    ],
)
async def test_the_oldest_version_is_tls_1_2_and_1_3_where_nodes_show_certificates(
    pki: Pki, mutual: bool, version: ssl.TLSVersion, is_spoken: bool
) -> None:
    old = ssl.create_default_context(cafile=pki.file("hubs.pem"))
    old.set_ciphers("DEFAULT:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = version
    async with hub(pki, mutual=mutual) as listening:
        if is_spoken:
            _, writer = await asyncio.open_connection(HOST, listening.port, ssl=old)
            writer.close()
            return
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection(HOST, listening.port, ssl=old)


async def shown_by(listening: Listening, ca: str) -> bytes:
    """The certificate that the hub shows to whoever comes now."""
    _, writer = await asyncio.open_connection(HOST, listening.port, ssl=tls_context(ca))
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return shown


async def test_a_renewed_certificate_is_shown_without_a_restart_and_nobody_is_cut_off(
    pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "LOOK_S", 0.02)
    async with hub(pki) as listening:
        verify = tls_context(pki.file("hubs.pem"))
        async with HubClient(listening.url, TOKENS[Role.VIEWER], verify=verify) as people:
            assert (await people.tasks()).tasks == ()
            before = await shown_by(listening, pki.file("hubs.pem"))
            pki.issue(pki.hubs, "hub", HOST)

            async def is_new() -> bool:
                return await shown_by(listening, pki.file("hubs.pem")) != before

            await eventually_so(is_new)
            assert (await people.tasks()).tasks == ()


async def test_a_ca_for_nodes_that_is_added_counts_without_a_restart(
    pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "LOOK_S", 0.02)
    mine = tls_context(pki.file("hubs.pem"), *pki.issue(pki.others, "box", "box"))
    async with hub(pki) as listening:
        both = Path(pki.file("nodes.pem"))
        both.write_bytes(both.read_bytes() + Path(pki.file("others.pem")).read_bytes())

        async def is_let_in() -> bool:
            try:
                await enrolled(listening, mine)
            except (OutcomeUnknownError, UnavailableError):
                return False
            return True

        await eventually_so(is_let_in)


def test_a_certificate_whose_key_is_not_there_yet_is_not_shown(pki: Pki) -> None:
    cert, key = pki.issue(pki.hubs, "hub", HOST)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    files = Certificates(context, cert, key, None)
    assert not files.renew()
    new_cert, new_key = pki.issue(pki.hubs, "new", HOST)
    Path(cert).write_bytes(Path(new_cert).read_bytes())
    assert (files.renew(), files.renew()) == (False, False)
    Path(key).unlink()
    assert not files.renew()
    Path(key).write_bytes(Path(new_key).read_bytes())
    assert (files.renew(), files.renew()) == (True, False)


def test_files_that_do_not_fit_are_told_of_once_for_each_change_and_tried_each_time(pki: Pki) -> None:
    cert, key = pki.issue(pki.hubs, "hub", HOST)
    files = Certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), cert, key, None)
    new_cert, new_key = pki.issue(pki.hubs, "new", HOST)
    whole = Path(key).read_bytes()

    def told(times: int = 3) -> list[str]:
        with structlog.testing.capture_logs() as logs:
            for _ in range(times):
                files.renew()
        return [one["log_level"] for one in logs]

    Path(cert).write_bytes(Path(new_cert).read_bytes())
    assert told() == ["warning"]
    Path(key).write_bytes(b"half a key")
    assert told() == ["warning"]
    Path(key).write_bytes(Path(new_key).read_bytes())
    assert told() == ["info"]
    Path(key).write_bytes(whole)
    assert told() == ["warning"]


def test_a_renewed_key_with_a_password_is_not_asked_for_at_the_terminal(
    pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = pki.issue(pki.hubs, "hub", HOST)
    files = Certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), cert, key, None)
    given: list[dict[str, Any]] = []

    class Watched(ssl.SSLContext):
        def load_cert_chain(self, *files: Any, **more: Any) -> None:
            given.append(more)
            super().load_cert_chain(*files, **more)

    monkeypatch.setattr(ssl, "SSLContext", Watched)
    locked = ["openssl", "pkey", "-in", key, "-aes128", "-passout", "pass:secret", "-out", f"{key}.new"]
    subprocess.run(locked, check=True, capture_output=True, timeout=30)
    Path(f"{key}.new").replace(key)
    assert not files.renew()
    assert given == [{"password": ""}]


@pytest.mark.parametrize("mutual", [True, False])
async def test_where_nodes_show_certificates_no_session_is_resumed_without_one(
    pki: Pki, mutual: bool
) -> None:
    """A session that is taken up again is not asked for a certificate, also not for one that has run out since."""
    mine = tls_context(pki.file("hubs.pem"), *pki.issue(pki.nodes, "box", "box"))

    def resumed(port: int) -> bool | None:
        with (
            socket.create_connection((HOST, port), 10) as plain,
            mine.wrap_socket(plain, server_hostname=HOST) as first,
        ):
            first.sendall(b"GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
            while first.recv(4096):
                pass  # what lets a session be resumed comes after the handshake
            session = first.session
        with (
            socket.create_connection((HOST, port), 10) as plain,
            mine.wrap_socket(plain, server_hostname=HOST, session=session) as second,
        ):
            return second.session_reused

    async with hub(pki, mutual=mutual) as listening:
        assert await asyncio.to_thread(resumed, listening.port) is not mutual


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the guide's recipe needs openssl")
async def test_the_certificates_that_the_guide_makes_are_taken(tmp_path: Path) -> None:
    guide = (ROOT / "docs/guides/tls.md").read_text()
    recipe = guide.partition("<!-- certificates -->")[2].partition("<!-- end -->")[0]
    script = recipe.partition("```sh\n")[2].partition("```")[0]
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    files = {one.name: str(one) for one in tmp_path.iterdir()}
    mine = tls_context(files["hub-ca.pem"], files["build-7.crt"], files["build-7.key"])
    said = {
        "credential": "tnr_" + "n" * 40, "incarnation": "i_1", "boot_id": "b", "contract": ws.CONTRACT_VERSION,
        "platform": "linux", "version": "1", "recipients": [],
    }  # fmt: skip
    headers = {
        "Authorization": f"Bearer {TOKENS[Role.JOIN]}",
        ws.CONTRACT_HEADER: str(ws.CONTRACT_VERSION),
    }
    async with (
        hub_with(files["hub.crt"], files["hub.key"], files["node-ca.pem"]) as listening,
        httpx.AsyncClient(base_url=listening.url, verify=mine) as http,
    ):
        codes = [
            (
                await http.post(
                    ws.ENROLL,
                    json={**said, "name": name},
                    headers=headers,
                    extensions={"sni_hostname": "hub.example"},
                )
            ).status_code
            for name in ("other", "build-7")
        ]
    assert codes == [403, 200]
