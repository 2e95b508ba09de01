"""The PROXY protocol, version 2: the client address that a load balancer sends at the start of a connection.

Source: haproxy's `proxy-protocol.txt`, section 2.2. The header begins with sixteen bytes: a signature of
twelve bytes, then version and command, family and transport, and the length of the rest. With the command
PROXY over TCP, the rest has both addresses and ports, and TLVs, which the proxy does not need. The command
LOCAL means a connection of the load balancer itself (a health check).

Any peer could send such a header. Before the caller reads a header, it decides whether it trusts the peer.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from tsproxy.wire.primitives import DecodeError

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_VERSION_1: Final = b"PROXY "
HEAD_BYTES: Final = 16
MAX_BYTES: Final = 4096
"""The longest header. Addresses take 36 bytes. A TLV with the names of a certificate takes some hundred."""

_VERSION: Final = 2
_LOCAL: Final = 0
_PROXY: Final = 1
_TCP4: Final = 0x11
_TCP6: Final = 0x21


@dataclass(frozen=True, slots=True)
class Head:
    """The contents of the first sixteen bytes: how many bytes follow, and how to read them."""

    command: int
    family: int
    length: int


def read_head(data: bytes) -> Head:
    """The head in these sixteen bytes. Raises DecodeError if they begin no header of version 2."""
    if data.startswith(_VERSION_1):
        raise DecodeError(
            "no PROXY protocol header of version 2, but one of version 1: let the load balancer send "
            "version 2 (haproxy: send-proxy-v2)"
        )
    if not data.startswith(SIGNATURE):
        raise DecodeError("no PROXY protocol header (version 2)")
    version, command = data[12] >> 4, data[12] & 15
    if version != _VERSION or command not in (_LOCAL, _PROXY):
        raise DecodeError(f"a PROXY protocol header with version {version}, command {command}")
    length = int.from_bytes(data[14:16], "big")
    if length > MAX_BYTES:
        raise DecodeError(f"a PROXY protocol header of {length} bytes, at most {MAX_BYTES} are allowed")
    return Head(command, data[13], length)


def read_source(head: Head, data: bytes) -> tuple[str, int] | None:
    """The client's address and port, or None if the header names none (LOCAL, or no TCP).

    Raises DecodeError if the addresses are truncated.
    """
    if head.command == _LOCAL or head.family not in (_TCP4, _TCP6):
        return None
    size = 4 if head.family == _TCP4 else 16
    if len(data) < 2 * size + 4:
        raise DecodeError("a PROXY protocol header with its addresses cut short")
    address = IPv4Address(data[:4]) if head.family == _TCP4 else IPv6Address(data[:16])
    return str(address), int.from_bytes(data[2 * size : 2 * size + 2], "big")
