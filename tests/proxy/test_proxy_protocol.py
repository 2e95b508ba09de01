"""The PROXY protocol's header, version 2."""

import socket

import pytest

from tsproxy.proxy.connections.proxy_protocol import HEAD_BYTES, SIGNATURE, read_head, read_source
from tsproxy.wire.primitives import DecodeError


def header(command, family, body):
    return SIGNATURE + bytes([0x20 | command, family]) + len(body).to_bytes(2, "big") + body


def tcp4(source="192.0.2.7", port=40_000, *, tlvs=b""):
    """The header that a load balancer sends for a client over IPv4."""
    addresses = socket.inet_aton(source) + socket.inet_aton("198.51.100.1")
    return header(1, 0x11, addresses + port.to_bytes(2, "big") + (9092).to_bytes(2, "big") + tlvs)


def tcp6(source="2001:db8::7", port=40_000):
    addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, "::1")
    return header(1, 0x21, addresses + port.to_bytes(2, "big") + (9092).to_bytes(2, "big"))


def read(data):
    head = read_head(data[:HEAD_BYTES])
    assert len(data) == HEAD_BYTES + head.length
    return read_source(head, data[HEAD_BYTES:])


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (tcp4(), ("192.0.2.7", 40_000)),
        (tcp6(), ("2001:db8::7", 40_000)),
        (tcp4(tlvs=b"\x03\x00\x04\x01\x02\x03\x04"), ("192.0.2.7", 40_000)),
        (header(0, 0x00, b""), None),  # LOCAL: the load balancer's own health check
        (header(0, 0x11, b"x" * 12), None),
        (header(1, 0x00, b""), None),  # UNSPEC
        (header(1, 0x31, b"x" * 216), None),  # unix sockets have no address
        (header(1, 0x12, b"x" * 12), None),  # UDP
    ],
)
def test_the_client_is_who_the_header_names(data, source):
    assert read(data) == source


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2\r\n", "of version 2, but one of version 1"),
        (b"\x00\x00\x00\x20\x00\x12\x00\x03" + bytes(8), "no PROXY protocol header"),
        (b"\x16\x03\x01\x02\x00" + bytes(11), "no PROXY protocol header"),
        (SIGNATURE + b"\x11\x11\x00\x0c", "version 1, command 1"),
        (SIGNATURE + b"\x22\x11\x00\x0c", "version 2, command 2"),
        (SIGNATURE + b"\x21\x11\xff\xff", "65535 bytes, at most 4096"),
        (header(1, 0x11, b"x" * 11), "cut short"),
        (header(1, 0x21, b"x" * 35), "cut short"),
    ],
)
def test_what_is_no_header_is_an_error_of_the_peers(data, text):
    with pytest.raises(DecodeError, match=text):
        read(data)
