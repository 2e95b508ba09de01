"""A boot of the decision log: contiguous, covered by heartbeats, few examples, exact counts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decisions.outcomes import HOUR_MS, NOON_MS, batch, named, outcome, outcomes, rejected
from tsproxy.decisions import DecisionLog, LifecycleKind, WriterHealth
from tsproxy.decisions.drift import FAR_MS
from tsproxy.decisions.examples import Examples
from tsproxy.decisions.totals import Totals
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.outcome import Culprit, VerdictName
from tsproxy.model.token_bucket import Rate
from tsproxy.model.verdict import Reason, TopicLimits

MINUTE_MS = 60_000


def new_log(now_ms=NOON_MS, **more):
    return DecisionLog("px", "boot", now_ms, **more)


@pytest.fixture
def log():
    return new_log()


def of(event, lines):
    return [line for line in lines if line["event"] == event]


def decisions_of(log, *booked):
    return [line for o in booked for line in of("decision", log.book(Totals.of(o)))]


@given(st.lists(st.one_of(outcomes(), st.integers(-300_000, 300_000)), max_size=40))
def test_seq_counts_every_line_and_heartbeats_cover_the_boot(steps):
    """For any outcomes and any clock, even one that goes backwards."""
    log = new_log(interval_ms=50_000)
    lines = [log.lifecycle(LifecycleKind.START, NOON_MS, {})]
    batches = 0
    for step in steps:
        if isinstance(step, int):
            lines += log.tick(NOON_MS + step)
        else:
            lines += log.book(Totals.of(step))
            batches += 1
    lines += log.stop(NOON_MS + 300_000)
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert sum(line["batches"] for line in of("counters", lines)) == batches
    heartbeats = of("heartbeat", lines)
    assert [h["seq_last"] for h in heartbeats] == [h["seq"] for h in heartbeats]
    assert [h["seq_first"] for h in heartbeats] == [0, *(h["seq"] + 1 for h in heartbeats[:-1])]
    assert all(h["interval_ms"] >= 0 for h in heartbeats)


def test_an_answer_to_a_request_from_before_the_clock_was_set_back_ends_no_interval():
    log = new_log(NOON_MS + 3 * HOUR_MS)
    log.tick(NOON_MS + 20_000)
    lines = log.book(Totals.of(outcome(now_ms=NOON_MS + 3 * HOUR_MS + 10_000)))
    lines += log.tick(NOON_MS + MINUTE_MS)
    [beat] = of("heartbeat", lines)
    assert (beat["interval_start"], beat["interval_ms"]) == ("2026-11-20T12:00:20.000Z", 40_000)


def test_a_rejected_batch_is_one_decision_with_who_where_and_why():
    log = new_log(cluster_id="lkc-1")
    (line,) = decisions_of(log, rejected([NOON_MS * 1000], records=38, partition=7))
    expected = {
        "ts": "2026-11-20T12:00:00.000Z",
        "event": "decision",
        "v": 1,
        "proxy": "px",
        "boot": "boot",
        "cluster_id": "lkc-1",
        "listener": "public",
        "client_id": "orders-app",
        "topic": "orders",
        "partition": 7,
        "verdict": "rejected",
        "reason": "too_far_ahead",
        "error_code": 32,
        "records": 38,
        "bad_records": 1,
        "collateral_records": 37,
        "bad_index": [0],
        "bad_ts": [NOON_MS * 1000],
        "drift_min_ms": NOON_MS * 999,
        "after_max_ms": HOUR_MS,
        "limits_known": True,
        "suppressed": 0,
    }
    assert {name: line.get(name) for name in expected} == expected


@pytest.mark.parametrize("verdict", [VerdictName.ACCEPTED, VerdictName.UNCONFIRMED])
def test_a_batch_that_was_not_rejected_is_counted_only(log, verdict):
    assert decisions_of(log, outcome(verdict)) == []
    (counters,) = of("counters", log.stop(NOON_MS))
    assert (counters["verdict"], counters["records"]) == (verdict.value, 10)


def test_a_missing_timestamp_has_no_drift():
    """-1 is NO_TIMESTAMP (KIP-32), not a time in 1969."""
    (line,) = decisions_of(new_log(), rejected([-1], reason=Reason.MISSING))
    assert line["bad_ts"] == [-1]
    assert not {"drift_min_ms", "drift_max_ms", "bad_ts_min", "bad_ts_max"} & line.keys()


@pytest.mark.parametrize(("time_ms", "drift_ms"), [(LONG_MAX, FAR_MS), (LONG_MIN, -FAR_MS)])
def test_a_drift_that_only_says_far_survives_tools_that_keep_doubles(log, time_ms, drift_ms):
    """jq 1.6 and Node print 9223372036854775807 as a number beyond int64."""
    lines = [*log.book(Totals.of(rejected([time_ms]))), *log.stop(NOON_MS)]
    told = [line[name] for line in lines for name in ("drift_min_ms", "drift_max_ms") if name in line]
    assert told == [drift_ms] * 4
    assert int(float(drift_ms)) == drift_ms


def test_culprits_are_listed_up_to_twenty_and_their_range_spans_all():
    times = [NOON_MS + 2 * HOUR_MS + n for n in range(30)]
    (line,) = decisions_of(new_log(), rejected(times, records=30))
    assert (line["bad_index"], line["bad_index_truncated"]) == (list(range(20)), True)
    assert (line["bad_ts_min"], line["bad_ts_max"]) == (times[0], times[-1])


def test_a_culprit_whose_time_is_not_known_is_listed_by_its_place():
    (line,) = decisions_of(new_log(), rejected(culprits=(Culprit(3, None),), bad_records=1))
    assert (line["bad_index"], line["bad_ts"]) == ([3], [])


def test_limits_that_were_not_known_are_told_from_unlimited_ones(log):
    unknown, unlimited = decisions_of(log, rejected(limits=None), rejected(limits=TopicLimits()))
    assert (unknown["limits_known"], unlimited["limits_known"]) == (False, True)
    assert "after_max_ms" not in unknown
    assert "after_max_ms" not in unlimited


def test_examples_of_one_key_are_few_and_say_how_many_they_stand_for():
    log = new_log(examples=Examples(NOON_MS, per_key=Rate(burst=2, refill_ms=10_000)))
    lines = decisions_of(log, *[rejected() for _ in range(10)], rejected(now_ms=NOON_MS + 10_000))
    assert [line["suppressed"] for line in lines] == [0, 0, 8]


def test_batches_that_were_rejected_without_a_look_count_as_suppressed_examples():
    log = new_log(examples=Examples(NOON_MS, per_key=Rate(burst=1, refill_ms=10_000)))
    decisions_of(log, rejected(rule="topic-limits"))
    one = Totals.of(rejected(rule="topic-limits"))
    log.book(replace(one, example=None, batches=9, records=90, bad_records=9))
    (line,) = decisions_of(log, rejected(rule="topic-limits", now_ms=NOON_MS + 10_000))
    (heartbeat,) = of("heartbeat", log.stop(NOON_MS + 10_000))
    assert (line["suppressed"], heartbeat["decisions_suppressed"]) == (9, 9)


def test_a_storm_of_new_names_has_a_common_ceiling_and_loses_no_count():
    log = new_log(examples=Examples(NOON_MS, together=Rate(burst=5, refill_ms=1_000)))
    clients = [named(f"client-{n}", client_address=f"10.0.0.{n}") for n in range(100)]
    written = decisions_of(log, *[rejected(peer=client) for client in clients])
    lines = log.stop(NOON_MS)
    (heartbeat,) = of("heartbeat", lines)
    assert len(written) == 5
    assert (heartbeat["decisions_written"], heartbeat["decisions_suppressed"]) == (5, 95)
    assert sum(line["bad_records"] for line in of("counters", lines)) == 100


def test_a_clock_that_steps_back_earns_nothing():
    examples = Examples(NOON_MS, per_key=Rate(burst=1, refill_ms=30_000))
    assert [examples.admit("key", "10.0.0.1", NOON_MS + step) for step in (0, -60_000, -60_000)] == [
        0,
        None,
        None,
    ]


def test_batches_answered_late_earn_no_examples_by_their_older_clock():
    examples = Examples(NOON_MS, per_key=Rate(burst=1, refill_ms=30_000))
    log = new_log(examples=examples)
    steps = [NOON_MS + (30_000 if n % 2 else 0) for n in range(20)]
    assert len(decisions_of(log, *[rejected(now_ms=now_ms) for now_ms in steps])) == 2


def test_intervals_end_on_the_clocks_own_minutes():
    log = new_log(NOON_MS + 10_500)
    log.book(Totals.of(outcome(now_ms=NOON_MS + 11_000)))
    assert not log.tick(NOON_MS + 59_999)
    counters, heartbeat = log.tick(NOON_MS + 60_400)
    assert (counters["interval_start"], counters["interval_ms"]) == ("2026-11-20T12:00:10.500Z", 49_500)
    assert heartbeat["interval_ms"] == 49_500
    (next_heartbeat,) = log.tick(NOON_MS + 120_000)
    assert (next_heartbeat["interval_start"], next_heartbeat["interval_ms"]) == (
        "2026-11-20T12:01:00.000Z",
        MINUTE_MS,
    )


def test_a_batch_of_the_next_hour_never_falls_into_the_last_ones_counts():
    """Even where the tick comes late: the batch's own clock ends the interval."""
    log = new_log(NOON_MS - 1_000)
    log.book(Totals.of(outcome(now_ms=NOON_MS - 500)))
    lines = log.book(Totals.of(outcome(now_ms=NOON_MS + 1))) + log.stop(NOON_MS + 2)
    assert [(c["interval_start"][:13], c["batches"]) for c in of("counters", lines)] == [
        ("2026-11-20T11", 1),
        ("2026-11-20T12", 1),
    ]


