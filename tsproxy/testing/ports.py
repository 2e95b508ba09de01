"""Free TCP ports on the loopback address."""

import random
import socket
from typing import Final

_FIRST: Final = 20_000
_LAST: Final = 32_000
"""Below the range from which systems number outgoing connections, so that a port stays ours
while its server is being restarted."""

_TRIES: Final = 200


def free_ports(count: int) -> range:
    """`count` neighbouring ports that nobody listens on at this moment.

    Somebody else may still take one before it is bound; who starts a server tries again then.
    Raises OSError where no run of that length was found.
    """
    for _ in range(_TRIES):
        first = random.randrange(_FIRST, _LAST - count)  # noqa: S311 - spreads processes apart, no secret
        ports = range(first, first + count)
        if all(_is_free(port) for port in ports):
            return ports
    raise OSError(f"no {count} neighbouring free ports between {_FIRST} and {_LAST}")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
