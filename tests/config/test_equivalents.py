"""What durations and sizes of other programs are here: told where they are refused, and always right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.files import SMALLEST, config_of, problems_of
from tsproxy.config.kinds import BOUND, DURATION, SIZE, TOLERANCE
from tsproxy.model.policy import Span

LONG_MAX = 2**63 - 1
KEY = "message.timestamp.before.max.ms"


def bound_of(written):
    return (
        config_of(f"{SMALLEST}policy: {{ rules: [{{ name: a, {KEY}: {written} }}] }}\n").policy.rules[0].terms
    )


@pytest.mark.parametrize(
    ("written", "max_ms"),
    [
        ("604800000", 604_800_000),
        ("0", 0),
        ("604_800_000", 604_800_000),
        ("'3600000'", 3_600_000),
        (str(LONG_MAX), None),
        ("7d", 604_800_000),
        ("unlimited", None),
    ],
)
def test_a_key_of_kafkas_takes_milliseconds_as_kafkas_files_have_them(written, max_ms):
    """TopicConfig: message.timestamp.before.max.ms is a LONG in milliseconds, by default Long.MAX_VALUE."""
    assert bound_of(written).before == Span(max_ms)


@pytest.mark.parametrize("written", ["-1", str(LONG_MAX - 1), str(LONG_MAX + 1), "1e9", "٣"])
def test_a_number_that_is_no_limit_of_kafkas_is_refused(written):
    [problem] = problems_of(f"{SMALLEST}policy: {{ rules: [{{ name: a, {KEY}: {written} }}] }}\n")
    assert "is not allowed; must be a duration such as 0ms, 10s, 1h or 7d, or unlimited" in problem


DURATIONS = {
    "1h30m": "write 90m",
    "1h 30m": "write 90m",
    "1.5h": "write 90m",
    "1w": "write 7d",
    "2 weeks": "write 14d",
    "90 min": "write 90m",
    "1H": "write 1h",
    "1y": "write 365d",
    "500 millis": "write 500ms",
    "604800000": "it needs a unit: 604800000ms, which is 7d",
    "1234": "it needs a unit: 1234ms",
    "30": "it needs a unit, such as 30s",
}
SIZES = {
    "128MB": "write 128MiB",
    "128 mb": "write 128MiB",
    "1.5GiB": "write 1536MiB",
    "512k": "write 512KiB",
    "134217728": "it needs a unit: 134217728B, which is 128MiB",
    "64": "it needs a unit, such as 64MiB",
}
NOTHING = [
    "",
    "soon",
    "1x",
    "h1",
    "1h30",
    "0.0000000001s",
    "0s",
    "-1h",
    "1..5h",
    "9" * 40,
    "9" * 15 + "y",
    "P1D",
]


@pytest.mark.parametrize(("text", "advice"), DURATIONS.items())
def test_a_duration_is_told_as_it_is_written_here(text, advice):
    assert DURATION.advice(text) == advice


@pytest.mark.parametrize(("text", "advice"), SIZES.items())
def test_a_size_is_told_as_it_is_written_here(text, advice):
    assert SIZE.advice(text) == advice


@pytest.mark.parametrize("text", NOTHING)
def test_where_nothing_is_meant_nothing_is_told(text):
    assert (DURATION.advice(text), SIZE.advice(text)) == (None, None)


@given(st.text(alphabet="0123456789.hmsdwykKMGiB _", max_size=24))
def test_what_is_advised_is_always_taken(text):
    for kind in (DURATION, TOLERANCE, BOUND, SIZE):
        advice = kind.advice(text)
        if advice is not None:
            told = advice.split(": ")[-1].removeprefix("write ").removeprefix("it needs a unit, such as ")
            assert kind.parse(told.partition(",")[0]) is not None
