"""A sample of the proxy's processes, from outside: /proc, and the metrics page."""

import os
from contextlib import suppress
from pathlib import Path

from tests.proxy.running import pids, series

MIB_KIB = 1024


async def sample(proxy):
    """Series -> value now. A process or a page that is gone for the moment leaves its series out."""
    found = {}
    workers = pids(proxy)
    for name, pid in {"supervisor": proxy.pid, **{f"worker {n}": pid for n, pid in workers.items()}}.items():
        with suppress(OSError):
            rolled = _rolled_up(pid)
            found[f"{name} own MiB"] = (rolled["Anonymous"] + rolled["Swap"]) / MIB_KIB
            found[f"{name} resident MiB"] = rolled["Rss"] / MIB_KIB
            found[f"{name} PSS MiB"] = rolled["Pss"] / MIB_KIB
            found[f"{name} descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
    with suppress(OSError):
        found |= _of_page(await series(proxy))
    return found


def _rolled_up(pid):
    """Name -> KiB, of /proc/PID/smaps_rollup."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {row[0].rstrip(":"): int(row[1]) for row in rows}


def _of_page(page):
    def total(name):
        return sum(value for each, value in page.items() if each.partition("{")[0] == name)

    return {
        "tasks": total("tsproxy_tasks"),
        "connections": total("tsproxy_connections"),
        "records": total("tsproxy_records_total"),
        "bad records": total("tsproxy_bad_records_total"),
        "CPU seconds": total("process_cpu_seconds_total"),
    }
