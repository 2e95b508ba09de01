"""Findings about the addresses at which clients reach the proxy: can they be bound."""

from collections.abc import Iterator, Mapping
from typing import Final

from tsproxy.config.settings import BrokerHosts, BrokerPorts, Config, Listener
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.model.addresses import Address
from tsproxy.model.words import many
from tsproxy.proxy.ports import ListenError, bind

PORTS: Final = Check("ports")


def examine(config: Config, brokers: Mapping[int, Address]) -> list[Finding]:
    """The findings. `brokers` is empty if the cluster did not answer."""
    findings = [finding for listener in config.listeners for finding in _node_ids(listener, brokers)]
    findings += _bound(config, brokers)
    return findings


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


def _bound(config: Config, brokers: Mapping[int, Address]) -> Iterator[Finding]:
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
    if refused:
        yield PORTS.problem(
            few([*refused.values()]),
            "unless it is this proxy that listens there: listeners[].bind, listeners[].brokers.ports_from or "
            "admin.bind must name other ports",
        )
    if free := [str(address) for address in wanted if address not in refused]:
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
        yield config.admin.bind


def told_hosts(listener: Listener, brokers: Mapping[int, Address]) -> list[str]:
    """The host names under which clients are told to connect: the listener's, and those of its brokers."""
    hosts = [listener.advertised_host]
    if isinstance(listener.brokers, BrokerHosts):
        hosts += [listener.brokers.host_of(node_id) for node_id in sorted(brokers)]
    return hosts
