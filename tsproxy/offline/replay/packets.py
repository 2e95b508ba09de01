"""`segment_of`: the TCP segment in a packet.

Source: the LINKTYPE registry, RFC 791, RFC 8200, RFC 9293. The supported link layers are those of captures at
a broker or a producer. An error names any other by its number.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from tsproxy.offline.replay.capture import Packet

Endpoint = tuple[str, int]
"""An IP address and a port."""

_ETHERNET: Final = 1
_LINK_HEADS: Final = {_ETHERNET: 14, 0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0, 113: 16, 276: 20}
"""LINKTYPE -> bytes before the IP header: Ethernet, loopback, raw IP, Linux "any"."""
_VLAN_TAGS: Final = frozenset({b"\x81\x00", b"\x88\xa8", b"\x91\x00"})
_VLAN_BYTES: Final = 4
_TCP: Final = 6
_EXTENSIONS: Final = frozenset({0, 43, 60})  # hop by hop, routing, destination options
_SYN: Final = 0x02


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment. `payload` may be empty. `missing`: the number of bytes at its end that the capture does
    not hold."""

    at_ms: int
    source: Endpoint
    destination: Endpoint
    sequence: int
    is_syn: bool
    payload: bytes
    missing: int


class UnknownLinkError(ValueError):
    """A LINKTYPE that is not in the table."""


def segment_of(packet: Packet) -> Segment | None:
    """The segment, or None if the packet is not TCP or no whole IP packet. Raises UnknownLinkError."""
    if packet.link not in _LINK_HEADS:
        raise UnknownLinkError(f"has packets of link type {packet.link}, which is not read here")
    data, start = packet.data, _LINK_HEADS[packet.link]
    if packet.link == _ETHERNET:
        while data[start - 2 : start] in _VLAN_TAGS:
            start += _VLAN_BYTES
    if len(data) <= start:
        return None
    version = data[start] >> 4
    if version == 4:
        return _ipv4(packet.at_ms, data[start:])
    return _ipv6(packet.at_ms, data[start:]) if version == 6 else None


def _ipv4(at_ms: int, data: bytes) -> Segment | None:
    head = (data[0] & 0x0F) * 4
    if len(data) < max(head, 20) or data[9] != _TCP or int.from_bytes(data[6:8], "big") & 0x3FFF:
        return None  # the last case is a fragment, which is very rare for TCP
    # 0 if the network card cut the data into packets only after the capture saw it.
    whole = int.from_bytes(data[2:4], "big") or len(data)
    return _tcp(at_ms, (data[12:16], data[16:20]), data[head:whole], whole - head)


def _ipv6(at_ms: int, data: bytes) -> Segment | None:
    if len(data) < 40:
        return None
    whole = int.from_bytes(data[4:6], "big")
    whole = whole + 40 if whole else len(data)
    kind, pos = data[6], 40
    while kind in _EXTENSIONS and pos + 2 <= len(data):
        kind, pos = data[pos], pos + (data[pos + 1] + 1) * 8
    return _tcp(at_ms, (data[8:24], data[24:40]), data[pos:whole], whole - pos) if kind == _TCP else None


def _tcp(at_ms: int, addresses: tuple[bytes, bytes], data: bytes, whole: int) -> Segment | None:
    source, destination = map(str, map(ip_address, addresses))
    if len(data) < 20:
        return None
    head = (data[12] >> 4) * 4
    if head < 20 or len(data) < head:
        return None
    return Segment(
        at_ms=at_ms,
        source=(source, int.from_bytes(data[0:2], "big")),
        destination=(destination, int.from_bytes(data[2:4], "big")),
        sequence=int.from_bytes(data[4:8], "big"),
        is_syn=bool(data[13] & _SYN),
        payload=data[head:],
        missing=max(0, whole - len(data)),
    )
