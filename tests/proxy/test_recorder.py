"""The recorder: outcomes reach the decision log and the metrics, and no line is lost on the way."""

import asyncio
import json
import os
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.decisions.outcomes import NOON_MS, rejected
from tests.kit.clocks import BEGIN_MS, HandClock
from tests.kit.tasks import beside
from tests.proxy.decision_log.logs import files_in
from tests.proxy.measured import ACCEPTED, TOTALS, rendered
from tests.proxy.world import until
from tsproxy.config.settings import Retention
from tsproxy.decisions import DecisionLog, LifecycleKind
from tsproxy.model.outcome import Cause, Culprit
from tsproxy.model.verdict import Reason, UnitGuess
from tsproxy.proxy.decision_log.files import QUEUE
from tsproxy.proxy.decision_log.recorder import MAX_AT_ONCE, DecisionRecorder
from tsproxy.proxy.metrics.registry import Metrics

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


class Life:
    """A recorder that has started, and ends with `lines`: all that it has written."""

    def __init__(self, folder, now_ms=BEGIN_MS, totals=list, **settings):
        self.clock, self.metrics, self._folder = HandClock(now_ms), Metrics(), folder
        self.recorder = DecisionRecorder(
            DecisionLog("proxy", "boot", now_ms),
            files_in(folder, clock=self.clock, **settings),
            self.metrics,
            self.clock,
            totals,
        )
        self.recorder.start({"version": "1"})

    async def lines(self):
        assert await self.recorder.stop()
        [file] = self._folder.iterdir()
        return [json.loads(line) for line in file.open()]

    async def counters(self):
        return [line for line in await self.lines() if line["event"] == "counters"]


async def test_a_whole_life_leaves_lines_without_gaps_also_when_it_ends_between_two_ticks(tmp_path):
    life = Life(tmp_path)
    life.recorder.record_cluster("cluster", (1, 2))
    life.recorder.book(ACCEPTED)
    life.clock.ms += 3 * MINUTE_MS  # an interval is over, and no tick has come
    lines = await life.lines()
    await life.recorder.measure()

    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert [line.get("kind") for line in lines if line["event"] == "lifecycle"] == [
        "start",
        "cluster",
        "stop",
    ]
    assert sum(line["records"] for line in lines if line["event"] == "counters") == ACCEPTED.batch.records
    assert rendered(life.metrics)["tsproxy_decisions_total"] == len(lines)


async def test_totals_are_asked_for_before_an_outcome_ends_the_interval_that_they_belong_to(tmp_path):
    kept = [TOTALS]
    life = Life(tmp_path, ACCEPTED.now_ms, lambda: [kept.pop() for _ in kept])
    life.recorder.book(ACCEPTED)
    life.recorder.book(replace(ACCEPTED, now_ms=ACCEPTED.now_ms + MINUTE_MS))

    assert [line["batches"] for line in await life.counters()] == [21, 1]
    accepted = 'listener="public",reason="",verdict="accepted"'
    assert rendered(life.metrics)[f"tsproxy_batches_total{{{accepted}}}"] == 22


async def test_a_batch_of_several_mistakes_reaches_log_metrics_and_live_page_by_cause(tmp_path):
    """A relay: ten records of local time, five that were never set, and 400 good ones."""
    own, other = (Reason.TOO_FAR_AHEAD, None), (Reason.TOO_OLD, UnitGuess.NEVER_SET)
    causes = (
        Cause(*own, 10, Culprit(0, NOON_MS + 19_800_000), None, None),
        Cause(*other, 5, Culprit(9, 1), 1, 1),
    )
    outcome = rejected(records=415, bad_records=15, causes=causes)
    life = Life(tmp_path, outcome.now_ms)
    life.recorder.book(outcome)

    counted = await life.counters()
    sums = ("batches", "records", "bad_records", "collateral_records")
    found = {(line["reason"], line.get("unit_guess")): [line[name] for name in sums] for line in counted}
    assert found == {own: [1, 410, 10, 400], other: [0, 5, 5, 0]}
    rows = life.recorder.offenders.highest(life.clock.ms)
    assert {row.key[5:7]: row.bad_records for row in rows} == {own: 10, other: 5}
    bad = "tsproxy_bad_records_total"
    shown = rendered(life.metrics)
    assert shown[f'{bad}{{reason="too_far_ahead",unit=""}}'] == 10
    assert shown[f'{bad}{{reason="too_old",unit="never_set"}}'] == 5


