"""How clients' connections fared: counted once each, and reported where most of them fail."""

import pytest
import structlog

from tests.kit.clocks import HandClock
from tests.proxy.frames import answer, request
from tests.proxy.wire import wire
from tsproxy.proxy.admin.report import NOTHING, Report, together
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.metrics.results import (
    BOOTSTRAP,
    LATELY_MS,
    LOG_AGAIN_MS,
    NO_BROKER,
    ConnectionResults,
    RecentResult,
    Result,
    failures,
)


def results(clock=None):
    return ConnectionResults(clock or HandClock())


def booked(*rows):
    """The failures after so many connections of each row."""
    counted = results()
    for count, broker, result in rows:
        for _ in range(count):
            counted.book("public", broker, result, "why")
    return [(each.broker, each.result, each.failed, each.connections) for each in failures(counted.lately())]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([(2, "1", Result.BROKER_CLOSED_EARLY)], []),
        ([(3, "1", Result.BROKER_CLOSED_EARLY)], [("1", "broker_closed_early", 3, 3)]),
        ([(3, "1", Result.BROKER_CLOSED_EARLY), (28, "1", Result.SERVED)], []),
        (
            [(3, "1", Result.BROKER_UNREACHABLE), (27, "1", Result.SERVED), (99, "2", Result.SERVED)],
            [("1", "broker_unreachable", 3, 30)],
        ),
        ([(9, "1", Result.LOGIN_FAILED), (10, "1", Result.SERVED)], []),
        ([(10, "1", Result.LOGIN_FAILED), (10, "1", Result.SERVED)], [("1", "login_failed", 10, 20)]),
        ([(9, NO_BROKER, Result.HANDSHAKE_FAILED), (10, BOOTSTRAP, Result.SERVED)], []),
        (
            [(10, NO_BROKER, Result.HANDSHAKE_FAILED), (10, BOOTSTRAP, Result.SERVED)],
            [(NO_BROKER, "handshake_failed", 10, 20)],
        ),
        (
            [(3, "1", Result.BROKER_UNREACHABLE), (4, "2", Result.BROKER_CLOSED_EARLY)],
            [("2", "broker_closed_early", 4, 4), ("1", "broker_unreachable", 3, 3)],
        ),
    ],
)
def test_a_broker_that_fails_one_client_in_ten_is_reported_and_logins_if_half_of_them_fail(rows, found):
    assert booked(*rows) == found


def test_old_connections_do_not_count():
    clock = HandClock()
    counted = results(clock)
    for _ in range(3):
        counted.book("public", "1", Result.BROKER_UNREACHABLE, "refused")
    clock.ms += LATELY_MS + 10_000
    assert counted.lately() == []
    counted.book("public", "1", Result.SERVED)
    assert failures(counted.lately()) == []


def test_a_failure_is_logged_once_a_minute_with_its_remedy():
    clock = HandClock()
    counted = results(clock)
    with structlog.testing.capture_logs() as lines:
        for _ in range(5):
            counted.book("public", "2", Result.BROKER_CLOSED_EARLY)
        clock.ms += LOG_AGAIN_MS
        counted.book("public", "2", Result.BROKER_CLOSED_EARLY)
    assert [(line["event"], line["broker"], line["failed"]) for line in lines] == [
        ("clients_fail", "2", 3),
        ("clients_fail", "2", 6),
    ]
    assert "max.connections.per.ip" in lines[0]["advice"]


def test_a_storm_of_failures_adds_up_all_rows_once_a_second(monkeypatch):
    clock, looks = HandClock(), []
    counted = results(clock)
    sums = counted.lately
    monkeypatch.setattr(counted, "lately", lambda: looks.append(clock.ms) or sums())
    for _ in range(100):
        counted.book("public", BOOTSTRAP, Result.SERVED)
    for _ in range(99):  # fewer than half of all, so there is no line
        clock.ms += 20
        counted.book("public", NO_BROKER, Result.HANDSHAKE_FAILED, "garbage")
    assert len(looks) == 2


def test_a_long_text_is_cut():
    counted = results()
    counted.book("public", "1", Result.BROKER_UNREACHABLE, "x" * 5_000)
    assert len(counted.lately()[0].text) < 300


def test_workers_count_together():
    rows = (
        RecentResult("public", "1", "broker_unreachable", 2, "refused"),
        RecentResult("public", "1", "served", 1),
    )
    report = Report((), {}, lately=rows)
    both = together([report, Report.of_line(report.as_line()), NOTHING])
    assert {row.result: row.connections for row in both.lately} == {"broker_unreachable": 4, "served": 2}
    [sentence] = troubles(both)
    assert sentence.startswith(
        "4 of 6 new clients of listener public fail: broker 1 cannot be reached (refused). Check that it runs"
    )


# One connection


def counted_by(the):
    return [(row.broker, row.result, row.connections) for row in the.relay._context.results.lately()]


async def test_a_client_is_served_with_the_brokers_first_answer():
    async with wire() as the:
        await the.asks(request(1))
        assert counted_by(the) == []
        await the.is_told(answer(1))
        assert counted_by(the) == [(BOOTSTRAP, "served", 1)]
        the.broker.close()
        assert await the.client_sees_end()
        assert counted_by(the) == [(BOOTSTRAP, "served", 1)]


@pytest.mark.parametrize("asked", [b"", request(1)], ids=["at once", "after a request"])
async def test_a_broker_that_closes_before_its_first_answer_is_a_reason_of_its_own(asked):
    async with wire() as the:
        if asked:
            await the.client_sends(asked)
            await the.broker_gets(len(asked))
        the.broker.close()
        assert await the.client_sees_end()
        assert counted_by(the) == [(BOOTSTRAP, "broker_closed_early", 1)]
        closed = 'tsproxy_sessions_closed_total{listener="default",reason="broker_closed_early"}'
        assert the.world.metric(closed) == 1


async def test_a_broker_that_does_not_answer_is_counted_once_and_the_answer_may_still_come():
    async with wire() as the:
        assert not the.relay.is_owed_first_answer  # nobody has asked
        await the.asks(request(1))
        assert the.relay.is_owed_first_answer
        the.relay.broker_is_silent()
        the.relay.broker_is_silent()
        assert counted_by(the) == [(BOOTSTRAP, "broker_silent", 1)]
        await the.is_told(answer(1))
        assert not the.relay.is_owed_first_answer
        assert counted_by(the) == [(BOOTSTRAP, "broker_silent", 1)]


async def test_a_client_that_leaves_before_an_answer_does_not_count():
    async with wire() as the:
        the.client.close()
        assert await the.broker_sees_end()
        assert counted_by(the) == []
