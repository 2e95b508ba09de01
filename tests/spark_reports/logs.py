"""Lines of a decision log for tests, as small as the reader allows, and files of them."""

import gzip
import json

from tests.spark_reports.day import MIDNIGHT_MS, MINUTE_MS
from tsproxy.decisions.text import instant

DAY = "2026-11-20"


def line(seq, event="lifecycle", at_ms=MIDNIGHT_MS, proxy="px", boot="b", **fields):
    return {
        "ts": instant(at_ms), "event": event, "v": 1, "proxy": proxy, "boot": boot, "seq": seq, **fields
    }  # fmt: skip


def heartbeat(seq, start_ms=MIDNIGHT_MS, interval_ms=MINUTE_MS, **fields):
    own = {"interval_start": instant(start_ms), "interval_ms": interval_ms, "lines_dropped": 0}
    counted = {"decisions_suppressed": 0, "batches_folded": 0}
    return line(seq, "heartbeat", start_ms + interval_ms, **(own | counted | fields))


def counters(seq, start_ms=MIDNIGHT_MS, **fields):
    own = {
        "interval_start": instant(start_ms),
        "interval_ms": MINUTE_MS,
        "listener": "public",
        "topic": "orders",
        "client_id": "app",
        "verdict": "accepted",
        "error_code": 0,
        "is_final": True,
        "bad_records": 0,
        "collateral_records": 0,
        "bytes": 1000,
        "requests": 1,
        "first_ts": instant(start_ms),
        "last_ts": instant(start_ms + 1),
        "addresses": ["10.0.0.1"],
        "hist": "drift-v1",
    }
    return line(seq, "counters", start_ms + MINUTE_MS, **(own | _counted(fields) | fields))


def _counted(fields):
    """Counts and histograms that agree with those that are given."""
    sides = [
        [bucket for bucket in fields.get(side) or [] if bucket and None not in bucket[1:]]
        for side in ("ahead", "behind")
    ]
    batches, records = (
        fields.get(name, max(least, *(sum(sum(bucket[at : at + 1]) for bucket in side) for side in sides)))
        for name, at, least in (("batches", 1, 1), ("records", 2, 10))
    )
    histograms = {side: [[-4, batches, records]] for side in ("ahead", "behind")}
    return {"batches": batches, "records": records, **histograms}


def text_of(lines):
    return "".join(json.dumps(each) + "\n" for each in lines)


def write(path, *lines, raw=""):
    """Write lines, then raw text, into a file. It is compressed if its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = (text_of(lines) + raw).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
