"""Whether the system grants as many open files as the configured connections need.

A connection takes two descriptors, its client's and its broker's. A proxy that finds out under load
stops accepting for a second at a time; one that asks at its start can say what to change, or, where nobody
asked for so many connections, take no more than there is room for.
"""

import resource
from dataclasses import replace
from typing import Final

import structlog

from tsproxy.config.settings import Config, ConnectionLimits

log = structlog.get_logger()

A_CONNECTION: Final = 2
FEW_CONNECTIONS: Final = 100
BESIDES: Final = 128
"""Standard streams, the event loop, the decision log, the proxy's own connections, the admin port."""


def needed(config: Config) -> int:
    """Descriptors of one process that serves all the connections it may."""
    return A_CONNECTION * _asked(config).connections + _beside_connections(config)


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


def share_of(config: Config) -> ConnectionLimits:
    """What this process may take: its share, or less where nobody asked for as many connections as would
    need more open files than the system grants."""
    asked, granted = _asked(config), ask_for(needed(config))
    if granted is None or not asked.follows_system:
        return asked
    fitting = max(1, (granted - _beside_connections(config)) // A_CONNECTION)
    return replace(asked, connections=min(asked.connections, fitting))


def check(config: Config) -> None:
    """One line in the log where connections that were asked for need more than is granted, or, where nobody
    asked for any, where there is room for very few."""
    count = needed(config)
    granted = ask_for(count)
    if granted is None or granted >= count:
        return
    if _asked(config).follows_system and share_of(config).connections >= FEW_CONNECTIONS:
        return
    log.warning(
        "file_descriptors_few",
        granted=granted,
        needed=count,
        connections=max(0, _asked(config).connections - (count - granted) // A_CONNECTION),
        advice="raise LimitNOFILE (systemd) or ulimit -n, or lower limits.connections",
    )


def _asked(config: Config) -> ConnectionLimits:
    return config.connection_limits.share(config.workers)


def _beside_connections(config: Config) -> int:
    return sum(1 + listener.brokers.count for listener in config.listeners) + BESIDES
