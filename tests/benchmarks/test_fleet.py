"""The log of the fleet that is measured is one that proxies might have written."""

import json
from datetime import date, timedelta

from benchmarks.fleet import Figures, Fleet, part, write_day
from tsproxy.decisions.fields import FIELDS

DAY = date(2026, 11, 20)


def test_each_boot_has_a_heartbeat_for_each_interval_and_no_line_is_missing(tmp_path):
    fleet = Fleet(proxies=2, producers=6, interval=15)
    logs = [write_day(tmp_path, fleet, day) for day in (DAY, DAY + timedelta(days=1))]
    assert [(lines, files) for lines, files, _ in logs] == [(2 * 96 * 4, 2 * 96)] * 2
    for proxy in ("px-0000", "px-0001"):
        files = [path for day in sorted(tmp_path.iterdir()) for path in sorted((day / proxy).iterdir())]
        lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
        assert [line["seq"] for line in lines] == list(range(2 * 96 * 4))
        beats = [line for line in lines if line["event"] == "heartbeat"]
        assert len({beat["interval_start"] for beat in beats}) == 2 * 96
        assert {name for line in lines for name in line} <= {field.name for field in FIELDS}
        clients = {line["client_id"] for line in lines if line["event"] == "counters"}
        assert len(clients) == 3


def test_figures_of_a_year_are_said_to_be_computed():
    night = Figures(cpu_s=100, wall_s=60, peak_mib=900, files=2, table_bytes=1 << 30)
    text = " ".join(part(Fleet(1_000, 10_000, 15), (1_056_000, 96_000, 1 << 30), [night, night]).split())
    assert "Computed from the second night and not measured: a year is 730 files and 365.0 GiB" in text
    assert "35 million files of logs, and 10 CPU hours" in text
