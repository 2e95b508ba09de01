"""Resident memory: with many idle connections, and while the broker reads nothing."""

from typing import Final

from benchmarks.bench import Bench
from benchmarks.loads import KB1, MB1, Load
from benchmarks.proxies import TSPROXY, Proxy
from benchmarks.sections import Section
from benchmarks.tools import MissingError

_MIB: Final = 1024 * 1024
_STUCK_IN_FLIGHT: Final = 64
_STUCK_S: Final = 4.0


def idle(bench: Bench) -> Section:
    """Memory of each proxy with connections that have sent one request and then are idle."""
    count = bench.effort.idle_connections
    load = Load(KB1, connections=count, in_flight=1)
    rows = []
    for proxy, is_tls in (*((each, False) for each in bench.proxies), (TSPROXY, True)):
        try:
            alone, full = _idle(bench, load, proxy, is_tls=is_tls)
        except MissingError as error:
            bench.missing[str(error)] = None
            continue
        rows.append(
            (
                f"{proxy.name}, TLS" if is_tls else proxy.name,
                f"{full / _MIB:.0f} MiB",
                f"{alone / _MIB:.0f} MiB",
                f"{(full - alone) / count / 1024:.1f} KiB",
            )
        )
    return Section(
        text=f"Resident memory with {count} connections, after each has sent one request and received its "
        "answer. TLS is between clients and proxy.",
        head=("proxy", "in all", "before", "a connection"),
        rows=rows,
    )


def _idle(bench: Bench, load: Load, proxy: Proxy, *, is_tls: bool) -> tuple[int, int]:
    """Resident bytes of `proxy` before its connections, and with them. Raises MissingError."""
    with bench.sink() as sink, bench.proxy(proxy, sink, is_tls=is_tls) as running:
        assert running.program is not None
        alone = running.program.rss_bytes()
        with bench.generator(load, running, warm_up=1):
            return alone, running.program.rss_bytes()


def stuck(bench: Bench) -> Section:
    """Memory of each proxy while the broker does not read and clients continue to send."""
    load = Load(MB1, connections=8, in_flight=_STUCK_IN_FLIGHT)
    offered_mib = load.connections * load.in_flight * load.shape.request_bytes // _MIB
    rows = []
    for proxy in bench.few_proxies():
        with bench.sink("--stuck") as sink, bench.proxy(proxy, sink) as running:
            assert running.program is not None
            with bench.generator(load, running, seconds=_STUCK_S, patience_s=0, warm_up=0) as generator:
                before = running.program.rss_bytes()
                generator.say("go")
                generator.hear()
                grown = running.program.peak_rss_bytes() - before
        rows.append((proxy.name, f"{grown / _MIB:.0f} MiB"))
    return Section(
        text=f"The largest growth of resident memory while {load.connections} clients offer {offered_mib} "
        "MiB in requests of 1 MB to a broker that has stopped reading.",
        head=("proxy", "growth"),
        rows=rows,
    )
