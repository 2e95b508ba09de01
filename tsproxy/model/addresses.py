"""Addresses: `Address`, where a port is; and a client's IP address as it is compared and counted.

One client counts as one, whatever form its address comes in.

Sources: RFC 4291 (2.5.1: a host chooses the last 64 bits itself; 2.5.5.2: IPv4-mapped addresses), RFC 6177
(a site gets at least a /64), RFC 6052 (2.1: the well-known prefix of IPv4 behind a translator).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Network = IPv4Network | IPv6Network

_OF_ONE_HOST: Final = 64
"""Bits of an IPv6 address that tell networks apart; a host has all addresses that begin with them."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port to connect to or to listen on; never one that a client is told."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def canonical(text: str) -> IPv4Address | IPv6Address | None:
    """The address without its zone, an IPv4-mapped one as IPv4; None for a text that is no address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def counted_as(text: str) -> str:
    """Under which name a client of this address is counted: whatever it may choose itself counts as one.

    An IPv4 address is its own name, an IPv6 address that of its /64. A text that is no address stays.
    """
    if ":" not in text:
        return text
    address = canonical(text)
    if address is None:
        return text
    if isinstance(address, IPv4Address) or address.is_loopback or address in _TRANSLATED:
        return str(address)
    return str(IPv6Network((address, _OF_ONE_HOST), strict=False))


def is_in(text: str, networks: Iterable[Network]) -> bool:
    """True where the address lies in one of the networks; False for a text that is no address."""
    address = canonical(text)
    return address is not None and any(address in network for network in networks)
