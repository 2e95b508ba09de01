"""Texts for owners: the fix in words, one example, and no control characters."""

from spark_reports.render import html
from spark_reports.report.notices import by_team
from tests.spark_reports import reports
from tests.spark_reports.rolled import reported, watched


def notices(report):
    return [text for texts in by_team(report).values() for text in texts]


def test_each_producer_that_was_rejected_has_a_text_with_its_fix():
    report = reports.fixed()
    report["producers"][0]["reasons"] *= 2  # by tsproxy, and by the broker
    texts = notices(report)
    assert any("carried" in text and "which reads as 2026-11-20 " in text for text in texts)
    *rejected, _ = texts
    for text, producer in zip(rejected, report["producers"], strict=True):
        assert text.startswith(f"To the owner of {producer['client_id']}")
        assert f"{producer['rejected_records']:,} record" in text
        assert all(text.count(f": {reason['fix']}.\n") == 1 for reason in producer["reasons"])


def text_for(client_id, report=None):
    [text] = [each for each in notices(report or reports.fixed()) if f"of {client_id}" in each.split("\n")[0]]
    return text


def test_a_batch_rejected_for_its_size_has_advice_about_its_size():
    text = text_for("attachments")
    assert "4,346 records of yours were rejected, 100% of what you sent.\n" in text
    assert "batches are larger than the topic allows" in text


def test_good_records_in_rejected_batches_are_counted():
    assert "117,547 of them were good, and rejected with others of the same batch" in text_for("mobile-sdk")
    assert "good" not in text_for("kiosk-clock")


def test_the_limits_that_were_broken_stand_beside_the_topics():
    line = "Topics (oldest / newest allowed): orders (7 d / 1 h)."
    assert line in text_for("orders-replay").split("\n")
    report = reports.fixed() | {"limits": []}
    assert "Topics: orders." in text_for("orders-replay", report).split("\n")


def test_owners_of_records_that_are_only_counted_get_a_text():
    """A platform that runs in audit has to convince owners while it still forwards everything."""
    report = reports.empty() | {"would_reject": reports.fixed()["would_reject"]}
    [text] = notices(report)
    to, line, *rows = text.splitlines()
    assert to == "To the owner of web-7:"
    assert line.startswith("On 2026-11-20 (UTC) these records of yours were forwarded and only counted.")
    advice = "its clock runs ahead: keep its clock by NTP."
    assert rows == [
        "* 480 records to clicks, by the candidate limits (Kafka 4's own, unless others are configured): "
        f"{advice}",
        f"* 480 records to clicks, by the rule audit-clicks, held back by the waiver backfill: {advice}",
    ]
    report["would_reject"] = report["would_reject"] * 10
    assert notices(report)[0].endswith("And 10 more like this, with 4,800 records.\n")


def test_records_far_behind_the_clock_stand_apart_and_no_version_of_kafka_is_named():
    """They are likely mistakes, which no broker rejects."""
    old = watched("app", rule="candidate", unit_guess="seconds", bad_records=500, topic="clicks")
    ahead = watched("app", rule="candidate", reason="too_far_ahead")
    [text] = notices(reported([old, ahead]))
    rejected, mistaken = text.split("They lie so far behind the clock")
    assert "too far in the future" in rejected
    assert "Kafka 4" in rejected
    assert "Nothing rejects them" in mistaken
    assert "* 500 records to clicks: timestamps are in seconds: multiply by 1,000." in mistaken
    assert "Kafka 4" not in mistaken
    page = html.render(reported([old, ahead]))
    audit, behind = page.index("What rules in audit would reject"), page.index("Far behind the clock")
    assert audit < page.index(">orders<", audit) < behind < page.index(">clicks<", behind)
    assert "no version of Kafka does by itself" in page
    assert "Far behind the clock" not in html.render(reported([ahead]))
