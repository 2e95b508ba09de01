"""The page lists likely mistakes apart from records that a newer broker would reject."""

from spark_reports.render import html
from spark_reports.report import words
from tests.spark_reports.pure.test_notices import notices
from tests.spark_reports.rolled import reported, watched

ROW = watched("in-seconds", rule="candidate", unit_guess="seconds", bad_records=500, topic="clicks")
AHEAD = watched("too-early", rule="candidate", reason="too_far_ahead")
IN_AUDIT, BEHIND = "What rules in audit would reject", "Far behind the clock"


def test_the_page_has_a_section_for_each():
    text = html.render(reported([AHEAD, ROW]))
    audit, behind = text.index(IN_AUDIT), text.index(BEHIND)
    assert audit < text.index("too-early", audit) < behind < text.index("in-seconds")
    assert "no version of Kafka does by itself" in text
    assert BEHIND not in html.render(reported([AHEAD]))


def test_the_owners_text_names_no_version_of_kafka():
    [text] = notices(reported([ROW]))
    assert "* 500 records to clicks: timestamps are in seconds: multiply by 1,000." in text
    assert "Nothing rejects them" in text
    assert "Kafka 4" not in text
    [ahead] = notices(reported([AHEAD]))
    assert "Kafka 4" in ahead


def test_an_owner_of_both_gets_two_lists():
    [text] = notices(reported([ROW, AHEAD | {"client_id": "in-seconds"}]))
    rejected, mistaken = text.split("They lie so far behind the clock")
    assert "too far in the future" in rejected
    assert "timestamps are in seconds" in mistaken


def test_a_limit_that_somebody_set_in_audit_is_a_rule_as_ever():
    assert not words.is_far_behind(ROW | {"rule": "week"})


def test_far_behind_without_a_unit_is_not_put_down_to_the_topics_limit():
    advice = words.advice_if_counted("candidate", "too_old", None)
    assert advice.cause == "timestamps are far behind the clock"
    assert words.advice_if_counted("week", "too_old", None).cause == "timestamps are older than the limit"
