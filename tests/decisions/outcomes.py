"""Outcomes for tests: `outcome(...)` with everything ordinary, and hypothesis strategies for any."""

from dataclasses import replace

from hypothesis import strategies as st

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, TimestampType
from tsproxy.model.outcome import Culprit, Outcome, Peer, VerdictName
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess

NOON_MS = 1_795_176_000_000
"""2026-11-20T12:00:00Z"""

HOUR_MS = 3_600_000

PEER = Peer(listener="public", client_address="10.0.0.1", client_port=41022, client_id="orders-app")


def batch(records=10, low=NOON_MS - 5, high=NOON_MS, batch_bytes=1000, **more):
    facts = {"magic": 2, "codec": "none", "producer_id": -1, "producer_epoch": -1}
    return BatchFacts(
        records=records,
        min_timestamp_ms=low,
        max_timestamp_ms=high,
        batch_bytes=batch_bytes,
        **(facts | more),
    )


def outcome(verdict=VerdictName.ACCEPTED, now_ms=NOON_MS, peer=PEER, **more):
    facts = {
        "api_version": 9,
        "correlation_id": 7,
        "acks": -1,
        "transactional_id": None,
        "topic": "orders",
        "partition": 0,
        "batch": batch(),
        "limits": TopicLimits(after_max_ms=HOUR_MS),
    }
    return Outcome(verdict=verdict, now_ms=now_ms, peer=peer, **(facts | more))


def rejected(timestamps_ms=(NOON_MS * 1000,), reason=Reason.TOO_FAR_AHEAD, records=10, **more):
    """A batch of `records`, the first ones at fault with these timestamps."""
    culprits = tuple(Culprit(i, t) for i, t in enumerate(timestamps_ms))
    times = [t for t in timestamps_ms if t not in (None, -1)]
    facts = {
        "verdict": VerdictName.REJECTED,
        "reason": reason,
        "error_code": 32,
        "culprits": culprits,
        "bad_records": len(culprits),
        "batch": batch(records, min([*times, NOON_MS]), max([*times, NOON_MS])),
    }
    return outcome(**(facts | more))


def named(client_id="orders-app", **more):
    return replace(PEER, client_id=client_id, **more)


times = st.one_of(
    st.integers(LONG_MIN, LONG_MAX),
    st.integers(NOON_MS - 10**10, NOON_MS + 10**10),
    st.sampled_from([-1, 0, NOON_MS // 1000, NOON_MS * 1000, NOON_MS * 10**6]),
)
spans = st.one_of(st.just((None, None)), st.tuples(times, times).map(sorted).map(tuple))
names = st.one_of(
    st.sampled_from(
        ["a", "b", "other", "é" * 300, "x" * 32_000, "\x00\x1b[2J", "\udcff\udc80", "\u202e", ""]
    ),
    st.text(max_size=4),
)


@st.composite
def outcomes(draw):
    """Any outcome a session could book, and many it never would."""
    verdict = draw(st.sampled_from(list(VerdictName)))
    low, high = draw(spans)
    records = draw(st.integers(0, 10**6))
    rejected = verdict not in (VerdictName.ACCEPTED, VerdictName.UNCONFIRMED)
    culprits = (
        draw(st.lists(st.builds(Culprit, st.integers(0, 10**6), st.one_of(st.none(), times)), max_size=30))
        if rejected
        else []
    )
    return outcome(
        verdict,
        now_ms=draw(st.integers(NOON_MS - 200_000, NOON_MS + 200_000)),
        peer=Peer(
            listener=draw(st.sampled_from(["public", "internal"])),
            client_address=draw(st.sampled_from([f"10.0.0.{n}" for n in range(12)])),
            client_port=draw(st.integers(1, 65535)),
            client_id=draw(st.one_of(st.none(), names)),
            principal=draw(st.one_of(st.none(), names)),
            client_software=draw(st.one_of(st.none(), names)),
        ),
        topic=draw(names),
        correlation_id=draw(st.integers(-(2**31), 2**31 - 1)),
        batch=batch(records, low, high, draw(st.integers(0, 10**8)), producer_id=draw(times)),
        limits=draw(
            st.one_of(st.none(), st.builds(TopicLimits, st.sampled_from(TimestampType), times, times))
        ),
        reason=draw(st.sampled_from(list(Reason))) if rejected else None,
        unit_guess=draw(st.one_of(st.none(), st.sampled_from(list(UnitGuess)))) if rejected else None,
        error_code=draw(st.integers(-1, 130)) if rejected else 0,
        error_message=draw(st.one_of(st.none(), names)) if rejected else None,
        culprits=tuple(culprits),
        bad_records=min(records, len(culprits)),
        is_final=draw(st.booleans()) if verdict is VerdictName.BROKER_REJECTED else True,
    )
