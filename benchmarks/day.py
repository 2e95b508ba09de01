"""Writes a decision log of one day for the measurements of Spark jobs: only counters, which cause their cost.

A file is the log of one boot. The 20,000 lines of a boot differ in everything that matters (minute, client,
topic, histograms, instants). All boots are alike, so that ten million lines are written in a minute.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LINE_BYTES: Final = 800
"""The upper bound of the average size of a line."""

CLIENTS: Final = 500

ACCEPTED: Final[Mapping[str, object]] = {"verdict": "accepted", "error_code": 0}
REJECTED: Final[Mapping[str, object]] = {
    "verdict": "rejected",
    "reason": "too_far_ahead",
    "unit_guess": "nanoseconds",
    "error_code": 32,
}
"""The outcomes of counters."""

_LINES_A_FILE: Final = 20_000
_TOPICS: Final = 40
_BATCHES: Final = 60
_RECORDS: Final = 25
"""The records of a batch."""
_BUCKET: Final = (-20, 1.2)
"""Middle and spread of the buckets: a live producer's batches of a minute are in some neighbouring ones."""
_MINUTES: Final = 1_440


def write_log(folder: Path, lines: int, clients: int = CLIENTS) -> None:
    """Writes `lines` counters of 2026-11-20."""
    folder.mkdir(parents=True)
    template = b"".join(_line(seq, clients) for seq in range(min(lines, _LINES_A_FILE)))
    for number in range(-(-lines // _LINES_A_FILE)):
        content = template.replace(b"@boot@", b"boot-%06d" % number)
        (folder / f"decisions-20261120T{number % 24:02}0000Z-px-{number:06}.jsonl").write_bytes(content)


def _line(seq: int, clients: int) -> bytes:
    minute = seq * _MINUTES // _LINES_A_FILE
    client, is_bad = seq * 7919 % clients, seq % 50 == 0
    at = f"2026-11-20T{minute // 60:02}:{minute % 60:02}"
    how = REJECTED if is_bad else ACCEPTED
    chance = random.Random(seq)
    ahead, behind = (
        [[bucket, batches, batches * _RECORDS] for bucket, batches in sorted(drawn.items())]
        for drawn in (_drawn(chance), _drawn(chance))
    )
    line = {
        "ts": f"{at}:59.000Z",
        "event": "counters",
        "v": 1,
        "proxy": "px-1",
        "boot": "@boot@",
        "seq": seq,
        "cluster_id": "lkc-1",
        "interval_start": f"{at}:00.000Z",
        "interval_ms": 60_000,
        "listener": "public",
        "topic": f"topic-{seq % _TOPICS}",
        "client_id": f"service-{client}",
        "principal": f"User:svc-{client}",
        **how,
        "is_final": True,
        "batches": _BATCHES,
        "records": _BATCHES * _RECORDS,
        "bad_records": _BATCHES * _RECORDS if is_bad else 0,
        "collateral_records": 0,
        "bytes": _BATCHES * _RECORDS * 100,
        "requests": _BATCHES,
        "first_ts": f"{at}:01.{chance.randrange(1000):03}Z",
        "last_ts": f"{at}:58.{chance.randrange(1000):03}Z",
        "drift_min_ms": -900 - chance.randrange(100),
        "drift_max_ms": -3 - chance.randrange(100),
        "addresses": ["10.0.0.1"],
        "hist": "drift-v1",
        "ahead": ahead,
        "behind": behind,
    }
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _drawn(chance: random.Random) -> Counter[int]:
    """Batches by bucket, five or six buckets."""
    return Counter(round(chance.gauss(*_BUCKET)) for _ in range(_BATCHES))
