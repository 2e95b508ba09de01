"""The admin port with a token and with TLS: who reads which page."""

import asyncio
import base64
import contextlib
import shutil
import socket
import threading
from http import HTTPStatus

import pytest

from tests.kit.client import connect
from tests.planted import traces
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import tls_of
from tests.proxy.running import EITHER, events, file_for
from tests.proxy.test_admin_http import ask
from tests.proxy.test_certificates import shown_by
from tests.proxy.world import until
from tsproxy.config.settings import AdminSettings, Secret
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin import http as admin_http
from tsproxy.proxy.admin import places
from tsproxy.proxy.admin.http import AdminHttp, Answer
from tsproxy.testing.client_options import client_context
from tsproxy.testing.proxy import RunningProxy

TOKEN = "3f1c-planted-secret"
PAGES = {
    "/livez": lambda: Answer(HTTPStatus.OK, b"alive\n"),
    "/readyz": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"listener default does not serve node 7\n"),
    "/readyz?verbose": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"not ready: node 7\n"),
    "/config": lambda: Answer(HTTPStatus.OK, b"the configuration\n"),
}


def basic(text):
    return "Basic " + base64.b64encode(text.encode("latin-1")).decode()


def bearing(authorization):
    """The headers of a reader with these credentials."""
    return [f"Authorization: {authorization}"]


@pytest.fixture
async def guarded(serve):
    return serve(PAGES, AdminSettings(token=Secret(TOKEN)))


@pytest.mark.parametrize(
    "authorization", [f"Bearer {TOKEN}", f"bearer  {TOKEN}", basic(f"anybody:{TOKEN}"), basic(f":{TOKEN}")]
)
async def test_a_reader_with_the_token_reads_every_page(guarded, authorization):
    header = bearing(authorization)
    assert (await ask(guarded, "/config", *header))[::2] == (200, "the configuration\n")
    assert (await ask(guarded, "/readyz?verbose", *header))[2] == "not ready: node 7\n"


WRONG = {
    "none": None,
    "a byte beyond ASCII": "Basic \xe9",
    "base64 with a byte beyond ASCII": basic(f"anybody:{TOKEN}") + "\xff",
    "empty": "",
    "another token": "Bearer another",
    "a part of it": f"Bearer {TOKEN[:-1]}",
    "more than it": f"Bearer {TOKEN}x",
    "no scheme": TOKEN,
    "another scheme": f"Digest {TOKEN}",
    "the user name": basic(f"{TOKEN}:"),
    "no colon": basic(TOKEN),
    "no base64": f"Basic {TOKEN}",
    "other letters": "Bearer \xe9\xff",
    "two of them": f"Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}",
}


@pytest.mark.parametrize("authorization", WRONG.values(), ids=WRONG)
async def test_other_readers_are_asked_for_it_and_learn_nothing(guarded, authorization):
    for path in ("/config", "/no-such-page"):
        header = [] if authorization is None else bearing(authorization)
        status, head, body = await ask(guarded, path, *header)
        assert (status, body) == (401, "Unauthorized\n")
        assert 'WWW-Authenticate: Basic realm="tsproxy"' in head


class Standing(Secret):
    """A token in a file whose disk stands still until `goes_on`."""

    goes_on = threading.Event()
    reads = 0

    def reveal(self):
        self.reads += 1
        self.goes_on.wait()
        return super().reveal()


async def test_strangers_hold_one_thread_while_the_disk_of_the_token_stands_still(serve):
    """No request waits for longer than a probe does, and each counts as one without the token."""
    token = Standing(TOKEN)
    address = serve(PAGES, AdminSettings(token=token))
    header = bearing(f"Bearer {TOKEN}")
    try:
        for _ in range(3):
            answers = await asyncio.gather(*(ask(address, "/config", *header) for _ in range(8)))
            assert {status for status, *_ in answers} == {401}
            assert (await ask(address, "/livez", *header))[::2] == (200, "OK\n")
        assert token.reads == 1
    finally:
        token.goes_on.set()

    async def is_read():
        return (await ask(address, "/config", *header))[0] == 200

    await until(is_read)


async def test_without_a_token_everybody_reads_and_any_credentials_are_passed_over(serve):
    address = serve(PAGES)
    assert (await ask(address, "/config"))[0] == 200
    assert (await ask(address, "/config", *bearing("Bearer other")))[0] == 200


@on_both_loops
async def test_pages_come_over_tls_to_their_end_and_a_plain_reader_gets_none(certificates, monkeypatch):
    monkeypatch.setattr(admin_http, "REQUEST_TIMEOUT_S", 600)  # this alone ended an answer
    server = AdminHttp(PAGES, AdminSettings, tls_of(certificates.issue("admin")))
    address = server.start(Address("127.0.0.1", 0))
    client = client_context(certificates.certificate)

    assert (await ask(address, "/config", tls=client))[::2] == (200, "the configuration\n")
    assert (await ask(address, "/config"))[0] == 0
    assert (await ask(address, "/config", tls=client))[0] == 200
    server.stop()


