"""The journal: outcomes reach the decision log and the metrics, and no line is lost on the way."""

import json
from dataclasses import replace

from tests.runtime.decision_log.logs import HandClock, files_in
from tests.runtime.measured import ACCEPTED, TOTALS, rendered
from tsproxy.decisions import DecisionLog
from tsproxy.runtime.journal import Journal
from tsproxy.runtime.metrics import Metrics

MINUTE_MS = 60_000


async def test_a_whole_life_leaves_lines_without_gaps_also_when_it_ends_between_two_ticks(tmp_path):
    clock, metrics = HandClock(), Metrics()
    files = files_in(tmp_path, clock=clock)
    journal = Journal(DecisionLog("proxy", "boot", clock.now_ms()), files, metrics, clock, lambda: None)
    journal.start({"version": "1"})
    journal.see_cluster("cluster", (1, 2))
    journal.book(ACCEPTED)
    clock.ms += 3 * MINUTE_MS  # an interval is over, and no tick has come
    assert await journal.stop()
    journal.measure()

    [file] = tmp_path.iterdir()
    lines = [json.loads(line) for line in file.open()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert [line.get("kind") for line in lines if line["event"] == "lifecycle"] == [
        "start",
        "cluster",
        "stop",
    ]
    assert sum(line["records"] for line in lines if line["event"] == "counters") == ACCEPTED.batch.records
    assert rendered(metrics)["tsproxy_decisions_total"] == len(lines)


async def test_totals_are_asked_for_before_an_outcome_ends_the_interval_that_they_belong_to(tmp_path):
    clock, metrics = HandClock(), Metrics()
    files = files_in(tmp_path, clock=clock)
    kept = [TOTALS]
    journal = Journal(
        DecisionLog("proxy", "boot", ACCEPTED.now_ms),
        files,
        metrics,
        clock,
        lambda: [journal.book_totals(kept.pop()) for _ in kept],
    )
    journal.start({})
    journal.book(ACCEPTED)
    journal.book(replace(ACCEPTED, now_ms=ACCEPTED.now_ms + MINUTE_MS))
    assert await journal.stop()

    [file] = tmp_path.iterdir()
    counters = [line for line in map(json.loads, file.open()) if line["event"] == "counters"]
    assert [line["batches"] for line in counters] == [21, 1]
    accepted = 'listener="public",reason="",verdict="accepted"'
    assert rendered(metrics)[f"tsproxy_batches_total{{{accepted}}}"] == 22
