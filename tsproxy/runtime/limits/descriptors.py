"""Whether the system grants as many open files as the configured connections need.

A connection takes two descriptors, its client's and its broker's. A proxy that finds out under load
stops accepting for a second at a time; one that asks at its start can say what to change.
"""

import resource
from typing import Final

import structlog

from tsproxy.config.settings import Config

log = structlog.get_logger()

A_CONNECTION: Final = 2
BESIDES: Final = 64
"""Standard streams, the event loop, the decision log, the proxy's own connections, the admin port."""


def needed(config: Config) -> int:
    """Descriptors of one process that serves all the connections it may."""
    ports = sum(1 + listener.brokers.count for listener in config.listeners)
    return A_CONNECTION * _connections(config) + ports + BESIDES


def ask_for(count: int) -> int | None:
    """Raise this process's soft limit towards `count`, as far as the hard one allows. Returns the limit
    that is in force then; None where the system does not tell."""
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= count or soft == resource.RLIM_INFINITY:
            return max(soft, count)
        granted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if granted > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
        return max(soft, granted)
    except (OSError, ValueError):  # a sandbox may forbid even to ask
        return None


def check(config: Config) -> None:
    """Raise the limit where that is allowed; one line in the log where it stays too low."""
    count = needed(config)
    granted = ask_for(count)
    if granted is not None and granted < count:
        log.warning(
            "file_descriptors_few",
            granted=granted,
            needed=count,
            connections=max(0, _connections(config) - (count - granted) // A_CONNECTION),
            advice="raise LimitNOFILE (systemd) or ulimit -n, or lower limits.connections",
        )


def _connections(config: Config) -> int:
    return config.connection_limits.share(config.workers).connections
