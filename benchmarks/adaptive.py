"""The cost of compressed batches that mostly stay unread: `inspect.compressed: auto`, the default."""

from typing import Final

from benchmarks.bench import Bench
from benchmarks.loads import COMPRESSED
from benchmarks.proxies import HAPROXY, TSPROXY, Proxy, tsproxy
from benchmarks.relay import compare
from benchmarks.sections import Section
from tsproxy.fastpath.adaptive import ONE_READ_OF, TRUSTED_AFTER

ADAPTIVE: Final = Proxy(
    "tsproxy, adaptive",
    tsproxy("--loop", "uvloop", "--set", "policy.defaults.inspect.compressed=auto"),
)


def adaptive(bench: Bench) -> Section:
    """CPU per request, with every compressed batch read and with one of a hundred."""
    rows = []
    for load in COMPRESSED:
        ratios = compare(bench, load, (HAPROXY, TSPROXY, ADAPTIVE)).ratios
        if ratios:
            rows.append((load.name, str(ratios[TSPROXY.name]), str(ratios[ADAPTIVE.name])))
    return Section(
        text=f"CPU of tsproxy per request, as a ratio to {HAPROXY.name}'s in the same round. Once "
        f"{TRUSTED_AFTER} batches of a connection were in order, one of {ONE_READ_OF} is read, and of the "
        "others the header is judged (policy.md). Before the measurement, each connection has sent "
        "twice as many.",
        head=("load", "`all`", "`adaptive`"),
        rows=rows,
    )
