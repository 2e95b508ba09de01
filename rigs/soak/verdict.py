"""The samples of a soak, and the verdict on each series."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from rigs.soak.fit import Line, Verdict, fit

# Resident memory and PSS are only shown: both hold pages of files, which the kernel takes back when others
# need memory. PSS also falls when another program maps the same file. A leak is in a process's own pages.
PROCESSES = 3
"""The supervisor and two workers."""
WARM_UP = 1 / 3
"""The share of the time that is not judged: caches fill, and malloc finds its size. In an hour it has two
restarts of a broker, in which very many connections fail at once."""
ALL = "all descriptors"
"""The sum of the three processes. One alone follows the clients, which change workers at each restart."""
BOUNDS = {"own MiB": 1.0, "supervisor descriptors": 2.0, ALL: 4.0, "tasks": 2.0}
"""A series may grow so much in the time that is judged, by the end of its name. Others are only shown. An
hour's judged time has three restarts of the broker: a connection left by each is six descriptors."""
NEEDED = ("acknowledged", "transactions", "consumed", "visits", "reloads")
LATE = ("_MSG_TIMED_OUT", "TimeoutException")
"""The errors by which clients say that no answer came in time."""
BAD_AT_LEAST, BAD_AT_MOST = 0.005, 0.02
"""The share of bad records that a soak needs to count as one with 1% of them."""


@dataclass
class Record:
    """The lines of a run."""

    seconds: float = 0.0
    series: dict = field(default_factory=lambda: defaultdict(list))
    """Series -> (time, value) of each sample."""
    events: list = field(default_factory=list)
    """(time, kind) of each reload and each restart of the broker."""
    end: dict = field(default_factory=dict)

    @property
    def warm_up_s(self):
        return self.seconds * WARM_UP


@dataclass(frozen=True)
class Judged:
    line: Line
    bound: float
    verdict: Verdict


def read(lines):
    """The record of JSON lines."""
    record = Record()
    for line in map(json.loads, lines):
        kind, at_s = line.pop("kind"), line.pop("at_s")
        record.seconds = max(record.seconds, at_s)
        if kind == "sample":
            opened = [value for name, value in line.items() if name.endswith("descriptors")]
            if len(opened) == PROCESSES:
                line[ALL] = sum(opened)
            for name, value in line.items():
                record.series[name].append((at_s, value))
        elif kind == "end":
            record.end = line
        else:
            record.events.append((at_s, kind))
    for name in ("records", "CPU seconds"):
        record.series[f"{name} a second"] = _rates(record.series[name])
    return record


def _rates(points):
    """(time, increase a second since the sample before)."""
    return [(t, (value - before) / (t - since)) for (since, before), (t, value) in pairwise(points)]


def judge(record):
    """Series -> its line and verdict, for each that has a bound."""
    judged = {}
    for name, points in record.series.items():
        bound = next((bound for end, bound in BOUNDS.items() if name.endswith(end)), None)
        if bound is not None:
            line = fit([point for point in points if point[0] >= record.warm_up_s])
            judged[name] = Judged(line, bound, line.verdict(bound))
    return judged


def faults(record):
    """The reasons why the run is none, whatever its series say."""
    end, series = record.end, record.series
    found = [f"the proxy says {each}" for each in end["crashes"]]
    if end["workers_ended"]:
        found.append(f"{end['workers_ended']} workers ended")
    found += [f"the run had no {name}" for name in NEEDED if not end[name]]
    for client, reasons in end["failed"].items():
        late = sum(count for reason, count in reasons.items() if reason in LATE)
        if late:
            found.append(f"{late} records of {client} were not answered in five minutes")
    share = series["bad records"][-1][1] / series["records"][-1][1] if series["records"] else 0.0
    if not BAD_AT_LEAST <= share <= BAD_AT_MOST:
        found.append(f"{share:.1%} of the records were bad")
    return found


def table(judged):
    """The rows of the verdict, as text."""
    yield f"{'series':<24} {'first':>8} {'growth':>8}   {'95% interval':<18} {'bound':>5}  verdict"
    for name, each in judged.items():
        line = each.line
        interval = f"{line.low:+.2f} to {line.high:+.2f}"
        yield (
            f"{name:<24} {line.first:8.2f} {line.growth:+8.2f}   {interval:<18} {each.bound:5.1f}  "
            f"{each.verdict}"
        )
