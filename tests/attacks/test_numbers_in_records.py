"""No number inside a record makes Python work for it, or make objects for it.

A client chooses a record's number of headers and the width of each varint. Each such number is as large as
its bytes allow, in one batch, and each part of the proxy that reads records gets it. Bytecodes and the peak
of memory are counted.
"""

import tracemalloc
from dataclasses import replace

import pytest

from tests.attacks.steps import bytecodes
from tests.full_only import variations
from tests.session.conversation import NOW_MS, PEER, Session, view_by
from tests.session.messages import produce
from tests.wire.batches import NONE, ZSTD, batch, varint
from tsproxy.decisions import Privacy
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.policy import Choice, OnViolation
from tsproxy.model.view import SessionLimits
from tsproxy.proxy.dead_letters.records import chunks_of
from tsproxy.session.effects import EmitDead, Judge

HEADERS = 200_000
DAY_MS = 86_400_000


def headers(one, count=HEADERS):
    """A record with that header `count` times."""
    body = b"\x00" + varint(0) + varint(0) + varint(-1) + varint(-1) + varint(count) + one * count
    return varint(len(body)) + body


def padded(raw):
    """The varint of a size, in five bytes."""
    return bytes([raw | 0x80]) + b"\x80\x80\x80\x00"


RECORDS = {
    "empty headers": headers(b"\x00\x00"),
    "headers without values": headers(b"\x02k\x01"),
    "sizes of five bytes": headers(padded(0) * 2, HEADERS // 4),
    "empty keys": headers(b"\x00\x02v"),
}
"""Each has one record of a few hundred kilobytes."""

US = NOW_MS * 1_000
RULES = {
    "accepted": (NOW_MS, {}),
    "rejected": (US, {}),
    "dead letters": (US, {"dead_letters": True}),
    "repaired": (US, {"on_violation": OnViolation.REPAIR}),
    "stamped": (NO_TIMESTAMP, {"no_timestamp": Choice.STAMP}),
    "both times": (NOW_MS, {"keep_both_times": True}),
    "custom rule": (NOW_MS, {"custom_rules": (CustomRule("none", lambda times_ms, context: ()),)}),
}
"""The time of the record, and the rule."""


def sent_and_copied(data, settings):
    """All that the proxy does with the batch, judging in a thread and copying included."""
    one = Session(PEER, view_by("rule", **settings), uses_fast_path=True)
    effects = list(one.client_bytes(produce({"t": {0: data}}), NOW_MS))
    for effect in effects:
        if isinstance(effect, Judge):
            effects += one.judged(effect.job(), NOW_MS)
        elif isinstance(effect, EmitDead):
            dead = replace(effect.batch, peer=PEER)
            effects += list(chunks_of(dead, SessionLimits(), Privacy()))
    assert len(effects) > 0
    return len(effects)


@pytest.mark.parametrize("codec", [NONE, ZSTD], ids=["plain", "zstd"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "number",
    variations("another number that is as large", RECORDS, but=["empty headers", "sizes of five bytes"]),
)
def test_a_number_of_the_clients_costs_neither_bytecodes_nor_objects(number, rule, codec):
    time_ms, settings = RULES[rule]
    data = batch([time_ms], codec, records=[RECORDS[number]])
    sent_and_copied(batch([time_ms]), settings)  # imports and caches
    tracemalloc.start()
    try:
        _, count = bytecodes(sent_and_copied, data, settings)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count < HEADERS / 4
    assert peak < 8 * len(RECORDS[number]) + (1 << 20)
