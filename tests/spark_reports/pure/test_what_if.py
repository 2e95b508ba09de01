"""The records that other limits would reject: exact at edges, elsewhere an interval that holds the truth."""

from hypothesis import given
from hypothesis import strategies as st

from spark_reports.report import what_if
from tsproxy.decisions.drift import EDGES, THRESHOLDS_MS, bucket

batches = st.lists(
    st.tuples(st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-10_000, 10_000), st.integers(1, 50)),
    max_size=30,
).map(lambda some: [(drift, drift, records) for drift, records in some])


def totals_of(some):
    """The rows to which the log's histograms add up, from (lowest, highest drift, records)."""
    return [
        {"side": side, "bucket": bucket(drift), "batches": 1, "records": records}
        for low, high, records in some
        for side, drift in (("ahead", high), ("behind", low))
    ]


@given(batches, st.sampled_from((0, *EDGES)))
def test_at_an_edge_the_answer_is_exact(some, limit_ms):
    rows = totals_of(some)
    for side, sign in (("ahead", 1), ("behind", -1)):
        truth = [records for drift, _, records in some if drift * sign > limit_ms]
        found = what_if.beyond(rows, side, limit_ms)
        assert found["batches"] == {"at_least": len(truth), "at_most": len(truth)}
        assert found["records"] == {"at_least": sum(truth), "at_most": sum(truth)}


@given(batches)
def test_the_curve_has_the_true_numbers_of_each_side(some):
    rows = totals_of(some)
    for ahead, behind in zip(what_if.curve(rows, "ahead"), what_if.curve(rows, "behind"), strict=True):
        assert ahead["records"] == sum(n for _, high, n in some if high > ahead["limit_ms"])
        assert behind["records"] == sum(n for low, _, n in some if low < -behind["limit_ms"])


@given(batches, st.integers(0, 2**63 - 1), st.integers(0, 10_000))
def test_between_edges_and_for_both_sides_the_truth_lies_in_the_interval(some, after_ms, before_ms):
    rows = totals_of(some)
    count, records = what_if.whole(rows)
    ahead, behind = what_if.beyond(rows, "ahead", after_ms), what_if.beyond(rows, "behind", before_ms)
    found = what_if.either(ahead, behind, count, records)["records"]
    truth = sum(n for low, high, n in some if high > after_ms or low < -before_ms)
    assert found["at_least"] <= truth <= found["at_most"] <= records


@given(st.integers(0, 2**63 - 1))
def test_the_first_bucket_beyond_a_limit_begins_at_it_or_later(limit_ms):
    first = what_if.first_bucket_beyond(limit_ms)
    assert first > len(EDGES) or (0, *EDGES)[first - 1] >= limit_ms
    assert first == 1 or (0, *EDGES)[first - 2] < limit_ms


def test_every_limit_that_people_use_is_exact():
    assert set(THRESHOLDS_MS) <= {0, *EDGES}
