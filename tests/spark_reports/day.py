"""A day of traffic with known truth: outcomes booked by a real DecisionLog under a simulated clock.

The day is synthetic, and labelled so wherever it is shown. Producers with the usual faults send for some
minutes of some hours. The booked records are counted here, apart from any code under test.
"""

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date

from tests.decisions.outcomes import batch, outcome
from tsproxy.decisions import DecisionLog, LifecycleKind, WriterHealth
from tsproxy.decisions.totals import Totals
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Culprit, Peer, VerdictName
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess

MIDNIGHT_MS = 1_795_132_800_000
"""2026-11-20T00:00:00Z"""
FRIDAY = date(2026, 11, 20)
SATURDAY = date(2026, 11, 21)

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MINUTE_MS = 60_000

TOPICS = {
    "orders": TopicLimits(before_max_ms=7 * DAY_MS, after_max_ms=HOUR_MS),
    "payments": TopicLimits(before_max_ms=DAY_MS, after_max_ms=10_000),
    "telemetry": TopicLimits(after_max_ms=HOUR_MS),
    "clicks": TopicLimits(after_max_ms=HOUR_MS),
    "metrics": TopicLimits(),
}


@dataclass(frozen=True)
class Fault:
    """How one record in `one_in` goes wrong: its timestamp, made from the clock."""

    timestamp: object
    reason: Reason
    unit_guess: UnitGuess | None = None
    one_in: int = 1


@dataclass(frozen=True)
class Sender:
    """A client, the records that it sends in a minute, and its hours."""

    client_id: str | None
    topic: str
    batches: int = 3
    records: int = 40
    hours: range = range(24)
    fault: Fault | None = None
    verdict: VerdictName = VerdictName.ACCEPTED
    error_code: int = 0
    is_final: bool = True
    lag_ms: int = 400
    principal: str | None = None
    software: str | None = "apache-kafka-java/4.3.1"
    address: str = "10.3.0.11"
    unread_one_in: int = 0
    """One of so many batches stays unread; 0 for none."""


