"""The whole way: lines that proxies wrote, with known truth, to report.json."""

from dataclasses import replace
from datetime import date

import pytest

from spark_reports.log.read import Source
from spark_reports.render import html
from spark_reports.report import words
from spark_reports.report.assemble import assemble
from spark_reports.report.files import read_report, to_json
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS, a_day
from tests.spark_reports.logs import counters, heartbeat, line, write
from tests.spark_reports.pure.test_notices import notices

FRIDAY = date(2026, 11, 20)
NEXT_MORNING_MS = MIDNIGHT_MS + DAY_MS + 5 * HOUR_MS


def tables_of(spark, *inputs, top=50):
    return collect(spark, Source([str(path) for path in inputs], FRIDAY, FRIDAY), top)


def report_of(found):
    return assemble(found, FRIDAY, FRIDAY, NEXT_MORNING_MS)


@pytest.fixture(scope="module")
def day():
    """Two proxies, five hours, every kind of producer."""
    return a_day(("px-1", "px-2"), hours=range(10, 15), minutes=range(0, 60, 20))


@pytest.fixture(scope="module")
def found(spark, day, tmp_path_factory):
    """The tables of files in disorder, with some lines delivered twice and garbage among them."""
    folder = tmp_path_factory.mktemp("decisions")
    half = len(day.lines) // 2
    write(folder / "decisions-20261120T090000Z-px-1-b-0001.jsonl.gz", *reversed(day.lines[:half]))
    write(
        folder / "decisions-20261120T110000Z-px-2-b-0001.jsonl.open", *day.lines[half - 50 :], raw='{"ts":"20'
    )
    return tables_of(spark, folder)


@pytest.fixture(scope="module")
def made(found):
    return report_of(found)


def test_totals_are_the_truth_to_the_record(day, made):
    totals = made["totals"]
    truth = {
        "records_judged": day.judged(),
        "records_accepted": day.judged("accepted"),
        "records_rejected": day.judged("rejected"),
        "records_broker_rejected": day.judged("broker_rejected"),
        "records_unconfirmed": day.judged("unconfirmed"),
        "bad_records": day.bad_records,
        "collateral_records": day.collateral_records,
        "records_unread": day.records_unread,
    }
    assert {name: totals[name] for name in truth} == truth
    assert all(truth.values())


def test_every_topic_has_its_own_truth(day, made):
    for topic in made["topics"]:
        for verdict in ("accepted", "rejected", "broker_rejected", "unconfirmed"):
            assert topic[f"records_{verdict}"] == day.records[topic["topic"], verdict, True]
    assert {topic["topic"] for topic in made["topics"]} == {topic for topic, _, _ in day.records}


@pytest.mark.parametrize("part", ["totals", "topics"])
def test_judged_is_the_sum_of_how_it_ended(made, part):
    for counts in [made["totals"]] if part == "totals" else made["topics"]:
        parts = ("accepted", "repaired", "rejected", "broker_rejected", "unconfirmed")
        assert counts["records_judged"] == sum(counts[f"records_{name}"] for name in parts)


def test_records_sent_again_are_counted_apart(day, made):
    again = day.records["payments", "broker_rejected", False]
    assert made["totals"]["records_broker_rejected_retried"] == again > 0


def test_lines_delivered_twice_and_torn_ones_are_counted(made):
    log = made["log"]
    assert (log["duplicate_lines"], log["quarantined_lines"]) == (50, {"not_json": 1})
    assert log["quarantined_examples"] == [
        'decisions-20261120T110000Z-px-2-b-0001.jsonl.open: not_json: {"ts":"20'
    ]
    assert (log["files"], log["open_files"], log["is_complete"], log["lines_unusable"]) == (2, 1, False, 1)


def test_producers_come_worst_first_with_their_fix(made):
    first = made["producers"][0]
    assert (first["client_id"], first["principal"]) == ("sensor-gateway", "User:iot")
    assert first["reasons"][0]["cause"] == "timestamps are in nanoseconds"
    assert first["reasons"][0]["fix"] == "divide by 1,000,000"
    assert first["client_software"] == ["librdkafka/2.6.0"]
    rejected = [producer["rejected_records"] for producer in made["producers"]]
    assert rejected == sorted(rejected, reverse=True)


def test_a_producers_tables_add_up_to_its_rejections(made):
    for producer in made["producers"]:
        assert sum(producer["hours"]) == producer["rejected_records"]
        assert sum(reason["records"] for reason in producer["reasons"]) == producer["rejected_records"]
        assert sum(topic["rejected_records"] for topic in producer["topics"]) == producer["rejected_records"]


