"""The proof says so when two places differ, whichever two; here every one of them is made to."""

from dataclasses import replace

import pytest

from deploy.demo import proof
from deploy.demo.proof import Booked, ClientResults, Line, Reported

A, B, C, D = (f"client/{number}".encode() for number in range(4))
RESULTS = ClientResults(
    sent=4, acknowledged=frozenset({A, B}), rejected=frozenset({C, D}), culprits=frozenset({C})
)
BOOKED = Booked(accepted=2, rejected=2, resent=3, culprits=1, collateral=1)
LINE = Line("topic", "client", RESULTS, {A: 1, B: 1}, BOOKED)


def reported(booked: Booked, topic: str = "topic") -> Reported:
    return Reported(booked, {topic: booked}, {"client": booked.rejections})


REPORTED = reported(BOOKED)


def test_where_all_agree_there_is_no_difference():
    assert proof.differences([LINE], REPORTED) == []


def test_what_a_broker_rejected_in_the_proxys_stead_is_rejected_all_the_same():
    """In the first moments of a topic its limits are not known, and the broker judges alone."""
    booked = replace(BOOKED, rejected=0, broker_rejected=2)
    assert proof.differences([replace(LINE, booked=booked)], reported(booked)) == []


def test_a_broker_that_does_not_name_the_culprits_makes_all_it_rejected_look_like_them():
    """Below Produce v8 the answer has no room for names. More than it rejected it cannot excuse."""
    booked = replace(BOOKED, rejected=0, broker_rejected=2, culprits=2, collateral=0)
    assert proof.differences([replace(LINE, booked=booked)], reported(booked)) == []
    ours = replace(booked, rejected=2, broker_rejected=0)
    assert proof.differences([replace(LINE, booked=ours)], reported(ours)) == [
        "topic, client: culprits in the data 1, culprits in the decision log 2"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (replace(LINE, results=replace(RESULTS, sent=5)), "sent 5, acknowledged + rejected 4"),
        (replace(LINE, stored={A: 1}), "1 acknowledged and not in Kafka's log: client/1"),
        (replace(LINE, stored={A: 1, B: 1, C: 1}), "1 in Kafka's log and not acknowledged: client/2"),
        (replace(LINE, stored={A: 2, B: 1}), "1 in Kafka's log more than once: client/0"),
        (replace(LINE, stored={A: 2}), "1 acknowledged and not in Kafka's log: client/1"),
        (replace(LINE, stored={A: 2, B: 1}), "acknowledged 2, in Kafka's log 3"),
        (
            replace(LINE, results=replace(RESULTS, culprits=frozenset({A}))),
            "culprits in the data 1, culprits rejected at the client 0",
        ),
    ],
)
def test_a_record_that_is_not_where_it_should_be_is_named(line: Line, said: str):
    assert f"topic, client: {said}" in proof.differences([line], REPORTED)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("accepted", "acknowledged 2, accepted in the decision log 3"),
        ("rejected", "rejected 2, rejected + broker_rejected in the decision log 3"),
        ("broker_rejected", "rejected 2, rejected + broker_rejected in the decision log 3"),
        ("unconfirmed", "unconfirmed in the decision log 1, none 0"),
        ("culprits", "culprits in the data 1, culprits in the decision log 2"),
        ("collateral", "culprits + collateral in the decision log 3, rejected 2"),
    ],
)
def test_a_decision_log_that_counts_otherwise_than_the_clients_is_told_of(field: str, said: str):
    booked = replace(BOOKED, **{field: getattr(BOOKED, field) + 1})
    found = proof.differences([replace(LINE, booked=booked)], reported(booked))
    assert f"topic, client: {said}" in found


@pytest.mark.parametrize("field", Booked.__slots__)
@pytest.mark.parametrize(("what", "place"), [("all topics", "totals"), ("topic", "topics")])
def test_a_report_that_counts_otherwise_than_the_decision_log_is_told_of(what: str, place: str, field: str):
    count = getattr(BOOKED, field)
    wrong = replace(BOOKED, **{field: count + 1})
    report = replace(REPORTED, **{place: wrong if place == "totals" else {"topic": wrong}})
    assert proof.differences([LINE], report) == [
        f"{what}: {field} {count} in the decision log, {count + 1} in the report"
    ]


def test_a_report_that_blames_a_client_for_what_it_did_not_do_is_told_of():
    report = replace(
        REPORTED, clients={"client": BOOKED.rejections, "stranger": proof.Rejections(rejected=1)}
    )
    assert proof.differences([LINE], report) == ["stranger: rejected 0 in the decision log, 1 in the report"]


def test_a_topic_or_a_client_that_the_report_leaves_out_is_told_of():
    found = proof.differences([LINE], replace(REPORTED, topics={}, clients={}))
    assert "topic: accepted 2 in the decision log, 0 in the report" in found
    assert "client: rejected 2 in the decision log, 0 in the report" in found


def test_records_of_nobody_are_told_of():
    """A place that only one side knows of has a line too."""
    lines = proof.lines({}, {("topic", "stranger"): {A: 1}}, {("other", "ghost"): BOOKED})
    found = proof.differences(lines, reported(BOOKED, "other"))
    assert "topic, stranger: acknowledged 0, in Kafka's log 1" in found
    assert "other, ghost: acknowledged 0, accepted in the decision log 2" in found


def test_the_table_has_a_line_for_every_client_and_one_for_the_report():
    table = proof.table([LINE], REPORTED).splitlines()
    assert [line.split("  ")[0].strip() or line.strip().split("  ")[0] for line in table[2:]] == [
        "topic",
        "client",
        "= the report",
    ]
    assert len({len(line) for line in table[3:]}) == 1


def test_the_conclusion_counts_records_or_names_what_differs():
    assert proof.conclusion([LINE], []).startswith("All counts agree: 4 records sent; 2 acknowledged")
    assert proof.conclusion([LINE], ["this", "that"]) == "DIFFERENT: this\nDIFFERENT: that"
