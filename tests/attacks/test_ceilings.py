"""The memory of each container under a ceiling, filled with the longest names, is what the ceiling says."""

import gc
import importlib
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from tests.attacks.ceilings import MIB, as_table, ceilings, most_of_a_process
from tests.decisions.outcomes import NOON_MS, named, outcome, rejected
from tests.kit.clocks import HandClock
from tests.proxy.decision_log.logs import files_in
from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.upstream import LAST_HOSTS, SILENT, UNRESOLVED
from tsproxy.decisions.examples import Examples
from tsproxy.decisions.ledger import Ledger
from tsproxy.decisions.limits_written import LimitsWritten
from tsproxy.decisions.old_requests import OldRequests
from tsproxy.decisions.totals import Totals, bar
from tsproxy.log_events.catalogue import CLIENT_REJECTED
from tsproxy.model.addresses import Address
from tsproxy.model.bounded import Bounded, Ceiling
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import OldRequest, Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.brokers.topic_ids import TopicIds
from tsproxy.proxy.brokers.topics import Topics
from tsproxy.proxy.brokers.wanted import MAX_OF_ADDRESS, Wanted
from tsproxy.proxy.dead_letters.proven import Proven
from tsproxy.proxy.metrics.catalogue import TOPIC_BAD_RECORDS, TOPIC_RECORDS
from tsproxy.proxy.metrics.offenders import Offenders
from tsproxy.proxy.metrics.topics import AcceptedRecords, TopicMetric
from tsproxy.proxy.notes import Notes
from tsproxy.proxy.pipe.buffers import Buffers
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.throttle import Throttle
from tsproxy.session.topic_names import IdsGivenUp, NamesOnly, TopicsGivenUp
from tsproxy.session.trust import MAX_TOPICS, Trust

ROOT = Path(__file__).parents[2]
FIELDS = [f"field-{n}" for n in range(20)]
SMALLER = 64
"""The containers are filled in a part of their size: this takes seconds, and not minutes."""


def topic(n):
    return f"t{n}".ljust(249, "t")


def wide(n):
    """A client id or a principal, four bytes for each character."""
    return f"c{n}".ljust(249, "\U0001f600")


def address(n):
    return f"2001:db8:{n >> 16:x}:{n & 0xFFFF:x}::{n:x}"


def an_id(n):
    return n.to_bytes(16, "big")


def a_peer(n):
    return named(wide(n), principal=wide(n), client_address=address(n))


def limits_of(n):
    return TopicLimits(before_max_ms=1 << 40 | n, after_max_ms=1 << 41 | n)


def many(make, put, times=2):
    """Fills what `make` makes: `put` is called for so many numbers, more than there is room for."""

    def fill(most):
        made = make()
        for n in range(times * most):
            put(made, n)
        return made

    return fill


def topics_by(code, *calls):
    """The topics that a broker has described with this code, after these calls."""

    def fill(most):
        topics = Topics()
        topics.update([TopicAnswer(topic(n), code, {}) for n in range(2 * most)], NOON_MS)
        for call in calls:
            call(topics, most)
        return topics

    return fill


def a_ledger(most):
    """Half of the keys have many bars."""
    ledger = Ledger(most)
    for n in range(2 * most):
        bars = {number: bar(1, 1) for number in range(320 if n % 2 else 1)}
        one = Totals.of(rejected(topic=topic(n), peer=a_peer(n)))
        ledger.book(replace(one, ahead=bars, behind=dict(bars)))
    return ledger


def lines_that_wait(most, folder):
    files = files_in(folder)
    for n in range(2 * most):
        files.put([{field: topic(n) for field in FIELDS}])
    return files


def penalties(most):
    kept = Trust()
    for n in range(2 * most):
        kept.punish(address(n), [topic(n << 8 | k) for k in range(MAX_TOPICS)], NOON_MS)
    gc.collect()
    return kept


def spare(most):
    buffers = Buffers()
    for _ in range(2 * most):
        buffers.return_buffer(bytearray(1 << 18))
    buffers.shared = None
    return buffers


class Nobody:
    def warning(self, *_, **__): ...

    error = warning


