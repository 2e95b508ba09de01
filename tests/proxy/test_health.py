"""`tsproxy health` says what the admin port says, over TLS, too."""

import asyncio
import socket
from http import HTTPStatus

import pytest

from tests.offline.commands import Result, tsproxy
from tests.proxy.running import TWO
from tests.proxy.test_admin_access import tls_of
from tsproxy.config.settings import AdminSettings, Secret
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.http import AdminHttp, Answer
from tsproxy.testing.proxy import RunningProxy

PAGES = {
    "/livez": lambda: Answer(HTTPStatus.OK, b"alive\n"),
    "/readyz": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"brokers are not known yet\n"),
}
HANGS = {"/livez": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"worker 2 hangs\n")}


@pytest.fixture
async def serve():
    servers = []

    def served(pages=PAGES, settings=None, tls=None):
        servers.append(AdminHttp(pages, lambda: settings or AdminSettings(), tls))
        return servers[-1].start(Address("127.0.0.1", 0))

    yield served
    for server in servers:
        server.stop()


@pytest.fixture(params=["plain", "TLS"])
def tls(request, certificates):
    return tls_of(certificates.issue("admin")) if request.param == "TLS" else None


async def test_a_proxy_that_lives_is_healthy_although_it_is_not_ready(serve, tls, capsys):
    address = serve(tls=tls)
    assert await tsproxy(capsys, "health", "--admin", address) == Result(0, "alive\n", "")
    ready = await tsproxy(capsys, "health", "--admin", address, "--ready")
    assert (ready.status, ready.out) == (1, "")
    assert f"{address}/readyz has status 503: brokers are not known yet" in ready.err


async def test_a_proxy_that_hangs_is_not(serve, tls, capsys):
    address = serve(HANGS, tls=tls)
    found = await tsproxy(capsys, "health", "--admin", address)
    assert found.status == 1
    assert "status 503: worker 2 hangs" in found.err


async def test_no_token_is_needed(serve, tls, capsys):
    address = serve(settings=AdminSettings(token=Secret("planted")), tls=tls)
    assert (await tsproxy(capsys, "health", "--admin", address)).status == 0


async def test_a_port_that_asks_for_a_certificate_lives_and_its_readiness_is_not_known(
    serve, certificates, capsys
):
    address = serve(tls=tls_of(certificates.issue("admin"), certificates))
    alive = await tsproxy(capsys, "health", "--admin", address)
    assert (alive.status, alive.err) == (0, "")
    assert "gives pages only to readers with a certificate" in alive.out
    assert (await tsproxy(capsys, "health", "--admin", address, "--ready")).status == 1


async def test_nobody_there_or_nobody_who_answers_is_not_health(capsys):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        waited = await tsproxy(capsys, "health", "--admin", address, "--timeout", "50ms")
        assert (waited.status, waited.out) == (1, "")
        assert "within 0.05 s" in waited.err
    gone = await tsproxy(capsys, "health", "--admin", address)
    assert (gone.status, gone.out) == (1, "")
    assert "no answer from" in gone.err


async def test_a_port_that_closes_every_connection_is_not_healthy(capsys):
    async def close(_, writer):
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    address = "{}:{}".format(*server.sockets[0].getsockname())
    assert (await tsproxy(capsys, "health", "--admin", address)).status == 1
    server.close()


async def test_a_running_proxy_with_tls_and_a_token_is_healthy(kafka_440, certificates, capsys):
    identity = certificates.issue("admin")
    settings = {"admin.tls.certificate": identity.certificate, "admin.tls.key": identity.key}
    async with RunningProxy(
        kafka_440.bootstrap_servers,
        arguments=TWO,
        settings=settings | {"admin.token": "${ADMIN}"},
        environment={"ADMIN": "planted"},
    ) as proxy:
        for more in ((), ("--ready",)):
            assert (await tsproxy(capsys, "health", "--admin", proxy.admin_address, *more)).status == 0
    assert (await tsproxy(capsys, "health", "--admin", proxy.admin_address)).status == 1
