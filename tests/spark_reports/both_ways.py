"""A log read in both ways: collected as a small one, and by Spark as a large one. Both give the same."""

from contextlib import contextmanager

import pytest

from spark_reports.log import frames, opened, size


@contextmanager
def opened_small(spark, source, **asked):
    with _opened(spark, source, is_small=True, **asked) as log:
        assert isinstance(log, opened.Collected)
        yield log


@contextmanager
def opened_large(spark, source, **asked):
    with _opened(spark, source, is_small=False, **asked) as log:
        assert isinstance(log, opened.InSpark)
        yield log


@contextmanager
def _opened(spark, source, is_small, **asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(size, "is_small", lambda *_: is_small)
        with opened.lines(spark, source, **asked) as log:
            yield log


def evidence(spark, source, listed=100, **asked):
    """The evidence about a log."""
    with opened_small(spark, source, **asked) as log:
        found = log.evidence(listed)
    with opened_large(spark, source, **asked) as log:
        return agreed(found, log.evidence(listed))


def agreed(found, large):
    """The evidence that both ways found."""
    assert (large.boots, large.gaps) == (found.boots, found.gaps)
    assert sorted(large.files, key=repr) == sorted(found.files, key=repr)
    return found


def rows(spark, source):
    """The lines, each once, with the columns that both ways have."""
    with opened_large(spark, source) as log:
        names, large = log.frame.columns, frames.rows(log.frame)
    with opened_small(spark, source) as log:
        small = [{name: row[name] for name in names} for row in log.rows]
    assert sorted(large, key=repr) == sorted(small, key=repr)
    return small
