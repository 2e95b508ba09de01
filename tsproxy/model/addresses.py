"""Addresses with ports (`Address`), and IP addresses of clients as they are compared and counted.

A client counts as one client, in whatever form its address is written.

Sources: RFC 4291 (2.5.1: a host chooses the last 64 bits itself; 2.5.5.2: IPv4-mapped addresses), RFC 6177
(a site gets at least a /64), RFC 6052 (2.1: the well-known prefix of IPv4 behind a translator).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Network = IPv4Network | IPv6Network

_NETWORK_BITS: Final = 64
"""The bits of an IPv6 address that distinguish networks. A host has all addresses that begin with the same
bits."""
_ZEROS: Final = re.compile(r"(0+|0[xX]0+)(\.(0+|0[xX]0+)){0,3}")
"""The forms of 0.0.0.0 that `inet_aton` reads, too."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port to connect to or to listen on. Clients get a `view.Endpoint` instead."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def ip_or_none(text: str) -> IPv4Address | IPv6Address | None:
    """The IP address; None for a text that is no address, such as a host name."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_any(host: str) -> bool:
    """True for the address of no machine, `0.0.0.0` or `::`, in each form that systems read (`0`, `::0`)."""
    address = canonical(host)
    return bool(_ZEROS.fullmatch(host)) if address is None else address.is_unspecified


def canonical(text: str) -> IPv4Address | IPv6Address | None:
    """The address without its zone, and an IPv4-mapped address as IPv4; None for a text that is no
    address."""
    address = ip_or_none(text.partition("%")[0])
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def counted_as(text: str) -> str:
    """The name under which clients of this address are counted. All addresses that a host may choose itself
    have the same name.

    The name of an IPv4 address is the address itself. The name of an IPv6 address is its /64. A text that is
    no address is its own name.
    """
    if ":" not in text:
        return text
    address = canonical(text)
    if address is None:
        return text
    if isinstance(address, IPv4Address) or address.is_loopback or address in _TRANSLATED:
        return str(address)
    return str(IPv6Network((address, _NETWORK_BITS), strict=False))


def is_in(text: str, networks: Iterable[Network]) -> bool:
    """True if the address is in one of the networks; False for a text that is no address."""
    return any_contains(networks, canonical(text))


def any_contains(networks: Iterable[Network], address: IPv4Address | IPv6Address | None) -> bool:
    """True if the `canonical` address is in one of the networks."""
    if address is not None:
        for network in networks:  # a generator would cost more than the look
            if address in network:
                return True
    return False
