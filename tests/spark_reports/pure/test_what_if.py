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


@given(batches, st.integers(0, 2**63 - 1), st.integers(0, 10_000))
def test_between_edges_and_for_both_sides_the_truth_lies_in_the_interval(some, after_ms, before_ms):
    rows = totals_of(some)
    count, records = what_if.whole(rows)
    ahead, behind = what_if.beyond(rows, "ahead", after_ms), what_if.beyond(rows, "behind", before_ms)
    found = what_if.either(ahead, behind, count, records)["records"]
    truth = sum(n for low, high, n in some if high > after_ms or low < -before_ms)
    assert found["at_least"] <= truth <= found["at_most"] <= records


@given(batches, st.sampled_from(what_if.SHOWN_MS))
def test_the_limits_that_a_table_shows_have_the_true_numbers_of_each_side(some, limit_ms):
    rows = totals_of(some)
    found = {side: what_if.curve(rows, side) for side in what_if.SIDES}
    [(_, ahead, behind)] = [row for row in what_if.in_short(found) if row[0] == limit_ms]
    assert ahead == sum(n for _, high, n in some if high > limit_ms)
    assert behind == sum(n for low, _, n in some if low < -limit_ms)


@given(batches, st.none() | st.sampled_from(what_if.SHOWN_MS) | st.integers(1, 2**62))
def test_limits_around_a_topics_own_hold_the_truth_and_each_differs_from_the_next(some, own_ms):
    rows = totals_of(some)
    for side, sign in (("ahead", 1), ("behind", -1)):
        found = what_if.around(rows, side, own_ms)
        limits = [row["limit_ms"] for row in found]
        assert limits == sorted(limits)
        assert [row["limit_ms"] for row in found if row["is_own"]] == ([] if own_ms is None else [own_ms])
        assert len(found) <= 2 * what_if.RIVALS + 1
        for row in found:
            truth = sum(n for low, high, n in some if (high if sign > 0 else low) * sign > row["limit_ms"])
            assert row["records_at_least"] <= truth <= row["records_at_most"]
            assert row["is_own"] or row["records_at_least"] == row["records_at_most"]
        most = [row["records_at_most"] for row in found]
        assert most == sorted(most, reverse=True)
        assert len(set(most)) == len(most)


def test_limits_around_a_topics_own_are_the_nearest_that_change_something():
    """Ten records each are 2 h, 2 d, 40 d and 20 y old, and the topic allows seven days."""
    hour = 3_600_000
    rows = totals_of([(-age * hour, 0, 10) for age in (2, 48, 960, 175_000)])
    found = what_if.around(rows, "behind", 168 * hour)
    assert [(row["limit_ms"] // hour, row["records_at_most"]) for row in found] == [
        *((1, 40), (24, 30)),
        *((168, 20), (8_760, 10)),
    ]
    assert [row["limit_ms"] // hour for row in what_if.around(rows, "behind", None)] == [1, 24, 720, 87_600][
        1:
    ]


@given(st.integers(0, 2**63 - 1))
def test_the_first_bucket_beyond_a_limit_begins_at_it_or_later(limit_ms):
    first = what_if.first_bucket_beyond(limit_ms)
    assert first > len(EDGES) or (0, *EDGES)[first - 1] >= limit_ms
    assert first == 1 or (0, *EDGES)[first - 2] < limit_ms


def test_every_limit_that_people_use_is_exact():
    assert set(THRESHOLDS_MS) <= {0, *EDGES}
