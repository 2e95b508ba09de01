"""A run of the tests ends at its start if the native code is older than its sources."""

import os

import pytest

import conftest
from tests import native_code


@pytest.mark.parametrize(
    ("source_s", "declared_s", "built_s", "is_stale"),
    [(10, 10, 10, False), (10, 10, 11, False), (12, 10, 11, True), (10, 12, 11, True), (10, 10, None, True)],
)
def test_code_that_is_older_than_a_source_is_stale(tmp_path, source_s, declared_s, built_s, is_stale):
    times_s = {
        "walk.pyx": source_s,
        "common.pxd": declared_s,
        "walk.cpython-311-x86_64-linux-gnu.so": built_s,
    }
    for name, time_s in times_s.items():
        if time_s is not None:
            (tmp_path / name).touch()
            os.utime(tmp_path / name, (time_s, time_s))
    assert [*native_code.stale(tmp_path)] == [tmp_path / "walk.pyx"] * is_stale


def test_a_run_with_stale_code_says_what_to_do(monkeypatch, tmp_path):
    (tmp_path / "walk.pyx").touch()
    monkeypatch.setattr(conftest, "NATIVE", tmp_path)
    with pytest.raises(pytest.UsageError, match=r"walk\.pyx.*make setup"):
        conftest.pytest_configure()