async def test_with_authorities_only_a_reader_with_a_certificate_gets_pages(serve, certificates):
    address = serve(PAGES, tls=tls_of(certificates.issue("admin"), certificates.certificate, "required"))
    client = client_context(certificates.certificate)
    with contextlib.suppress(OSError):
        assert (await ask(address, "/config", tls=client))[0] == 0

    client = client_context(certificates.certificate, certificates.issue("prometheus"))
    assert (await ask(address, "/config", tls=client))[0] == 200


@pytest.mark.parametrize("moment", range(3), ids=["connected", "after the handshake", "within the request"])
@pytest.mark.parametrize("order", [1, -1], ids=["to authorities", "to a token"])
async def test_a_reload_between_a_token_and_authorities_lets_in_nobody_with_neither(
    certificates, monkeypatch, moment, order
):
    """One that was connected meanwhile got the pages: its TLS was that of the old file, which asks for no
    certificate, and its request was read by the new one, which asks for no token."""
    monkeypatch.setattr(admin_http, "HEAD_S", 60)
    identity, client = certificates.issue("admin"), client_context(certificates.certificate)
    with_token = AdminSettings(token=Secret(TOKEN)), tls_of(identity)
    with_authorities = AdminSettings(), tls_of(identity, certificates.certificate, "required")
    files, got = [with_token, with_authorities][::order], b""
    server = AdminHttp(PAGES, lambda: files[0][0], lambda: files[0][1]())
    async with await connect(server.start(Address("127.0.0.1", 0))) as reader:
        await until(lambda: len(server._places))
        steps = (
            lambda: reader.start_tls(client),
            lambda: reader.write(b"GET /config HT"),
            lambda: reader.write(b"TP/1.1\r\n\r\n"),
        )
        with contextlib.suppress(OSError):
            for number, step in enumerate(steps):
                if number == moment:
                    files.reverse()
                await step()
            got = await reader.rest()
    assert b"the configuration" not in got
    server.stop()


async def test_handshakes_that_never_end_take_places_and_give_them_back(serve, certificates, monkeypatch):
    monkeypatch.setattr(places, "MAX_OF_AN_ADDRESS", 2)
    monkeypatch.setattr(admin_http, "REQUEST_TIMEOUT_S", 0.2)
    address = serve(PAGES, tls=tls_of(certificates.issue("admin")))
    silent = [socket.create_connection((address.host, address.port)) for _ in range(5)]
    client = client_context(certificates.certificate)

    async def is_served():
        try:
            return (await ask(address, "/config", tls=client))[0] == 200
        except OSError:
            return False

    await until(is_served)
    for each in silent:
        each.close()


@EITHER
async def test_a_running_proxy_takes_a_new_token_and_certificate_and_shows_no_secret(
    kafka_440, tmp_path, certificates, arguments
):
    """The old token is changed because somebody knows it."""
    certificate, key = tmp_path / "admin.pem", tmp_path / "admin.key"
    tokens = {"old": TOKEN, "new": "another-planted-secret"}

    def put(which):
        identity = certificates.issue(which)
        shutil.copy(identity.certificate, certificate)
        shutil.copy(identity.key, key)
        tls = f"tls: {{ certificate: {certificate}, key: {key} }}"
        return file_for(kafka_440, tmp_path, more=f"admin: {{ token: {tokens[which]}, {tls} }}\n")

    client = client_context(certificates.certificate)
    async with RunningProxy(config=put("old"), arguments=arguments) as proxy:

        async def answers(path):
            headers = [bearing(f"Bearer {token}") for token in tokens.values()]
            return [await ask(proxy.admin_address, path, *header, tls=client) for header in headers]

        pages = [await answers(path) for path in ("/config", "/metrics", "/")]
        assert [[status for status, *_ in page] for page in pages] == [[200, 401]] * 3
        assert "***" in pages[0][0][2]
        assert 'tsproxy_certificate_expiry_seconds{setting="admin.tls.certificate"}' in pages[1][0][2]
        put("new")
        await until(lambda: "config_reloaded" in events(proxy))
        assert [status for status, *_ in await answers("/config")] == [401, 200]
        assert await shown_by(proxy.admin_address, client) == "new"
    secrets = {**tokens, "private key": base64.b64decode("".join(key.read_text().splitlines()[1:-1]))}
    assert traces([proxy.log, proxy.decisions(), pages], secrets) == []
