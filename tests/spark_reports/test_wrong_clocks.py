"""Records that a proxy rejected by its own wrong clock: a group of their own, and nobody is blamed."""

from dataclasses import replace
from datetime import date

from spark_reports.log.read import Source
from spark_reports.report import assemble, wrong_clocks
from tests.decisions.outcomes import batch, outcome, rejected
from tests.spark_reports.collected import collect
from tests.spark_reports.day import HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import write
from tsproxy.decisions import DecisionLog, LifecycleKind
from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TOPIC_LIMITS

FRIDAY, NINE_MS = date(2026, 11, 20), MIDNIGHT_MS + 9 * HOUR_MS
SLOW_MS = -2 * HOUR_MS


def clock(what, **facts):
    return LifecycleKind.CLOCK, {"what": what, **facts}


def of(client_id, made):
    return Totals.of(replace(made, peer=Peer("public", "10.0.0.1", 1, client_id, None, None)))


def a_morning(*, proven=True):
    """The lines of a proxy whose clock was 2 h slow from 9:10 to 9:12. `good` sends the time that it is,
    `micros` microseconds, `late` 90 minutes ahead of it, `early` as far ahead as the limit allows.
    """
    log = DecisionLog("px", "boot", NINE_MS, interval_ms=60_000)
    lines = [log.lifecycle(LifecycleKind.START, NINE_MS, {"mode": "enforce"})]

    def send(true_ms, off_ms):
        now_ms = true_ms + off_ms
        lines.extend(log.tick(now_ms))
        at_fault = {"micros": true_ms * 1000, "late": true_ms + 90 * 60_000}
        if off_ms:
            at_fault |= {"good": true_ms, "early": true_ms + HOUR_MS - 5_000}
        for client_id, bad_ms in at_fault.items():
            made = replace(
                rejected([bad_ms] * 10, rule=TOPIC_LIMITS), now_ms=now_ms, batch=batch(10, bad_ms, bad_ms)
            )
            lines.extend(log.book(of(client_id, made)))
        if not off_ms:
            lines.extend(log.book(of("good", outcome(now_ms=now_ms, batch=batch(10, true_ms, true_ms)))))

    send(NINE_MS + 540_000, 0)
    send(NINE_MS + 600_000, SLOW_MS)
    slow_ms = NINE_MS + 601_000 + SLOW_MS
    beyond = {"offset_ms": SLOW_MS, "error_ms": 1_001, "step_ms": SLOW_MS, "enforced": True}
    lines.append(log.lifecycle(*_at(clock("stepped", by_ms=SLOW_MS), slow_ms)))
    lines.append(log.lifecycle(*_at(clock("beyond", proven=proven, **beyond), slow_ms)))
    send(NINE_MS + 660_000, SLOW_MS)
    right_ms = NINE_MS + 720_000
    lines.extend(log.tick(right_ms))
    lines.append(log.lifecycle(*_at(clock("stepped", by_ms=-SLOW_MS), right_ms)))
    lines.append(log.lifecycle(*_at(clock("within", offset_ms=0, proven=proven), right_ms)))
    send(NINE_MS + 780_000, 0)
    lines.extend(log.stop(NINE_MS + 840_000))
    return lines


def _at(line, now_ms):
    kind, facts = line
    return kind, now_ms, facts


def reported(spark, folder, lines):
    write(folder / "decisions-20261120T090000Z-px-boot-0001.jsonl", *lines)
    return assemble.assemble(collect(spark, Source([str(folder)], FRIDAY, FRIDAY)), FRIDAY, FRIDAY, NINE_MS)


def test_good_records_that_a_slow_clock_rejected_blame_nobody_and_are_told(spark, tmp_path):
    """10,982 good records: "Check the producer's clock". A bad record is bad by either clock."""
    report = reported(spark, tmp_path, a_morning())
    [wrong] = report["wrong_clocks"]
    told = {each["client_id"]: each["records"] for each in wrong["producers"]}
    assert told == {"good": 20, "early": 20}
    assert (wrong["records"], wrong["offset_ms"]) == (40, SLOW_MS)
    assert (wrong["from_ts"], wrong["to_ts"]) == ("2026-11-20T09:10:01.000Z", "2026-11-20T09:12:00.000Z")
    assert {each["client_id"] for each in report["producers"]} == {"micros", "late"}
    assert report["details"][0] == (
        "40 records were rejected while the clock of px was 2 h slow, 09:10 to 09:12 (good by the brokers' "
        "clock, and counted nowhere else): tell early, good."
    )
    assert report["totals"]["records_rejected"] == 80
    assert report["what_if"]["records"] == 60  # the histograms of the right clock
    drifts = {reason["drift_max_ms"] for each in report["producers"] if each["client_id"] == "late"
              for reason in each["reasons"]}  # fmt: skip
    assert drifts == {90 * 60_000}


def test_what_a_client_could_have_made_seem_so_excuses_nobody(spark, tmp_path):
    report = reported(spark, tmp_path, a_morning(proven=False))
    assert report["wrong_clocks"] == []
    assert {"good", "early"} <= {each["client_id"] for each in report["producers"]}


def test_a_clock_whose_end_the_log_does_not_have_was_wrong_until_its_end():
    rows = [
        {"proxy": "px", "boot": boot, "seq": seq, "ts": "2026-11-20T07:00:00.000Z", "facts": facts}
        for boot, seq, facts in (
            ("a", 1, '{"what": "stepped", "by_ms": -7200000}'),
            ("b", 5, '{"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": true}'),
            ("b", 7, '{"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": true}'),
            ("c", 1, '{"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": true}'),
            ("c", 2, '{"what": "within", "proven": false}'),
            ("d", 1, '{"what": "within", "proven": true}'),
            ("d", 2, None),
        )
    ]
    [found] = wrong_clocks.wrong_times(rows)
    assert (found["boot"], found["from_seq"], found["to_ts"]) == ("b", 5, None)
