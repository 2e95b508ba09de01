"""The CPU of tsproxy by library or program, from perf's samples."""

import re
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench, Running
from benchmarks.loads import KB1, KB100, Load
from benchmarks.proxies import TSPROXY, TSPROXY_ASYNCIO
from benchmarks.sections import Section
from benchmarks.tools import MissingError, find

_SAMPLES_A_SECOND: Final = 997
_SHARE: Final = re.compile(r"^\s*([\d.]+)%\s+(\S+)", re.MULTILINE)
_SHOWN_FROM: Final = 0.5


_COLUMNS: Final = (
    (TSPROXY, Load(KB1)),
    (TSPROXY, Load(KB1, 64, 1)),
    (TSPROXY, Load(KB100)),
    (TSPROXY, Load(KB100, is_tls=True)),
    (TSPROXY_ASYNCIO, Load(KB1)),
)


def profile(bench: Bench) -> Section:
    """The share of samples in per cent, for small and for large requests, with TLS, and on asyncio's loop."""
    find("perf")  # without it there is no section at all
    columns: dict[str, dict[str, float]] = {}
    for measured, load in _COLUMNS:
        name = load.name if measured is TSPROXY else f"{load.name}, {measured.name.rpartition(', ')[2]}"
        try:
            with bench.sink() as sink, bench.proxy(measured, sink, is_tls=load.is_tls) as proxy:
                columns[name] = _shares(bench, load, proxy)
        except MissingError as error:
            bench.missing[str(error)] = None
    shares = list(columns.values())
    places = sorted(
        {place for each in shares for place in each},
        key=lambda place: [-each.get(place, 0.0) for each in shares],
    )
    return Section(
        text="The share of each place in tsproxy's CPU, in per cent of perf's samples: the operating system, "
        f"the interpreter, libraries. Places below {_SHOWN_FROM:g} % are not listed.",
        head=("where", *columns),
        rows=[(place, *(f"{each.get(place, 0.0):.1f}" for each in shares)) for place in places],
    )


def _shares(bench: Bench, load: Load, proxy: Running) -> dict[str, float]:
    """The share in per cent, by the name of the executed file."""
    assert proxy.program is not None
    perf = find("perf")
    samples = bench.workshop.new_folder("perf") / "samples"
    record = (
        *(perf, "record", "--quiet", "--event", "cpu-clock", "--freq", str(_SAMPLES_A_SECOND)),
        *("--output", samples, "--pid", str(proxy.program.pid)),
    )
    with bench.workshop.start("perf", record, cpu=None) as recording:
        bench.load(load, proxy)
        recording.raise_if_ended()
    report = (perf, "report", "--input", samples, "--sort", "dso", "--stdio", "--quiet")
    found = _SHARE.findall(bench.workshop.output("perf", report))
    return {_place(dso): float(share) for share, dso in found if float(share) >= _SHOWN_FROM}


def _place(dso: str) -> str:
    """A name for `[kernel.kallsyms]` or a shared object that does not depend on this machine."""
    return "operating system" if dso.startswith("[kernel") else re.sub(r"\.cpython-.*", "", Path(dso).name)