def test_an_example_reads_the_timestamp_in_the_guessed_unit(made):
    nanoseconds = made["producers"][0]["examples"][-1]
    assert nanoseconds["read_as_ts"][:16] == nanoseconds["ts"][:16]


def test_hours_by_cause_add_up_to_the_rejected_records(made):
    totals = made["totals"]
    rejected = totals["records_rejected"] + totals["records_broker_rejected"]
    assert sum(sum(row["rejected_records"]) for row in made["cause_hours"]) == rejected
    assert made["cause_hours"][0]["cause"] == "the wrong time unit"
    assert len(made["cause_hours"]) <= 4


def test_limits_in_force_are_those_the_proxy_saw(made):
    limits = {limit["topic"]: (limit["before_max_ms"], limit["after_max_ms"]) for limit in made["limits"]}
    assert limits["orders"] == (7 * DAY_MS, HOUR_MS)
    assert limits["metrics"] == (None, None)


def test_the_headline_names_the_unit_mistakes(made):
    assert made["details"][0] == "7,841 bad records; 5,381 good ones were in the same batches."
    assert " of rejected records: the wrong time unit, from 2 producers, most from " in made["details"][1]
    assert "sensor-gateway" in made["details"][1]


def test_the_remedy_for_old_records_is_that_of_the_limit_that_rejected_them(made):
    """All rules of this day are the topics' own limits."""
    old = [row for each in made["producers"] for row in each["reasons"] if row["cause"].endswith("the limit")]
    assert old
    assert {row["platform"] for row in old} == {words.TOPIC_REMEDY}


def test_short_tables_count_the_rows_that_they_leave_out(found, made):
    """`--top 1`: the other topics came without their names, the other clients not at all."""
    worst = made["topics"][0]["topic"]
    topics = [row | {"topic": row["topic"] if row["topic"] == worst else None} for row in found.topics]
    (producer,) = (row for row in found.producers if row["client_id"] == "sensor-gateway")
    short = report_of(replace(found, topics=topics, producers=[producer]))
    assert short["totals"] == made["totals"]
    assert [topic["topic"] for topic in short["topics"]] == [worst]
    assert short["producers_omitted"] == {
        "count": len(made["producers"]) - 1,
        "records": made["totals"]["records_judged"] - producer["records"],
        "rejected_records": sum(producer["rejected_records"] for producer in made["producers"][1:]),
    }
    assert short["topics_omitted"] == {
        "count": len(made["topics"]) - 1,
        "records": sum(topic["records_judged"] for topic in made["topics"][1:]),
        "rejected_records": sum(
            topic["records_rejected"] + topic["records_broker_rejected"] for topic in made["topics"][1:]
        ),
    }


HASHED, LEFT_OUT = ("~0123456789abcdef", ["~fedcba9876543210"]), (None, [])


def test_a_log_that_hashes_persons_or_leaves_them_out_gives_the_same_report(spark, tmp_path):
    """As `decisions.privacy` writes it. One proxy hashes, another leaves out."""
    rejected = {"verdict": "rejected", "reason": "too_far_ahead", "unit_guess": "microseconds",
               "error_code": 32, "bad_records": 10}  # fmt: skip
    example = {"listener": "public", "topic": "orders", "partition": 0, "records": 10,
               "is_final": True, "bad_index": [0], "bad_ts": [MIDNIGHT_MS * 1000]}  # fmt: skip
    lines = []
    for name, (principal, addresses) in (("hashed", HASHED), ("left-out", LEFT_OUT)):
        person = {"principal": principal} if principal else {}
        address = {"client_address": addresses[0]} if addresses else {}
        own = {"proxy": name, "client_id": name}
        lines += [
            line(0, kind="start", proxy=name),
            counters(1, addresses=addresses, **rejected, **person, **own),
            line(2, "decision", **rejected, **example, **person, **address, **own),
            heartbeat(3, proxy=name),
        ]
    made = report_of(tables_of(spark, write(tmp_path / "a.jsonl", *lines)))
    found = {each["client_id"]: each for each in made["producers"]}
    for name, (principal, addresses) in (("hashed", HASHED), ("left-out", LEFT_OUT)):
        producer = found.pop(name)
        assert (producer["principal"], producer["addresses"]) == (principal, addresses)
        assert producer["rejected_records"] == 10
        assert [each["client_address"] for each in producer["examples"]] == (addresses or [None])
        owner = f"To the owner of {name}{f' ({principal})' if principal else ''}:\n"
        assert any(each.startswith(owner) for each in notices(made))
    assert not found
    assert html.render(made).count("divide by 1,000") >= 2


def test_report_json_is_read_back_as_it_was_written(made, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(to_json(made), encoding="utf-8")
    assert read_report(path) == made
    assert len(to_json(made)) < 100_000