def test_a_clock_set_back_by_an_hour_does_not_stop_the_intervals(log):
    log.book(Totals.of(outcome()))
    counters, _ = log.tick(NOON_MS - HOUR_MS)
    assert counters["batches"] == 1
    (heartbeat,) = log.tick(NOON_MS - HOUR_MS + MINUTE_MS)
    assert heartbeat["interval_start"] == "2026-11-20T11:00:00.000Z"


def test_the_writers_health_stands_in_the_heartbeat(log):
    log.tick(NOON_MS, WriterHealth(lines_dropped=3, queue_high_water=99))
    (heartbeat,) = log.tick(NOON_MS + MINUTE_MS)
    assert (heartbeat["lines_dropped"], heartbeat["queue_high_water"]) == (3, 99)


def test_stopping_on_the_boundary_of_an_interval_loses_no_count(log):
    log.book(Totals.of(outcome()))
    lines = log.stop(NOON_MS + MINUTE_MS + 300, WriterHealth(lines_dropped=7))
    assert [line["batches"] for line in of("counters", lines)] == [1]
    assert [line["lines_dropped"] for line in of("heartbeat", lines)] == [7, 7]


def test_a_topics_limits_are_told_once_a_day_and_when_they_change(log):

    def told(now_ms, limits):
        lines = log.book(Totals.of(outcome(now_ms=now_ms, limits=limits)))
        return [line.get("after_max_ms") for line in of("lifecycle", lines)]

    hour, day = TopicLimits(after_max_ms=HOUR_MS), TopicLimits(after_max_ms=24 * HOUR_MS)
    assert told(NOON_MS, hour) == [HOUR_MS]
    assert told(NOON_MS + 1, hour) == []
    assert told(NOON_MS + 2, day) == [24 * HOUR_MS]
    assert told(NOON_MS + 3, None) == []
    log.tick(NOON_MS + 12 * HOUR_MS)
    assert told(NOON_MS + 12 * HOUR_MS, day) == [24 * HOUR_MS]
    log.tick(NOON_MS)
    assert told(NOON_MS, day) == [24 * HOUR_MS], "the clock was a day ahead"


def test_stop_leaves_nothing_uncounted_and_says_goodbye(log):
    log.book(Totals.of(outcome(batch=batch(records=3))))
    lines = list(log.stop(NOON_MS + 5))
    assert [line["event"] for line in lines] == ["counters", "heartbeat", "lifecycle"]
    assert lines[-1]["kind"] == "stop"


def test_facts_of_the_proxy_are_kept_as_they_are():
    line = new_log().lifecycle(LifecycleKind.START, NOON_MS, {"mode": "enforce", "rules": [{"name": "x"}]})
    assert (line["kind"], line["facts"]) == ("start", {"mode": "enforce", "rules": [{"name": "x"}]})
