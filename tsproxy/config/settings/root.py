"""`Config`, the whole configuration, and the small sections `clock`, `dead_letters` and `log`."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from tsproxy.config.keys import fixed, live, section
from tsproxy.config.kinds import DURATION, TOLERANCE, TOPIC, TOTAL_SIZE, choice, number
from tsproxy.config.parsed import Parsed
from tsproxy.config.settings.admin import AdminSettings
from tsproxy.config.settings.decisions import Decisions
from tsproxy.config.settings.limits import SESSION_LIMITS, ConnectionLimits
from tsproxy.config.settings.listeners import Listener
from tsproxy.config.settings.policy import POLICY
from tsproxy.config.settings.upstream import Upstream
from tsproxy.model.policy import Policy
from tsproxy.model.view import SessionLimits


class WhenBeyond(StrEnum):
    """The reaction while this proxy's clock is too far from the brokers'."""

    WARN = "warn"
    AUDIT = "audit"
    """Nothing is enforced. Batches that would be rejected are counted and forwarded."""


@dataclass(frozen=True, slots=True)
class ClockProbe:
    topic: str = live(
        TOPIC,
        "A topic with `message.timestamp.type=LogAppendTime`, to which the proxy writes empty records; "
        "it must exist.",
    )
    every_ms: int = live(DURATION, "How often the clocks are compared.", default="30s")


@dataclass(frozen=True, slots=True)
class ClockSettings:
    """The comparison of clocks. `probe` is None if brokers' clocks are not measured."""

    max_offset_ms: int = live(DURATION, "How far the proxy's clock may be from the brokers'.", default="1s")
    when_beyond: WhenBeyond = live(
        choice(WhenBeyond),
        "The reaction while it is further: `audit` enforces and repairs nothing until the clock is right "
        "again, `warn` only logs it.",
        default="audit",
    )
    probe: ClockProbe | None = section(
        ClockProbe,
        optional="The proxy's clock is compared with the brokers' if this section is present.",
        live=True,
    )


class Unproven(StrEnum):
    """The copies for a client and a topic for which no broker has accepted a batch lately."""

    DROP = "drop"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class DeadLetterSettings:
    """The topic for copies of rejected records, and how much may wait to be copied."""

    topic: str = live(TOPIC, "The topic; it must exist.")
    max_in_flight_bytes: int = live(
        TOTAL_SIZE,
        "Bytes of rejected batches that may wait to be copied; beyond it no copies are made.",
        default="64MiB",
    )
    max_records: int = live(number(1, 10_000_000), "The same in records.", default="100000")
    unproven: Unproven = live(
        choice(Unproven),
        "Whether records of clients that are not proven are copied. With `copy`, clients without rights "
        "reach the topic.",
        default="drop",
    )

    def share(self, workers: int) -> Self:
        """The share of one of `workers` processes, rounded up."""
        return replace(
            self,
            max_in_flight_bytes=-(-self.max_in_flight_bytes // workers),
            max_records=-(-self.max_records // workers),
        )


class LogLevel(StrEnum):
    """The least severe level of lines in the operators' log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    upstream: Upstream = section(Upstream)
    listeners: tuple[Listener, ...] = section(Listener, many=True)
    policy: Policy = section(Policy, POLICY)
    decisions: Decisions = section(Decisions)
    clock: ClockSettings = section(ClockSettings)
    dead_letters: DeadLetterSettings | None = section(
        DeadLetterSettings,
        optional="Rules with `dead_letters: yes` copy rejected records to a Kafka topic if this section is "
        "present.",
        live=True,
    )
    session_limits: SessionLimits = section(SessionLimits, SESSION_LIMITS, path="limits")
    connection_limits: ConnectionLimits = section(ConnectionLimits, path="limits")
    drain_delay_ms: int = live(
        TOLERANCE,
        "How long SIGTERM leaves the ports open while `/readyz` already returns 503.",
        path="limits.drain_delay",
        default="0s",
    )
    drain_timeout_ms: int = live(
        DURATION,
        "How long SIGTERM waits for requests that brokers are still answering.",
        path="limits.drain_timeout",
        default="30s",
    )
    admin: AdminSettings = section(AdminSettings)
    log_level: LogLevel = live(
        choice(LogLevel),
        "The lowest level that is logged; `debug` adds two lines for each connection, `warning` leaves out "
        "normal operation.",
        path="log.level",
        default="info",
    )
    workers: int = fixed(
        number(1, 256),
        "Processes that share the listening ports; more than 1 adds a supervisor over them.",
        default="1",
    )
    parsed: Parsed = field(compare=False, repr=False)
    """Every value by its key, as written or by default. A reload compares these."""

    @property
    def needs_proofs(self) -> bool:
        """True if dead letters are copied for proven clients alone, where brokers have an authorizer."""
        return self.dead_letters is not None and self.dead_letters.unproven is Unproven.DROP

    @property
    def stop_ms(self) -> int:
        """How long a graceful stop may take."""
        return self.drain_delay_ms + self.drain_timeout_ms
