"""The examples of a producer: each bad timestamp is also shown as it was meant."""

import pytest

from spark_reports.report.producers import example
from tsproxy.decisions.text import instant
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import UnitGuess

MEANT_MS = 1_795_211_960_588
VALUES = {
    UnitGuess.SECONDS: [MEANT_MS // 1000],
    UnitGuess.MICROSECONDS: [MEANT_MS * 1000],
    UnitGuess.NANOSECONDS: [MEANT_MS * 1_000_000],
    UnitGuess.MILLISECONDS_TIMES_1000_TWICE: [MEANT_MS * 1_000_000],
    UnitGuess.TICKS_100NS: [
        (MEANT_MS + 62_135_596_800_000) * 10_000,  # .NET, from year 1
        (MEANT_MS + 11_644_473_600_000) * 10_000,  # FILETIME, from 1601
    ],
}


def read_as(unit_guess, *bad_ts):
    return an_example(unit_guess=unit_guess, bad_ts=list(bad_ts))["read_as_ts"]


def an_example(**fields):
    names = ("topic", "partition", "client_address", "error_message", "records", "bad_records", "bad_index")
    row = dict.fromkeys(names) | {"ts": instant(MEANT_MS), "reason": "too_old", "error_code": 32}
    return example(row | {"unit_guess": None, "bad_ts": []} | fields)


def test_every_unit_has_a_value_here():
    assert set(VALUES) == set(UNITS)


@pytest.mark.parametrize(("unit", "value"), [(unit, value) for unit in VALUES for value in VALUES[unit]])
def test_a_bad_timestamp_is_read_in_the_unit_that_was_guessed(unit, value):
    assert read_as(unit.value, value)[:19] == instant(MEANT_MS)[:19]


ODD = {
    "digits": (20_261_120_213_000, "2026-11-20T21:30:00"),
    "other_epoch": (MEANT_MS // 1000 + 2_208_988_800, instant(MEANT_MS)[:19]),
    "other_epoch, FAT or GPS": (MEANT_MS // 1000 - 315_532_800, None),
    "never_set": (-62_135_596_800_000, None),
}


@pytest.mark.parametrize(("guess", "value", "meant"), [(key, *row) for key, row in ODD.items()], ids=ODD)
def test_a_timestamp_that_is_no_unit_is_read_if_one_time_was_meant(guess, value, meant):
    found = read_as(guess.partition(",")[0], value)
    assert (found and found[:19]) == meant


@pytest.mark.parametrize("unit_guess", [None, "zero", "a unit of a newer version"])
def test_a_timestamp_of_unknown_unit_is_not_converted(unit_guess):
    assert read_as(unit_guess, 0) is None


def test_an_example_says_why_its_batch_was_rejected():
    """By its latest bad timestamp, and by its unit; test_words.py has the causes."""
    assert an_example(bad_ts=[-7, -5])["cause"] == "timestamps are before 1970"
    assert an_example(bad_ts=[-7, 5])["cause"] == "timestamps are older than the limit"
    assert an_example(unit_guess="seconds", error_code=10)["cause"] == "timestamps are in seconds"


def test_an_example_without_timestamps_reads_as_nothing():
    assert read_as("seconds") is None
