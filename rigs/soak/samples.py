"""A sample of the proxy's processes, from outside: /proc, and the metrics page."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from rigs.chaos.totals import page_of

MIB_KIB = 1024
OF_PAGE = {
    "tasks": "tsproxy_tasks",
    "connections": "tsproxy_connections",
    "records": "tsproxy_records_total",
    "bad records": "tsproxy_bad_records_total",
    "CPU seconds": "process_cpu_seconds_total",
}


async def sample(world):
    """Series -> value now. A process or a page that is gone for the moment leaves its series out."""
    found = {}
    workers = {f"worker {n}": pid for n, pid in enumerate(sorted(world.workers()), 1)}
    for name, pid in {"supervisor": world.supervisor, **workers}.items():
        with suppress(OSError):
            rolled = _rolled_up(pid)
            found[f"{name} own MiB"] = (rolled["Anonymous"] + rolled["Swap"]) / MIB_KIB
            found[f"{name} resident MiB"] = rolled["Rss"] / MIB_KIB
            found[f"{name} PSS MiB"] = rolled["Pss"] / MIB_KIB
            found[f"{name} descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
    with suppress(OSError):
        text = await asyncio.to_thread(page_of, world.metrics)
        rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        for name, metric in OF_PAGE.items():
            found[name] = sum(float(value) for each, _, value in rows if each.partition("{")[0] == metric)
    return found


def _rolled_up(pid):
    """Name -> KiB, of /proc/PID/smaps_rollup."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {row[0].rstrip(":"): int(row[1]) for row in rows}
