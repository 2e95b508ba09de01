"""Checks whether the system grants enough open files for the configured connections.

A connection takes two descriptors, one for its client and one for its broker. A proxy that runs out of them
under load stops accepting for a second at a time. This check, at the start and at each reload, can log what
to change. If the configuration has no number of connections, the default is reduced to what the system
grants.
"""

import resource
from dataclasses import replace
from typing import Final

from tsproxy.config.settings import Config, ConnectionLimits
from tsproxy.log_events.catalogue import FILE_DESCRIPTORS_FEW

A_CONNECTION: Final = 2
FEW_CONNECTIONS: Final = 100
BESIDES: Final = 128
"""Descriptors for standard streams, the event loop, the decision log, the proxy's own connections, the admin
port."""


def needed(config: Config) -> int:
    """The descriptors that one process needs for all its allowed connections."""
    return A_CONNECTION * _configured(config).connections + _beside_connections(config)


def raise_limit(count: int) -> int | None:
    """Raise this process's soft limit towards `count`, as far as the hard limit allows. Returns the limit
    that is then in force; None if it is unknown."""
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= count or soft == resource.RLIM_INFINITY:
            return max(soft, count)
        granted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if granted > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
        return max(soft, granted)
    except (OSError, ValueError):  # a sandbox may forbid even this query
        return None


def fitting(config: Config, granted: int) -> int:
    """The number of connections for which `granted` descriptors of one process are enough; 0 or less if they
    are not enough for one."""
    return (granted - _beside_connections(config)) // A_CONNECTION


def share_of(config: Config) -> ConnectionLimits:
    """This process's share of the limits. If the operator configured no number of connections, the default is
    reduced to the number that the system's open files allow."""
    configured, granted = _configured(config), raise_limit(needed(config))
    if granted is None or not configured.follows_system:
        return configured
    return replace(configured, connections=min(configured.connections, max(1, fitting(config, granted))))


def lowers(config: Config) -> bool:
    """True if the system grants too few open files for the default number of connections."""
    return share_of(config).connections < _configured(config).connections


def check(config: Config) -> None:
    """Log one line if the configured connections need more open files than the system grants, or, without a
    configured number, if very few connections are possible."""
    count = needed(config)
    granted = raise_limit(count)
    if granted is None or granted >= count:
        return
    if _configured(config).follows_system and share_of(config).connections >= FEW_CONNECTIONS:
        return
    FILE_DESCRIPTORS_FEW(
        granted=granted,
        needed=count,
        connections=max(0, _configured(config).connections - (count - granted) // A_CONNECTION),
        advice="raise LimitNOFILE (systemd) or ulimit -n, or lower limits.connections",
    )


def _configured(config: Config) -> ConnectionLimits:
    return config.connection_limits.share(config.workers)


def _beside_connections(config: Config) -> int:
    return sum(1 + listener.brokers.count for listener in config.listeners) + BESIDES
