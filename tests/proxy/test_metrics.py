"""Metrics under the names of the documentation, with labels that stay few."""

import re
from dataclasses import replace

import pytest

from tests.attacks.steps import bytecodes
from tests.decisions.outcomes import outcome
from tests.proxy.measured import ACCEPTED, REJECTED, TOTALS, rendered
from tsproxy import __version__
from tsproxy.decisions.drift import bucket
from tsproxy.decisions.totals import Totals, bar
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import CANDIDATE, Match, Mode, Policy, Rule, RuleSettings
from tsproxy.model.verdict import Reason
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.topics import SERIES
from tsproxy.proxy.metrics.totals import families_now, joined, rows
from tsproxy.session.effects import CloseReason


@pytest.mark.parametrize("rule", ["topic-limits", CANDIDATE, "audited"])
def test_batches_that_were_rejected_or_would_be_count_together_as_they_do_one_by_one(rule):
    would = rule != "topic-limits"
    one = replace(
        REJECTED,
        verdict=VerdictName.ACCEPTED if would else VerdictName.REJECTED,
        rule=rule,
        mode=Mode.AUDIT,
        would_reject=would,
    )
    each, together = Metrics(lambda _: True), Metrics(lambda _: True)
    for _ in range(3):
        each.book(Totals.of(one))
    records = 3 * one.batch.records
    bars = {0: bar(3, records)}
    counted = {"batches": 3, "records": records, "bad_records": 15, "ahead": bars, "behind": bars}
    together.book(replace(TOTALS, key=Totals.of(one).key, **counted))
    assert rendered(together) == rendered(each)


WOULD = replace(REJECTED, verdict=VerdictName.ACCEPTED, would_reject=True)
AUDITED = replace(WOULD, rule="own", mode=Mode.AUDIT, bad_records=3)
CONCURRENT = outcome(
    VerdictName.BROKER_REJECTED,
    reason=Reason.OTHER,
    error_code=ErrorCode.CONCURRENT_TRANSACTIONS,
    bad_records=10,
    is_final=False,
)


def ended(verdict, error_code, *, is_final=True):
    return replace(REJECTED, verdict=verdict, error_code=error_code, is_final=is_final)


LISTENER = 'listener="public"'
ALL_ACCEPTED = f'{LISTENER},reason="",verdict="accepted"'
ALL_REJECTED = f'{LISTENER},reason="too_far_ahead",verdict="rejected"'
CAUSE = 'reason="too_far_ahead",unit="nanoseconds"'
NONE_IS_BAD = {f"bad_records_total{{{CAUSE}}}": None, 'topic_bad_records_total{topic="other"}': 0}
BOOKED = {
    "by verdict and reason": (
        [ACCEPTED, ACCEPTED, REJECTED],
        {
            f"batches_total{{{ALL_ACCEPTED}}}": 2,
            f"records_total{{{ALL_ACCEPTED}}}": 76,
            f"batches_total{{{ALL_REJECTED}}}": 1,
            f"records_total{{{ALL_REJECTED}}}": 38,
            f"bad_records_total{{{CAUSE}}}": 5,
        },
    ),
    "let pass, and would be rejected": (
        [replace(WOULD, rule=CANDIDATE), AUDITED],
        {
            f"candidate_bad_records_total{{{CAUSE}}}": 5,
            f"audited_bad_records_total{{{CAUSE}}}": 3,
            f"bad_records_total{{{CAUSE}}}": None,
            f"batches_total{{{ALL_ACCEPTED}}}": 2,
        },
    ),
    "rejected by a broker for its records": (
        [ended(VerdictName.BROKER_REJECTED, code) for code in (32, 87)],
        {f"bad_records_total{{{CAUSE}}}": 10},
    ),
    # Too large, a wrong principal, a policy of the cluster, an old epoch.
    "rejected by a broker for something else": (
        [ended(VerdictName.BROKER_REJECTED, code) for code in (10, 29, 44, 47)],
        NONE_IS_BAD,
    ),
    "split and sent again": ([ended(VerdictName.BROKER_REJECTED, 10, is_final=False)], NONE_IS_BAD),
    "sent again": ([ended(VerdictName.BROKER_REJECTED, 19, is_final=False)], NONE_IS_BAD),
    "nobody can tell its end": ([ended(VerdictName.UNCONFIRMED, 10)], NONE_IS_BAD),
    # In audit mode, a producer with acks=0 would not show.
    "would be rejected, and nobody can tell its end": (
        [replace(AUDITED, verdict=VerdictName.UNCONFIRMED)],
        {f"audited_bad_records_total{{{CAUSE}}}": 3, 'topic_bad_records_total{topic="other"}': 0},
    ),
    # A healthy cluster answers 51 while an earlier transaction ends.
    "sent again for a reason that has a name": (
        [CONCURRENT],
        {f'records_total{{{LISTENER},reason="concurrent_transactions",verdict="sent_again"}}': 10},
    ),
    "by topics that are known to exist": (
        [replace(ACCEPTED, topic="written")]
        + [replace(REJECTED, topic=topic) for topic in ("described", "written", "made up", "other")],
        {
            'topic_bad_records_total{topic="described"}': 5,
            'topic_bad_records_total{topic="written"}': 5,
            'topic_bad_records_total{topic="other"}': 10,
        },
    ),
}
"""Outcomes, and the values of series after them; None for a series that is not there."""


