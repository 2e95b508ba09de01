"""Free TCP ports on the loopback address."""

import random
import socket
from typing import Final

_FIRST: Final = 20_000
_LAST: Final = 32_000
"""Ports below the range for outgoing connections. So a port stays free while its server restarts."""

_TRIES: Final = 200


def free_ports(count: int) -> range:
    """`count` neighbouring ports that are free at this moment.

    Another program may still take one before the caller binds it; the caller then tries again. Raises OSError
    if no such range was found.
    """
    for _ in range(_TRIES):
        first = random.randrange(_FIRST, _LAST - count)  # noqa: S311 - keeps processes apart, no secret
        ports = range(first, first + count)
        if all(is_free(port) for port in ports):
            return ports
    raise OSError(f"no {count} neighbouring free ports between {_FIRST} and {_LAST}")


def is_free(port: int) -> bool:
    """True if no program uses the port at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
