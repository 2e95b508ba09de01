"""Findings about the addresses at which clients reach the proxy: can they be bound, do names resolve."""

import asyncio
import http.client
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final

from tsproxy.config.settings import BrokerHosts, BrokerPorts, Config, Listener
from tsproxy.config.values import ports_text
from tsproxy.doctor.cluster import look_up, unchecked_tls
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.model.addresses import Address, ip_or_none
from tsproxy.model.words import many
from tsproxy.proxy.ports import ListenError, bind, each_address

PORTS: Final = Check("ports")
ADVERTISED: Final = Check("advertised")
_ALIVE: Final = (b"alive\n", b"OK\n")
"""The answers of /livez. If `admin.token` is set, a client without the token gets only the second one."""
_ANSWER_S: Final = 2.0
_REFUSED_SHOWN: Final = 10


async def examine(config: Config, brokers: Mapping[int, Address]) -> list[Finding]:
    """The findings. `brokers` is empty if the cluster did not answer."""
    runs_at = await asyncio.to_thread(running_proxy, config)
    found = [each for listener in config.listeners for each in _node_ids(listener, brokers)]
    found += _bound(config, brokers, runs_at)
    for listener in config.listeners:
        found += await _advertised(listener, brokers)
    return found


def running_proxy(config: Config) -> Address | None:
    """The admin port of this configuration, if a tsproxy answers there."""
    if (admin := config.admin.bind) is None or not admin.port:
        return None
    connection = (
        http.client.HTTPConnection(admin.host, admin.port, timeout=_ANSWER_S)
        if config.admin.tls is None
        # No certificate is checked: nothing is sent that others may not read.
        else http.client.HTTPSConnection(admin.host, admin.port, timeout=_ANSWER_S, context=unchecked_tls())
    )
    try:
        connection.request("GET", "/livez")
        answer = connection.getresponse()
        alive = answer.status == HTTPStatus.OK and answer.read() in _ALIVE
    except (OSError, http.client.HTTPException):
        alive = False
    finally:
        connection.close()
    return admin if alive else None


def _node_ids(listener: Listener, brokers: Mapping[int, Address]) -> Iterator[Finding]:
    """Whether every broker has a port, if the listener has a port for each broker."""
    ports = listener.brokers
    if not isinstance(ports, BrokerPorts) or not brokers:
        return
    outside = [node_id for node_id in sorted(brokers) if ports.port_of(node_id) is None]
    if not outside:
        yield PORTS.ok(
            f"listener {listener.name}: {many(len(brokers), 'broker')}, each with a port of its own"
        )
        return
    first_id, count = min(brokers), max(brokers) - min(brokers) + 1
    yield PORTS.problem(
        f"listener {listener.name}: node {few([*map(str, outside)])} has no port: its id is outside first_id "
        f"{ports.first_id} and count {ports.count}, so clients cannot reach its partitions",
        f"set listeners[].brokers.first_id: {first_id} and count: {max(count, ports.count)}",
    )


def _bound(config: Config, brokers: Mapping[int, Address], runs_at: Address | None) -> Iterator[Finding]:
    wanted = [*_wanted(config, brokers)]
    if not wanted:
        yield PORTS.skipped("no fixed port is configured (--listen, --config), so none is tried")
        return
    refused: dict[Address, str] = {}
    for address in wanted:
        try:
            bind(address).close()
        except ListenError as error:
            refused[address] = str(error)
    if refused and runs_at is not None:
        yield PORTS.skipped(
            f"{len(refused):,} of {many(len(wanted), 'port')} cannot be bound, and a tsproxy answers at "
            f"{runs_at}: it probably has them"
        )
        return
    for text in [*refused.values()][:_REFUSED_SHOWN]:
        yield PORTS.problem(text, "the keys are listeners[].bind, listeners[].brokers.ports_from, admin.bind")
    if free := [str(each) for each in wanted if each not in refused]:
        yield PORTS.ok(f"{many(len(free), 'port')} can be bound: {few(free)}")


def _wanted(config: Config, brokers: Mapping[int, Address]) -> Iterator[Address]:
    """The ports that a start needs: with several workers every port that a broker may get, else the ports of
    the brokers that exist."""
    for listener in config.listeners:
        if listener.bind.port:
            yield listener.bind
        ports = listener.brokers
        if not isinstance(ports, BrokerPorts) or not ports.ports_from:
            continue
        ids = range(ports.first_id, ports.first_id + ports.count) if config.workers > 1 else sorted(brokers)
        for node_id in ids:
            if (port := ports.port_of(node_id)) is not None:
                yield Address(listener.bind.host, port)
    if config.admin.bind is not None and config.admin.bind.port:
        yield from _admin_addresses(config.admin.bind)


def _admin_addresses(bind: Address) -> list[Address]:
    """The addresses of the admin port: it listens at every address of a host name."""
    try:
        return each_address(bind)
    except ListenError:  # trying to bind fails with the same error
        return [bind]


async def _advertised(listener: Listener, brokers: Mapping[int, Address]) -> list[Finding]:
    """Whether the advertised names resolve, at least on this machine."""
    if not listener.bind.port:
        return []
    hosts = told_hosts(listener, brokers)
    names = [host for host in hosts if ip_or_none(host) is None]
    looked_up = await asyncio.gather(*(look_up(Address(host, listener.bind.port)) for host in names))
    unknown = [host for host, found in zip(names, looked_up, strict=True) if isinstance(found, str)]
    if unknown:
        text = f"listener {listener.name}: {few(unknown)} does not resolve on this machine"
        advice = "clients must be able to resolve it: add it to their name service, to the proxy's address"
        return [ADVERTISED.warning(text, advice)]
    return [ADVERTISED.ok(f"listener {listener.name}: {_told(listener, hosts)}")]


def told_hosts(listener: Listener, brokers: Mapping[int, Address]) -> list[str]:
    """The host names under which clients are told to connect: the listener's, and those of its brokers."""
    hosts = [listener.advertised_host]
    if isinstance(listener.brokers, BrokerHosts):
        hosts += [listener.brokers.host_of(node_id) for node_id in sorted(brokers)]
    return hosts


def _told(listener: Listener, hosts: Sequence[str]) -> str:
    if isinstance(listener.brokers, BrokerHosts):
        return f"clients are told {few(hosts)}, all at port {listener.bind.port} (SNI)"
    ports = listener.brokers
    if isinstance(ports, BrokerPorts) and ports.ports_from:
        reserved = range(ports.ports_from, ports.ports_from + ports.count)
        return f"clients are told {hosts[0]}, with a port for each broker from {ports_text(reserved)}"
    return f"clients are told {hosts[0]}"
