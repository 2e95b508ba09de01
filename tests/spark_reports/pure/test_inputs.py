"""Paths with a placeholder for the day."""

from datetime import date

import pytest

from spark_reports.log import inputs

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
