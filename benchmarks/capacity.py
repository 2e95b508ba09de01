"""CPU of tsproxy in absolute figures, by size, codec and TLS: the figures of capacity.md.

Everywhere else the benchmarks compare programs. Here the question is how many cores a traffic needs, and a
ratio does not answer it.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final

from benchmarks.bench import Bench, Result
from benchmarks.consume import CONSUMERS
from benchmarks.frames import Shape
from benchmarks.loads import B200, COMPRESSED, KB1, KB16, KB100, MB1, Load
from benchmarks.processes import ProgramError
from benchmarks.proxies import TSPROXY
from benchmarks.rounds import Spread, in_rounds, spread
from benchmarks.sections import Section
from benchmarks.tools import MissingError

HEAD: Final = (
    "load",
    "bytes a request",
    "records a request",
    "CPU, µs a request",
    "CPU, ns a record",
    "CPU, ms a MB",
    "busy",
)

_SIZES: Final = (B200, KB1, KB16, KB100, MB1)
_FETCHES: Final = (Shape(16_000, is_fetch=True), Shape(1_000_000, is_fetch=True))
_MB: Final = 1e6


def _loads(*, is_tls: bool) -> Sequence[Load]:
    """Producers with several requests in flight, then consumers with one."""
    produce = [Load(shape, is_tls=is_tls) for shape in _SIZES]
    compressed = [
        replace(load, is_tls=True, warm_up_requests=None) if is_tls else load for load in COMPRESSED
    ]
    alone = [Load(KB1, 64, 1, is_tls=is_tls)]
    fetch = [Load(shape, CONSUMERS, 1, is_tls=is_tls) for shape in _FETCHES]
    return (*produce, *compressed, *alone, *fetch)


def row_name(load: Load) -> str:
    """The load's name, with a word that distinguishes answers to Fetch from requests."""
    return f"Fetch, {load.name}" if load.shape.is_fetch else load.name


def capacity(bench: Bench) -> Section:
    """CPU per request, per record and per MB. Loads that another section has measured are not run again."""
    rows = [*_rows(bench, is_tls=False), *_rows(bench, is_tls=True)]
    return Section(
        text="CPU of one tsproxy process, in absolute figures of this machine. A load is a request size "
        "before compression, and connections × requests in flight; with `Fetch`, the size is that of the "
        "answer's records. MB are megabytes of the frames that carry records, as they are on the wire: "
        "compressed. TLS is between clients and proxy. The last column shows the share of time in which "
        "the proxy was computing. [capacity.md](../docs/evidence/capacity.md) works out from this table "
        "how many proxies a traffic needs.",
        head=HEAD,
        rows=rows,
    )


def _rows(bench: Bench, *, is_tls: bool) -> Iterable[tuple[str, ...]]:
    loads = bench.chosen(_loads(is_tls=is_tls))
    try:
        runs = _runs(bench, loads, is_tls=is_tls)
    except MissingError as error:
        bench.missing[str(error)] = None
    except ProgramError as error:
        bench.failed[f"capacity: {error}"] = None
    else:
        for load in loads:
            yield _row(bench, load, runs[load])


def _runs(bench: Bench, loads: Sequence[Load], *, is_tls: bool) -> Mapping[Load, Sequence[Result]]:
    left = {row_name(load): load for load in loads if load not in bench.of_tsproxy}
    with ExitStack() as stack:
        sink = stack.enter_context(bench.sink())
        proxy = stack.enter_context(bench.proxy(TSPROXY, sink, is_tls=is_tls))
        runs = in_rounds(
            bench.effort.rounds, {name: partial(bench.load, load, proxy) for name, load in left.items()}
        )
    return bench.of_tsproxy | {load: runs[name] for name, load in left.items()}


def _row(bench: Bench, load: Load, results: Sequence[Result]) -> tuple[str, ...]:
    bytes_a_request = _bytes_a_request(bench, load)
    cost_us = [run.cpu_per_request * 1e6 for run in results]
    # The number of records in a fetched answer costs nothing: they are not read.
    by_record = None if load.shape.is_fetch else [each * 1e3 / load.shape.records for each in cost_us]
    return (
        row_name(load),
        f"{bytes_a_request:,.0f}",
        "–" if by_record is None else f"{load.shape.records:,}",
        str(spread(cost_us)),
        "–" if by_record is None else str(spread(by_record)),
        str(_by_mb(cost_us, bytes_a_request)),
        f"{100 * spread([run.busy for run in results]).median:.0f}%",
    )


def _by_mb(cost_us: Sequence[float], bytes_a_request: float) -> Spread:
    """Milliseconds for a million bytes."""
    return spread([each / 1e3 / (bytes_a_request / _MB) for each in cost_us])


def _bytes_a_request(bench: Bench, load: Load) -> int:
    """The size of the frame that has the records: the request to produce, or the answer to a Fetch."""
    if load.shape.is_fetch:
        return load.shape.request_bytes
    frames, start = bench.frames(load.shape).read_bytes(), 0
    while True:  # the last frame of the file is the one that is repeated
        end = start + 4 + int.from_bytes(frames[start : start + 4], "big")
        if end == len(frames):
            return end - start
        start = end
