"""Each table of the report from a handful of rows."""

from spark_reports.report import groups
from tests.spark_reports.rolled import rejected, row, source_of, watched

TIMEOUT = {"verdict": "broker_rejected", "reason": "other", "error_code": 7, "bad_records": 10}


def late(**changes):
    return row("app", 10, **TIMEOUT | changes)


def test_topics_count_records_sent_again_apart():
    again = late(is_final=False)
    [topic] = source_of(late(), again, again).table(groups.TOPICS)
    assert (topic["records_broker_rejected_retried"], topic["records_broker_rejected"]) == (20, 10)
    assert (topic["records_judged"], topic["bad_records"]) == (10, 10)


def test_topics_not_shown_are_taken_together():
    source = source_of(row("a", 10, topic="calm"), rejected("a", 10, topic="bad"), row("a", 90, topic="busy"))
    assert [each["topic"] for each in source.table(groups.WORST_TOPICS, 2)] == ["bad", "busy"]
    found = source.of_worst_topics(2).table(groups.TOPICS)
    assert {topic["topic"]: topic["records_judged"] for topic in found} == {"bad": 10, "busy": 90, None: 10}


def test_a_producers_rejected_records_are_those_rejected_for_good():
    source = source_of(
        rejected("app", 10, bad=4), row("app", 10), row("app", 10), late(is_final=False), row("innocent")
    )
    [found] = source.table(groups.PRODUCERS)
    assert (found["client_id"], found["records"], found["rejected_records"]) == ("app", 30, 10)
    assert (found["bad_records"], found["collateral_records"], found["topics"]) == (4, 6, ["orders"])


def test_a_client_without_an_id_is_a_producer_too():
    source = source_of(rejected(None), row(None), rejected("app", 10), rejected(None, 10, principal="User:a"))
    [worst, *others] = source.table(groups.PRODUCERS)
    assert (worst["client_id"], worst["principal"], len(others)) == (None, None, 2)
    assert len(source.of_clients([worst]).rows) == 2
    assert len(source.of_clients([]).rows) == 0


def test_the_worst_producers_come_first_and_only_so_many_and_equal_ones_by_their_names():
    source = source_of(*[rejected(name, 10) for name in ("c", None, "a", "b")], rejected("z", 20))
    found = source.table(groups.PRODUCERS, 4)
    assert [each["client_id"] for each in found] == ["z", None, "a", "b"]


def test_summary_counts_clients_and_unit_mistakes():
    source = source_of(
        rejected("nanos", 10, bad=4, unit_guess="nanoseconds"),
        rejected("zero", unit_guess="zero"),
        rejected("year 1", unit_guess="never_set"),
        row("innocent"),
        row(None),
        watched("week"),
        watched("far", rule="candidate"),
        watched("soon", rule="candidate", reason="too_far_ahead"),
    )
    [found] = source.table(groups.SUMMARY)
    assert (found["producers"], found["producers_affected"]) == (8, 3)
    assert (found["unit_mistake_records"], found["would_reject_producers"]) == (4, 2)


def test_summary_of_nothing_is_noughts():
    [found] = source_of().table(groups.SUMMARY)
    assert set(found.values()) == {0, None}  # no cluster


def test_reasons_leave_out_accepted_batches_and_open_ones_without_an_error():
    open_ = {"verdict": "unconfirmed", "bad_records": 0}
    source = source_of(
        rejected("app"), row("app"), late(is_final=False), late(**open_), late(**open_, error_code=0)
    )
    found = {
        (each["verdict"], each["is_final"], each["topic_limit_records"])
        for each in source.table(groups.REASONS)
    }
    assert found == {("rejected", True, 1_000), ("broker_rejected", False, 10), ("unconfirmed", True, 0)}


def test_rules_are_those_that_a_batch_violated():
    """An instant that no row has is null. A waiver without a rule is one, too."""
    source = source_of(
        watched("app", waiver="w"), row("app", waiver="w"), row("app"), rejected("app", first_ms=None)
    )
    assert [(each["rule"], each["waiver"], each["records"]) for each in source.table(groups.RULES)] == [
        (None, "w", 1_000),
        ("topic-limits", None, 1_000),
        ("week", "w", 1_000),
    ]
    [found] = source.table(groups.PRODUCERS)
    assert (found["first_ms"], found["last_ms"] is None) == (None, False)


def test_each_client_keeps_its_own_worst_topics():
    rows = [rejected(name, 10 + n, topic=f"t{n}") for n in range(4) for name in ("a", None)]
    found = source_of(*rows).table(groups.CLIENT_TOPICS, 2)
    assert sorted((each["client_id"] or "", each["topic"]) for each in found) == [
        ("", "t2"), ("", "t3"), ("a", "t2"), ("a", "t3"),
    ]  # fmt: skip
    assert [each["topic"] for each in found] == ["t3", "t3", "t2", "t2"]
