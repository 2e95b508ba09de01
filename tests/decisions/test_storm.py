"""A storm of names: ever new, long, unprintable. The log stays small, lines stay lines, totals exact."""

import json
import tracemalloc

import pytest

from tests.decisions.outcomes import NOON_MS, named, rejected
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.totals import Totals

MINUTE_MS = 60_000
MAX_KEYS = 200
LINE_BYTES = 8_000
"""The longest line with the longest names. Unprintable characters are written as escapes of escapes."""

STORMS = {
    "ever new": lambda n: f"client-{n}",
    "32 KB long": lambda n: f"{n}-".ljust(32_000, "x"),
    "control characters": lambda n: f"\x00\x1b[2J\r\n\u2028{n}",
    "not UTF-8": lambda n: b"\xff\xfe\x80%d".replace(b"%d", str(n).encode()).decode(
        "utf-8", "surrogateescape"
    ),
    "JSON": lambda n: f'"}}\n{{"seq":{n}',
}


def stormed(log, name, batches):
    """Every batch from a client, for a topic, by a principal of a name of its own."""
    for n in range(batches):
        peer = named(name(n), principal=name(n), client_software=name(n))
        yield from log.book(Totals.of(rejected(peer=peer, topic=name(n), now_ms=NOON_MS + n)))


@pytest.mark.parametrize("storm", STORMS)
def test_a_storm_of_names_is_folded_written_in_short_lines_and_counted_to_the_record(storm):
    log = DecisionLog("px", "boot", NOON_MS, max_keys=MAX_KEYS)
    lines = [*stormed(log, STORMS[storm], 3_000), *log.stop(NOON_MS + 5_000)]
    written = [json.dumps(line, ensure_ascii=False) for line in lines]

    assert all(text.isprintable() and len(text.encode()) <= LINE_BYTES for text in written)
    counters = [line for line in lines if line["event"] == "counters"]
    assert len(counters) == MAX_KEYS + 1
    assert sum(line["batches"] for line in counters) == 3_000
    [heartbeat] = [line for line in lines if line["event"] == "heartbeat"]
    assert heartbeat["batches_folded"] == 3_000 - MAX_KEYS
    decisions = [line for line in lines if line["event"] == "decision"]
    assert len(decisions) <= 250  # 200 at once, ten a second
    assert heartbeat["decisions_written"] + heartbeat["decisions_suppressed"] == 3_000


def test_the_state_of_a_day_stays_small_whatever_names_each_minute_brings():
    """A new topic, client, principal and address with each batch. Keys and rates end with their interval, and
    topics whose limits were written with the day."""
    log, sizes = DecisionLog("px", "boot", NOON_MS), []
    tracemalloc.start()
    try:
        for minute in range(40):
            for n in range(minute * 250, minute * 250 + 250):
                peer = named(
                    f"c{n}", principal=f"p{n}", client_address=f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"
                )
                one = rejected(topic=f"t{n}".ljust(249, "t"), peer=peer, now_ms=NOON_MS + minute * MINUTE_MS)
                log.book(Totals.of(one))
            log.tick(NOON_MS + (minute + 1) * MINUTE_MS)
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[-1] - sizes[9] < 256 << 10, sizes
    assert max(sizes) < 4 << 20