async def test_a_heartbeat_follows_the_totals_of_its_interval(tmp_path):
    """So a process that is killed has counted all batches up to its last heartbeat."""
    kept = [TOTALS]
    life = Life(tmp_path, ACCEPTED.now_ms // 1000 * 1000 + 999, lambda: [kept.pop() for _ in kept])
    life.clock.ms += MINUTE_MS
    async with beside(life.recorder.tick()):
        await until(lambda: not kept)  # the tick is due after a millisecond
    events = [line["event"] for line in await life.lines()]
    assert events.index("counters") < events.index("heartbeat")


@pytest.mark.parametrize("by_ms", [-2 * HOUR_MS, 2 * HOUR_MS])
@pytest.mark.parametrize("is_batch_first", [True, False])
async def test_an_interval_holds_batches_of_one_clock_and_ends_before_the_line_of_a_step(
    tmp_path, by_ms, is_batch_first
):
    """Nobody could tell which batches of a minute in which the clock was set were judged by which clock."""
    life = Life(tmp_path, ACCEPTED.now_ms, every_ms=10 * HOUR_MS)
    life.recorder.book(ACCEPTED)
    await asyncio.sleep(0)
    life.clock.by_ms += by_ms
    stepped = replace(ACCEPTED, now_ms=life.clock.now_ms())
    for is_batch in (is_batch_first, not is_batch_first):
        if is_batch:
            life.recorder.book(stepped)
        else:
            life.recorder.record_lifecycle(LifecycleKind.CLOCK, {"what": "stepped"})

    kinds = [line.get("kind", line["event"]) for line in await life.lines()]
    assert kinds == ["start", "counters", "heartbeat", "clock", "counters", "heartbeat", "stop"]


async def test_outcomes_that_are_older_than_the_interval_do_not_ask_all_sessions_each_time(tmp_path):
    """A clock that has stepped back, or outcomes that waited. Each question goes to every connection."""
    asked = []
    life = Life(tmp_path, ACCEPTED.now_ms, lambda: asked.append(1) or [])
    for _ in range(100):
        life.recorder.book(replace(ACCEPTED, now_ms=ACCEPTED.now_ms - 10 * MINUTE_MS))
    assert not asked
    await life.lines()


async def test_very_many_outcomes_are_booked_in_turns_and_none_is_lost(tmp_path):
    """A request of 20,000 partitions must not hold up everybody while it is booked."""
    life = Life(tmp_path)
    recorder = life.recorder
    accepted = 'tsproxy_batches_total{listener="public",reason="",verdict="accepted"}'

    def booked():
        return rendered(life.metrics)[accepted]

    many = 2 * MAX_AT_ONCE + 10
    for _ in range(many):
        recorder.book(ACCEPTED)
    assert booked() == MAX_AT_ONCE
    assert recorder.waiting_bytes >= 500 * (many - MAX_AT_ONCE), "their requests are not counted any more"
    await asyncio.sleep(0)
    recorder.book(ACCEPTED)
    assert MAX_AT_ONCE < booked() <= 2 * MAX_AT_ONCE
    await until(lambda: booked() == many + 1)
    assert recorder.waiting_bytes == 0
    await asyncio.sleep(0)
    for _ in range(many):
        recorder.book(ACCEPTED)
    seen, measuring = [booked()], asyncio.ensure_future(recorder.measure())
    while not measuring.done():
        await asyncio.sleep(0)
        seen.append(booked())
    assert booked() == 2 * many + 1
    assert all(after - before <= MAX_AT_ONCE for before, after in pairwise(seen))
    for _ in range(many):
        recorder.book(ACCEPTED)

    assert sum(line["batches"] for line in await life.counters()) == 3 * many + 1


async def test_what_was_dropped_and_what_was_deleted_is_told_by_metrics_and_the_next_heartbeat(
    tmp_path, monkeypatch
):
    old = tmp_path / "decisions-20261120T000000Z-proxy_1-boot.1-0001.jsonl"
    old.write_text("{}\n")
    os.utime(old, (1, 1))
    life = Life(tmp_path, retention=Retention(age_ms=MINUTE_MS, size_bytes=None))
    with monkeypatch.context() as full:
        full.setattr("tsproxy.proxy.decision_log.files.QUEUE", replace(QUEUE, most=0))
        life.recorder.record_lifecycle(LifecycleKind.RELOAD, {})
    lines = await life.lines()
    await life.recorder.measure()

    assert [line["seq"] for line in lines] == [0, 2, 3]
    assert [line["lines_dropped"] for line in lines if line["event"] == "heartbeat"] == [1]
    shown = rendered(life.metrics)
    assert (shown["tsproxy_decisions_total"], shown["tsproxy_decisions_dropped_total"]) == (3, 1)
    assert shown["tsproxy_decision_files_deleted_total"] == 1
