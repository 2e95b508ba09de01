"""One real Apache Kafka broker with a listener for each proxy that does not rewrite addresses.

Clients of a TCP proxy would bypass it after their first request, because the broker gives them its own
address. So each such proxy has a listener of its own here, and the broker advertises the proxy's port for it.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench, Running, load_cpu
from benchmarks.processes import Program, ProgramError
from benchmarks.proxies import Proxy
from benchmarks.tools import MissingError
from tsproxy.testing.admin import connect
from tsproxy.testing.formatting import prepare_classes
from tsproxy.testing.jars import JarsError, fetch_kafka_jars
from tsproxy.testing.java import JavaError, java_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION
from tsproxy.testing.ports import free_ports
from tsproxy.testing.server_properties import (
    CLIENTS,
    CONTROLLER,
    HOST,
    INTERNAL,
    ClientSecurity,
    NodePorts,
    server_properties,
)

_NODE: Final = 1
_CLUSTER_ID: Final = "dHNwcm94eS1iZW5jaC0xNg"
"""Always the same, so that the page shows the same command after each run."""

_HEAP: Final = "256m"
_NOT_KEPT: Final = {"segment.bytes": "67108864", "retention.bytes": "67108864", "file.delete.delay.ms": "0"}
_STARTED: Final = "Kafka Server started"
_START_S: Final = 240
_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Behind:
    """The ports of one TCP proxy: the one that clients use, and the broker's listener behind it."""

    proxy: int
    listener: int


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that serves. `port` is its own address for clients, without a proxy."""

    jars: Path
    port: int
    internal_port: int
    behind: Mapping[str, Behind]
    """Ports by the names of the TCP proxies."""

    def create_topic(self, name: str, partitions: int, *, is_kept: bool = True) -> None:
        """Creates a topic. Returns when its partitions have leaders. Old records of a topic that is not kept
        are soon deleted, so that the disk need not have room for all that is sent."""
        asyncio.run(self._create_topic(name, partitions, {} if is_kept else _NOT_KEPT))

    async def _create_topic(self, name: str, partitions: int, config: Mapping[str, str]) -> None:
        async with connect(HOST, self.internal_port) as admin:
            await admin.create_topic(name, partitions=partitions, replication=1, config=config)
            deadline = time.monotonic() + _START_S
            while len(await admin.leaders(name) or ()) < partitions:
                if time.monotonic() > deadline:
                    raise ProgramError(f"topic {name} has no leaders after {_START_S} s")
                await asyncio.sleep(_POLL_S)


@contextmanager
def broker(bench: Bench, tcp_proxies: Sequence[str], *, shares_cpus: bool = False) -> Iterator[Broker]:
    """A broker on the CPUs of the load, or on all of them, with a listener for each of `tcp_proxies`.

    Raises MissingError without Java or Kafka's jars, and ProgramError if the broker does not start.
    """
    try:
        jars = fetch_kafka_jars(DEFAULT_VERSION)
        asyncio.run(prepare_classes(jars))
    except (JavaError, JarsError) as error:
        raise MissingError(str(error)) from error
    chosen = iter(free_ports(3 + 2 * len(tcp_proxies)))
    own = NodePorts(next(chosen), next(chosen), next(chosen))
    behind = {name: Behind(next(chosen), next(chosen)) for name in tcp_proxies}
    folder = bench.workshop.new_folder("kafka")
    configuration = folder / "server.properties"
    configuration.write_text(
        server_properties(
            _NODE,
            {_NODE: own},
            ClientSecurity(),
            folder / "data",
            overrides=_properties(own, list(behind.values())),
        )
    )
    words = (f"--cluster-id={_CLUSTER_ID}", f"--config={configuration}")
    bench.workshop.output(
        "format", java_command([jars / "*"], _HEAP, "kafka.tools.StorageTool", "format", *words)
    )
    command = java_command([jars / "*"], _HEAP, "kafka.Kafka", configuration)
    cpu = None if shares_cpus else load_cpu()
    with bench.workshop.start("kafka", command, cpu=cpu) as program:
        _wait_until_started(program)
        yield Broker(jars, own.clients, own.internal, behind)


def in_front_of(
    bench: Bench, kafka: Broker, proxy: Proxy, *, is_tls: bool = False, shares_cpus: bool = False
) -> AbstractContextManager[Running]:
    """Starts `proxy` in front of the broker. A TCP proxy gets the port that the broker advertises for it."""
    ports = kafka.behind.get(proxy.name)
    return bench.proxy(
        proxy,
        ports.listener if ports else kafka.port,
        is_tls=is_tls,
        port=ports.proxy if ports else None,
        shares_cpus=shares_cpus,
    )


def _properties(own: NodePorts, behind: Sequence[Behind]) -> dict[str, str]:
    """The properties of the broker's own three listeners and of those behind TCP proxies, and how often it
    deletes old records."""
    advertised = {CLIENTS: own.clients, INTERNAL: own.internal}
    bound = {**advertised, CONTROLLER: own.controller}
    for number, ports in enumerate(behind):
        bound[f"BEHIND{number}"] = ports.listener
        advertised[f"BEHIND{number}"] = ports.proxy
    return {
        "listeners": _addresses(bound),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in bound),
        "log.initial.task.delay.ms": "0",
        "log.retention.check.interval.ms": "1000",
    }


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def _wait_until_started(program: Program) -> None:
    deadline = time.monotonic() + _START_S
    while _STARTED not in program.log.read_text(errors="replace"):
        program.raise_if_ended()
        if time.monotonic() > deadline:
            raise ProgramError(f"the broker does not serve after {_START_S} s: {program.last_words()}")
        time.sleep(_POLL_S)
