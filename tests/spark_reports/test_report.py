"""The whole way, asked once: a rich day with known truth, from the lines that proxies wrote to report.json.

Two proxies have five hours of every kind of producer. Beside them are a proxy whose clock was slow for two
minutes, one that only seems so, and one with clients of old protocols; logs that hash persons or leave them
out; rules in audit, limits that change, clients with odd names, and histograms of another version.
"""

from collections import Counter
from dataclasses import replace

import pytest

from spark_reports.log.read import Source
from spark_reports.render import html
from spark_reports.report import gates, words
from spark_reports.report.assemble import assemble
from spark_reports.report.files import report_of
from spark_reports.report.shape import to_json
from tests.decisions.outcomes import batch, outcome, rejected
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, FRIDAY, HOUR_MS, MIDNIGHT_MS, a_day
from tests.spark_reports.logs import counters, heartbeat, line, write
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.pure.test_notices import notices
from tsproxy.decisions import DecisionLog, LifecycleKind
from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import OldRequest, Peer
from tsproxy.model.policy import TOPIC_LIMITS

NINE_MS, EVENING_MS = MIDNIGHT_MS + 9 * HOUR_MS, MIDNIGHT_MS + 23 * HOUR_MS
SLOW_MS = -2 * HOUR_MS
REJECTED = {"verdict": "rejected", "reason": "too_far_ahead", "error_code": 32, "bad_records": 10}
EXAMPLE = {"listener": "public", "topic": "orders", "partition": 0, "records": 10, "is_final": True}
EXAMPLE |= {"bad_index": [0], "bad_ts": [MIDNIGHT_MS * 1000]}
OURA = Peer("public", "10.0.0.1", 1, "oura")
BILLING = Peer("public", "10.0.0.2", 1, "billing", "User:b", "sarama/1.17.0")
PERSONS = {"hashed": ("~0123456789abcdef", ["~fedcba9876543210"]), "left-out": (None, [])}
"""The principal and the addresses, as `decisions.privacy` writes them."""


def a_morning(day, proxy, *, proven):
    """The lines of a proxy whose clock was 2 h slow from 9:10 to 9:12. `good` sends the time that it is,
    `micros` microseconds, `late` 90 minutes ahead of it, `early` as far ahead as the limit allows.
    """
    log = DecisionLog(proxy, "boot", NINE_MS, interval_ms=60_000)
    lines = [log.lifecycle(LifecycleKind.START, NINE_MS, {"mode": "enforce"})]

    def book(name, made, *, is_counted=True):
        peer = Peer("public", "10.0.0.1", 1, f"{name}-{proxy}", None, None)
        lines.extend(log.book(Totals.of(replace(made, peer=peer))))
        if is_counted:
            day.records[made.topic, made.verdict, True] += made.batch.records
            day.bad_records += made.bad_records

    def send(true_ms, off_ms):
        now_ms = true_ms + off_ms
        lines.extend(log.tick(now_ms))
        at_fault = {"micros": true_ms * 1000, "late": true_ms + 90 * 60_000}
        wronged = {"good": true_ms, "early": true_ms + HOUR_MS - 5_000} if off_ms else {}
        for name, bad_ms in {**at_fault, **wronged}.items():
            made = rejected([bad_ms] * 10, rule=TOPIC_LIMITS)
            made = replace(made, now_ms=now_ms, batch=batch(10, bad_ms, bad_ms))
            book(name, made, is_counted=name not in wronged or not proven)
        if not off_ms:
            book("good", outcome(now_ms=now_ms, batch=batch(10, true_ms, true_ms)))

    def clock(now_ms, what, **facts):
        lines.append(log.lifecycle(LifecycleKind.CLOCK, now_ms, {"what": what, **facts}))

    send(NINE_MS + 540_000, 0)
    send(NINE_MS + 600_000, SLOW_MS)
    slow_ms, right_ms = NINE_MS + 601_000 + SLOW_MS, NINE_MS + 720_000
    beyond = {"offset_ms": SLOW_MS, "error_ms": 1_001, "step_ms": SLOW_MS, "enforced": True}
    clock(slow_ms, "stepped", by_ms=SLOW_MS)
    clock(slow_ms, "beyond", proven=proven, **beyond)
    send(NINE_MS + 660_000, SLOW_MS)
    lines.extend(log.tick(right_ms))
    clock(right_ms, "stepped", by_ms=-SLOW_MS)
    clock(right_ms, "within", offset_ms=0, proven=proven)
    send(NINE_MS + 780_000, 0)
    lines.extend(log.stop(NINE_MS + 840_000))
    return lines


