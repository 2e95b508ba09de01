"""The end of a waiver: counted down, told of in its last week, and once when it is over."""

from dataclasses import replace

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


def test_until_a_week_before_it_is_only_counted_down():
    waivers, clock, metrics = waivers_at(UNTIL_MS - 8 * DAY_MS)
    assert told(waivers) == []
    assert rendered(metrics)[SERIES] == 8 * 86_400
    clock.ms = UNTIL_MS - 7 * DAY_MS
    assert told(waivers) == ["waiver_ends_soon"]


def test_in_the_last_week_it_is_told_of_once_a_day():
    waivers, clock, _ = waivers_at(UNTIL_MS - 5 * DAY_MS)
    assert (told(waivers), told(waivers)) == (["waiver_ends_soon"], [])
    clock.ms += DAY_MS
    assert (told(waivers), told(waivers)) == (["waiver_ends_soon"], [])


def test_its_end_is_told_once_whatever_was_told_before():
    waivers, clock, metrics = waivers_at(UNTIL_MS - HOUR_MS)
    assert told(waivers) == ["waiver_ends_soon"]
    clock.ms = UNTIL_MS
    assert (told(waivers), told(waivers)) == (["waiver_ended"], [])
    clock.ms += 2 * DAY_MS
    assert told(waivers) == []
    assert rendered(metrics)[SERIES] == -2 * 86_400


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
