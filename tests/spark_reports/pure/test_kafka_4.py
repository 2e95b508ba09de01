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


def sentence_of(*rows, refused=()):
    return reported(*rows, refused=refused)["kafka_4"]["sentence"]


def test_both_kinds_are_counted_in_one_sentence():
    """Each kind had a sentence, so nobody knew how many clients the upgrade breaks."""
    report = reported(ahead("terminals"), refused=[old("oura"), old("oura", "Fetch"), old("billing")])
    told = "Kafka 4 refuses 3 clients: 2 by protocol (oura: Produce 0), 1 by timestamps."
    assert report["kafka_4"] == {"clients": 3, "sentence": told}
    assert gates.parse("clients_refused_by_kafka_4>2").tripped_by(report)
    page = html.render(report)
    assert told in Page(page[: page.index('class="balance"')]).words


def test_a_client_of_both_kinds_counts_once():
    refused = [old("oura"), old("billing")]
    assert sentence_of(ahead("oura"), ahead("terminals"), refused=refused) == (
        "Kafka 4 refuses 3 clients: 2 by protocol (oura: Produce 0), 2 by timestamps, 1 of them by both."
    )
    another = ahead("oura", principal="User:oura")
    assert sentence_of(another, refused=refused[:1]).startswith("Kafka 4 refuses 2 clients: 1 by protocol")


def test_one_kind_alone_needs_no_sum():
    assert sentence_of(refused=[old("oura")]) == "Kafka 4 refuses 1 client by protocol (oura: Produce 0)."
    assert sentence_of(ahead("a"), ahead("b")) == "Kafka 4 refuses 2 clients by timestamps."
    assert sentence_of() == ""


@pytest.mark.parametrize(
    "forwarded",
    [
        ahead("an hour", HOUR_MS),
        ahead("none", None),
        ahead("of a rule in audit", rule="minute"),
        ahead("old", reason="too_old"),
        ahead("sent again", is_final=False),
        rejected("rejected already", drift_max_ms=DAY_MS),
    ],
)
def test_only_records_that_kafka_4_rejects_and_the_brokers_do_not_are_counted(forwarded):
    assert sentence_of(forwarded) == ""


def test_each_instance_of_an_application_is_a_client():
    """An old library is found by client id, so a client by timestamps is one, too."""
    pods = [ahead(f"checkout-6d4cf56db6-x2x4{end}") for end in "bcd"]
    assert sentence_of(*pods) == "Kafka 4 refuses 3 clients by timestamps."


def test_names_in_the_sentence_are_short():
    told = sentence_of(refused=[old("c" * 249, principal="p" * 249, client_software="s" * 249)])
    assert len(told) < 300
