"""The tables of a few collected lines that are no `Grouping`: histograms, addresses, examples.

`rollup.shape`, `transforms.client_addresses` and `transforms.examples` make the same tables from a frame of
any size, and a property test compares the results. Plain Python: the lines have the facts of
`transforms.line_facts`.
"""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from spark_reports.log.grouping import Rows, first_of
from spark_reports.report.groups import CLIENT, REASON
from spark_reports.report.what_if import SIDES
from tsproxy.decisions.drift import EDGES

ADDRESSES = 8
"""The most addresses that are shown for a client."""

Line = Mapping[str, Any]


def shape(counters: Iterable[Line]) -> Rows:
    """The batches and records of each side, bucket and outcome of judged batches.

    Histograms of other versions, and buckets that this version does not have, are left out. If a bucket lacks
    its last numbers, they count as 0.
    """
    sums: dict[tuple[Any, ...], list[int]] = {}
    for line in counters:
        if line["has_histogram"]:
            for side in SIDES:
                outcome = (side, line["is_rejection"], line[f"is_other_side_{side}"])
                for bucket, batches, records in map(_triple, line[side] or ()):
                    if bucket is not None and -len(EDGES) <= bucket <= len(EDGES):
                        sum_ = sums.setdefault((*outcome, bucket), [0, 0])
                        sum_[0] += batches or 0
                        sum_[1] += records or 0
    return [
        {
            "side": side,
            "is_rejected": is_rejected,
            "is_own_side": None if is_other_side is None else not is_other_side,
            "bucket": bucket,
            "batches": batches,
            "records": records,
        }
        for (side, is_rejected, is_other_side, bucket), (batches, records) in sums.items()
    ]


def _triple(bucket: list[int | None] | None) -> list[int | None]:
    return bucket if bucket is not None and len(bucket) == 3 else [*(bucket or ()), None, None, None][:3]


def client_addresses(counters: Iterable[Line]) -> Rows:
    """CLIENT and its first ADDRESSES `addresses` from which its rejected batches came."""
    found: dict[tuple[Any, ...], set[str]] = {}
    for line in counters:
        if line["is_rejection"] and line["addresses"]:
            client = tuple(line[name] for name in CLIENT)
            found.setdefault(client, set()).update(line["addresses"])
    return [
        dict(zip(CLIENT, client, strict=True)) | {"addresses": sorted(addresses - {None})[:ADDRESSES]}
        for client, addresses in found.items()
    ]


def examples(decisions: Iterable[Line], count: int) -> Rows:
    """The last `count` batches of each client and reason that were rejected for good."""
    rejections = (dict(line) for line in decisions if line["is_rejection"])
    latest_first = sorted(rejections, key=itemgetter("ts", "seq"), reverse=True)
    return first_of(latest_first, (*CLIENT, *REASON), count)