SENDERS = (
    Sender("orders-api", "orders", batches=6, records=60, lag_ms=120),
    Sender("checkout", "payments", batches=4, records=20, lag_ms=80, principal="User:checkout"),
    Sender(
        "web-clicks",
        "clicks",
        batches=9,
        records=120,
        lag_ms=900,
        software="librdkafka/2.6.0",
        unread_one_in=2,
    ),
    Sender(None, "metrics", batches=2, records=30, verdict=VerdictName.UNCONFIRMED, software="Sarama/1.43"),
    Sender(
        "sensor-gateway",
        "telemetry",
        batches=5,
        records=50,
        hours=range(6, 22),
        fault=Fault(lambda now: now * 1_000_000, Reason.TOO_FAR_AHEAD, UnitGuess.NANOSECONDS),
        principal="User:iot",
        software="librdkafka/2.6.0",
        address="10.7.1.20",
    ),
    Sender(
        "mobile-sdk",
        "clicks",
        batches=2,
        records=25,
        fault=Fault(lambda now: now * 1000, Reason.TOO_FAR_AHEAD, UnitGuess.MICROSECONDS, one_in=9),
        software="confluent-kafka-python/2.16",
    ),
    Sender(
        "billing-nightly",
        "payments",
        batches=8,
        records=80,
        hours=range(1, 4),
        fault=Fault(lambda now: now // 1000, Reason.TOO_OLD, UnitGuess.SECONDS),
        principal="User:billing",
    ),
    Sender(
        "orders-replay",
        "orders",
        batches=4,
        records=100,
        hours=range(10, 12),
        fault=Fault(lambda now: now - 9 * DAY_MS, Reason.TOO_OLD, one_in=40),
    ),
    Sender(
        "kiosk-clock",
        "orders",
        batches=1,
        records=5,
        fault=Fault(lambda now: now + 2 * HOUR_MS + 1234, Reason.TOO_FAR_AHEAD),
        address="10.9.9.9",
    ),
    Sender(
        "attachments",
        "orders",
        batches=1,
        records=2,
        verdict=VerdictName.BROKER_REJECTED,
        error_code=int(ErrorCode.MESSAGE_TOO_LARGE),
    ),
    Sender(
        "checkout",
        "payments",
        batches=1,
        records=20,
        hours=range(14, 15),
        principal="User:checkout",
        verdict=VerdictName.BROKER_REJECTED,
        error_code=int(ErrorCode.NOT_ENOUGH_REPLICAS),
        is_final=False,
    ),
)


@dataclass
class Day:
    """The lines that proxies wrote, and the truth about them."""

    lines: list[dict] = field(default_factory=list)
    records: Counter = field(default_factory=Counter)
    """(topic, verdict, is_final) -> records."""
    bad_records: int = 0
    collateral_records: int = 0
    records_unread: int = 0

    def judged(self, *verdicts):
        return sum(
            n for (_, v, final), n in self.records.items() if final and (not verdicts or v in verdicts)
        )


def a_day(
    proxies=("px-1",), hours=range(24), minutes=range(60), senders=SENDERS, seed=1, start_ms=MIDNIGHT_MS
):
    """`minutes`: the minutes of each hour with traffic. Heartbeats come all the time."""
    day, random_ = Day(), random.Random(seed)
    for number, proxy in enumerate(proxies):
        begins_ms = start_ms + hours[0] * HOUR_MS
        log = DecisionLog(proxy, f"boot-{number}", begins_ms, cluster_id="demo")
        day.lines.append(
            log.lifecycle(LifecycleKind.START, begins_ms, {"version": "0.1.0", "mode": "enforce"})
        )
        for hour in hours:
            for minute in range(60):
                now_ms = start_ms + hour * HOUR_MS + minute * 60_000
                day.lines += log.tick(now_ms, WriterHealth(queue_high_water=hour))
                if minute in minutes:
                    for sender in senders:
                        if hour in sender.hours:
                            _send(day, log, sender, now_ms, random_)
        day.lines += log.stop(start_ms + (hours[-1] + 1) * HOUR_MS - 1)
    return day


def _send(day, log, sender, minute_ms, random_):
    for number in range(sender.batches):
        now_ms = minute_ms + random_.randrange(50_000)
        made = _batch(sender, now_ms, number, random_)
        day.lines += log.book(Totals.of(made))
        day.records[made.topic, made.verdict, made.is_final] += made.batch.records
        day.records_unread += made.batch.records_unread
        if made.verdict in (VerdictName.REJECTED, VerdictName.BROKER_REJECTED) and made.is_final:
            day.bad_records += made.bad_records
            day.collateral_records += made.batch.records - made.bad_records


def _batch(sender, now_ms, number, random_):
    peer = Peer(
        "public", sender.address, 40_000 + number, sender.client_id, sender.principal, sender.software
    )
    records = max(1, int(random_.gauss(sender.records, sender.records / 6)))
    lag_ms = int(random_.lognormvariate(0, 1) * sender.lag_ms)
    made = outcome(
        sender.verdict,
        now_ms=now_ms,
        peer=peer,
        topic=sender.topic,
        correlation_id=random_.randrange(2**31),
        batch=batch(records, now_ms - lag_ms - 50, now_ms - lag_ms, records * 300, codec="lz4"),
        limits=TOPICS[sender.topic],
        error_code=sender.error_code,
        is_final=sender.is_final,
    )
    if sender.unread_one_in and number % sender.unread_one_in == 0:
        made = replace(made, batch=replace(made.batch, is_unread=True))
    if sender.verdict is VerdictName.BROKER_REJECTED:
        return replace(made, bad_records=records, reason=Reason.OTHER)
    return _with_fault(made, sender.fault, random_) if sender.fault else made


def _with_fault(made, fault, random_):
    bad = [n for n in range(made.batch.records) if random_.randrange(fault.one_in) == 0]
    if not bad:
        return made
    times = [fault.timestamp(made.now_ms) + n for n in bad]
    low = min(made.batch.min_timestamp_ms, *times)
    high = max(made.batch.max_timestamp_ms, *times)
    return replace(
        made,
        verdict=VerdictName.REJECTED,
        rule="topic-limits",
        reason=fault.reason,
        unit_guess=fault.unit_guess,
        error_code=int(ErrorCode.INVALID_TIMESTAMP),
        error_message="One or more records have been rejected due to invalid timestamp",
        culprits=tuple(Culprit(n, t) for n, t in zip(bad, times, strict=True)),
        bad_records=len(bad),
        batch=replace(made.batch, min_timestamp_ms=low, max_timestamp_ms=high),
    )
