"""Days of a period that are missing, and their text."""

from datetime import date

import pytest

from spark_reports.commands.running import days_in_words, missing_days

FIRST, LAST = date(2026, 10, 30), date(2026, 11, 3)


@pytest.mark.parametrize(
    ("there", "text"),
    [
        ((), "2026-10-30 to 2026-11-03"),
        (("2026-10-30",), "2026-10-31 to 2026-11-03"),
        (("2026-10-31",), "2026-10-30, 2026-11-01 to 2026-11-03"),
        (("2026-10-31", "2026-11-02"), "2026-10-30, 2026-11-01, 2026-11-03"),
        (("2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02", "2026-11-03"), ""),
    ],
)
def test_missing_days_are_shown_as_spans(there, text):
    assert days_in_words(missing_days(FIRST, LAST, there)) == text
