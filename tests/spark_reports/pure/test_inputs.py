"""Paths with a placeholder for the day, and the size of a log, by which a session of Spark is fitted."""

import argparse
from datetime import date

import pytest

from spark_reports.commands import spark_run
from spark_reports.log import inputs
from tests.spark_reports.day import FRIDAY

DAY = date(2026, 11, 5)


@pytest.mark.parametrize(
    ("path", "of_day"),
    [
        ("s3a://lake/{date}/*", "s3a://lake/2026-11-05/*"),
        ("s3a://lake/{date:%Y/%m/%d}/", "s3a://lake/2026/11/05/"),
        ("lake/dt={date}/{a,b}", "lake/dt=2026-11-05/{a,b}"),
        ("{date:%Y}/{date}", None),
        ("/lake/y={date:%Y-m%m-d%d}", "/lake/y=2026-m11-d05"),
        ("/no/placeholder", "/no/placeholder"),
    ],
)
def test_a_placeholder_is_the_day_in_the_form_that_it_names(path, of_day):
    if of_day is None:
        with pytest.raises(ValueError, match=r"\{date:%Y\} in .* does not name a day"):
            inputs.checked(path)
    else:
        assert inputs.of_day(inputs.checked(path), DAY) == of_day


@pytest.mark.parametrize(
    ("inputs", "is_table", "size"),
    [
        (["{here}"], False, 100 + 12 * 10),
        (["{here}/a", "{here}/{{date}}"], False, 100 + 12 * 10),
        (["{here}/a/decisions-20261120*"], False, 100),
        (["{here}/a/decisions-20261120T000000Z-px-1.jsonl"], False, 100),
        (["{here}/nothing"], False, None),
        (["{here}"], True, None),
        (["{here}", "s3a://lake/in"], False, None),
    ],
)
def test_the_size_is_that_of_the_days_asked_if_it_is_known(inputs, is_table, size, tmp_path):
    """A packed file counts as about the JSON that is in it."""
    for name, many in (("a/decisions-20261120T000000Z-px-1.jsonl", 100), ("a/other.txt", 5)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b" " * many)
    (tmp_path / "a" / "decisions-20261119T000000Z-px-1.jsonl").write_bytes(b" " * 7)
    (tmp_path / "2026-11-20").mkdir()
    (tmp_path / "2026-11-20" / "decisions-20261120T010000Z-px-1.jsonl.gz").write_bytes(b" " * 10)
    options = argparse.Namespace(
        input=[each.format(here=tmp_path) for each in inputs],
        input_format="parquet" if is_table else "json",
        date=(FRIDAY, FRIDAY),
    )
    assert spark_run.size_here(options) == size
