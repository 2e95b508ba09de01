"""The admin port answers what it knows, and survives what it does not."""

import asyncio
import contextlib
import socket
from collections import Counter
from http import HTTPStatus
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.client import connect
from tests.proxy.world import PATIENCE_S, until
from tests.wire.strategies import a_few
from tsproxy.config.settings import AdminSettings, Secret
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin import http as admin_http
from tsproxy.proxy.admin.http import AdminHttp, Answer, Document
from tsproxy.proxy.admin.places import MAX_OF_AN_ADDRESS

MADE = []


async def content():
    MADE.append("document")
    return b"long\n"


PAGES = {
    "/document": Document("text/x", content, ("X-Of: the page",)),
    "/livez": lambda: Answer(HTTPStatus.OK, b"alive\n"),
    "/readyz": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"not yet\n"),
    "/readyz?verbose": lambda: Answer(HTTPStatus.OK, b"more\n"),
    "/large": lambda: Answer(HTTPStatus.OK, b"x" * 5_000_000),
}


@pytest.fixture
async def address(serve):
    return serve(PAGES)


async def say(address, data, tls=None):
    """The answer to these bytes, until the other end closes; b"" if it closes at once."""
    async with await connect(address, ssl=tls) as client, asyncio.timeout(PATIENCE_S):
        client.send(data)
        return await client.rest()


async def ask(address, path, *headers, tls=None):
    """Status, head and body of a page. The status is 0 if there is no answer."""
    sent = "\r\n".join((f"GET {path} HTTP/1.1", *headers, "", "")).encode("latin-1")
    head, _, body = (await say(address, sent, tls)).partition(b"\r\n\r\n")
    return int(head[9:12] or 0), head.decode("latin-1"), body.decode()


def status(answer):
    return int(answer.split(b" ", 2)[1])


async def test_a_page_is_answered_with_its_length_and_closed(address):
    answer = await say(address, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 6\r\n" in head
    assert b"Connection: close" in head
    assert body == b"alive\n"


@pytest.mark.parametrize(
    ("target", "code", "end"),
    [
        (b"/livez?verbose=1", 200, b"alive\n"),
        (b"/readyz", 503, b"not yet\n"),
        (b"/readyz?x", 503, b"not yet\n"),
        (b"/readyz?verbose", 200, b"more\n"),
        (b"/large", 200, b"x" * 5_000_000),
    ],
)
async def test_a_page_has_its_status_and_perhaps_one_query_of_its_own(address, target, code, end):
    """Any other query is passed over."""
    answer = await say(address, b"GET " + target + b" HTTP/1.1\r\n\r\n")

    assert (status(answer), answer.partition(b"\r\n\r\n")[2]) == (code, end)


async def test_head_gives_the_head_alone(address):
    answer = await say(address, b"HEAD /livez HTTP/1.1\r\n\r\n")

    assert b"Content-Length: 6\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_head_of_a_page_that_is_always_there_does_not_make_it(address):
    """A HEAD request of 40 bytes cost 4 ms with 300 rules."""
    head = await say(address, b"HEAD /document HTTP/1.1\r\n\r\n")
    assert MADE == []
    whole = await say(address, b"GET /document HTTP/1.1\r\n\r\n")

    assert MADE.pop() == "document"
    assert head == whole.removesuffix(b"long\n").replace(b"Content-Length: 5\r\n", b"")
    assert b"Content-Type: text/x\r\n" in head
    assert b"X-Of: the page\r\n" in head


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


HEADERS = ("Authorization", "Host", "Accept-Language", "User-Agent", "X", "")
VALUES = (
    "",
    "Basic ",
    "Bearer ",
    "basic Og==",
    "Basic =",
    "[",
    "[::1]",
    "[::1%",
    "a:b:c",
    "::",
    "Mozilla/5.0",
    "\xb2",
)
odd_text = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=20)
header_lines = st.builds(
    "{}{}{}{}".format,
    st.one_of(st.sampled_from(HEADERS), odd_text),
    st.sampled_from([":", ": ", ""]),
    st.sampled_from(VALUES),
    odd_text,
)
request_lines = st.builds(
    "{} {}{} HTTP/1.1".format,
    st.sampled_from(["GET", "HEAD", "POST"]),
    st.sampled_from(["/livez", "/readyz", "/readyz?verbose", "/none", "/?", "*", ""]),
    odd_text,
)


@a_few
@given(lines=st.tuples(st.one_of(request_lines, odd_text), st.lists(header_lines, max_size=5)))
def test_whatever_the_head_says_there_is_an_answer(lines):
    """An error here closed the connection without an answer, and logged a line for each request."""
    settings = AdminSettings(token=Secret("the token"), hosts=("proxy.example",))
    server = AdminHttp(PAGES)
    head = "\r\n".join([lines[0], *lines[1], "", ""]).encode("latin-1")
    _, answer = asyncio.run(server.answer(head, settings))
    assert answer.status in HTTPStatus


async def test_a_rejected_method_is_told_what_is_allowed(address):
    assert b"Allow: GET, HEAD\r\n" in await say(address, b"DELETE /livez HTTP/1.1\r\n\r\n")


async def test_a_request_that_never_ends_is_closed_without_an_answer(address, monkeypatch):
    monkeypatch.setattr(admin_http, "HEAD_S", 0.05)

    assert await say(address, b"GET /livez HTTP/1.1\r\n") == b""


async def test_the_addresses_of_one_network_of_ipv6_have_one_share(monkeypatch):
    """A host has all addresses of its /64, so it would have as many shares as it likes."""
    monkeypatch.setattr(admin_http, "HEAD_S", 60)
    server = AdminHttp(PAGES)
    kept = [socket.socketpair() for _ in range(3 * MAX_OF_AN_ADDRESS)]
    for number, (connection, _) in enumerate(kept):
        connection.setblocking(False)
        network = "a" if number < 2 * MAX_OF_AN_ADDRESS else "b"
        server._accepted(connection, f"2001:db8:0:{network}::{number}", 1)
    shares = Counter(place.address for place in server._places._taken)
    assert list(shares.values()) == [MAX_OF_AN_ADDRESS] * 2
    for _, client in kept:
        client.close()
    await until(lambda: not len(server._places))


async def test_connections_that_keep_their_answer_open_do_not_keep_a_probe_out(address):
    """Also those that do not even read it."""
    idle = []
    for path in (b"/livez", b"/large") * 40:
        _, writer = await asyncio.open_connection(address.host, address.port, limit=1)
        writer.write(b"GET " + path + b" HTTP/1.1\r\n\r\n")
        idle.append(writer)
    for _ in range(20):
        assert status(await say(address, b"GET /livez HTTP/1.1\r\n\r\n")) == 200
    for writer in idle:
        writer.close()
    await until(lambda: say(address, b"GET /livez HTTP/1.1\r\n\r\n"))


async def test_a_client_that_never_reads_leaves_nothing_behind(monkeypatch):
    """Its connection ends although the answer never went out. It used to stay until the client closed."""
    monkeypatch.setattr(admin_http, "REQUEST_TIMEOUT_S", 0.05)
    server = AdminHttp(PAGES)
    address = server.start(Address("127.0.0.1", 0))
    before = open_sockets()
    with socket.create_connection((address.host, address.port)) as stuck:
        stuck.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        await until(lambda: open_sockets() == before + 2)
        assert status(await say(address, b"GET /livez HTTP/1.1\r\n\r\n")) == 200
        await until(lambda: open_sockets() == before + 1)
    server.stop()


def open_sockets():
    names = []
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            names.append(str(each.readlink()))
    return sum(name.startswith("socket:") for name in names)
