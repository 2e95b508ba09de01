"""The table of measurements. To add one, add a row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks import (
    adaptive,
    capacity,
    clients,
    connections,
    consume,
    end_to_end,
    memory,
    partitions,
    policy,
    records,
    relay,
    start,
    storm,
    workers,
    worst,
)
from benchmarks.bench import Bench
from benchmarks.sections import Section


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row: the name for `--only`, the title of the section, and the function that measures."""

    name: str
    title: str
    measure: Callable[[Bench], Section]


MEASUREMENTS: Final = (
    Measurement("relay", "CPU for relaying", relay.relay),
    Measurement("consume", "CPU for the consumers' way", consume.consume),
    Measurement("adaptive", "CPU for compressed batches that mostly stay unread", adaptive.adaptive),
    Measurement("capacity", "CPU by size, codec and TLS", capacity.capacity),
    Measurement("reject", "CPU for rejecting everything", relay.reject),
    Measurement("policy", "CPU for a policy", policy.policy),
    Measurement("workers", "Workers", workers.workers),
    Measurement("idle", "Memory of idle connections", memory.idle),
    Measurement("connections", "Many connections, and all of them at once", connections.connections),
    Measurement("stuck", "Memory while the broker is stuck", memory.stuck),
    Measurement("storm", "Everything rejected, many clients", storm.storm),
    Measurement("start", "Start", start.start),
    Measurement("partitions", "Many topics and partitions", partitions.partitions),
    Measurement("walk", "Reading timestamps", records.walk),
    Measurement("codecs", "Reading compressed batches", records.codecs),
    Measurement("worst", "The worst known inputs", worst.worst),
    Measurement("found", "The worst sessions that a search has found", worst.found),
    Measurement("clients", "Real clients, real broker", clients.clients),
    Measurement("end-to-end", "End to end, with Kafka's own tools", end_to_end.end_to_end),
)
