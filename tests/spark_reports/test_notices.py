"""Texts for owners: the fix in words, one example, nothing that a terminal or a mail obeys."""

import pytest

from spark_reports.cli import main
from spark_reports.notices import notices
from tests.spark_reports import reports


def test_each_producer_that_was_refused_has_a_text_with_its_fix():
    report = reports.fixed()
    texts = notices(report)
    assert len(texts) == len(report["producers"])
    for text, producer in zip(texts, report["producers"], strict=True):
        assert text.startswith(f"To the owner of {producer['client_id']}")
        assert f"{producer['refused_records']:,} record" in text
        assert all(reason["fix"] in text for reason in producer["reasons"])


def test_the_example_says_what_the_timestamp_reads_as():
    assert any(
        "carried" in text and "which reads as 2026-11-20T" in text for text in notices(reports.fixed())
    )


@pytest.mark.parametrize("text", reports.HOSTILE)
def test_hostile_names_stay_on_their_line_and_move_no_cursor(text):
    plain = notices(reports.fixed())
    hostile = notices(reports.hostile(text))
    assert [each.count("\n") for each in hostile] == [each.count("\n") for each in plain]
    assert all(character.isprintable() or character == "\n" for each in hostile for character in each)


def test_render_prints_them_without_spark(capsys):
    assert main(["render", str(reports.FIXED), "--format", "notices"]) == 0
    assert capsys.readouterr().out == "\n".join(notices(reports.fixed()))
