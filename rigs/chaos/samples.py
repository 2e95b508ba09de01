"""Samples of the proxies' processes, from outside: /proc, and the page of metrics. What grew meanwhile?"""

import os
import statistics
from contextlib import suppress
from pathlib import Path

from rigs.chaos.proxy import TOKEN
from tests.proxy.running import series

PROCESSES = 3
"""A proxy has a supervisor and two workers."""
WARM_UP = 1 / 3
"""The share of the time that is not judged: caches fill, and malloc finds its size. In an hour it has two
restarts of a broker, in which very many connections fail at once."""
PARTS = 4
"""The growth is that of the medians of the first and the last of so many parts: a peak of some seconds is
none."""
ALL = "all descriptors"
"""The sum of a proxy's processes. One alone follows the clients, which change workers at each restart."""
BOUNDS = {"own MiB": 1.0, "supervisor descriptors": 2.0, ALL: 4.0, "tasks": 2.0}
"""A series may grow so much in the time that is judged, by the end of its name. An hour's judged time has
three restarts of a broker: a connection left by each is six descriptors. Resident memory is not judged: it
holds pages of files, which the kernel takes back when others need memory."""


async def sample(proxy):
    """Series -> value now. A page that is gone for the moment leaves its series out."""
    found = {}
    processes = {f"worker {n}": pid for n, pid in enumerate(sorted(proxy.workers()), 1)}
    processes["supervisor"] = proxy.supervisor
    for name, pid in processes.items():
        found[f"{name} own MiB"] = own_mib(pid)
        found[f"{name} descriptors"] = descriptors(pid)
    if all(found.values()) and len(processes) == PROCESSES:
        found[ALL] = sum(value for name, value in found.items() if name.endswith("descriptors"))
    with suppress(OSError):
        shown = await series(proxy, TOKEN)
        found["tasks"] = sum(shown[name] for name in shown if name.partition("{")[0] == "tsproxy_tasks")
    return found


def own_mib(pid):
    """The pages that are a process's own; 0 for a process that has ended."""
    with suppress(OSError):
        rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
        kib = {row[0]: int(row[1]) for row in rows}
        return (kib["Anonymous:"] + kib["Swap:"]) / 1024
    return 0.0


def descriptors(pid):
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


def growth(samples):
    """Series -> growth, of a list of `sample`s. Raises ValueError if there are too few of them."""
    grown = {}
    for name in {name for each in samples for name in each}:
        values = [each[name] for each in samples if name in each]
        judged = values[round(WARM_UP * len(values)) :]
        size = len(judged) // PARTS
        if size < PARTS:
            raise ValueError(f"{len(values)} samples of {name}: no growth can be told")
        grown[name] = round(statistics.median(judged[-size:]) - statistics.median(judged[:size]), 2)
    return grown


def leaks(grown):
    """The series that grew by more than their bounds."""
    return {
        name: by
        for name, by in grown.items()
        if any(name.endswith(end) and by > bound for end, bound in BOUNDS.items())
    }
