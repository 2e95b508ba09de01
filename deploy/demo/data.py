"""The events: real ones, each with two timestamps; see `PROVENANCE.md`.

The lateness of an event is the log's time (of the commit) minus its own time (of the author). If it is
replayed with `timestamp = now - lateness`, it is as late as it was in reality.
"""

import csv
import gzip
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("commit-clocks-kafka.csv.gz")


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its row in the file, and its lateness, which is negative if it was early."""

    row: str
    lateness_ms: int


def read_events(every: int = 1) -> list[Event]:
    """Every `every`-th event, in the order in which they entered the log; all 103,140 by default."""
    with gzip.open(_FILE, "rt", encoding="ascii", newline="") as file:
        rows = islice(csv.reader(file), 1, None, every)
        return [Event(",".join(row), 1000 * (int(row[0]) - int(row[1]))) for row in rows]
