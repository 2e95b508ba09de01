"""`limits`: limits of one connection (`SessionLimits`), and of all together (`ConnectionLimits`)."""

from dataclasses import dataclass, replace
from typing import Final, Self

from tsproxy.config.keys import keys_for, live
from tsproxy.config.kinds import DURATION, SIZE, TOTAL_SIZE, number, or_word
from tsproxy.model.view import SessionLimits

MAX_CONNECTIONS: Final = 10_000

SESSION_LIMITS: Final = keys_for(
    SessionLimits,
    {
        "produce_frame": live(
            SIZE, "Largest Produce request; brokers' `socket.request.max.bytes` has the same default."
        ),
        "other_frame": live(SIZE, "Largest request of any other kind."),
        "share_answer": live(
            SIZE,
            "Largest answer that the proxy holds whole: Metadata, Produce and others.",
        ),
        "in_flight_requests": live(
            number(1, 1_000_000), "Requests of one connection that wait for an answer."
        ),
        "decompressed_batch": live(SIZE, "Largest batch after decompression."),
        "records_per_batch": live(number(1, 100_000_000), "Most records in one batch."),
        "decompressed_request": live(
            TOTAL_SIZE,
            "Largest Produce request after decompression; batches beyond it are rejected unread if "
            "timestamps are limited.",
        ),
        "records_per_request": live(
            number(1, 1_000_000_000),
            "Most records in a Produce request on the slow path; batches beyond it are rejected unread, too.",
        ),
        "culprits_listed": live(number(1, 1_000_000), "Most culprits listed in one answer; all are counted."),
        "zstd_window": live(SIZE, "Largest window a zstd frame may ask for."),
        "judging_time_ms": live(
            DURATION,
            "CPU time for one Produce request in a thread, or ten times its estimate if that is more; "
            "batches beyond it are rejected unread, too.",
        ),
        "throttle_ms": live(
            or_word(DURATION, "off"),
            "The longest time that a throttled client waits (KIP-219's `throttle_time_ms`).",
        ),
    },
)
"""The keys of `SessionLimits`, which also has their defaults."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`connections`, `buffered` and `memory` (bytes) hold for the whole proxy. Times are in ms.

    With `follows_system`, no number of connections is configured, so the system's limit of open files may
    reduce it.
    """

    connections: int = live(
        number(1, 1_000_000),
        "Clients that may be connected at a time. Without it 10,000, or as many as the system's limit of "
        "open files allows.",
        default=None,
        otherwise=MAX_CONNECTIONS,
    )
    connections_per_address: int = live(
        number(1, 1_000_000),
        "The same for one address; IPv6 addresses of one /64 count as one.",
        default="1000",
    )
    buffered: int = live(
        TOTAL_SIZE,
        "Bytes held for all connections together, with their requests in flight; beyond it the connection "
        "that holds most is closed.",
        default="1GiB",
    )
    memory: int = live(
        TOTAL_SIZE,
        "Memory of all processes together. Without it 80% of the cgroup's or the machine's memory.",
        default=None,
        otherwise=0,
    )
    stalled_frame_ms: int = live(
        DURATION,
        "How long the end of a request may take once it has begun, plus 1 s for each MiB that it announces.",
        default="30s",
    )
    idle_ms: int = live(
        DURATION,
        "A connection is closed when nothing moves on it for so long, unless it only waits for an answer of "
        "the broker. Keep it longer than the brokers' `connections.max.idle.ms` (10 minutes).",
        default="12m",
    )
    connection_age_ms: int | None = live(
        or_word(DURATION, "off"),
        "An older connection (by 10% more or less) is closed when no answer is outstanding, or after `idle`, "
        "so that its client logs in anew.",
        default="off",
    )
    handshake_ms: int = live(
        DURATION,
        "How long the PROXY protocol's header and the TLS handshake may take together.",
        default="10s",
    )
    follows_system: bool = True

    def share(self, workers: int) -> Self:
        """The share of one of `workers` processes, rounded up. Each process enforces its own share."""
        return replace(
            self,
            connections=-(-self.connections // workers),
            connections_per_address=-(-self.connections_per_address // workers),
            buffered=-(-self.buffered // workers),
            memory=-(-self.memory // workers),
        )
