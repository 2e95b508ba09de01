import pytest

from tsproxy.model.words import many
from tsproxy.offline.words import span

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("length_ms", "text"),
    [
        (999, "999 ms"),
        (1_000, "1 s"),
        (DAY_MS, "1 day"),
        (36 * 3_600_000, "1.5 days"),
        (31_556_952_000, "1 year"),
        (10**15, "31,689 years"),
    ],
)
def test_a_span_has_one_number_and_its_unit(length_ms, text):
    assert span(length_ms) == text


def test_one_is_no_plural():
    assert [many(n, "batch", "batches") for n in (0, 1, 2_000)] == ["0 batches", "1 batch", "2,000 batches"]
    assert many(1, "record") == "1 record"
