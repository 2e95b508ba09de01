"""The admin port answers what it knows, and survives what it does not."""

import asyncio
import socket
from http import HTTPStatus

import pytest

from tests.proxy.world import until
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin import http as admin_http
from tsproxy.proxy.admin.http import AdminHttp, Answer
from tsproxy.proxy.ports import ListenError


@pytest.fixture
async def address():
    pages = {
        "/livez": lambda: Answer(HTTPStatus.OK, b"alive\n"),
        "/readyz": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"not yet\n"),
        "/readyz?verbose": lambda: Answer(HTTPStatus.OK, b"more\n"),
        "/large": lambda: Answer(HTTPStatus.OK, b"x" * 5_000_000),
    }
    server = AdminHttp(pages)
    yield server.start(Address("127.0.0.1", 0))
    server.stop()


async def say(address, data):
    """The answer to these bytes, until the other end closes; b"" if it closes at once."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        writer.write(data)
        async with asyncio.timeout(120):
            return await reader.read(-1)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def status(answer):
    return int(answer.split(b" ", 2)[1])


async def test_a_page_is_answered_with_its_length_and_closed(address):
    answer = await say(address, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 6\r\n" in head
    assert b"Connection: close" in head
    assert body == b"alive\n"


async def test_a_page_says_its_own_status(address):
    assert status(await say(address, b"GET /readyz HTTP/1.1\r\n\r\n")) == 503


async def test_a_page_with_a_query_of_its_own_is_another_page_and_other_queries_are_passed_over(address):
    assert (await say(address, b"GET /readyz?verbose HTTP/1.1\r\n\r\n")).endswith(b"more\n")
    assert (await say(address, b"GET /readyz?x HTTP/1.1\r\n\r\n")).endswith(b"not yet\n")


async def test_head_gives_the_head_alone(address):
    answer = await say(address, b"HEAD /livez HTTP/1.1\r\n\r\n")

    assert b"Content-Length: 6\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_a_large_page_arrives_whole(address):
    answer = await say(address, b"GET /large HTTP/1.1\r\n\r\n")

    assert len(answer.partition(b"\r\n\r\n")[2]) == 5_000_000


async def test_a_query_does_not_matter(address):
    assert status(await say(address, b"GET /livez?verbose=1 HTTP/1.1\r\n\r\n")) == 200


HOSTILE = {
    "another path": (b"GET /etc/passwd HTTP/1.1\r\n\r\n", 404),
    "a path that climbs": (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", 404),
    "a path of odd bytes": (b"GET /\xff\x00\xfe HTTP/1.1\r\n\r\n", 404),
    "another method": (b"POST /livez HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
    "a method that does not exist": (b"\x00\x01\x02 /livez HTTP/1.1\r\n\r\n", 405),
    "another protocol": (b"GET /livez SPDY/3\r\n\r\n", 400),
    "no protocol": (b"GET /livez\r\n\r\n", 400),
    "an absolute URL": (b"GET http://example.com/ HTTP/1.1\r\n\r\n", 400),
    "nothing but an end": (b"\r\n\r\n", 400),
    "a head that is too long": (b"GET /livez HTTP/1.1\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", 431),
    "a head without end": (b"A" * 1_000_000, 431),
}


@pytest.mark.parametrize(("data", "expected"), HOSTILE.values(), ids=HOSTILE)
async def test_hostile_requests_get_an_error_and_the_next_one_its_page(address, data, expected):
    assert status(await say(address, data)) == expected
    assert status(await say(address, b"GET /livez HTTP/1.1\r\n\r\n")) == 200


async def test_a_rejected_method_is_told_what_is_allowed(address):
    assert b"Allow: GET, HEAD\r\n" in await say(address, b"DELETE /livez HTTP/1.1\r\n\r\n")


async def test_a_request_that_never_ends_is_closed_without_an_answer(address, monkeypatch):
    monkeypatch.setattr(admin_http, "PATIENCE_S", 0.05)

    assert await say(address, b"GET /livez HTTP/1.1\r\n") == b""


async def test_a_client_that_takes_no_answer_is_closed(address, monkeypatch):
    monkeypatch.setattr(admin_http, "PATIENCE_S", 0.05)
    with socket.create_connection((address.host, address.port)) as stuck:
        stuck.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(stuck, b"GET /large HTTP/1.1\r\n\r\n")

        assert status(await say(address, b"GET /livez HTTP/1.1\r\n\r\n")) == 200
        await until(lambda: _is_closed(stuck))


def _is_closed(end):
    try:
        while end.recv(1 << 20):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


async def test_no_more_connections_are_served_than_there_are_places(address, monkeypatch):
    monkeypatch.setattr(admin_http, "MAX_CONNECTIONS", 2)
    waiting = [await asyncio.open_connection(address.host, address.port) for _ in range(2)]

    assert await say(address, b"GET /livez HTTP/1.1\r\n\r\n") == b""
    for _, writer in waiting:
        writer.close()
    await until(lambda: say(address, b"GET /livez HTTP/1.1\r\n\r\n"))


async def test_a_port_in_use_is_told_with_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        with pytest.raises(ListenError, match="another program listens there"):
            AdminHttp({}).start(Address("127.0.0.1", taken.getsockname()[1]))