def an_evening():
    """The lines of clients of old protocols. The last request of the day stands in a line of the next day."""
    log = DecisionLog("px-old", "boot", EVENING_MS, interval_ms=60_000)
    lines = [log.lifecycle(LifecycleKind.START, EVENING_MS, {"mode": "enforce"})]
    for now_ms, peer, api, version in (
        (EVENING_MS + 1_000, BILLING, "Fetch", 3),
        (EVENING_MS + HOUR_MS - 1, BILLING, "Fetch", 0),
        (EVENING_MS + HOUR_MS - 1, OURA, "Produce", 0),
        (EVENING_MS + HOUR_MS + 60_000, Peer("public", "10.0.0.3", 1, "tomorrow"), "Produce", 0),
    ):
        lines.extend(log.tick(now_ms))
        log.note(OldRequest(peer, api, version))
    return [*lines, *log.stop(EVENING_MS + 3_700_000)]


def of_persons():
    for name, (principal, addresses) in PERSONS.items():
        known = {"client_id": name, **({"principal": principal} if principal else {})}
        address = {"client_address": addresses[0]} if addresses else {}
        yield counters(0, addresses=addresses, **REJECTED, **known)
        yield line(0, "decision", **REJECTED, **EXAMPLE, **known, **address)


def of_rules():
    """One client breaks only the candidate limit, one has a waiver."""
    by_candidate = {"would_reject": True, "rule": "candidate", "reason": "too_far_ahead", "bad_records": 3}
    held = {
        "would_reject": True,
        "rule": "recent",
        "mode": "audit",
        "waiver": "backfill",
        "reason": "too_old",
    }
    yield counters(0, client_id="soon", **by_candidate)
    yield counters(0, client_id="etl", records=400, bad_records=7, **held)


def of_odd_names():
    """A client that is called as those that are counted together, and these, which have 30 records. It had a
    good batch from another address, one that it sends again, and one that was only counted."""
    odd = {"topic": "(other)", "client_id": "(other)", **REJECTED}
    yield counters(0, **odd | {"topic": "other", "client_id": "other", "folded": True, "records": 30})
    yield counters(0, addresses=["10.0.0.9"], **odd)
    yield counters(0, addresses=["10.9.9.9"], topic="(other)", client_id="(other)")
    yield counters(0, **odd | {"client_id": "(no client id)"})
    for more in ({}, {"is_final": False}, {"verdict": "accepted", "would_reject": True}):
        yield line(0, "decision", **EXAMPLE | odd | more)


def of_limits():
    """A topic's limits are changed, and changed back."""
    yield counters(0, topic="changed", **REJECTED)
    for hour, after_max_ms in enumerate((1_000, 2_000, 1_000)):
        limits = {"timestamp_type": "CreateTime", "before_max_ms": None, "after_max_ms": after_max_ms}
        yield line(0, at_ms=MIDNIGHT_MS + hour * HOUR_MS, kind="limits", topic="changed", **limits)


def of_a_shipper():
    """It rewrote an object of facts, which Python's parser cannot read. Nobody reads those of counters."""
    return [counters(0, facts="site 7"), line(0, kind="clock", facts="{what=stepped}")]


def of_another_version():
    newer = {"hist": "drift-v2", "topic": "new", "records": 7}
    return [counters(0, **newer), counters(0, **newer, is_final=False)]


@pytest.fixture(scope="module")
def day():
    """Its lines, and the truth about them."""
    day = a_day(("px-1", "px-2"), hours=range(10, 15), minutes=range(0, 60, 20))
    day.others = [*a_morning(day, "px-slow", proven=True), *a_morning(day, "px-claims", proven=False)]
    day.others += an_evening()
    for of in (of_persons, of_rules, of_odd_names, of_limits, of_a_shipper, of_another_version):
        name = f"px-{len(day.others)}"
        for seq, each in enumerate(of()):
            day.others.append(each | {"proxy": name, "boot": name, "seq": seq})
            if each["event"] == "counters":
                topic = "\\(other)" if each["topic"] == "(other)" else each["topic"]
                topic = "(other)" if each.get("folded") else topic
                day.records[topic, each["verdict"], each["is_final"]] += each["records"]
                if each["verdict"] == "rejected":
                    day.bad_records += each["bad_records"]
        day.others.append(heartbeat(seq + 1, proxy=name, boot=name))
    return day


@pytest.fixture(scope="module")
def made(spark, day, tmp_path_factory):
    """The report of files in disorder, with some lines delivered twice and garbage among them."""
    folder = tmp_path_factory.mktemp("decisions")
    half = len(day.lines) // 2
    write(folder / "decisions-20261120T090000Z-px-1-b-0001.jsonl.gz", *reversed(day.lines[:half]))
    write(
        folder / "decisions-20261120T110000Z-px-2-b-0001.jsonl.open", *day.lines[half - 50 :], raw='{"ts":"20'
    )
    write(folder / "decisions-20261120T120000Z-others-0001.jsonl", *day.others)
    tables = collect(spark, Source([str(folder)], FRIDAY, FRIDAY), 100)
    return assemble(tables, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS + 5 * HOUR_MS)


