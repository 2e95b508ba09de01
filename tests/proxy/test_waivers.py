"""The end of a waiver: counted down, told of in its last week, and once when it is over."""

from dataclasses import replace

import pytest
import structlog

from tests.config.files import SMALLEST, config_of
from tests.kit.clocks import HandClock
from tests.proxy.measured import rendered
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.reload.waivers import Waivers

WAIVER = """\
policy:
  waivers:
    - name: backfill
      match: { topics: [orders] }
      until: 2026-12-01T00:00:00Z
      owner: data-platform
      reason: OPS-123
"""
UNTIL_MS = 1_796_083_200_000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
SERIES = 'tsproxy_waiver_expiry_seconds{waiver="backfill"}'


def waivers_at(now_ms):
    clock, metrics = HandClock(now_ms), Metrics()
    return Waivers(config_of(SMALLEST + WAIVER), metrics, clock), clock, metrics


def told(waivers):
    with structlog.testing.capture_logs() as lines:
        waivers.log_ends()
    return [line["event"] for line in lines]


SOON, OVER = ["waiver_ends_soon"], ["waiver_ended"]
LIVES = {
    "until a week before it is only counted down": [(-8 * DAY_MS, []), (-7 * DAY_MS, SOON)],
    "in the last week it is told of once a day": [
        *((-5 * DAY_MS, events) for events in (SOON, [])),
        *((-4 * DAY_MS, events) for events in (SOON, [])),
    ],
    "its end is told once": [(-HOUR_MS, SOON), (0, OVER), (0, []), (2 * DAY_MS, [])],
    "a clock that was ahead silences nothing": [(300 * DAY_MS, OVER), (-1, SOON), (0, OVER)],
}
"""When somebody looks, counted from the end of the waiver, and what is told then."""


@pytest.mark.parametrize("looks", LIVES.values(), ids=LIVES)
def test_the_end_of_a_waiver_is_counted_down_and_told_in_time(looks):
    waivers, clock, metrics = waivers_at(UNTIL_MS)
    for at_ms, events in looks:
        clock.ms = UNTIL_MS + at_ms
        assert told(waivers) == events
        assert rendered(metrics)[SERIES] == -at_ms / 1000


def test_who_answers_for_it_is_named():
    waivers, _, _ = waivers_at(UNTIL_MS - HOUR_MS)
    with structlog.testing.capture_logs() as lines:
        waivers.log_ends()
    assert lines[0].items() >= {"owner": "data-platform", "reason": "OPS-123", "hours_left": 1}.items()


def test_one_that_a_reload_takes_away_is_no_longer_counted():
    waivers, _, metrics = waivers_at(UNTIL_MS)
    waivers.log_ends()
    config = config_of(SMALLEST + WAIVER)
    waivers.apply(replace(config, policy=replace(config.policy, waivers=())))
    assert SERIES not in rendered(metrics)