EXAMPLES = many(lambda: Examples(NOON_MS), lambda e, n: e.admit((topic(n), wide(n)), address(n), NOON_MS))
FILLED = {
    "cluster/upstream.py: LAST_HOSTS": lambda most: many(
        lambda: Bounded(replace(LAST_HOSTS, most=most)), lambda b, n: b.put(Address(topic(n), n), address(n))
    )(most),
    "cluster/upstream.py: SILENT": lambda most: many(
        lambda: Bounded(replace(SILENT, most=most)), lambda b, n: b.put(Address(topic(n), n), n / 7)
    ),
    "cluster/upstream.py: UNRESOLVED": lambda most: many(
        lambda: Bounded(replace(UNRESOLVED, most=most)), lambda b, n: b.put(Address(topic(n), n), n / 7)
    )(most),
    "decisions/examples.py: BY_ADDRESS": EXAMPLES,
    "decisions/examples.py: BY_KEY": EXAMPLES,
    "decisions/ledger.py: KEYS": a_ledger,
    "decisions/limits_written.py: PROVEN": many(
        LimitsWritten, lambda w, n: w.must_write(topic(n // 2), limits_of(n), "", exists=True), 4
    ),
    "decisions/limits_written.py: UNPROVEN": many(
        LimitsWritten,
        lambda w, n: w.must_write(topic(n // 2), limits_of(n), address(n // 2), exists=False),
        4,
    ),
    "decisions/old_requests.py: USES": many(
        OldRequests,
        lambda b, n: b.note(OldRequest(replace(a_peer(n), client_software=wide(n)), "Produce", 0)),
    ),
    "proxy/brokers/topic_ids.py: DENIED": many(TopicIds, lambda ids, n: ids._deny([an_id(n)])),
    "proxy/brokers/topic_ids.py: NAMES": many(TopicIds, lambda ids, n: ids.add({an_id(n): topic(n)})),
    "proxy/brokers/topics.py: ABSENT": topics_by(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "proxy/brokers/topics.py: KNOWN": topics_by(
        ErrorCode.NONE,
        lambda topics, most: [topics.used(topic(n), 1 << 40 | n) for n in range(2 * most)],
        lambda topics, _: topics.limits({}, "refresh"),
    ),
    "proxy/brokers/topics.py: LOGGED": topics_by(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    "proxy/brokers/topics.py: UNREADABLE": topics_by(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    "proxy/brokers/wanted.py: WANTED": many(
        Wanted, lambda w, n: w.add(topic(n), address(n // MAX_OF_ADDRESS), NOON_MS)
    ),
    "proxy/dead_letters/proven.py: PROVEN": many(
        lambda: Proven(has_login=True), lambda p, n: p.booked(outcome(peer=a_peer(n), topic=topic(n)), n)
    ),
    "proxy/decision_log/files.py: QUEUE": lines_that_wait,
    "proxy/metrics/topics.py: ACCEPTED": many(
        lambda: AcceptedRecords(TOPIC_RECORDS), lambda b, n: b.add(topic(n), 1 << 40 | n)
    ),
    "proxy/metrics/offenders.py: ROWS": many(
        Offenders, lambda rows, n: rows.book(Totals.of(rejected(topic=topic(n), peer=a_peer(n))))
    ),
    "proxy/metrics/topics.py: SERIES": many(
        lambda: TopicMetric(TOPIC_BAD_RECORDS), lambda m, n: m.add(topic(n), 1 << 40 | n)
    ),
    "proxy/notes.py: BUDGETS": many(
        lambda: Notes(Nobody(), HandClock()), lambda notes, n: notes.write(address(n), CLIENT_REJECTED, {})
    ),
    "proxy/pipe/buffers.py: SPARE": spare,
    "session/fresh_limits.py: ASKED": many(FreshLimits, lambda f, n: f.asked([topic(n)], NOON_MS)),
    "session/topic_names.py: ADDRESSES": many(NamesOnly, lambda b, n: b.add(address(n))),
    "session/topic_names.py: GIVEN_UP_IDS": many(IdsGivenUp, lambda b, n: b.add([an_id(n)], NOON_MS)),
    "session/topic_names.py: GIVEN_UP_TOPICS": many(TopicsGivenUp, lambda b, n: b.add([topic(n)])),
    "session/throttle.py: DEBTS": many(
        Throttle,
        lambda b, n: b.rejected(
            Peer("public", address(n), 1, principal=wide(n)), 1 << 20, 0, NOON_MS + n, 1_000
        ),
    ),
    "session/trust.py: KEPT": penalties,
    "session/trust.py: TRUSTED": many(
        Trust,
        lambda kept, n: kept.of(
            Peer("l", address(n), 1, topic(n)), None, topic(n), TopicPolicy(limits=TopicLimits(n))
        ),
    ),
}
"""Place -> a function that fills the container with more than it may keep."""


OTHERWISE = {
    "session/fast_path.py: TABLE": "tests/session/test_kept.py compares its memory with what it counts",
    "session/policies.py: KEPT": "tests/session/test_kept.py compares its memory with what it counts",
    "wire/k18_api_versions.py: READ": "lru_cache of 8 answers, of 4 KiB each as they came",
}


@pytest.mark.parametrize("place", FILLED)
def test_a_container_filled_with_the_longest_names_keeps_no_more_than_its_ceiling(
    place, monkeypatch, tmp_path
):
    ceiling = ceilings()[place]
    file, name = place.split(".py: ")
    module = importlib.import_module("tsproxy." + file.replace("/", "."))
    small = replace(
        ceiling, most=max(1, ceiling.most // SMALLER), most_bytes=max(64 << 10, ceiling.most_bytes // SMALLER)
    )
    for other, value in list(vars(module).items()):
        if isinstance(value, Ceiling):
            monkeypatch.setattr(module, other, small if other == name else replace(value, most=1))
    fill = FILLED[place]
    more = (tmp_path,) if fill is lines_that_wait else ()
    kept = fill(1, *more)  # whatever the first use of a function keeps
    gc.collect()
    tracemalloc.start()
    try:
        kept = fill(small.most, *more)
        gc.collect()
        held_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0 < held_bytes <= small.most_bytes + (16 << 10), small
    assert not hasattr(kept, "__len__") or len(kept) <= small.most, "many small ones are few bytes"


def test_each_ceiling_is_filled_here_or_said_why_not():
    assert sorted([*FILLED, *OTHERWISE]) == list(ceilings())


def test_the_pages_have_this_table_and_this_sum():
    """Printed by: python -m tests.attacks.ceilings"""
    assert as_table() in (ROOT / "tests/attacks/ceilings.md").read_text(encoding="utf-8")
    most = f"{most_of_a_process() / MIB:.0f} MiB"
    for page in ("ARCHITECTURE.md", "docs/guide/operations.md"):
        assert most in (ROOT / page).read_text(encoding="utf-8"), (page, most)