def test_totals_and_topics_are_the_truth_to_the_record(day, made):
    verdicts = ("accepted", "rejected", "broker_rejected", "unconfirmed")
    truth = {f"records_{verdict}": day.judged(verdict) for verdict in verdicts}
    truth |= {name: getattr(day, name) for name in ("bad_records", "collateral_records", "records_unread")}
    truth["records_judged"] = day.judged()
    truth["records_broker_rejected_retried"] = day.records["payments", "broker_rejected", False]
    assert {name: made["totals"][name] for name in truth} == truth
    assert all(truth.values())
    for topic in made["topics"]:
        for verdict in verdicts:
            assert topic[f"records_{verdict}"] == day.records[topic["topic"], verdict, True]
        assert topic["records_judged"] == sum(topic[f"records_{verdict}"] for verdict in verdicts)
    assert {topic["topic"] for topic in made["topics"]} == {topic for topic, _, _ in day.records}


def test_lines_delivered_twice_and_torn_ones_are_counted(made):
    log = made["log"]
    assert (log["duplicate_lines"], log["quarantined_lines"]) == (50, {"bad_type": 1, "not_json": 1})
    torn, rewritten = log["quarantined_examples"]
    assert torn == 'decisions-20261120T110000Z-px-2-b-0001.jsonl.open: not_json: {"ts":"20'
    assert rewritten.endswith(" line 1: facts {what=stepped}")
    assert (log["files"], log["open_files"], log["is_complete"], log["lines_unusable"]) == (3, 1, False, 1)


def test_producers_come_worst_first_with_their_fix_and_an_example_that_is_read_in_their_unit(made):
    first = made["producers"][0]
    assert (first["client_id"], first["principal"]) == ("sensor-gateway", "User:iot")
    assert first["reasons"][0]["cause"] == "timestamps are in nanoseconds"
    assert first["reasons"][0]["fix"] == "divide by 1,000,000"
    assert first["client_software"] == ["librdkafka/2.6.0"]
    assert first["examples"][-1]["read_as_ts"][:16] == first["examples"][-1]["ts"][:16]
    records = [producer["rejected_records"] for producer in made["producers"]]
    assert records == sorted(records, reverse=True)


def test_hours_times_and_drifts_of_a_producer_are_those_of_its_lines(day, made):
    counted = [each for each in day.lines if each["event"] == "counters" and each["verdict"] == "rejected"]
    own = [each for each in counted if each.get("client_id") == "mobile-sdk"]
    hours = Counter()
    for each in own:
        hours[each["interval_start"][:13]] += each["records"]
    [found] = [each for each in made["producers"] if each["client_id"] == "mobile-sdk"]
    assert found["hours"] == [hours[hour] for hour in made["hours"]]
    assert len(hours) == 5
    for names, extreme in (("first_ts drift_min_ms", min), ("last_ts drift_max_ms", max)):
        time, drift = names.split()
        assert found[time] == extreme(each[time] for each in own)
        assert found["reasons"][0][drift] == extreme(each[drift] for each in own)


def test_hours_causes_and_topics_of_producers_add_up_to_the_rejected_records(day, made):
    for producer in made["producers"]:
        assert sum(producer["hours"]) == producer["rejected_records"]
        assert sum(reason["records"] for reason in producer["reasons"]) == producer["rejected_records"]
        assert sum(topic["rejected_records"] for topic in producer["topics"]) == producer["rejected_records"]
    by_cause = sum(sum(row["rejected_records"]) for row in made["cause_hours"])
    assert by_cause == day.judged("rejected", "broker_rejected")


def test_the_limits_of_a_topic_are_those_that_the_proxy_saw_last(made):
    """Limits were changed and changed back: letters named those of the time between."""
    limits = {limit["topic"]: (limit["before_max_ms"], limit["after_max_ms"]) for limit in made["limits"]}
    assert (limits["orders"], limits["metrics"]) == ((7 * DAY_MS, HOUR_MS), (None, None))
    texts = words.limits_by_topic(made["limits"])
    assert texts["changed"] == ["unlimited / 2 s from 01:00", "unlimited / 1 s again"]
    [topic] = [topic for topic in made["topics"] if topic["topic"] == "changed"]
    assert [row["limit_ms"] for row in topic["what_if"] if row["is_own"]] == [1_000]


def test_the_remedy_for_old_records_is_that_of_the_limit_that_rejected_them(made):
    """All rules of this day that reject are the topics' own limits."""
    causes = [reason for producer in made["producers"] for reason in producer["reasons"]]
    platforms = {reason["platform"] for reason in causes if reason["cause"].endswith("the limit")}
    assert platforms == {words.TOPIC_REMEDY}


