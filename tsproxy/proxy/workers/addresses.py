"""The ports of all workers. The supervisor chooses and checks them once.

Shared ports (SO_REUSEPORT) are shared with every process of the same user that also shares them. A second
proxy on this machine would take half of the connections, perhaps to another cluster, and nobody would notice.
So before any worker starts, each port that the workers may ever open is bound once without sharing. The
bootstrap ports stay bound here, without listening, so that they stay ours while a worker restarts.
"""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from tsproxy.config.settings import BrokerHosts, BrokerPorts, Config, Listener
from tsproxy.model.addresses import Address
from tsproxy.proxy.ports import ListenError, bind

_FIRST: Final = 20_000
_LAST: Final = 32_000
"""The end of the range for free ports, below the range of outgoing connections."""
_TRIES: Final = 200


@contextmanager
def reserved(config: Config) -> Iterator[Config]:
    """`config` with real ports in place of 0, reserved as long as the block lasts.

    Raises ListenError if one of them cannot be bound.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ListenError("this system cannot share a port among processes (SO_REUSEPORT): set workers to 1")
    with ExitStack() as held:
        listeners = []
        for listener in config.listeners:
            address = _exclusive(listener.bind)
            held.enter_context(bind(address, is_shared=True))
            brokers = _broker_ports(listener)
            listeners.append(replace(listener, bind=address, brokers=brokers))
        yield replace(config, listeners=tuple(listeners))


def _broker_ports(listener: Listener) -> BrokerPorts | BrokerHosts:
    host, brokers = listener.bind.host, listener.brokers
    if isinstance(brokers, BrokerHosts):
        return brokers
    if not brokers.ports_from:
        return replace(brokers, ports_from=_free_run(host, brokers.count))
    try:
        for port in range(brokers.ports_from, brokers.ports_from + brokers.count):
            _exclusive(Address(host, port))
    except ListenError as error:
        text = (
            f"{error}. Several workers need every port of {listener.place or 'listeners[0]'}.brokers "
            "to be free: choose another ports_from or a smaller count"
        )
        raise ListenError(text) from None
    return brokers


def _free_run(host: str, count: int) -> int:
    """The first of `count` consecutive ports that are free at this moment."""
    for _ in range(_TRIES if count < _LAST - _FIRST else 0):
        first = random.randrange(_FIRST, _LAST - count)  # noqa: S311  # keeps proxies apart, no secret
        try:
            for port in range(first, first + count):
                _exclusive(Address(host, port))
        except ListenError:
            continue
        return first
    raise ListenError(f"no {count} neighbouring free ports on {host}: set listeners[].brokers.ports_from")


def _exclusive(address: Address) -> Address:
    """The address with its real port, on which nothing else listens. Raises ListenError."""
    with bind(address) as probe:
        port: int = probe.getsockname()[1]
        return Address(address.host, port)