@pytest.mark.parametrize(("outcomes", "series"), BOOKED.values(), ids=BOOKED)
def test_outcomes_are_counted_by_how_they_ended(outcomes, series):
    metrics = Metrics(lambda topic: topic == "described")
    for booked in outcomes:
        metrics.book(Totals.of(booked))

    shown = rendered(metrics)
    assert {name: shown.get(f"tsproxy_{name}") for name in series} == series


def test_a_topic_that_is_called_other_has_one_series_with_all_others():
    """A scrape with one series twice is rejected as a whole."""
    metrics = Metrics(lambda _: True)
    for booked in (ACCEPTED, REJECTED):
        metrics.book(Totals.of(replace(booked, topic="other")))
    lines = [line for line in metrics.render().decode().splitlines() if 'topic="other"' in line]
    assert len(lines) == len({line.rpartition(" ")[0] for line in lines})


@pytest.mark.parametrize(
    ("name", "booked"),
    [("tsproxy_topic_records_total", ACCEPTED), ("tsproxy_topic_bad_records_total", REJECTED)],
)
def test_whichever_topics_come_each_series_of_a_topic_only_grows_by_what_has_come(name, booked):
    """A fall is a restart to Prometheus, and a record that moves to another series is counted once more."""
    workers, shown = [Metrics(lambda _: True), Metrics(lambda _: True)], {}
    for n in range(2 * SERIES.most):
        of_topic = replace(Totals.of(replace(booked, topic=f"t{n}")), records=n**2, bad_records=n**2)
        workers[0].book(of_topic)
        workers[n % 2].book(of_topic)
        now = {
            labels["topic"]: records
            for labels, records in rows(joined(families_now(each.families()) for each in workers), name)
        }
        grown = {topic: now.get(topic, 0) - shown.get(topic, 0) for topic in shown | now}
        assert min(grown.values()) >= 0
        assert sum(grown.values()) == 2 * n**2
        shown = now
    assert len(shown) <= 2 * SERIES.most + 1


def test_what_was_not_read_or_without_limits_counts_by_its_own_number():
    metrics = Metrics()
    metrics.book(replace(Totals.of(ACCEPTED), records_unread=7, records_limits_unknown=11))

    found = rendered(metrics)
    assert found['tsproxy_records_unread_total{listener="public"}'] == 7
    assert found['tsproxy_records_limits_unknown_total{listener="public"}'] == 11


def test_each_number_of_a_process_is_under_its_own_name():
    metrics = Metrics()
    metrics.from_clients.bytes, metrics.from_brokers.bytes = 2, 3
    metrics.decisions_written, metrics.decisions_dropped, metrics.decision_files_deleted = 5, 7, 11
    metrics.decision_log_writable, metrics.decision_topic = False, (True, 13)
    metrics.throttled_ms, metrics.buffered_bytes, metrics.buffered_ratio = 17_000, 19, 0.5
    for state, to in ((None, "READY"), (None, "READY"), ("READY", "JUDGING"), ("JUDGING", None)):
        metrics.connection_moved("public", state, to)
    metrics.session_closed("public", CloseReason.NOT_KAFKA)
    metrics.sasl_failed("public", "PLAIN")

    found = rendered(metrics)
    assert {name: found[name] for name in NUMBERS} == NUMBERS