def test_good_records_that_a_slow_clock_rejected_blame_nobody_and_are_told(made):
    """10,982 good records: "Check the producer's clock". A bad record is bad by either clock."""
    [wrong] = made["wrong_clocks"]
    told = {producer["client_id"]: producer["records"] for producer in wrong["producers"]}
    assert told == {"good-px-slow": 20, "early-px-slow": 20}
    assert (wrong["records"], wrong["offset_ms"]) == (40, SLOW_MS)
    assert (wrong["from_ts"], wrong["to_ts"]) == ("2026-11-20T09:10:01.000Z", "2026-11-20T09:12:00.000Z")
    producers = {producer["client_id"]: producer for producer in made["producers"]}
    assert {name for name in producers if name and name.endswith("px-slow")} == {
        "micros-px-slow",
        "late-px-slow",
    }
    assert [reason["drift_max_ms"] for reason in producers["late-px-slow"]["reasons"]] == [90 * 60_000]
    assert (
        "40 records were rejected while the clock of px-slow was 2 h slow, 09:10 to 09:12 (good by the "
        "brokers' clock, and counted nowhere else): tell early-px-slow, good-px-slow."
    ) in Page(html.render(made)).words


def test_a_clock_that_a_client_could_have_made_seem_wrong_excuses_nobody(made):
    assert {"good-px-claims", "early-px-claims"} <= {producer["client_id"] for producer in made["producers"]}


def test_each_client_and_api_that_kafka_4_refuses_has_a_row_with_its_lowest_and_highest_version(made):
    """A request counts on its own day: that of `tomorrow` is none of this one."""
    names = ("client_id", "api", "version_min", "version_max")
    rows = [tuple(row[name] for name in names) for row in made["refused_by_kafka_4"]]
    assert rows == [("billing", "Fetch", 0, 3), ("oura", "Produce", 0, 0)]
    told = "Kafka 4 refuses 2 clients by protocol (billing as User:b, sarama/1.17.0: Fetch 0 to 3)."
    assert told == made["kafka_4"]["sentence"]
    assert gates.parse("clients_refused_by_kafka_4>1").tripped_by(made)
    assert "oura: Produce 0" in html.render(made)


@pytest.mark.parametrize("name", PERSONS)
def test_a_log_that_hashes_persons_or_leaves_them_out_gives_the_same_report(made, name):
    principal, addresses = PERSONS[name]
    [producer] = [producer for producer in made["producers"] if producer["client_id"] == name]
    assert (producer["principal"], producer["addresses"]) == (principal, addresses)
    assert producer["rejected_records"] == 10
    assert [example["client_address"] for example in producer["examples"]] == (addresses or [None])
    owner = f"To the owner of {name}{f' ({principal})' if principal else ''}:\n"
    assert any(text.startswith(owner) for text in notices(made))


def test_records_counted_by_a_candidate_or_a_waiver_are_listed_apart(made):
    names = ("client_id", "rule", "waiver", "records", "bad_records")
    rows = [[row[name] for name in names] for row in made["would_reject"]]
    assert rows == [["etl", "recent", "backfill", 400, 7], ["soon", "candidate", None, 10, 3]]
    rules = {(row["rule"], row["waiver"]): (row["records"], row["rejected_records"]) for row in made["rules"]}
    assert (rules["recent", "backfill"], rules["candidate", None]) == ((400, 0), (10, 0))
    assert "waiver backfill" in html.render(made)


def test_a_client_that_is_called_as_the_folded_ones_is_never_taken_for_them(made):
    """Also not by its topic or in its examples; test_teams.py has its owner."""
    odd = [producer for producer in made["producers"] if (producer["client_id"] or "").endswith(")")]
    rows = {
        producer["client_id"]: (producer["rejected_records"], len(producer["examples"])) for producer in odd
    }
    assert rows == {"(other)": (30, 0), "\\(other)": (10, 1), "\\(no client id)": (10, 0)}
    addresses = {producer["client_id"]: producer["addresses"] for producer in odd}
    assert (addresses["(other)"], addresses["\\(other)"]) == (["10.0.0.1"], ["10.0.0.9"])


def test_records_with_histograms_of_another_version_are_counted_as_left_out(made):
    """Bad records that a proxy with a wrong clock rejected are in none."""
    known, bad_by_either_clock = made["what_if"], 40
    assert known["records_left_out"] == 7
    assert known["records"] == made["totals"]["records_judged"] - 7 - bad_by_either_clock


def test_report_json_is_read_back_as_it_was_written(made, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(to_json(made), encoding="utf-8")
    assert report_of(path.read_text(), str(path)) == made
