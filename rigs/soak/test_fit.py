"""The fit of a soak finds growth that is planted, and calls a series that only wanders steady."""

import random

import pytest

from rigs.soak.fit import SPANS, Verdict, fit

HOUR_S = 3000
EVERY_S = 10
BOUND = 1.0
WORLDS = 200


def wandering(seed, correlation=0.0, growth=0.0, noise=0.3):
    """A series that grows by so much in its whole length; a sample keeps so much of the one before."""
    chance, state = random.Random(seed), 0.0
    points = []
    for at_s in range(0, HOUR_S, EVERY_S):
        state = correlation * state + chance.gauss(0, noise * (1 - correlation**2) ** 0.5)
        points.append((at_s, 50 + growth * at_s / HOUR_S + state))
    return points


@pytest.mark.parametrize("correlation", [0, 0.5, 0.9])
def test_a_series_that_grows_is_found(correlation):
    found = [fit(wandering(seed, correlation, growth=3)).verdict(BOUND) for seed in range(WORLDS)]
    assert found.count(Verdict.GROWS) > 0.95 * WORLDS


@pytest.mark.parametrize("correlation", [0, 0.5, 0.9, 0.96])
def test_the_interval_of_a_series_that_does_not_grow_holds_zero(correlation):
    """A sample that keeps 0.96 of the last one makes spans of a minute that are correlated by 0.8."""
    lines = [fit(wandering(seed, correlation)) for seed in range(WORLDS)]
    assert sum(each.low <= 0 <= each.high for each in lines) > 0.92 * WORLDS


def test_the_growth_and_the_first_value_are_those_of_the_line():
    line = fit([(at_s, 20 + at_s / 100) for at_s in range(0, HOUR_S, EVERY_S)])
    assert line.growth == pytest.approx(HOUR_S / 100, rel=0.03)
    assert line.low == pytest.approx(line.high) == pytest.approx(line.growth)
    assert line.first == pytest.approx(20, rel=0.03)


def test_growth_below_the_bound_is_steady():
    assert fit(wandering(1, growth=0.5, noise=0.01)).verdict(BOUND) is Verdict.STEADY


def test_a_series_that_never_changes_is_steady():
    assert fit([(at_s, 18) for at_s in range(0, HOUR_S, EVERY_S)]).verdict(BOUND) is Verdict.STEADY


def test_a_series_that_wanders_too_far_is_not_called_steady():
    verdicts = {fit(wandering(seed, noise=30)).verdict(BOUND) for seed in range(20)}
    assert Verdict.STEADY not in verdicts


def test_a_step_that_stays_is_growth():
    """Such as buffers that each restart of the broker leaves behind."""
    steps = [(at_s, 50 + 2 * (at_s // 600)) for at_s in range(0, HOUR_S, EVERY_S)]
    assert fit(steps).verdict(BOUND) is Verdict.GROWS


def test_a_peak_of_a_few_seconds_is_none():
    peaks = [(at_s, 900 if at_s % 600 == 590 else 50) for at_s in range(0, HOUR_S, EVERY_S)]
    assert fit(peaks).growth == 0


@pytest.mark.parametrize("points", [[], [(0, 1)], [(at_s, 1) for at_s in range(SPANS // 2 - 1)]])
def test_too_few_samples_are_refused(points):
    with pytest.raises(ValueError):
        fit(points)