NUMBERS = {
    'tsproxy_bytes_total{direction="from_client"}': 2,
    'tsproxy_bytes_total{direction="from_broker"}': 3,
    "tsproxy_decisions_total": 5,
    "tsproxy_decisions_dropped_total": 7,
    "tsproxy_decision_files_deleted_total": 11,
    "tsproxy_decision_log_writable": 0,
    "tsproxy_decision_topic_up": 1,
    "tsproxy_decision_topic_sent_total": 13,
    "tsproxy_throttle_seconds_total": 17,
    "tsproxy_buffered_bytes": 19,
    "tsproxy_buffered_ratio": 0.5,
    'tsproxy_connections{listener="public",state="ready"}': 1,
    'tsproxy_connections{listener="public",state="judging"}': 0,
    'tsproxy_sessions_closed_total{listener="public",reason="not_kafka"}': 1,
    'tsproxy_sasl_failures_total{listener="public",mechanism="PLAIN"}': 1,
}


def test_what_clients_choose_makes_no_series():
    metrics = Metrics()
    metrics.book(Totals.of(ACCEPTED))
    before = len(rendered(metrics))
    for n in range(1_000):
        metrics.book(
            Totals.of(replace(ACCEPTED, topic=f"t{n}", peer=replace(ACCEPTED.peer, client_id=f"c{n}")))
        )

    # There are a few topics that a broker has taken records for (test_operators_metrics.py).
    assert len(rendered(metrics)) == before + SERIES.most - 1


def test_a_page_costs_as_much_with_300_rules_as_with_one():
    """Series are kept until they change. They were made for each page: 100 ms a MiB."""
    counts = []
    for number in (1, 300):
        metric = Metrics().rules
        metric.know(Policy(rules=tuple(Rule(f"r{n}", Match(), RuleSettings()) for n in range(number))))
        counts.append(bytecodes(lambda of=metric: [*of.collect()])[1])
    assert counts[0] == counts[1]


def test_each_rule_in_force_has_its_series_from_the_start_and_counts_what_it_hits():
    modes = {"own": Mode.AUDIT, "usual": None, "off": Mode.OFF}
    rules = tuple(Rule(name, Match(), RuleSettings(mode=mode)) for name, mode in modes.items())
    metrics = Metrics()
    metrics.rules.know(Policy(rules=rules))
    counts = []
    for _ in range(3):
        found = rendered(metrics)
        names = [name for name in found if name.startswith(("tsproxy_rule_hits", "tsproxy_rule_bad"))]
        counts.append({re.sub("tsproxy_rule_|_total", "", name): found[name] for name in names})
        metrics.book(Totals.of(replace(REJECTED, rule="usual", mode=Mode.ENFORCE)))
    own = {'hits{mode="audit",rule="own"}': 0, 'bad_records{mode="audit",rule="own"}': 0}
    usual = 'hits{mode="enforce",rule="usual"}', 'bad_records{mode="enforce",rule="usual"}'
    assert counts == [{**own, usual[0]: n, usual[1]: 5 * n} for n in range(3)]


DRIFTS_MS = {
    0: "0.0",
    1: "1.0",
    1_000: "1.0",
    1_001: "10.0",
    -1_001: "-1.0",
    86_400_000: "86400.0",
    2**62: "+Inf",
}


@pytest.mark.parametrize(("drift_ms", "bound"), DRIFTS_MS.items())
def test_a_batch_counts_at_the_first_bound_that_its_newest_time_does_not_pass(drift_ms, bound):
    metrics = Metrics()
    batch = replace(ACCEPTED.batch, min_timestamp_ms=-(2**40), max_timestamp_ms=drift_ms)
    metrics.book(Totals.of(replace(ACCEPTED, batch=batch)))

    found = rendered(metrics)
    bounds = [name for name, value in found.items() if "drift" in name and 'of="newest"' in name and value]
    assert bounds[0] == f'tsproxy_timestamp_drift_seconds_bucket{{le="{bound}",of="newest"}}'
    assert found['tsproxy_timestamp_drift_seconds_bucket{le="-31536000.0",of="oldest"}'] == 1


def test_batches_that_come_as_totals_count_where_they_would_have_counted_one_by_one():
    one_by_one, together = Metrics(), Metrics()
    for drift_ms in DRIFTS_MS:
        batch = replace(ACCEPTED.batch, min_timestamp_ms=drift_ms, max_timestamp_ms=drift_ms)
        one_by_one.book(Totals.of(replace(ACCEPTED, batch=batch)))
    bars = {bucket(drift_ms): bar(1, 38) for drift_ms in DRIFTS_MS}
    together.book(replace(TOTALS, batches=len(bars), records=38 * len(bars), ahead=bars, behind=bars))

    assert rendered(one_by_one) == rendered(together)


def test_the_build_says_its_version():
    assert any(f'version="{__version__}"' in line for line in rendered(Metrics()))
