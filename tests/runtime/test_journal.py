"""The journal: outcomes reach the decision log and the metrics, and no line is lost on the way."""

import json

from tests.runtime.test_decision_files import HandClock
from tests.runtime.test_metrics import ACCEPTED, rendered
from tsproxy.config.settings import Decisions
from tsproxy.decisions import DecisionLog
from tsproxy.runtime.decision_files import DecisionFiles
from tsproxy.runtime.journal import Journal
from tsproxy.runtime.metrics import Metrics

MINUTE_MS = 60_000


async def test_a_whole_life_leaves_lines_without_gaps_also_when_it_ends_between_two_ticks(tmp_path):
    clock, metrics = HandClock(), Metrics()
    files = DecisionFiles(Decisions(tmp_path, 60 * MINUTE_MS, 1 << 20), "proxy", "boot", clock)
    journal = Journal(DecisionLog("proxy", "boot", clock.now_ms()), files, metrics, clock)
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
