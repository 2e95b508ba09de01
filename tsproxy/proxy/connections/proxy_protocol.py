"""The PROXY protocol, version 2: who a load balancer says is behind a connection.

Source: haproxy's `proxy-protocol.txt`, section 2.2. Sixteen bytes come first: a signature of twelve,
version and command, family and transport, the length of what follows. Then, for PROXY over TCP, both
addresses and ports, and TLVs, which nobody here needs. LOCAL is the load balancer's own connection
(a health check).

The header is the word of whoever connects: which addresses are believed is settled before it is read.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from tsproxy.wire.primitives import DecodeError

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
HEAD_BYTES: Final = 16
MOST_BYTES: Final = 4096
"""Addresses take 36 bytes, a TLV with the names of a certificate some hundred."""

_VERSION: Final = 2
_LOCAL: Final = 0
_PROXY: Final = 1
_TCP4: Final = 0x11
_TCP6: Final = 0x21


@dataclass(frozen=True, slots=True)
class Head:
    """The first sixteen bytes: how many follow, and how to read them."""

    command: int
    family: int
    length: int


def read_head(data: bytes) -> Head:
    """Raises DecodeError where these sixteen bytes begin no header of version 2."""
    if not data.startswith(SIGNATURE):
        raise DecodeError("no PROXY protocol header (version 2)")
    version, command = data[12] >> 4, data[12] & 15
    if version != _VERSION or command not in (_LOCAL, _PROXY):
        raise DecodeError(f"a PROXY protocol header with version {version}, command {command}")
    length = int.from_bytes(data[14:16], "big")
    if length > MOST_BYTES:
        raise DecodeError(f"a PROXY protocol header of {length} bytes, at most {MOST_BYTES} are taken")
    return Head(command, data[13], length)


def read_source(head: Head, data: bytes) -> tuple[str, int] | None:
    """The client's address and port, None where the header names none (LOCAL, or no TCP).

    Raises DecodeError where the addresses are cut short.
    """
    if head.command == _LOCAL or head.family not in (_TCP4, _TCP6):
        return None
    size = 4 if head.family == _TCP4 else 16
    if len(data) < 2 * size + 4:
        raise DecodeError("a PROXY protocol header with its addresses cut short")
    address = IPv4Address(data[:4]) if head.family == _TCP4 else IPv6Address(data[:16])
    return str(address), int.from_bytes(data[2 * size : 2 * size + 2], "big")
