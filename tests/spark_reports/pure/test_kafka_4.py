"""The clients that Kafka 4 refuses, by protocol and by timestamps, are counted in one sentence."""

from dataclasses import replace

import pytest

from spark_reports.render import html
from spark_reports.report import gates, tables
from spark_reports.report.assemble import assemble
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.rolled import FRIDAY, day_of, rejected, row, watched


def ahead(client_id, drift_ms=HOUR_MS + 1, **changes):
    """Forwarded records that the candidate limits would reject."""
    counted = {"rule": "candidate", "mode": None, "reason": "too_far_ahead", "drift_max_ms": drift_ms}
    return watched(client_id, **counted | changes)


def old(client_id, api="Produce", **changes):
    """A client's use of versions that Kafka 4 does not take."""
    names = dict.fromkeys(("principal", "client_software", "client_address"))
    return {"client_id": client_id, **names, "api": api, "version_min": 0, "version_max": 0} | changes


def reported(*rows, refused=()):
    made = tables.collect(replace(day_of(row("good"), *rows), refused=[*refused]), 50)
    return assemble(made, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS + 1) | {"links": None}


OURA, BILLING = old("oura"), old("billing")
SENTENCES = [
    # Clients, records that the candidate limits would reject, uses of old versions, the sentence.
    (
        3,
        [ahead("terminals")],
        [OURA, old("oura", "Fetch"), BILLING],
        "Kafka 4 refuses 3 clients: 2 by protocol (oura: Produce 0), 1 by timestamps.",
    ),
    (
        3,
        [ahead("oura"), ahead("terminals")],
        [OURA, BILLING],
        "Kafka 4 refuses 3 clients: 2 by protocol (oura: Produce 0), 2 by timestamps, 1 of them by both.",
    ),
    (
        2,
        [ahead("oura", principal="User:oura")],
        [OURA],
        "Kafka 4 refuses 2 clients: 1 by protocol (oura: Produce 0), 1 by timestamps.",
    ),
    (1, [], [OURA], "Kafka 4 refuses 1 client by protocol (oura: Produce 0)."),
    (2, [ahead("a"), ahead("b")], [], "Kafka 4 refuses 2 clients by timestamps."),
    # An old library is found by client id, so each instance of an application is a client, too.
    (
        3,
        [ahead(f"checkout-6d4cf56db6-x2x4{end}") for end in "bcd"],
        [],
        "Kafka 4 refuses 3 clients by timestamps.",
    ),
    # Only records that Kafka 4 rejects and the brokers do not are counted.
    *(
        (0, [forwarded], [], "")
        for forwarded in (
            ahead("an hour", HOUR_MS),
            ahead("none", None),
            ahead("of a rule in audit", rule="minute"),
            ahead("old", reason="too_old"),
            ahead("sent again", is_final=False),
            rejected("rejected already", drift_max_ms=DAY_MS),
        )
    ),
]


@pytest.mark.parametrize(("count", "rows", "refused", "told"), SENTENCES)
def test_clients_of_both_kinds_are_counted_in_one_sentence_each_once(count, rows, refused, told):
    """Each kind had a sentence, so nobody knew how many clients the upgrade breaks."""
    report = reported(*rows, refused=refused)
    assert report["kafka_4"] == {"clients": count, "sentence": told}
    page = html.render(report)
    assert told in Page(page[: page.index('class="balance"')]).words
    assert bool(gates.parse("clients_refused_by_kafka_4>2").tripped_by(report)) is (count > 2)


def test_names_in_the_sentence_are_short():
    long = old("c" * 249, principal="p" * 249, client_software="s" * 249)
    assert len(reported(refused=[long])["kafka_4"]["sentence"]) < 300
